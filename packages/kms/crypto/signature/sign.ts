import { constants, type KeyObject, publicEncrypt, sign, timingSafeEqual, verify } from 'node:crypto'
import { CryptoFailure, refuse, unsupported } from '../algorithms/failure.ts'
import { digest } from '../algorithms/hashes.ts'
import { modulusBits, publicOf } from '../material/public-half.ts'
import { rsaPrivate } from '../rsa/rsa-oaep.ts'
import { signEcdsaDigest, verifyEcdsaDigest } from './ecdsa-digest.ts'
import { pkcs1Encode } from './pkcs1-encoding.ts'
import { pssEncode, pssVerify } from './pss-encoding.ts'
import type { SignaturePlan } from './signature-plan.ts'

/** What is signed: the data, or its digest made by the client. */
export type ToSign = { readonly data: Uint8Array } | { readonly digest: Uint8Array }

/**
 * Signs with a private key. P-256 and Ed25519 in place, the others on the thread pool. ECDSA and DSA signatures are DER.
 * @throws CryptoFailure unsupported for a digest where only data can be signed
 */
export function signWith(key: KeyObject, plan: SignaturePlan, what: ToSign): Buffer | Promise<Buffer> {
  if ('digest' in what) return signDigest(key, plan, what.digest)
  switch (plan.scheme) {
    case 'pure':
      return key.asymmetricKeyType === 'ed25519'
        ? sign(null, what.data, key)
        : onPool(null, { key }, what.data)
    case 'ecdsa':
      if (key.asymmetricKeyDetails?.namedCurve === 'prime256v1') return sign(plan.hash.node, what.data, key)
      return onPool(plan.hash.node, { key }, what.data)
    case 'dsa':
      return onPool(plan.hash.node, { key }, what.data)
    case 'pkcs1':
      return onPool(plan.hash.node, { key, padding: constants.RSA_PKCS1_PADDING }, what.data)
    case 'pss':
      // OpenSSL through Node takes the mask's hash from the hash.
      if (plan.maskHash.name !== plan.hash.name) return signDigest(key, plan, digest(plan.hash, what.data))
      return onPool(plan.hash.node, { key, ...pssOptions(plan.saltLength ?? plan.hash.bytes) }, what.data)
  }
}

/** true when the signature is right; any other bytes, of any length, are false. A private key verifies as its public half. */
export function verifyWith(
  key: KeyObject,
  plan: SignaturePlan,
  what: ToSign,
  signature: Uint8Array,
): boolean {
  const open = key.type === 'private' ? publicOf(key) : key
  const rsa = plan.scheme === 'pkcs1' || plan.scheme === 'pss'
  // RFC 8017 §8.1.2 and §8.2.2, step 1: OpenSSL also takes a signature without its leading zero bytes.
  if (rsa && signature.length !== Math.ceil(modulusBits(open) / 8)) return false
  try {
    if ('digest' in what) return verifyDigest(open, plan, what.digest, signature)
    switch (plan.scheme) {
      case 'pure':
        return verify(null, what.data, open, signature)
      case 'ecdsa':
      case 'dsa':
        return verify(plan.hash.node, what.data, open, signature)
      case 'pkcs1':
        return verify(
          plan.hash.node,
          what.data,
          { key: open, padding: constants.RSA_PKCS1_PADDING },
          signature,
        )
      case 'pss':
        if (plan.maskHash.name !== plan.hash.name)
          return verifyDigest(open, plan, digest(plan.hash, what.data), signature)
        return verify(
          plan.hash.node,
          what.data,
          { key: open, ...pssOptions(plan.saltLength ?? anySalt) },
          signature,
        )
    }
  } catch (error) {
    if (error instanceof CryptoFailure) throw error
    // OpenSSL throws for some signatures that it cannot parse: they are wrong.
    return false
  }
}

const anySalt = constants.RSA_PSS_SALTLEN_AUTO

function pssOptions(saltLength: number) {
  return { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength }
}

/** A digest that somebody else made. Node hashes by itself: the padding of RSA and the scalars of ECDSA are ours to make. */
function signDigest(key: KeyObject, plan: SignaturePlan, digested: Uint8Array): Buffer | Promise<Buffer> {
  switch (plan.scheme) {
    case 'pkcs1':
      return rsaPrivate(key, pkcs1Encode(plan.hash, digested, Math.ceil(modulusBits(key) / 8)))
    case 'pss':
      return rsaPrivate(key, pssEncode(plan, digested, modulusBits(key)))
    case 'ecdsa':
      return signEcdsaDigest(key, digested)
    default:
      throw unsupported('DigestedData is not supported for this algorithm.')
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
      throw unsupported('DigestedData is not supported for this algorithm.')
  }
}

/** s^e mod n, as long as the modulus. */
function open(key: KeyObject, signature: Uint8Array): Buffer {
  return publicEncrypt({ key, padding: constants.RSA_NO_PADDING }, signature)
}

interface SigningKey {
  readonly key: KeyObject
  readonly padding?: number
  readonly saltLength?: number
}

function onPool(hash: string | null, key: SigningKey, data: Uint8Array): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    sign(hash, data, key, (error, signature) => {
      // A salt or hash that is too long for the key; nothing else goes wrong with a loaded key.
      if (error) reject(refuse('failed'))
      else resolve(signature)
    })
  })
}
