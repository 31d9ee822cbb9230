import { keyTypes, type MaterialAlgorithm, toKeyOps } from '@warder/crypto'
import {
  type AbeForm,
  allows,
  type Extractability,
  encrypts,
  type ManagedObject,
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

/** `ext` of a JWK (Web Cryptography API §15, in the JOSE registry of IANA): whether the key may be exported. */
export const Ext = Type.Optional(
  Type.Boolean({
    description:
      'false: no user can export the secret or private key, wrapped or not, not even its owner (KMIP: not Extractable, Sensitive), unless a user with the right to modify its attributes changes that over KMIP. Default true: a KMIP client with the right can export it.',
  }),
)

/**
 * A key with `ext: false` is never exported. The last two members state that this was so from the beginning (KMIP 2.1
 * §4.3, §4.33): they become false for good if an authorized user makes the key extractable later.
 */
export function toExtractability(ext: boolean | undefined): Extractability | undefined {
  if (ext !== false) return undefined
  return { extractable: false, sensitive: true, neverExtractable: true, alwaysSensitive: true }
}

/** false: no caller gets its bytes in clear. undefined for objects without secret material. */
export function toExt({ type, extractable, sensitive }: ManagedObject): boolean | undefined {
  if (type !== 'SymmetricKey' && type !== 'PrivateKey') return undefined
  return extractable && !sensitive
}
