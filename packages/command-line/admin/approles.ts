import { StartupError } from '@warder/base'
import { requireNoNames, requireOneName, UsageError } from '../commands/options.ts'
import { formatFacts, formatTable, printable } from '../terminal/table.ts'
import { readMachineOwnership } from './ownership.ts'
import {
  createSecretId,
  fetchRole,
  formatSecretId,
  getRolePath,
  limitOptions,
  readLimits,
} from './secret-ids.ts'
import { adminVerb, realmOption } from './verb.ts'

export const listAppRoles = adminVerb({
  name: 'approles',
  words: '',
  summary: 'List the AppRoles of the realms that you administer',
  examples: ['warder admin approles'],
  options: {},
  parse(_, names) {
    requireNoNames(names)
    return async ({ api, show }) => {
      const answer = (await api.ask('GET', '/auth/approle/role?list=true')) as {
        readonly data: { readonly keys: readonly string[] }
      }
      const { keys } = answer.data
      show(
        keys,
        formatTable(
          ['APPROLE'],
          keys.map((key) => [key]),
          'you administer no AppRole',
        ),
      )
    }
  },
})

export const addAppRole = adminVerb({
  name: 'add-approle',
  words: 'NAME',
  summary: 'Create an AppRole and a SecretID for one machine; both are shown once',
  examples: ['warder admin add-approle till --realm shop --policy sales --secret-id-uses 1'],
  options: {
    realm: realmOption,
    policy: { type: 'list', value: 'P', help: 'a policy of its tokens; repeatable' },
    'token-ttl': { type: 'number', value: 'S', help: 'seconds until its tokens expire' },
    ...limitOptions,
  },
  parse(values, names) {
    const { realm, policy: policies, 'token-ttl': tokenTtl } = values
    const limits = readLimits(values)
    const name = requireOneName(names, 'role: warder admin add-approle NAME --realm R')
    return async ({ api, show }) => {
      if ((await api.find(getRolePath(name))) !== undefined) {
        throw new StartupError(
          `the AppRole ${printable(name)} already exists; for another SecretID: warder admin new-secret-id ${printable(name)}`,
        )
      }
      await api.ask('POST', `${getRolePath(name)}?realm=${encodeURIComponent(realm)}`, {
        token_policies: policies,
        ...(tokenTtl === undefined ? {} : { token_ttl: tokenTtl }),
        ...(limits.ttl === undefined ? {} : { secret_id_ttl: limits.ttl }),
      })
      const { data } = (await api.ask('GET', `${getRolePath(name)}/role-id`)) as {
        readonly data: { readonly role_id: string }
      }
      const secret = await createSecretId(api, name, limits)
      show({ name, realm, role_id: data.role_id, ...secret }, [
        `added AppRole ${printable(name)} of realm ${printable(realm)}`,
        `role id:   ${data.role_id}`,
        ...formatSecretId(secret),
      ])
    }
  },
})

export const showAppRole = adminVerb({
  name: 'show-approle',
  words: 'NAME',
  summary: 'Show the RoleID and the limits of an AppRole',
  examples: ['warder admin show-approle till'],
  options: {},
  parse(_, names) {
    const name = requireOneName(names, 'role: warder admin show-approle NAME')
    return async ({ api, show }) => {
      const { realm, data } = await fetchRole(api, name)
      const { data: id } = (await api.ask('GET', `${getRolePath(name)}/role-id`)) as {
        readonly data: { readonly role_id: string }
      }
      const seconds = (limit: number | undefined): string =>
        limit === undefined || limit === 0 ? '' : `${limit} s`
      const list = (limits: readonly string[] | null | undefined): string => (limits ?? []).join(', ')
      show({ name, realm, ...id, ...data }, [
        ...formatFacts([
          ['AppRole', `${name} of realm ${realm}`],
          ['role id', id.role_id],
          ['policies', list(data.token_policies) || 'none'],
          ['tokens', `valid for ${data.token_ttl} s`],
          ['tokens, with renewals', seconds(data.token_max_ttl)],
          ['uses of a token', data.token_num_uses ? String(data.token_num_uses) : ''],
          ['tokens from', list(data.token_bound_cidrs)],
          ['secret ids', data.bind_secret_id ? seconds(data.secret_id_ttl) || 'without end' : 'not needed'],
          ['uses of a secret id', data.secret_id_num_uses ? String(data.secret_id_num_uses) : ''],
          ['logins from', list(data.secret_id_bound_cidrs)],
        ]),
      ])
    }
  },
})

/** Options of `change-approle`, with the members of a role that they set. */
const roleMembers = {
  'token-ttl': 'token_ttl',
  'token-max-ttl': 'token_max_ttl',
  'token-uses': 'token_num_uses',
  'secret-id-ttl': 'secret_id_ttl',
  'secret-id-uses': 'secret_id_num_uses',
} as const

export const changeAppRole = adminVerb({
  name: 'change-approle',
  words: 'NAME',
  summary: 'Change the policies and the limits of an AppRole',
  about: `The RoleID, the SecretIDs and the tokens stay valid. Limits without an option stay; 0, or an empty text, removes
one. --policy replaces all policies.`,
  examples: [
    'warder admin change-approle till --policy sales --policy stock',
    'warder admin change-approle till --secret-id-ttl 600 --login-from 10.0.0.0/8',
  ],
  options: {
    policy: {
      type: 'list',
      value: 'P',
      help: 'a policy of its tokens; repeatable; replaces the former policies',
    },
    'token-ttl': { type: 'number', value: 'S', help: 'seconds until its tokens expire' },
    'token-max-ttl': { type: 'number', value: 'S', help: 'maximum lifetime of a token with its renewals' },
    'token-uses': { type: 'number', value: 'N', help: 'maximum number of requests with a token' },
    'token-from': { type: 'text', value: 'CIDRS', help: 'address blocks from which its tokens may be used' },
    'secret-id-ttl': { type: 'number', value: 'S', help: 'maximum seconds until a new SecretID expires' },
    'secret-id-uses': { type: 'number', value: 'N', help: 'maximum number of uses of a new SecretID' },
    'login-from': { type: 'text', value: 'CIDRS', help: 'address blocks from which machines may log in' },
  },
  parse(values, names) {
    const name = requireOneName(names, 'role: warder admin change-approle NAME')
    const policies = values.policy.filter((policy) => policy !== '')
    const change = {
      ...(values.policy.length > 0 && { token_policies: policies }),
      ...Object.fromEntries(
        Object.entries(roleMembers).flatMap(([option, member]) => {
          const value = values[option as keyof typeof roleMembers]
          return value === undefined ? [] : [[member, value]]
        }),
      ),
      ...(values['token-from'] !== undefined && { token_bound_cidrs: readList(values['token-from']) }),
      ...(values['login-from'] !== undefined && { secret_id_bound_cidrs: readList(values['login-from']) }),
    }
    if (Object.keys(change).length === 0)
      throw new UsageError('give what changes: see the options of warder admin change-approle --help')
    return async ({ api, show, confirm }) => {
      await fetchRole(api, name)
      const what = Object.entries(change).map(
        ([member, value]) => `${member} ${Array.isArray(value) ? value.join(', ') || 'none' : value}`,
      )
      await confirm(`Change AppRole ${printable(name)}: ${printable(what.join('; '))}?`)
      await api.ask('POST', getRolePath(name), change)
      const { realm, data } = await fetchRole(api, name)
      show({ name, realm, ...data }, [`changed AppRole ${printable(name)}: ${printable(what.join('; '))}`])
    }
  },
})

const readList = (text: string): readonly string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')

export const deleteAppRole = adminVerb({
  name: 'delete-approle',
  words: 'NAME',
  summary: 'Delete an AppRole; its SecretIDs and tokens become invalid',
  examples: ['warder admin delete-approle till', 'warder admin delete-approle till --transfer-to app:till2'],
  options: {
    'transfer-to': {
      type: 'text',
      value: 'USER',
      help: 'first transfers its keys and grants to this user of the kms (bob, app:NAME);\nelse they have no owner',
    },
  },
  parse({ 'transfer-to': newOwner }, names) {
    const name = requireOneName(names, 'role: warder admin delete-approle NAME')
    return async ({ api, kms, show, confirm }) => {
      const { realm } = await fetchRole(api, name)
      // The authentication service prefixes entities with their realm, except those of the realm _.
      const ownership = await readMachineOwnership(
        kms,
        realm === '_' ? name : `${realm}/approle:${name}`,
        newOwner,
      )
      await confirm(`${ownership.line}. Delete AppRole ${printable(name)}, its SecretIDs and its tokens?`)
      const moved = await ownership.transfer()
      await api.ask('DELETE', getRolePath(name))
      show({ deleted: { approle: name }, ...ownership.document }, [
        `deleted AppRole ${printable(name)}`,
        moved ?? ownership.line,
      ])
    }
  },
})
