import { StartupError } from '@warder/base'
import { requireNoNames, requireOneName, UsageError, type ValuesOf } from '../commands/options.ts'
import { formatFacts, formatTable, printable } from '../terminal/table.ts'
import type { AdminApi } from './api.ts'
import { createPasswordSource, passwordOptions } from './new-password.ts'
import { getUserPath, getUsersPath } from './users.ts'
import { adminVerb } from './verb.ts'

/** An administrator, in the form of the API: a record that names a user, and gives power over realms. */
interface Admin {
  readonly id: string
  readonly realms: readonly string[]
  readonly userpass: string | null
  readonly fido2: string | null
  readonly jwt: string | null
  readonly saml: string | null
  readonly client_certificate: string | null
  readonly totp_enabled: boolean
}

/** The realm of the super administrators, to which every administrator can log in. */
const superRealm = '_'

const getAdminPath = (id: string): string => `/admins/${encodeURIComponent(id)}`

/** Members that name the user, with their options. */
const identities = {
  userpass: { option: 'user', label: 'user' },
  fido2: { option: 'passkey', label: 'passkey of' },
  jwt: { option: 'jwt', label: 'JWT' },
  saml: { option: 'saml', label: 'SAML' },
  client_certificate: { option: 'certificate', label: 'certificate' },
} as const
type Identity = keyof typeof identities

/** @throws StartupError when there is no such administrator */
async function fetchAdmin(api: AdminApi, id: string): Promise<Admin> {
  const admin = (await api.find(getAdminPath(id))) as Admin | undefined
  if (admin === undefined)
    throw new StartupError(`there is no administrator ${printable(id)}: see warder admin admins`)
  return admin
}

function formatIdentities(admin: Admin): string {
  return Object.entries(identities)
    .flatMap(([member, { label }]) => {
      const name = admin[member as Identity]
      return name === null ? [] : [`${label} ${name}`]
    })
    .join(', ')
}

const formatRealms = ({ realms }: Pick<Admin, 'realms'>): string =>
  realms.includes(superRealm) ? 'all (super administrator)' : realms.join(', ')

const identityOptions = {
  user: {
    type: 'text',
    value: 'NAME',
    help: 'the user with this name, after a login with a password',
  },
  passkey: {
    type: 'text',
    value: 'NAME',
    help: 'the user with this name, after a login with a passkey',
  },
  jwt: { type: 'text', value: 'SUBJECT', help: 'the user whose token of an identity provider has this sub' },
  saml: { type: 'text', value: 'NAME', help: 'the user with this name at a SAML identity provider' },
  certificate: {
    type: 'text',
    value: 'NAME',
    help: 'the client whose certificate has this common name or SHA-256 fingerprint',
  },
} as const

/** Reads the members that the options name. @returns null for `none` */
function readIdentities(values: ValuesOf<typeof identityOptions>): Partial<Record<Identity, string | null>> {
  const given = Object.entries(identities).flatMap(([member, { option }]) => {
    const name = values[option]
    if (name === '') throw new UsageError(`--${option} needs a value`)
    return name === undefined ? [] : [[member, name === 'none' ? null : name] as const]
  })
  return Object.fromEntries(given)
}

export const listAdmins = adminVerb({
  name: 'admins',
  words: '',
  summary: 'List the administrators, with their realms and the users who have their powers',
  about: `An administrator is a record that gives a user power over realms. The password of that user is set by warder admin
reset-password, or by the user with warder password.`,
  examples: ['warder admin admins', 'warder admin reset-password chief --realm _'],
  options: {},
  parse(_, names) {
    requireNoNames(names)
    return async ({ api, show }) => {
      const admins = await api.pages<Admin>('/admins', ({ id }) => id)
      const rows = admins.map((admin) => [
        admin.id,
        formatRealms(admin),
        formatIdentities(admin),
        admin.totp_enabled ? 'TOTP' : '',
      ])
      const headings = ['ADMINISTRATOR', 'REALMS', 'USER', 'SECOND FACTOR']
      show(admins, formatTable(headings, rows, 'there are no administrators'))
    }
  },
})

export const showAdmin = adminVerb({
  name: 'show-admin',
  words: 'ID',
  summary: 'Show the realms of an administrator, and the users who have its powers',
  examples: ['warder admin show-admin chief'],
  options: {},
  parse(_, names) {
    const id = requireOneName(names, 'administrator: warder admin show-admin ID')
    return async ({ api, show }) => {
      const admin = await fetchAdmin(api, id)
      show(
        admin,
        formatFacts([
          ['administrator', admin.id],
          ['realms', formatRealms(admin) || 'none: without power'],
          ['user', formatIdentities(admin) || 'none: no user has this power'],
          ['second factor', admin.totp_enabled ? 'TOTP' : 'none'],
        ]),
      )
    }
  },
})

export const addAdmin = adminVerb({
  name: 'add-admin',
  words: 'ID',
  summary: 'Make a user an administrator of realms; creates a user of realm _ if no option names one',
  about: `With --realm _ the administrator is a super administrator, of all realms. If no option names a user,
the command creates the user ID of realm _ (warder login --user ID), with a random password, which is shown once.`,
  examples: [
    'warder admin add-admin chief --realm _',
    'warder admin add-admin shop-admin --realm shop --user ann',
  ],
  options: {
    realm: { type: 'list', value: 'R', help: 'a realm to administer; repeatable; _ means all' },
    ...identityOptions,
    ...passwordOptions,
  },
  parse(values, names) {
    const id = requireOneName(names, 'administrator: warder admin add-admin ID --realm R')
    const { realm: realms } = values
    if (realms.length === 0) throw new UsageError('--realm is required: a realm to administer, or _ for all')
    const named = readIdentities(values)
    const isNewUser = Object.keys(named).length === 0
    if (!isNewUser && (values['new-password-file'] !== undefined || values['keep-password']))
      throw new UsageError('--new-password-file and --keep-password are for a new user, without --user')
    const choose = createPasswordSource(values)
    return async ({ api, show }) => {
      const createRecord = (identity: object) => api.ask('POST', '/admins', { id, realms, ...identity })
      const describe = (admin: Admin): string =>
        `added administrator ${printable(id)} of ${printable(formatRealms(admin))}`
      if (!isNewUser) {
        const admin = (await createRecord(named)) as Admin
        show(admin, [`${describe(admin)}: ${printable(formatIdentities(admin))}`])
        return
      }
      if ((await api.find(getUserPath(superRealm, id))) !== undefined)
        throw new StartupError(
          `there is a user ${printable(id)} of realm _ already: --user ${printable(id)} makes that user the administrator`,
        )
      const password = choose()
      await api.ask('POST', getUsersPath(superRealm), {
        username: id,
        roles: [],
        change_password: !values['keep-password'],
        password_input: { plaintext: password.text },
      })
      let admin: Admin
      try {
        admin = (await createRecord({ userpass: id })) as Admin
      } catch (error) {
        // Without the record the user has no power, so it is deleted, and the command can be run again.
        await api.ask('DELETE', getUserPath(superRealm, id)).catch(() => undefined)
        throw error
      }
      show(password.generated ? { ...admin, password: password.text } : admin, [
        `${describe(admin)}, with a user of this name in realm _`,
        ...(password.generated ? [`password: ${password.text}    (shown once)`] : []),
      ])
    }
  },
})

export const changeAdmin = adminVerb({
  name: 'change-admin',
  words: 'ID',
  summary: 'Change the realms of an administrator, or the users who have its powers',
  about:
    'The change applies from the next request on, also to sessions that exist. "none" removes a user: --jwt none.',
  examples: [
    'warder admin change-admin chief --add-realm shop --remove-realm club',
    'warder admin change-admin chief --user ann',
  ],
  options: {
    'add-realm': { type: 'list', value: 'R', help: 'a realm to administer; repeatable; _ means all' },
    'remove-realm': { type: 'list', value: 'R', help: 'a realm not to administer any more; repeatable' },
    ...identityOptions,
  },
  parse(values, names) {
    const id = requireOneName(names, 'administrator: warder admin change-admin ID')
    const { 'add-realm': added, 'remove-realm': removed } = values
    const identity = readIdentities(values)
    const both = added.find((realm) => removed.includes(realm))
    if (both !== undefined) throw new UsageError(`--add-realm and --remove-realm both name ${both}`)
    if (added.length + removed.length + Object.keys(identity).length === 0)
      throw new UsageError(
        'give what changes: --add-realm, --remove-realm, --user, --passkey, --jwt, --saml or --certificate',
      )
    return async ({ api, show, confirm }) => {
      const before = await fetchAdmin(api, id)
      const unknown = removed.find((realm) => !before.realms.includes(realm))
      if (unknown !== undefined)
        throw new StartupError(`${printable(id)} does not administer the realm ${printable(unknown)}`)
      const realms = [...new Set([...before.realms, ...added])].filter((realm) => !removed.includes(realm))
      const after: Admin = { ...before, ...identity, realms }
      const describe = (admin: Admin): string =>
        printable(`${formatRealms(admin) || 'no realm'} as ${formatIdentities(admin) || 'no user'}`)
      await confirm(`Change administrator ${printable(id)} from ${describe(before)} to ${describe(after)}?`)
      const changed = (await api.ask('PUT', getAdminPath(id), after)) as Admin
      show(changed, [`changed administrator ${printable(id)}: ${describe(changed)}`])
    }
  },
})

export const deleteAdmin = adminVerb({
  name: 'delete-admin',
  words: 'ID',
  summary: 'Delete an administrator; the user stays, without the power',
  examples: ['warder admin delete-admin chief', 'warder admin delete-user chief --realm _'],
  options: {},
  parse(_, names) {
    const id = requireOneName(names, 'administrator: warder admin delete-admin ID')
    return async ({ api, show, confirm }) => {
      const admin = await fetchAdmin(api, id)
      const who = formatIdentities(admin)
      const rest =
        who === ''
          ? ''
          : ` (${printable(who)} stays, without the power over ${printable(formatRealms(admin))})`
      await confirm(`Delete administrator ${printable(id)}${rest}?`)
      await api.ask('DELETE', getAdminPath(id))
      show({ deleted: { admin: id } }, [`deleted administrator ${printable(id)}${rest}`])
    }
  },
})
