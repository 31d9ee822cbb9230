import Type from 'typebox'
import {
  algorithms,
  type KeyMaterial,
  keyTypes,
  type MaterialAlgorithm,
  toKeyOps,
} from '../../crypto/index.ts'
import {
  type AbeForm,
  allows,
  type ManagedObject,
  type Usage,
  unrestricted,
  usageMask,
} from '../../keys/index.ts'

/** JOSE key type of stored material. */
export function toKty(algorithm: string | undefined): string {
  switch (algorithm) {
    case 'AES':
    case 'HMAC':
      return 'oct'
    case 'RSA':
    case 'EC':
      return algorithm
    case 'CoverCrypt':
      return 'ABE'
    default:
      return Object.hasOwn(keyTypes, algorithm ?? '')
        ? keyTypes[algorithm as MaterialAlgorithm].kty
        : 'unknown'
  }
}

/** `crv` of a JWK, for key types that have one. */
export function toCrv(key: { readonly algorithm?: string | undefined; readonly curve?: string | undefined }) {
  return key.algorithm === 'Ed25519' || key.algorithm === 'X25519' ? key.algorithm : key.curve
}

const signing: readonly Usage[] = ['sign', 'verify']
const encrypting: readonly Usage[] = ['encrypt', 'decrypt', 'wrapKey', 'unwrapKey']

/** Allowed uses of a key of this algorithm, bound or not; the halves of a pair share the list. */
function listUses(algorithm: string, boundAlg: string | undefined): readonly Usage[] {
  if (algorithm === 'AES') return encrypting
  if (algorithm === 'HMAC') return ['macGenerate', 'macVerify']
  if (algorithm === 'RSA' && boundAlg === undefined) return [...signing, ...encrypting]
  return encrypts(algorithm, boundAlg) ? encrypting : signing
}

/** Is this a pair that others encrypt for? An EC key that is not bound signs. */
export function encrypts(algorithm: string | undefined, boundAlg: string | undefined): boolean {
  if (boundAlg !== undefined) return algorithms[boundAlg]?.use.endsWith('key management') === true
  return algorithm === 'X25519' || algorithm?.startsWith('ML-KEM-') === true
}

const ofPublicHalf: ReadonlySet<Usage> = new Set<Usage>(['verify', 'encrypt', 'wrapKey'])

/**
 * Usage mask of new material. A private key keeps the uses of its public half too, since that half can always be
 * derived from it (an imported key has no other).
 */
export function toUsageMask(material: KeyMaterial, boundAlg: string | undefined): number {
  const uses = listUses(material.algorithm, boundAlg)
  return usageMask(...(material.kind === 'public' ? uses.filter((use) => ofPublicHalf.has(use)) : uses))
}

/** JWK `key_ops` of secret keys, by what the usage mask has to allow. */
const secretOps: Readonly<Record<string, readonly (readonly [op: string, use: Usage])[]>> = {
  AES: [
    ['encrypt', 'encrypt'],
    ['decrypt', 'decrypt'],
  ],
  HMAC: [
    ['sign', 'macGenerate'],
    ['verify', 'macVerify'],
  ],
}
const pairs: ReadonlySet<string> = new Set(
  Object.entries(keyTypes).flatMap(([name, { node }]) => (node === undefined ? [] : [name])),
)

/** A master key makes user keys, which is no operation of a JWK. */
const abeOps: Readonly<Record<AbeForm['kind'], readonly string[]>> = {
  master: [],
  public: ['encrypt'],
  user: ['decrypt'],
}

/** `key_ops` of a stored key: what it does over REST. Keys of KMIP need not be bound, or of an algorithm of REST. */
export function formatOps({
  type,
  boundAlg,
  algorithm = '',
  usageMask: mask,
  form,
}: ManagedObject): readonly string[] {
  if (form.abe !== undefined) return abeOps[form.abe.kind]
  if (type === 'PrivateKey' || type === 'SymmetricKey') {
    if (boundAlg !== undefined || pairs.has(algorithm)) return opsWithin(algorithm, boundAlg, mask)
  } else if (boundAlg !== undefined || pairs.has(algorithm)) return listOps(algorithm, boundAlg)
  return (secretOps[algorithm] ?? []).filter(([, use]) => allows(mask, use)).map(([op]) => op)
}

/** Uses of which one has to be in the usage mask for an operation of a JWK. */
const usesByOp: Readonly<Record<string, readonly Usage[]>> = {
  sign: ['sign', 'macGenerate'],
  verify: ['verify', 'macVerify'],
  encrypt: ['encrypt', 'wrapKey'],
  decrypt: ['decrypt', 'unwrapKey'],
}

/** `key_ops` of a private or secret key: of those of its type, the ones that its usage mask permits. */
export function opsWithin(algorithm: string, boundAlg: string | undefined, mask: number): readonly string[] {
  if ((mask & unrestricted) !== 0) return listOps(algorithm, boundAlg)
  return listOps(algorithm, boundAlg).filter((op) => usesByOp[op]?.some((use) => allows(mask, use)) === true)
}

/** `key_ops` of a new or stored key of one of the types of JOSE. */
function listOps(algorithm: string, boundAlg: string | undefined): readonly string[] {
  return boundAlg === undefined && encrypts(algorithm, undefined)
    ? ['encrypt', 'decrypt']
    : toKeyOps(boundAlg)
}

export const KeyReply = Type.Object({
  kid: Type.String(),
  kid_public: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  kty: Type.String(),
  alg: Type.Optional(Type.String()),
  crv: Type.Optional(Type.String()),
  key_ops: Type.Array(Type.String()),
  digest: Type.Optional(
    Type.String({
      description: 'ABE: SHA-256 of the public key, base64url, by which a changed one is noticed.',
    }),
  ),
  ext: Type.Optional(Type.Boolean({ description: 'As asked for; absent when the request did not say.' })),
})
