import type { AuthInput, AuthReply } from '@warder/client/browser'
import type { Values } from '../../../parts/act-form.tsx'
import { texts } from '../../../texts.ts'
import { superRealm } from '../realms/realm.ts'

export type Admin = AuthReply<'admins.get'>
type AdminBody = AuthInput<'admins.replace'>['body']

/** Members that name the user of an administrator, with the options of the command. */
const identities = {
  userpass: 'user',
  fido2: 'passkey',
  jwt: 'jwt',
  saml: 'saml',
  client_certificate: 'certificate',
} as const
export type Identity = keyof typeof identities
export const identityNames = Object.keys(identities) as readonly Identity[]

export const formatRealms = ({ realms }: Pick<Admin, 'realms'>): string =>
  realms.includes(superRealm) ? texts.admins.allRealms : realms.join(', ') || texts.admins.noRealm

export const formatUsers = (admin: Admin): string =>
  identityNames
    .flatMap((name) => (admin[name] === null ? [] : [`${texts.admins.identities[name]} ${admin[name]}`]))
    .join(', ')

/** Address of an administrator. The identifier is no segment of the path: it may be anything. */
export const toAdminPath = (id: string): string => `/ui/admin?${new URLSearchParams({ id })}`

/** Names of the user in a form; an empty field: none. */
export const readIdentities = (values: Values): Pick<AdminBody, Identity> =>
  Object.fromEntries(identityNames.map((name) => [name, values[name]?.trim() || null]))

/** Options of the command for the names in a form. @param before the present names; undefined: a new administrator */
export function toIdentityOptions(values: Values, before?: Admin): Readonly<Record<string, string>> {
  return Object.fromEntries(
    identityNames.flatMap((name) => {
      const [value, old] = [values[name]?.trim() ?? '', before?.[name] ?? '']
      return value === old ? [] : [[identities[name], value || 'none']]
    }),
  )
}
