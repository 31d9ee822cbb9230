import type { Input, KmsClient, Reply } from '@warder/client'
import {
  formatTable,
  quoteOption,
  readDuration,
  requireNoNames,
  UsageError,
  type ValuesOf,
} from '@warder/command-line'
import { type KmsVerb, kmsVerb } from '@warder/command-line/kms'
import { formatDate, formatState } from './life-format.ts'

/** Options that filter a list of keys. */
const filterOptions = {
  tag: { type: 'text', value: 'T', help: 'keys with this tag' },
  algorithm: {
    type: 'text',
    value: 'A',
    help: 'AES, HMAC, RSA, EC …, or the bound algorithm: A256GCM, ES256 …',
  },
  type: {
    type: 'text',
    value: 'TYPE',
    help: `SymmetricKey, PrivateKey, PublicKey, SecretData, Certificate …; "any" for all
(default: all but certificates)`,
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

const types: ReadonlyMap<string, Query['type']> = new Map(
  (
    [
      ...(['SymmetricKey', 'PrivateKey', 'PublicKey', 'Certificate', 'SecretData', 'OpaqueObject'] as const),
      ...(['SplitKey', 'CertificateRequest', 'PGPKey', 'Template'] as const),
    ] satisfies readonly Query['type'][]
  ).map((name) => [name.toLowerCase(), name]),
)

/** Certificates are listed only on request, since `warder pki list` lists them. @throws UsageError */
function buildTypeQuery(name: string | undefined): Query {
  if (name === undefined) return { excluded_type: 'Certificate' }
  if (name.toLowerCase() === 'any') return {}
  const type = types.get(name.toLowerCase())
  if (type === undefined)
    throw new UsageError(`--type must be any, or one of ${[...types.values()].join(', ')}`)
  return { type }
}

/**
 * Builds the query. @param now Unix milliseconds
 * @throws UsageError
 */
function buildQuery(values: ValuesOf<typeof filterOptions>, now: number): Query {
  const {
    tag,
    algorithm,
    type,
    state,
    expiring,
    unused,
    'not-rotated': notRotated,
    older,
    owner,
    all,
  } = values
  const formatMoment = (ms: number): string => new Date(ms).toISOString()
  const formatPast = (name: string, text: string): string => formatMoment(now - readDuration(name, text))
  if (all && owner !== undefined) throw new UsageError('--all and --owner exclude each other')
  const stateQuery = state === undefined ? {} : states[state.toLowerCase()]
  if (stateQuery === undefined)
    throw new UsageError(`--state must be one of ${Object.keys(states).join(', ')}`)
  return {
    ...buildTypeQuery(type),
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

type Obtained = Reply<'access.obtained'>[number]
type Listed = Reply<'crypto.keys.list'>['keys'][number]

/** Maximum number of rows of one request. */
const pageSize = 1000
const defaultLimit = 100
const maxRows = 1_000_000

interface ListOptions {
  readonly limit: number
  readonly after: string | undefined
  readonly command: string
}

/** Fetches at most `limit` keys of others, and the id after which to continue if there are more. */
async function fetchObtained(
  kms: KmsClient,
  { limit, after }: ListOptions,
): Promise<{ readonly rows: readonly Obtained[]; readonly next: string | null }> {
  const rows: Obtained[] = []
  let last = after
  // One more row than the limit shows whether there are more.
  while (rows.length <= limit) {
    const pageLimit = Math.min(pageSize, limit + 1 - rows.length)
    const query = { limit: String(pageLimit), ...(last !== undefined && { after: last }) }
    const page = await kms.page('access.obtained', { query })
    rows.push(...page.rows)
    // An incomplete page is the last one, unless the service names the next.
    if (page.rows.length < pageLimit && page.next === undefined) return { rows, next: null }
    last = page.next ?? page.rows.at(-1)?.object_id
  }
  const shown = rows.slice(0, limit)
  return { rows: shown, next: shown.at(-1)?.object_id ?? null }
}

/** Fetches at most `limit` keys; an incomplete page is not necessarily the last one. */
async function fetchKeys(
  kms: KmsClient,
  filter: Query,
  { limit, after }: ListOptions,
): Promise<{ readonly keys: readonly Listed[]; readonly next: string | null }> {
  const keys: Listed[] = []
  let next = after
  do {
    const query = { ...filter, limit: String(Math.min(pageSize, limit - keys.length)) }
    const page = await kms.call('crypto.keys.list', {
      query: { ...query, ...(next !== undefined && { after: next }) },
    })
    keys.push(...page.keys)
    if (page.next === null) return { keys, next: null }
    next = page.next
  } while (keys.length < limit)
  return { keys, next }
}

function listKeys(filter: Query, options: ListOptions): ReturnType<KmsVerb['parse']> {
  return async ({ kms, show }) => {
    const { keys, next } = await fetchKeys(kms, filter, options)
    const ofOthers = filter.owner !== undefined
    const cells = keys.map((key) => [
      key.kid,
      formatName(key),
      formatKind(key),
      formatState(key),
      formatDate(key.rotated_at ?? key.created_at),
      key.deactivation_at === undefined ? '' : formatDate(key.deactivation_at),
      key.last_used ?? 'never',
      ...(ofOthers ? [key.owner] : []),
      key.tags.join(' '),
    ])
    const headings = ['KEY', 'NAME', 'KIND', 'STATE', 'MADE', 'ENDS', 'LAST USED']
    const isFiltered = Object.keys(filter).some((name) => name !== 'excluded_type')
    const empty = isFiltered ? 'no keys match' : 'you own no keys'
    show({ keys: keys.map(toJson), next }, [
      ...formatTable(
        [...headings, ...(ofOthers ? ['OWNER'] : []), 'TAGS'],
        cells,
        formatEmpty(empty, options),
      ),
      ...formatMore(options, next),
    ])
    return 0
  }
}

function formatName({ name, aliases }: Listed): string {
  const [alias] = aliases
  return alias === undefined ? (name ?? '') : `alias/${alias}`
}

/** Formats the algorithm, the size if it is not part of it, and the half of a pair. */
function formatKind({ alg, algorithm, kty, crv, bits, object_type: type }: Listed): string {
  const what = alg ?? crv ?? `${algorithm ?? type}${bits === undefined ? '' : ` ${bits}`}`
  const half = type === 'PrivateKey' ? ' private' : type === 'PublicKey' ? ' public' : ''
  return `${kty === 'ABE' ? 'ABE' : what}${half}`
}

/** Adds the member names of earlier versions. */
function toJson(key: Listed) {
  const { kid, object_type, algorithm, bits } = key
  const attributes = {
    object_type,
    cryptographic_algorithm: algorithm ?? null,
    cryptographic_length: bits ?? null,
  }
  return { ...key, object_id: kid, attributes }
}

function listObtained(options: ListOptions): ReturnType<KmsVerb['parse']> {
  return async ({ kms, show }) => {
    const { rows, next } = await fetchObtained(kms, options)
    const cells = rows.map(({ object_id, owner_id, state, operations }) => [
      object_id,
      owner_id,
      state,
      operations.join(' '),
    ])
    show({ keys: rows, next }, [
      ...formatTable(
        ['KEY', 'OWNER', 'STATE', 'YOU MAY'],
        cells,
        formatEmpty('you have no rights on keys of other users', options),
      ),
      ...formatMore(options, next),
    ])
    return 0
  }
}

/** After the last key of a list, an empty page does not mean that the list is empty. */
function formatEmpty(sentence: string, { after }: ListOptions): string {
  return after === undefined ? sentence : 'there are no more keys'
}

function formatMore({ limit, command }: ListOptions, next: string | null): readonly string[] {
  return next === null ? [] : ['', `there are more: ${command} --limit ${limit} --after ${next}`]
}

export const listKeysVerb = kmsVerb({
  name: 'list',
  words: '',
  summary: 'List the keys that you own; --obtained lists keys of others on which you have rights',
  about: `MADE is the date of the current version. LAST USED is updated after a few seconds. Filters are combined with AND: --tag
payments --unused 90d. Certificates are listed by warder pki list, or with --type Certificate. With --json:
{"keys": […], "next": … or null}.`,
  examples: [
    'warder keys list',
    'warder keys list --tag payments --expiring 30d',
    'warder keys list --unused 90d --all',
    'warder keys list --obtained --limit 20',
    "warder keys list --json | jq -r '.keys[].kid'",
  ],
  options: {
    ...filterOptions,
    obtained: { type: 'flag', help: 'keys of others on which you have rights' },
    limit: {
      type: 'number',
      value: 'N',
      help: `maximum number of keys (default ${defaultLimit}, up to ${maxRows})`,
    },
    after: {
      type: 'text',
      value: 'PLACE',
      help: 'continues there; the last line of an incomplete list contains the value',
    },
  },
  parse({ obtained, limit = defaultLimit, after, ...filter }, names) {
    requireNoNames(names)
    if (limit < 1 || limit > maxRows) throw new UsageError(`--limit must be 1 to ${maxRows}`)
    const query = buildQuery(filter, Date.now())
    const isFiltered =
      filter.type !== undefined || Object.keys(query).some((name) => name !== 'excluded_type')
    if (obtained && isFiltered) throw new UsageError('--obtained cannot be combined with other filters')
    const given = Object.keys(filterOptions).flatMap((name) =>
      quoteOption(name, filter[name as keyof typeof filter]),
    )
    const options = { limit, after, command: `warder keys list${obtained ? ' --obtained' : given.join('')}` }
    return obtained ? listObtained(options) : listKeys(query, options)
  },
})
