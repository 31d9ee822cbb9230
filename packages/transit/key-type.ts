import { failure } from '@warder/base'
import type { KeyRequest } from '@warder/crypto'
import type { ManagedObject } from '@warder/keys'

interface KeyTypeRow {
  readonly name: string
  /** Request for a new key. */
  readonly request: KeyRequest
  readonly encrypts?: true
  readonly signs?: true
  is(object: ManagedObject): boolean
}

const aes = (bits: 128 | 256): KeyTypeRow => ({
  name: `aes${bits}-gcm96`,
  request: { kty: 'oct', alg: `A${bits}GCM` },
  encrypts: true,
  is: (object) => object.algorithm === 'AES' && object.bits === bits,
})
const ecdsa = (bits: number, crv: string): KeyTypeRow => ({
  name: `ecdsa-p${bits}`,
  request: { kty: 'EC', crv },
  signs: true,
  is: (object) => object.algorithm === 'EC' && object.curve === crv,
})
const rsa = (bits: number): KeyTypeRow => ({
  name: `rsa-${bits}`,
  request: { kty: 'RSA', bits },
  encrypts: true,
  signs: true,
  is: (object) => object.algorithm === 'RSA' && object.bits === bits,
})

/** RSA-OAEP with SHA-256, as Vault encrypts with RSA keys. */
export const rsaAlg = 'RSA-OAEP-256'

/** The types of key that are served, in Vault's names. */
const types: readonly KeyTypeRow[] = [
  aes(128),
  aes(256),
  ecdsa(256, 'P-256'),
  ecdsa(384, 'P-384'),
  ecdsa(521, 'P-521'),
  {
    name: 'ed25519',
    request: { kty: 'OKP', crv: 'Ed25519' },
    signs: true,
    is: (object) => object.algorithm === 'Ed25519',
  },
  rsa(2048),
  rsa(3072),
  rsa(4096),
  { name: 'hmac', request: { kty: 'oct', alg: 'HS256' }, is: (object) => object.algorithm === 'HMAC' },
]

export const typeNames: readonly string[] = types.map(({ name }) => name)

/** JOSE algorithm of an HMAC key by its bytes: the one hash that it is for. */
const hmacs: Readonly<Record<number, string>> = { 32: 'HS256', 48: 'HS384', 64: 'HS512' }

/** @throws failure('bad_request') */
export function toKeyRequest(name: string, keySize: number | undefined): KeyRequest {
  const found = types.find((type) => type.name === name)
  if (found === undefined)
    throw failure(
      'bad_request',
      `unknown key type ${name.slice(0, 64)}: supported are ${typeNames.join(', ')}, managed_key`,
    )
  if (keySize === undefined || keySize === 0) return found.request
  const alg = name === 'hmac' ? hmacs[keySize] : undefined
  if (alg === undefined)
    throw failure('bad_request', 'key_size must be 32, 48 or 64, and is only for keys of type hmac')
  return { ...found.request, alg }
}

/** @throws failure('bad_request') for a key that no operation of this interface can use, with the member that names it */
export function requireKeyType(object: ManagedObject, member: string): void {
  const { boundAlg } = object
  const type = findKeyType(object)
  if (type === undefined)
    throw failure(
      'bad_request',
      `${member}: the key has none of the types of this interface, ${typeNames.join(', ')}`,
    )
  const isUsed =
    boundAlg === undefined ||
    boundAlg === type.request.alg ||
    Object.values(hmacs).includes(boundAlg) ||
    boundAlg === rsaAlg
  if (!isUsed)
    throw failure(
      'bad_request',
      `${member}: the key is bound to ${boundAlg}, which this interface does not use: create one without alg`,
    )
}

/** Vault's type of a key; undefined for one that it has no type for. */
export function findKeyType(object: ManagedObject): KeyTypeRow | undefined {
  return types.find((type) => type.is(object))
}
