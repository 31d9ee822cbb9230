import type { LoginMethod } from '../login/index.ts'
import { type CertificateServices, certificate } from './certificate/index.ts'
import { type JwtServices, jwt } from './jwt/index.ts'
import { type PasswordServices, password } from './password/index.ts'
import { type SamlServices, saml } from './saml/index.ts'
import { totp } from './totp/index.ts'

export type MethodServices = PasswordServices & JwtServices & CertificateServices & SamlServices

/** The only list of login methods. */
export const methods: readonly LoginMethod<MethodServices>[] = [password, jwt, totp, certificate, saml]
