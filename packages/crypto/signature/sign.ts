import { constants, type KeyObject, publicEncrypt, sign, timingSafeEqual, verify } from 'node:crypto'
import { CryptoFailure, notSupported, refuse } from '../algorithms/failure.ts'
import { digest } from '../algorithms/hashes.ts'
import type { SignaturePlan } from '../algorithms/signatures.ts'
import { getPublicHalf, type KeyShape, modulusBits } from '../material/material.ts'
import { rsaPrivate } from '../rsa/rsa-oaep.ts'
import { signEcdsaDigest, verifyEcdsaDigest } from './ecdsa-digest.ts'
import { pkcs1Encode, pssEncode, pssVerify } from './rsa-encodings.ts'

/** Input of a signature: the data, or its digest made by the client. */
export type ToSign = { readonly data: Uint8Array } | { readonly digest: Uint8Array }

/**
 * Signs with a private key. P-256 and Ed25519 in place, which costs less than a thread hand-over; the others on the
 * thread pool. ECDSA and DSA signatures are DER, unless the plan has them raw.
 * @param inPlace whether to sign synchronously; for callers that cache it
 * @throws CryptoFailure unsupported for a digest if only data can be signed
 */
export async function signWith(
  key: KeyObject,
  plan: SignaturePlan,
  what: ToSign,
  inPlace = signsInPlace(key),
): Promise<Buffer> {
  if ('digest' in what) return signDigest(key, plan, what.digest)
  // OpenSSL through Node derives the mask's hash from the hash.
  if (plan.scheme === 'pss' && plan.maskHash.name !== plan.hash.name)
    return signDigest(key, plan, digest(plan.hash, what.data))
  const input = keyInput(key, plan, plan.scheme === 'pss' ? (plan.saltLength ?? plan.hash.bytes) : undefined)
  return inPlace ? sign(nodeHash(plan), what.data, input) : onPool(nodeHash(plan), input, what.data)
}

/**
 * true if the signature is valid; false for any other bytes, of any length. A private key verifies as its public half.
 */
export function verifyWith(
  key: KeyObject,
  plan: SignaturePlan,
  what: ToSign,
  signature: Uint8Array,
): boolean {
  const open = key.type === 'private' ? getPublicHalf(key) : key
  // RFC 8017 §8.1.2 and §8.2.2, step 1: OpenSSL also accepts a signature without its leading zero bytes.
  if (isRsa(plan) && signature.length !== Math.ceil(modulusBits(open) / 8)) return false
  try {
    if ('digest' in what) return verifyDigest(open, plan, what.digest, signature)
    if (plan.scheme === 'pss' && plan.maskHash.name !== plan.hash.name)
      return verifyDigest(open, plan, digest(plan.hash, what.data), signature)
    return verify(nodeHash(plan), what.data, verifyInput(open, plan), signature)
  } catch (error) {
    if (error instanceof CryptoFailure) throw error
    // OpenSSL throws for some signatures that it cannot parse: they are wrong.
    return false
  }
}

/**
 * The same, with the slow curves and post-quantum algorithms on the thread pool: a batch of a thousand would block the
 * event loop for seconds. Digests are verified in place, because this module does the arithmetic around them.
 */
export async function verifyOffLoop(
  key: KeyObject,
  plan: SignaturePlan,
  what: ToSign,
  signature: Uint8Array,
  inPlace = signsInPlace(key),
): Promise<boolean> {
  if ('digest' in what || isRsa(plan) || inPlace) return verifyWith(key, plan, what, signature)
  const open = key.type === 'private' ? getPublicHalf(key) : key
  return new Promise((resolve) => {
    verify(nodeHash(plan), what.data, verifyInput(open, plan), signature, (error, right) => {
      // As in place: a signature that OpenSSL cannot parse is wrong.
      resolve(error === null && right)
    })
  })
}

const anySalt = constants.RSA_PSS_SALTLEN_AUTO

interface KeyInput {
  readonly key: KeyObject
  readonly padding?: number
  readonly saltLength?: number
  readonly dsaEncoding?: 'ieee-p1363'
}

function keyInput(key: KeyObject, plan: SignaturePlan, saltLength: number | undefined): KeyInput {
  switch (plan.scheme) {
    case 'pkcs1':
      return { key, padding: constants.RSA_PKCS1_PADDING }
    case 'pss':
      return { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: saltLength as number }
    case 'ecdsa':
      return plan.raw === true ? { key, dsaEncoding: 'ieee-p1363' } : { key }
    default:
      return { key }
  }
}

function verifyInput(key: KeyObject, plan: SignaturePlan): KeyInput {
  return keyInput(key, plan, plan.scheme === 'pss' ? (plan.saltLength ?? anySalt) : undefined)
}

function nodeHash(plan: SignaturePlan): string | null {
  return plan.scheme === 'pure' ? null : plan.hash.node
}

function isRsa({ scheme }: SignaturePlan): boolean {
  return scheme === 'pkcs1' || scheme === 'pss'
}

/**
 * Whether the key signs faster than the work is passed to a thread. The query of a key costs as much as other steps of
 * a request.
 */
export function signsInPlace(key: KeyShape): boolean {
  return key.asymmetricKeyType === 'ed25519' || key.asymmetricKeyDetails?.namedCurve === 'prime256v1'
}

/**
 * Signs a digest that the caller computed. Node always hashes the input itself, so this module computes the RSA padding
 * and the ECDSA scalars.
 */
async function signDigest(key: KeyObject, plan: SignaturePlan, digested: Uint8Array): Promise<Buffer> {
  switch (plan.scheme) {
    case 'pkcs1':
      return rsaPrivate(key, pkcs1Encode(plan.hash, digested, Math.ceil(modulusBits(key) / 8)))
    case 'pss':
      return rsaPrivate(key, pssEncode(plan, digested, modulusBits(key)))
    case 'ecdsa':
      return signEcdsaDigest(key, digested)
    default:
      throw notSupported('DigestedData is not supported for this algorithm.')
  }
}

function verifyDigest(
  key: KeyObject,
  plan: SignaturePlan,
  digested: Uint8Array,
  signature: Uint8Array,
): boolean {
  const bits = modulusBits(key)
  switch (plan.scheme) {
    case 'pkcs1':
      return timingSafeEqual(open(key, signature), pkcs1Encode(plan.hash, digested, Math.ceil(bits / 8)))
    case 'pss':
      return pssVerify(plan, digested, open(key, signature), bits)
    case 'ecdsa':
      return verifyEcdsaDigest(key, digested, signature)
    default:
      throw notSupported('DigestedData is not supported for this algorithm.')
  }
}

/** s^e mod n, as long as the modulus. */
function open(key: KeyObject, signature: Uint8Array): Buffer {
  return publicEncrypt({ key, padding: constants.RSA_NO_PADDING }, signature)
}

function onPool(hash: string | null, key: KeyInput, data: Uint8Array): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    sign(hash, data, key, (error, signature) => {
      // A salt or hash that is too long for the key: with a loaded key there is no other error.
      if (error) reject(refuse('failed'))
      else resolve(signature)
    })
  })
}
