import type { LoginMethod } from '../login/method.ts'
import { type CertificateServices, certificate } from './certificate/certificate-method.ts'
import { jwt } from './jwt/jwt-method.ts'
import type { JwtServices } from './jwt/operations.ts'
import { password } from './password/password-method.ts'
import type { PasswordServices } from './password/prove.ts'
import type { SamlServices } from './saml/realm/services.ts'
import { saml } from './saml/saml-method.ts'
import { totp } from './totp/totp-operations.ts'

export type MethodServices = PasswordServices & JwtServices & CertificateServices & SamlServices

/** The only list of login methods. */
export const methods: readonly LoginMethod<MethodServices>[] = [password, jwt, totp, certificate, saml]
