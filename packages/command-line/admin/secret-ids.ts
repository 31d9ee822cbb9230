import { StartupError } from '@warder/base'
import { requireNoNames, requireOneName, UsageError, type ValuesOf } from '../commands/options.ts'
import { Refused } from '../login/exchange.ts'
import { formatTable, formatTime, printable } from '../terminal/table.ts'
import type { AdminApi } from './api.ts'
import { adminVerb } from './verb.ts'

export const getRolePath = (name: string): string => `/auth/approle/role/${encodeURIComponent(name)}`

/** A role, in the form of the API; 0 and empty lists mean no limit. */
interface AppRole {
  readonly realm: string
  readonly data: {
    readonly token_ttl: number
    readonly secret_id_ttl: number
    readonly token_policies: readonly string[]
    readonly bind_secret_id: boolean
    readonly secret_id_num_uses?: number
    readonly secret_id_bound_cidrs?: readonly string[] | null
    readonly token_bound_cidrs?: readonly string[] | null
    readonly token_num_uses?: number
    readonly token_max_ttl?: number
  }
}

/** @throws StartupError when there is no such role */
export async function fetchRole(api: AdminApi, name: string): Promise<AppRole> {
  const role = (await api.find(getRolePath(name))) as AppRole | undefined
  if (role === undefined)
    throw new StartupError(`there is no AppRole ${printable(name)}: see warder admin approles`)
  return role
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

export const limitOptions = {
  'secret-id-ttl': { type: 'number', value: 'S', help: 'seconds until the SecretID expires' },
  'secret-id-uses': { type: 'number', value: 'N', help: 'maximum number of uses of the SecretID' },
} as const

export function readLimits(values: ValuesOf<typeof limitOptions>): SecretIdLimits {
  return { ttl: values['secret-id-ttl'], num_uses: values['secret-id-uses'] }
}

export async function createSecretId(api: AdminApi, role: string, limits: SecretIdLimits): Promise<SecretId> {
  const { data } = (await api.ask('POST', `${getRolePath(role)}/secret-id`, {
    ttl: limits.ttl ?? 0,
    num_uses: limits.num_uses ?? 0,
  })) as { readonly data: SecretId }
  return data
}

export const formatSecretId = (secret: SecretId): readonly string[] => [
  `secret id: ${secret.secret_id}    (shown once)`,
  `accessor:  ${secret.secret_id_accessor}    (needed to destroy it)`,
]

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

/** A SecretID without its value, in the form of the API. */
interface ListedSecretId {
  readonly secret_id_accessor: string
  /** 0: without limit. */
  readonly secret_id_num_uses: number
  /** Unix seconds; 0: never. */
  readonly expiration_time: number
}

export const listSecretIds = adminVerb({
  name: 'secret-ids',
  words: 'NAME',
  summary: 'List the usable SecretIDs of an AppRole: accessors, remaining uses and expiry dates',
  examples: ['warder admin secret-ids till'],
  options: {},
  parse(_, names) {
    const name = requireOneName(names, 'role: warder admin secret-ids NAME')
    return async ({ api, show }) => {
      await fetchRole(api, name)
      const list = (await api.ask('GET', `${getRolePath(name)}/secret-id?list=true`)) as {
        readonly data: { readonly keys: readonly string[] }
      }
      const found: ListedSecretId[] = []
      for (const accessor of list.data.keys) {
        const body = { secret_id_accessor: accessor }
        try {
          const answer = await api.ask('POST', `${getRolePath(name)}/secret-id-accessor/lookup`, body)
          found.push((answer as { readonly data: ListedSecretId }).data)
        } catch (error) {
          // The SecretID was used up, expired or was destroyed meanwhile.
          if (!(error instanceof Refused) || error.status !== 404) throw error
        }
      }
      const rows = found.map((each) => [
        each.secret_id_accessor,
        each.secret_id_num_uses === 0 ? 'unlimited' : String(each.secret_id_num_uses),
        each.expiration_time === 0 ? 'never' : formatTime(each.expiration_time),
      ])
      const nothing = `AppRole ${printable(name)} has no usable SecretID`
      show(found, formatTable(['ACCESSOR', 'USES LEFT', 'ENDS'], rows, nothing))
    }
  },
})

export const destroySecretId = adminVerb({
  name: 'destroy-secret-id',
  words: 'NAME ACCESSOR',
  summary: 'Destroy a SecretID of an AppRole; tokens that were issued for it stay valid',
  examples: ['warder admin destroy-secret-id till 5f0a…'],
  options: {},
  parse(_, [name, accessor, ...rest]) {
    if (name === undefined || accessor === undefined)
      throw new UsageError('name the role and the accessor: warder admin destroy-secret-id NAME ACCESSOR')
    requireNoNames(rest)
    return async ({ api, show, confirm }) => {
      await fetchRole(api, name)
      const body = { secret_id_accessor: accessor }
      // The service also accepts an unknown accessor, as Vault does: a mistyped one would seem destroyed.
      await api.ask('POST', `${getRolePath(name)}/secret-id-accessor/lookup`, body)
      await confirm(`Destroy the SecretID ${printable(accessor)} of AppRole ${printable(name)}?`)
      await api.ask('POST', `${getRolePath(name)}/secret-id-accessor/destroy`, body)
      show({ destroyed: { approle: name, ...body } }, [
        `destroyed the SecretID ${printable(accessor)} of AppRole ${printable(name)}`,
      ])
    }
  },
})
