import type { Input } from '@warder/client/browser'
import { quoteShell } from '../../../parts/table-text.ts'

type Query = NonNullable<Input<'crypto.keys.list'>['query']>

/** Values of `--state` of `warder keys list`. */
export const stateFilters = {
  Active: { state: 'Active' },
  PreActive: { state: 'PreActive' },
  Deactivated: { state: 'Deactivated' },
  Compromised: { state: 'Compromised' },
  Destroyed: { state: 'Destroyed' },
  disabled: { disabled: 'true' },
  waiting: { awaits_destruction: 'true' },
} as const satisfies Readonly<Record<string, Query>>

export const types = [
  ...(['SymmetricKey', 'PrivateKey', 'PublicKey', 'SecretData', 'OpaqueObject', 'SplitKey'] as const),
  ...(['CertificateRequest', 'PGPKey', 'Template'] as const),
]

/** Names of algorithms in KMIP; other names are those of JOSE, to which a key is bound. */
const kmipAlgorithms = new Set([
  ...['AES', 'HMAC', 'RSA', 'EC', 'Ed25519', 'X25519', 'CoverCrypt'],
  ...['ML-DSA-44', 'ML-DSA-65', 'ML-DSA-87', 'ML-KEM-512', 'ML-KEM-768', 'ML-KEM-1024'],
])

/** Filters that count days, as options of the command. */
export const dayFilters = ['expiring', 'unused', 'not-rotated', 'older'] as const
const textFilters = ['tag', 'algorithm', 'type', 'state', 'owner'] as const

/** Filters of the inventory in the address of the page, by the names of the options of `warder keys list`. */
export type KeyFilter = Readonly<
  Partial<Record<(typeof dayFilters)[number] | (typeof textFilters)[number], string>>
>

/** Other parameters and values that the service would refuse are left out. */
export function readFilter(parameters: URLSearchParams): KeyFilter {
  const filter: Record<string, string> = {}
  for (const name of textFilters) {
    const value = parameters.get(name)?.trim() ?? ''
    const isKnown =
      name === 'state'
        ? Object.hasOwn(stateFilters, value)
        : name !== 'type' || types.some((type) => type === value)
    if (value !== '' && isKnown) filter[name] = value
  }
  for (const name of dayFilters) {
    const days = /^([1-9]\d{0,4})d?$/.exec(parameters.get(name)?.trim() ?? '')?.[1]
    if (days !== undefined) filter[name] = `${days}d`
  }
  return filter
}

const dayMs = 86_400_000

/** The filter as the service takes it. @param now Unix milliseconds; the result is stable within a day */
export function toQuery(filter: KeyFilter, now: number): Query {
  const today = Math.floor(now / dayMs) * dayMs
  const toDay = (days: number): string => new Date(today + days * dayMs).toISOString().slice(0, 10)
  const { tag, algorithm, type, state, owner } = filter
  const days = (name: (typeof dayFilters)[number]): number => Number.parseInt(filter[name] ?? '', 10)
  return {
    ...(type === undefined
      ? { excluded_type: 'Certificate' as const }
      : { type: type as Query['type'] & string }),
    ...(state !== undefined && stateFilters[state as keyof typeof stateFilters]),
    ...(tag !== undefined && { tag }),
    ...(algorithm !== undefined && (kmipAlgorithms.has(algorithm) ? { algorithm } : { alg: algorithm })),
    ...(owner !== undefined && { owner }),
    // The end of the last day of the interval.
    ...(filter.expiring !== undefined && {
      expires_after: toDay(0),
      expires_before: toDay(days('expiring') + 1),
    }),
    ...(filter.unused !== undefined && { unused_since: toDay(-days('unused')) }),
    ...(filter['not-rotated'] !== undefined && { rotated_before: toDay(-days('not-rotated')) }),
    ...(filter.older !== undefined && { created_before: toDay(-days('older')) }),
  }
}

/** `warder keys list` with the same filter. */
export function toCommand(filter: KeyFilter): string {
  const options = Object.entries(filter).flatMap(([name, value = '']) =>
    name === 'owner' && value === '*' ? ['--all'] : [`--${name}`, quoteShell(value)],
  )
  return ['warder keys list', ...options].join(' ')
}

/** Address of the page of a key. */
export const toKeyPage = (kid: string): string => `/ui/keys/${encodeURIComponent(kid)}`
