import { StartupError } from '@warder/base'
import { formatTable, printable, requireNoNames, requireOneName, type ValuesOf } from '@warder/command-line'
import type { AdminApi } from './api.ts'
import { readMachineOwnership } from './ownership.ts'
import { adminVerb, realmOption } from './verb.ts'

const getRolePath = (name: string): string => `/auth/approle/role/${encodeURIComponent(name)}`

/** The members of a role that are used here. */
interface AppRole {
  readonly realm: string
}

interface SecretId {
  readonly secret_id: string
  readonly secret_id_accessor: string
}

/** Limits of a SecretID; undefined = those of the role. */
interface SecretIdLimits {
  readonly ttl: number | undefined
  readonly num_uses: number | undefined
}

const limitOptions = {
  'secret-id-ttl': { type: 'number', value: 'S', help: 'seconds until the SecretID expires' },
  'secret-id-uses': { type: 'number', value: 'N', help: 'maximum number of uses of the SecretID' },
} as const

function readLimits(values: ValuesOf<typeof limitOptions>): SecretIdLimits {
  return { ttl: values['secret-id-ttl'], num_uses: values['secret-id-uses'] }
}

async function createSecretId(api: AdminApi, role: string, limits: SecretIdLimits): Promise<SecretId> {
  const { data } = (await api.ask('POST', `${getRolePath(role)}/secret-id`, {
    ttl: limits.ttl ?? 0,
    num_uses: limits.num_uses ?? 0,
  })) as { readonly data: SecretId }
  return data
}

const formatSecretId = (secret: SecretId): readonly string[] => [
  `secret id: ${secret.secret_id}    (shown once)`,
  `accessor:  ${secret.secret_id_accessor}    (needed to destroy it)`,
]

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

export const newSecretId = adminVerb({
  name: 'new-secret-id',
  words: 'NAME',
  summary: 'Issue another SecretID for an AppRole',
  examples: ['warder admin new-secret-id till --secret-id-uses 1'],
  options: limitOptions,
  parse(values, names) {
    const limits = readLimits(values)
    const name = requireOneName(names, 'role: warder admin new-secret-id NAME')
    return async ({ api, show }) => {
      const secret = await createSecretId(api, name, limits)
      show({ name, ...secret }, formatSecretId(secret))
    }
  },
})

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
      const role = (await api.find(getRolePath(name))) as AppRole | undefined
      if (role === undefined) throw new StartupError(`there is no AppRole ${printable(name)}`)
      const { realm } = role
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
