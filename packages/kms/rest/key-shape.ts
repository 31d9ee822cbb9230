import {
  type AbeForm,
  allows,
  encrypts,
  keyTypes,
  type ManagedObject,
  type MaterialAlgorithm,
  toKeyOps,
  type Usage,
  unrestricted,
} from '@warder/keys'
import Type from 'typebox'

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

/** JWK `key_ops` of secret keys, by the required bits of the usage mask. */
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

/**
 * `key_ops` of a stored key: its operations over REST. Keys of KMIP need not be bound, or of an algorithm of
 * REST.
 */
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
      description: 'ABE: SHA-256 of the public key, base64url, for detecting a changed one.',
    }),
  ),
  ext: Type.Optional(
    Type.Boolean({ description: 'As requested; absent if the request did not contain it.' }),
  ),
})
