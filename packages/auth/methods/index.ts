import type { LoginMethod } from '../login/index.ts'
import { type CertificateServices, certificate } from './certificate/index.ts'
import { type JwtServices, jwt } from './jwt/index.ts'
import { type PasswordServices, password } from './password/index.ts'
import { totp } from './totp/index.ts'
import { unavailable } from './unavailable.ts'

export type MethodServices = PasswordServices & JwtServices & CertificateServices

/** Every method of login. Nothing else lists them. */
export const methods: readonly LoginMethod<MethodServices>[] = [password, jwt, totp, certificate]

/** Members of a realm that callers may know and that this server refuses, so that nobody relies on them. */
export const refusedMembers = [unavailable('saml_params', 'SAML sign-on')]
