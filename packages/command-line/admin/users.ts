import { StartupError } from '@warder/base'
import { requireNoNames, requireOneName, UsageError } from '../commands/options.ts'
import { formatFacts, formatTable, printable } from '../terminal/table.ts'
import type { AdminApi } from './api.ts'
import { getSubjectPath } from './jwt-subjects.ts'
import { createPasswordSource, formatPassword, passwordOptions } from './new-password.ts'
import { readUserOwnership } from './ownership.ts'
import { fetchSessions } from './sessions.ts'
import { adminVerb, realmOption } from './verb.ts'

/** Login methods that exist for a name. */
interface LoginMethods {
  readonly password: boolean
  /** The name is bound to an identity provider. */
  readonly provider: boolean
  readonly totp: boolean
  readonly passkeys: number
  readonly recovery_codes: number
}

/** A user with a password, in the form of the API. */
interface User {
  readonly realm: string
  readonly username: string
  readonly change_password: boolean
  readonly roles: readonly string[]
  readonly extra_claims?: Readonly<Record<string, unknown>>
}

export const getUsersPath = (realm: string): string => `/realms/${encodeURIComponent(realm)}/userpass`
export const getUserPath = (realm: string, name: string): string =>
  `${getUsersPath(realm)}/${encodeURIComponent(name)}`
const getAccountPath = (realm: string, name: string): string =>
  `/realms/${encodeURIComponent(realm)}/persons/${encodeURIComponent(name)}`
export const describeUser = (realm: string, name: string): string =>
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

export const showUser = adminVerb({
  name: 'show-user',
  words: 'NAME',
  summary:
    'Show how a user logs in, with which second factors, roles and claims, and how many sessions there are',
  about: 'Their keys and rights: warder access of realm/NAME. To suspend them at once: warder access block.',
  examples: ['warder admin show-user ann --realm shop'],
  options: { realm: realmOption },
  parse({ realm }, names) {
    const username = requireOneName(names, 'user: warder admin show-user NAME --realm R')
    return async ({ api, show }) => {
      const methods = (await api.find(getAccountPath(realm, username))) as LoginMethods | undefined
      if (methods === undefined) throw createNoUserError(realm, username)
      const user = methods.password ? await fetchUser(api, realm, username) : undefined
      const sessions = await fetchSessions(api, realm, username)
      const known = [
        ...(methods.password ? ['password'] : []),
        ...(methods.provider ? ['token of an identity provider'] : []),
      ]
      show({ ...methods, ...user, realm, username, sessions: sessions.length }, [
        ...formatFacts([
          ['user', `${username} of realm ${realm}`],
          ['login by', known.join(', ') || 'SAML or a certificate: not registered'],
          ['password', user?.change_password === true ? 'must be changed at the next login' : ''],
          ['second factors', formatFactors(methods)],
          ['roles', user?.roles.join(', ') ?? ''],
          ['claims', user?.extra_claims === undefined ? '' : JSON.stringify(user.extra_claims)],
          ['sessions', String(sessions.length)],
        ]),
      ])
    }
  },
})

/** State of the second factors, which only their user enrolls. */
function formatFactors({ totp, passkeys, recovery_codes: codes }: LoginMethods): string {
  const factors = [
    ...(totp ? ['authenticator app'] : []),
    ...(passkeys > 0 ? [`passkeys: ${passkeys}`] : []),
    ...(codes > 0 ? [`unused recovery codes: ${codes}`] : []),
  ]
  return factors.join(', ') || 'none'
}

/** Reads `NAME=VALUE`; a value that is JSON is read as such, others are texts. @throws UsageError */
function readClaim(text: string): readonly [name: string, value: unknown] {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? []
  if (name === undefined || value === undefined)
    throw new UsageError(`--claim must be NAME=VALUE, not '${text}'`)
  try {
    return [name, JSON.parse(value)]
  } catch {
    return [name, value]
  }
}

export const changeUser = adminVerb({
  name: 'change-user',
  words: 'NAME',
  summary: 'Change the roles and the claims of a user who has a password',
  about: `Sessions that exist keep the former roles and claims until they end: warder admin end-sessions ends them. The password
stays: see reset-password.`,
  examples: [
    'warder admin change-user ann --realm shop --add-role night --remove-role seller',
    'warder admin change-user ann --realm shop --claim branch=Lyon',
  ],
  options: {
    realm: realmOption,
    'add-role': { type: 'list', value: 'ROLE', help: 'another role; repeatable' },
    'remove-role': { type: 'list', value: 'ROLE', help: 'a role to remove; repeatable' },
    claim: {
      type: 'list',
      value: 'NAME=VALUE',
      help: 'an extra claim of the session token, as JSON or text; repeatable',
    },
    'remove-claim': { type: 'list', value: 'NAME', help: 'an extra claim to remove; repeatable' },
    'change-password': { type: 'flag', help: 'requires another password at the next login' },
  },
  parse(values, names) {
    const { realm, 'add-role': added, 'remove-role': removed, 'remove-claim': noClaims } = values
    const username = requireOneName(names, 'user: warder admin change-user NAME --realm R')
    const claims = values.claim.map(readClaim)
    const parts = [...added, ...removed, ...claims, ...noClaims]
    if (parts.length === 0 && !values['change-password'])
      throw new UsageError(
        'give what changes: --add-role, --remove-role, --claim, --remove-claim or --change-password',
      )
    const both = added.find((role) => removed.includes(role))
    if (both !== undefined) throw new UsageError(`--add-role and --remove-role both name ${both}`)
    return async ({ api, show, confirm }) => {
      const before = await fetchUser(api, realm, username)
      const missing = removed.find((role) => !before.roles.includes(role))
      if (missing !== undefined)
        throw new StartupError(`${describeUser(realm, username)} has no role ${printable(missing)}`)
      const absent = noClaims.find((name) => !Object.hasOwn(before.extra_claims ?? {}, name))
      if (absent !== undefined)
        throw new StartupError(`${describeUser(realm, username)} has no claim ${printable(absent)}`)
      const roles = [...new Set([...before.roles, ...added])].filter((role) => !removed.includes(role))
      const extra = Object.fromEntries(
        [...Object.entries(before.extra_claims ?? {}), ...claims].filter(
          ([name]) => !noClaims.includes(name),
        ),
      )
      const describe = (ofRoles: readonly string[], of: object): string =>
        printable(`roles ${ofRoles.join(', ') || 'none'}, claims ${JSON.stringify(of)}`)
      await confirm(
        `Change ${describeUser(realm, username)} from ${describe(before.roles, before.extra_claims ?? {})} to ${describe(roles, extra)}?`,
      )
      const user = (await api.ask('PUT', getUserPath(realm, username), {
        roles,
        extra_claims: Object.keys(extra).length === 0 ? null : extra,
        change_password: values['change-password'] || before.change_password,
      })) as User & { readonly warnings?: readonly string[] }
      show(user, [
        `changed ${describeUser(realm, username)}: ${describe(user.roles, user.extra_claims ?? {})}`,
        ...(user.warnings ?? []).map((line) => printable(line)),
        'sessions that exist keep the former roles and claims until they end',
      ])
    }
  },
})

const createNoUserError = (realm: string, username: string): StartupError =>
  new StartupError(`there is no user ${describeUser(realm, username)}`)

/** @throws StartupError when there is no such user with a password */
async function fetchUser(api: AdminApi, realm: string, username: string): Promise<User> {
  const user = (await api.find(getUserPath(realm, username))) as User | undefined
  if (user === undefined) throw createNoUserError(realm, username)
  return user
}

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
      const before = await fetchUser(api, realm, username)
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
      if (methods === undefined) throw createNoUserError(realm, username)
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
