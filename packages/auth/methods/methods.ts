import type { LoginMethod } from '../login/method.ts'
import { type CertificateServices, certificate } from './certificate.ts'
import { type JwtServices, jwt } from './jwt/jwt-method.ts'
import { passkey } from './passkey/passkey-method.ts'
import type { PasskeyServices } from './passkey/relying-party.ts'
import { password } from './password/password-method.ts'
import type { PasswordServices } from './password/prove.ts'
import { saml } from './saml/saml-method.ts'
import type { SamlServices } from './saml/saml-realm.ts'
import { totp } from './totp/totp-method.ts'

export type MethodServices = PasswordServices &
  JwtServices &
  CertificateServices &
  SamlServices &
  PasskeyServices

/** The only list of login methods. */
export const methods: readonly LoginMethod<MethodServices>[] = [
  password,
  jwt,
  totp,
  passkey,
  certificate,
  saml,
]
