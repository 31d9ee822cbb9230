import type { HashName } from './hashes.ts'

export interface HmacRow {
  /** CryptographicAlgorithm (KMIP 2.1 §11.12). */
  readonly kmip: string
  readonly hash: HashName
  /** RFC 7518 §3.2, and the bits that a key of it has at least. */
  readonly jose?: { readonly name: string; readonly bits: 256 | 384 | 512 }
}

/** HMACs with the names that JOSE and KMIP have for them. */
export const hmacs: readonly HmacRow[] = [
  { kmip: 'HMAC_MD5', hash: 'MD5' },
  { kmip: 'HMAC_SHA1', hash: 'SHA_1' },
  { kmip: 'HMAC_SHA224', hash: 'SHA_224' },
  { kmip: 'HMAC_SHA256', hash: 'SHA_256', jose: { name: 'HS256', bits: 256 } },
  { kmip: 'HMAC_SHA384', hash: 'SHA_384', jose: { name: 'HS384', bits: 384 } },
  { kmip: 'HMAC_SHA512', hash: 'SHA_512', jose: { name: 'HS512', bits: 512 } },
  { kmip: 'HMAC_SHA3_224', hash: 'SHA3_224' },
  { kmip: 'HMAC_SHA3_256', hash: 'SHA3_256' },
  { kmip: 'HMAC_SHA3_384', hash: 'SHA3_384' },
  { kmip: 'HMAC_SHA3_512', hash: 'SHA3_512' },
]

const hashes: ReadonlyMap<string, HashName> = new Map(hmacs.map(({ kmip, hash }) => [kmip, hash]))

const joseNames: ReadonlyMap<HashName, string> = new Map(
  hmacs.flatMap(({ hash, jose }) => (jose === undefined ? [] : [[hash, jose.name] as const])),
)

/** JOSE name of the HMAC with this hash; undefined when it has none. */
export function joseHmac(hash: HashName): string | undefined {
  return joseNames.get(hash)
}

/** The hash of the HMAC that KMIP calls so; undefined when it is none. */
export function hmacHash(kmip: string): HashName | undefined {
  return hashes.get(kmip)
}
