import { randomBytes } from 'node:crypto'
import { StartupError } from '@warder/base'
import {
  formatTable,
  printable,
  requireNoNames,
  requireOneName,
  UsageError,
  type ValuesOf,
} from '@warder/command-line'
import { readSecretFile } from '@warder/command-line/files'
import type { AdminApi } from './api.ts'
import { getSubjectPath } from './jwt-subjects.ts'
import { readUserOwnership } from './ownership.ts'
import { adminVerb, realmOption } from './verb.ts'

/** A new password of a user. A generated one is shown once, because no user knows it yet. */
interface NewPassword {
  readonly text: string
  readonly generated: boolean
}

/** Options of verbs that set the password of a user. */
export const passwordOptions = {
  'new-password-file': {
    type: 'text',
    value: 'F',
    help: 'file with the new password; without it the password is random and shown once',
  },
  'keep-password': { type: 'flag', help: 'does not require another password at the next login' },
} as const

/** Reads `--new-password-file FILE`; without it a random password of 144 bits is made. */
export function createPasswordSource({
  'new-password-file': file,
}: ValuesOf<typeof passwordOptions>): () => NewPassword {
  if (file === '') throw new UsageError('--new-password-file needs a value')
  return () =>
    file === undefined
      ? { text: randomBytes(18).toString('base64url'), generated: true }
      : { text: readSecretFile(file), generated: false }
}

/** Login methods that exist for a name. */
interface LoginMethods {
  readonly password: boolean
  /** The name is bound to an identity provider. */
  readonly provider: boolean
}

/** A user with a password, in the form of the API. */
interface User {
  readonly realm: string
  readonly username: string
  readonly change_password: boolean
  readonly roles: readonly string[]
  readonly extra_claims?: Readonly<Record<string, unknown>>
}

const getUsersPath = (realm: string): string => `/realms/${encodeURIComponent(realm)}/userpass`
const getUserPath = (realm: string, name: string): string =>
  `${getUsersPath(realm)}/${encodeURIComponent(name)}`
const getAccountPath = (realm: string, name: string): string =>
  `/realms/${encodeURIComponent(realm)}/persons/${encodeURIComponent(name)}`
const describeUser = (realm: string, name: string): string =>
  `${printable(name)} of realm ${printable(realm)}`

export const listUsers = adminVerb({
  name: 'users',
  words: '',
  summary: 'List the users of a realm who have a password',
  examples: [
    'warder admin users --realm shop',
    "warder admin users --realm shop --json | jq -r '.[].username'",
  ],
  options: { realm: realmOption },
  parse({ realm }, names) {
    requireNoNames(names)
    return async ({ api, show }) => {
      const users = await api.pages<User>(getUsersPath(realm), ({ username }) => username)
      const rows = users.map((user) => [
        user.username,
        user.roles.join(', '),
        user.change_password ? 'must change it' : '',
        Object.keys(user.extra_claims ?? {}).join(', '),
      ])
      const headings = ['USER', 'ROLES', 'PASSWORD', 'EXTRA CLAIMS']
      show(users, formatTable(headings, rows, `there are no users with a password in realm ${realm}`))
    }
  },
})

export const addUser = adminVerb({
  name: 'add-user',
  words: 'NAME',
  summary: 'Add a user; without a password file the password is random and shown once',
  examples: ['warder admin add-user ann --realm shop --role seller'],
  options: {
    realm: realmOption,
    role: { type: 'list', value: 'ROLE', help: 'a role of the user; repeatable' },
    ...passwordOptions,
  },
  parse(values, names) {
    const { realm, role: roles } = values
    const choose = createPasswordSource(values)
    const change = !values['keep-password']
    const username = requireOneName(names, 'user: warder admin add-user NAME --realm R')
    return async ({ api, show }) => {
      const password = choose()
      const user = (await api.ask('POST', getUsersPath(realm), {
        username,
        roles,
        change_password: change,
        password_input: { plaintext: password.text },
      })) as User
      const lines = [
        `added ${describeUser(realm, username)}`,
        ...(await formatPassword(api, realm, password, change)),
      ]
      show(password.generated ? { ...user, password: password.text } : user, lines)
    }
  },
})

export const resetPassword = adminVerb({
  name: 'reset-password',
  words: 'NAME',
  summary: 'Set a new password for a user and end their sessions',
  examples: ['warder admin reset-password ann --realm shop'],
  options: { realm: realmOption, ...passwordOptions },
  parse(values, names) {
    const { realm } = values
    const choose = createPasswordSource(values)
    const change = !values['keep-password']
    const username = requireOneName(names, 'user: warder admin reset-password NAME --realm R')
    return async ({ api, show, confirm }) => {
      const before = (await api.find(getUserPath(realm, username))) as User | undefined
      if (before === undefined) throw new StartupError(`there is no user ${describeUser(realm, username)}`)
      await confirm(`Replace the password of ${describeUser(realm, username)} and end their sessions?`)
      const password = choose()
      const user = (await api.ask('PUT', getUserPath(realm, username), {
        roles: before.roles,
        extra_claims: before.extra_claims ?? null,
        change_password: change,
        password_input: { plaintext: password.text },
      })) as User
      const lines = [
        `${describeUser(realm, username)} has a new password; sessions that began with the old one have ended`,
        ...(await formatPassword(api, realm, password, change)),
      ]
      show(password.generated ? { ...user, password: password.text } : user, lines)
    }
  },
})

export const deleteUser = adminVerb({
  name: 'delete-user',
  words: 'NAME',
  summary:
    'Delete a user with any login method, their second factor and sessions; shows their objects at the kms',
  examples: [
    'warder admin delete-user ann --realm shop',
    'warder admin delete-user ann --realm shop --transfer-to shop/bob',
  ],
  options: {
    realm: realmOption,
    'transfer-to': {
      type: 'text',
      value: 'USER',
      help: `first transfers their keys and grants to this user of the kms (bob, or realm/bob);
else the keys stay without an owner, until warder access transfer`,
    },
  },
  parse({ realm, 'transfer-to': newOwner }, names) {
    const username = requireOneName(names, 'user: warder admin delete-user NAME --realm R')
    return async ({ api, kms, show, confirm }) => {
      const methods = (await api.find(getAccountPath(realm, username))) as LoginMethods | undefined
      if (methods === undefined) throw new StartupError(`there is no user ${describeUser(realm, username)}`)
      const ownership = await readUserOwnership(kms, realm, username, newOwner)
      const what = `${describeUser(realm, username)}, their second factor and their sessions`
      await confirm(`${ownership.line}. Delete ${what}?`)
      const moved = await ownership.transfer()
      if (methods.password) await api.ask('DELETE', getUserPath(realm, username))
      if (methods.provider) await api.ask('DELETE', getSubjectPath(realm, username))
      await api.ask('DELETE', getAccountPath(realm, username))
      const lines = [
        `deleted ${describeUser(realm, username)}`,
        ...(moved === undefined ? [ownership.line] : [moved]),
      ]
      show({ deleted: { realm, username }, ...ownership.document }, lines)
    }
  },
})

export const disableTotp = adminVerb({
  name: 'disable-totp',
  words: 'NAME',
  summary: 'Remove the second factor of a user; the password is then enough',
  examples: ['warder admin disable-totp ann --realm shop'],
  options: { realm: realmOption },
  parse({ realm }, names) {
    const username = requireOneName(names, 'user: warder admin disable-totp NAME --realm R')
    return async ({ api, show, confirm }) => {
      await confirm(`Remove the second factor of ${describeUser(realm, username)}?`)
      await api.ask('DELETE', `/realms/${encodeURIComponent(realm)}/totp/${encodeURIComponent(username)}`)
      show({ totp_disabled: { realm, username } }, [
        `${describeUser(realm, username)} logs in without a TOTP code now`,
      ])
    }
  },
})

async function formatPassword(
  api: AdminApi,
  realm: string,
  password: { readonly text: string; readonly generated: boolean },
  change: boolean,
): Promise<readonly string[]> {
  const first = password.generated ? [`password: ${password.text}    (shown once)`] : []
  return change ? [...first, await describeNextLogin(api, realm)] : first
}

/** Describes the next login with a password that must be changed. */
async function describeNextLogin(api: AdminApi, realm: string): Promise<string> {
  const found = (await api.find(`/admins/realms/${encodeURIComponent(realm)}`).catch(() => undefined)) as
    | { readonly auth_params?: { readonly username_password_params?: PasswordParams | null } }
    | undefined
  if (found === undefined)
    return 'the next login requires a new password, unless the realm accepts expired ones'
  const params = found.auth_params?.username_password_params
  if (params === undefined || params === null)
    return `realm ${realm} does not accept passwords now (username_password_params is not set)`
  return params.allow_expired_passwords === true
    ? `realm ${realm} lets the user log in without a new password (allow_expired_passwords)`
    : 'the next login requires a new password (warder login, or POST /password)'
}

interface PasswordParams {
  readonly allow_expired_passwords?: boolean
}
