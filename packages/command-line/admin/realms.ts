import { StartupError } from '@warder/base'
import { requireNoNames, requireOneName, UsageError } from '../commands/options.ts'
import { formatFacts, formatTable, printable } from '../terminal/table.ts'
import type { AdminApi } from './api.ts'
import {
  applyChange,
  describeChange,
  formatMethods,
  type Method,
  methods,
  type Realm,
  type RealmChange,
  readChange,
  readMethod,
  settingOptions,
} from './realm-change.ts'
import { adminVerb } from './verb.ts'

const defaults = { session_max_age_seconds: 8 * 3600, session_max_stale_age_seconds: 1800 } as const

const getRealmPath = (id: string): string => `/admins/realms/${encodeURIComponent(id)}`

/** @throws StartupError when there is no such realm */
export async function fetchRealm(api: AdminApi, id: string): Promise<Realm> {
  const realm = (await api.find(getRealmPath(id))) as Realm | undefined
  if (realm === undefined)
    throw new StartupError(`there is no realm ${printable(id)}: see warder admin realms`)
  return realm
}

/** Replaces the settings of a realm. @throws StartupError with the reason of the service */
export async function replaceRealm(api: AdminApi, realm: Realm): Promise<Realm> {
  return (await api.ask('PUT', getRealmPath(realm.id), realm)) as Realm
}

export const listRealms = adminVerb({
  name: 'realms',
  words: '',
  summary: 'List the realms that you administer and their login methods',
  examples: ['warder admin realms'],
  options: {},
  parse(_, names) {
    requireNoNames(names)
    return async ({ api, show }) => {
      const realms = await api.pages<Realm>('/admins/realms', ({ id }) => id)
      const rows = realms.map((realm) => [
        realm.id,
        formatMethods(realm),
        `${realm.session_max_age_seconds} s`,
        `${realm.session_max_stale_age_seconds} s`,
      ])
      const headings = ['REALM', 'LOGIN BY', 'SESSION', 'IDLE']
      show(realms, formatTable(headings, rows, 'you administer no realm'))
    }
  },
})

export const showRealm = adminVerb({
  name: 'show-realm',
  words: 'REALM',
  summary: 'Show the login methods and the session ages of a realm',
  examples: ['warder admin show-realm shop', 'warder admin show-realm shop --json > shop.json'],
  options: {},
  parse(_, names) {
    const id = requireOneName(names, 'realm: warder admin show-realm REALM')
    return async ({ api, show }) => {
      const realm = await fetchRealm(api, id)
      show(realm, formatRealm(realm))
    }
  },
})

function formatRealm(realm: Realm): readonly string[] {
  const settings = Object.entries(realm.auth_params).map(([member, value]) => {
    const { metadata_xml: _, ...rest } = value as Readonly<Record<string, unknown>>
    return [member, JSON.stringify(rest)] as const
  })
  return formatFacts([
    ['realm', realm.id],
    ['login by', formatMethods(realm) || 'no method: no user can log in'],
    [
      'sessions',
      `end after ${realm.session_max_age_seconds} s, or ${realm.session_max_stale_age_seconds} s without use`,
    ],
    ['certificates', `of warder certify: valid for ${realm.certificate_max_age_seconds} s`],
    ...settings,
  ])
}

export const createRealm = adminVerb({
  name: 'create-realm',
  words: 'REALM',
  summary: 'Create a realm; without other login methods its users have passwords',
  examples: [
    'warder admin create-realm shop',
    'warder admin create-realm staff --jwt-provider https://idp.example,https://idp.example/keys,staff',
  ],
  options: settingOptions,
  parse(values, names) {
    const id = requireOneName(names, 'realm: warder admin create-realm REALM')
    const given = readChange(id, values)
    const isOpen = given.enabled.length > 0 || Object.keys(given.auth_params).length > 0
    const change = isOpen ? given : { ...given, enabled: ['password'] as const }
    return async ({ api, show }) => {
      const realm = (await api.ask('POST', '/admins/realms', {
        ...applyChange({ id, auth_params: {}, ...defaults }, change),
      })) as Realm
      show(realm, [`created realm ${printable(id)}; login by ${formatMethods(realm)}`])
    }
  },
})

export const changeRealm = adminVerb({
  name: 'change-realm',
  words: 'REALM',
  summary: 'Change the login methods or the session ages of a realm',
  about: `Settings without an option stay. Sessions that exist keep their maximum ages; if an identity provider is no longer
listed, the sessions of its users end.`,
  examples: [
    'warder admin change-realm shop --idle-seconds 600',
    'warder admin change-realm shop --login certificate --no-login password',
    'warder admin change-realm shop --settings shop.json',
  ],
  options: {
    ...settingOptions,
    'no-login': {
      type: 'list',
      value: 'METHOD',
      help: `no longer accepts this login method: ${Object.keys(methods).join(', ')}; repeatable`,
    },
  },
  parse(values, names) {
    const id = requireOneName(names, 'realm: warder admin change-realm REALM')
    const given = readChange(id, values)
    const disabled = values['no-login'].map((name) =>
      readMethod('no-login', name, Object.keys(methods) as Method[]),
    )
    const both = disabled.find((method) => given.enabled.includes(method))
    if (both !== undefined) throw new UsageError(`--login ${both} and --no-login ${both} exclude each other`)
    const change: RealmChange = {
      ...given,
      auth_params: {
        ...given.auth_params,
        ...Object.fromEntries(disabled.map((method) => [methods[method].member, null])),
      },
    }
    if (
      [change.auth_params, change.members].every((part) => Object.keys(part).length === 0) &&
      change.enabled.length === 0
    )
      throw new UsageError('give what changes: --login, --no-login, --jwt-provider, --settings or an age')
    return async ({ api, show, confirm }) => {
      const before = await fetchRealm(api, id)
      const after = applyChange(before, change)
      const what = describeChange(before, after)
      if (what.length === 0) {
        show(before, [`realm ${printable(id)} has these settings already`])
        return
      }
      await confirm(`Change realm ${printable(id)}: ${what.join('; ')}?`)
      show(await replaceRealm(api, after), [`changed realm ${printable(id)}: ${what.join('; ')}`])
    }
  },
})

/** The question before a deletion counts up to this many users. */
const maxCounted = 1000

export const deleteRealm = adminVerb({
  name: 'delete-realm',
  words: 'REALM',
  summary: 'Delete a realm with its users, second factors, sessions and machine roles',
  about: `Administrators stay, without this realm. Keys of its users stay at the key management service, but their owners can no
longer log in: transfer the keys first (warder access transfer).`,
  examples: ['warder admin delete-realm shop'],
  options: {},
  parse(_, names) {
    const id = requireOneName(names, 'realm: warder admin delete-realm REALM')
    return async ({ api, show, confirm }) => {
      await fetchRealm(api, id)
      const name = encodeURIComponent(id)
      const users = (await api.ask(
        'GET',
        `/realms/${name}/userpass?limit=${maxCounted}`,
      )) as readonly unknown[]
      const { data } = (await api.ask('GET', `/auth/approle/role?list=true&realm=${name}`)) as {
        readonly data: { readonly keys: readonly string[] }
      }
      const count = users.length < maxCounted ? users.length : `${maxCounted} or more`
      const what = `its users (${count} with a password), AppRoles (${data.keys.length}), second factors and sessions`
      await confirm(`Delete realm ${printable(id)} with ${what}?`)
      await api.ask('DELETE', getRealmPath(id))
      show({ deleted: { realm: id } }, [`deleted realm ${printable(id)}, with ${what}`])
    }
  },
})
