import type { Input } from '@warder/client'
import { readDuration, UsageError, type ValuesOf } from '@warder/command-line'

/** Options that filter a list of keys. */
export const filterOptions = {
  tag: { type: 'text', value: 'T', help: 'keys with this tag' },
  algorithm: {
    type: 'text',
    value: 'A',
    help: 'AES, HMAC, RSA, EC …, or the bound algorithm: A256GCM, ES256 …',
  },
  state: {
    type: 'text',
    value: 'S',
    help: 'PreActive, Active, Deactivated, Compromised, Destroyed;\ndisabled, or waiting (pending destruction)',
  },
  expiring: { type: 'text', value: 'TIME', help: 'keys that end within this time: 30d, 2w, 12h' },
  unused: { type: 'text', value: 'TIME', help: 'keys that were not used for this time: 90d' },
  'not-rotated': { type: 'text', value: 'TIME', help: 'keys whose newest version is older: 365d' },
  older: { type: 'text', value: 'TIME', help: 'keys that were created before this time: 365d' },
  owner: { type: 'text', value: 'USER', help: 'keys of this user, for crypto officers' },
  all: { type: 'flag', help: 'keys of all users, for crypto officers' },
} as const

type Query = NonNullable<Input<'crypto.keys.list'>['query']>

const states: Readonly<Record<string, Query>> = {
  preactive: { state: 'PreActive' },
  active: { state: 'Active' },
  deactivated: { state: 'Deactivated' },
  compromised: { state: 'Compromised' },
  destroyed: { state: 'Destroyed' },
  destroyed_compromised: { state: 'Destroyed_Compromised' },
  disabled: { disabled: 'true' },
  waiting: { awaits_destruction: 'true' },
}

/** Algorithm names of KMIP; all others are names of JOSE. */
const kmipNames: ReadonlySet<string> = new Set([
  'AES',
  'HMAC',
  'RSA',
  'EC',
  'Ed25519',
  'ML-DSA-44',
  'CoverCrypt',
])

/**
 * Builds the query. @param now Unix milliseconds
 * @throws UsageError
 */
export function buildQuery(values: ValuesOf<typeof filterOptions>, now: number): Query {
  const { tag, algorithm, state, expiring, unused, 'not-rotated': notRotated, older, owner, all } = values
  const formatMoment = (ms: number): string => new Date(ms).toISOString()
  const formatPast = (name: string, text: string): string => formatMoment(now - readDuration(name, text))
  if (all && owner !== undefined) throw new UsageError('--all and --owner exclude each other')
  const stateQuery = state === undefined ? {} : states[state.toLowerCase()]
  if (stateQuery === undefined)
    throw new UsageError(`--state must be one of ${Object.keys(states).join(', ')}`)
  return {
    ...stateQuery,
    ...(tag !== undefined && { tag }),
    ...(algorithm !== undefined && (kmipNames.has(algorithm) ? { algorithm } : { alg: algorithm })),
    ...(expiring !== undefined && {
      expires_after: formatMoment(now),
      expires_before: formatMoment(now + readDuration('expiring', expiring)),
    }),
    ...(unused !== undefined && { unused_since: formatPast('unused', unused) }),
    ...(notRotated !== undefined && { rotated_before: formatPast('not-rotated', notRotated) }),
    ...(older !== undefined && { created_before: formatPast('older', older) }),
    ...(owner !== undefined && { owner }),
    ...(all && { owner: '*' }),
  }
}
