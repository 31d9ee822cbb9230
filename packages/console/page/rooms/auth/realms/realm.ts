import type { AuthInput, AuthReply } from '@warder/client/browser'
import { texts } from '../../../texts.ts'

/** A realm, as the service returns it. */
export type Realm = AuthReply<'realms.get'>
export type RealmBody = AuthInput<'realms.replace'>['body']
type AuthParams = RealmBody['auth_params']

/** The realm of the super administrators. */
export const superRealm = '_'

/** Login methods: their names in the command, and their members of `auth_params`. */
export const methods = {
  password: 'username_password_params',
  passkey: 'fido2_params',
  jwt: 'jwt_params',
  certificate: 'client_certificate_params',
  saml: 'saml_params',
} as const
export type Method = keyof typeof methods

/** Methods without settings that must be entered. */
export const simpleMethods = ['password', 'passkey', 'certificate'] as const

export const defaultSettings = {
  password: { allow_expired_passwords: false },
  passkey: {},
  certificate: {},
} as const

/** What the service stored, which has the shape that it accepts. */
export const readParams = (realm: Realm | undefined): AuthParams => (realm?.auth_params ?? {}) as AuthParams

export function listMethods(realm: Realm): readonly Method[] {
  const params = readParams(realm)
  return (Object.keys(methods) as Method[]).filter((method) => (params[methods[method]] ?? null) !== null)
}

export const formatMethods = (realm: Realm): string =>
  listMethods(realm)
    .map((method) => texts.realms.methods[method])
    .join(', ')

/** The identifier of a realm in an address that others may have written. */
export const isRealmId = (text: string): boolean => /^[A-Za-z0-9_-]{1,64}$/.test(text)

/** Address of a view of a realm. @param view the empty text: settings */
export const toRealmPath = (realm: string, view = ''): string =>
  `/ui/realms/${encodeURIComponent(realm)}${view === '' ? '' : `/${view}`}`

/** Address of a user of a realm. The name is no segment of the path: it may be anything, such as `..`. */
export const toUserPath = (realm: string, name: string): string =>
  `${toRealmPath(realm, 'user')}?${new URLSearchParams({ name })}`

/** A duration in the largest unit that is exact: `8 hours`. */
export function formatSeconds(seconds: number): string {
  const units = [
    ['day', 86_400],
    ['hour', 3600],
    ['minute', 60],
  ] as const
  const [unit, size] = units.find(([, each]) => seconds >= each && seconds % each === 0) ?? ['second', 1]
  const count = seconds / size
  return `${count.toLocaleString('en')} ${unit}${count === 1 ? '' : 's'}`
}
