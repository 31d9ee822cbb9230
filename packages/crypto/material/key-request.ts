import { failure } from '@warder/base'
import {
  type Algorithm,
  algorithms,
  canonicalName,
  isForMaterial,
  isServed,
  requireAlgorithmPermitted,
} from '../algorithms/algorithms.ts'
import {
  curves,
  type FixedKeyType,
  type KeyType,
  keyTypes,
  type MaterialAlgorithm,
} from '../algorithms/key-types.ts'
import { type AlgorithmPolicy, keyFacts, requirePermitted } from '../algorithms/policy.ts'

/** The key that a creation or import request describes, consistent in itself. */
export type KeySpec =
  | { readonly algorithm: 'AES' | 'HMAC'; readonly alg: string; readonly bits: number }
  | { readonly algorithm: 'RSA'; readonly alg: string | undefined; readonly bits: number }
  | { readonly algorithm: 'EC'; readonly alg: string | undefined; readonly curve: string }
  | { readonly algorithm: FixedKeyType; readonly alg: string | undefined }

export interface KeyRequest {
  readonly kty: string
  readonly alg?: string | undefined
  readonly crv?: string | undefined
  readonly bits?: number | undefined
  /** Modulus of an RSA key that is brought along, base64url. */
  readonly n?: string | undefined
}

const es256kCurve = 'secp256k1'

/** The curve of ES256K is supported if ES256K is. */
function curvesServed({ opened }: AlgorithmPolicy): readonly string[] {
  return Object.keys(curves).filter((name) => name !== es256kCurve || opened?.has('ES256K') === true)
}

/**
 * Reads the members of a key request (spec §2) and checks that they fit each other.
 * @throws failure('bad_request') when they do not; failure('unsupported_algorithm') for a name that is not known or
 *   not permitted here
 */
export function toKeySpec(request: KeyRequest, policy: AlgorithmPolicy): KeySpec {
  const spec = readSpec(request, policy)
  if (spec.alg !== undefined) requireAlgorithmPermitted(spec.alg, policy)
  requirePermitted(policy, keyFacts(spec))
  return spec
}

function readSpec(request: KeyRequest, policy: AlgorithmPolicy): KeySpec {
  const alg = request.alg === undefined ? undefined : canonicalName(request.alg)
  if (alg === 'dir')
    throw failure(
      'bad_request',
      "alg: 'dir' does not determine the size of the key; use A128GCM, A192GCM or A256GCM",
    )
  const bound = alg === undefined ? undefined : algorithms[alg]
  if (alg !== undefined && (bound === undefined || !isServed(alg, bound, policy))) {
    throw failure('unsupported_algorithm', `'${alg.slice(0, 64)}' is not a supported algorithm.`)
  }
  const family = resolveFamily(request, bound, policy)
  if (
    bound !== undefined &&
    !isForMaterial(bound, family) &&
    !(family === 'AES' && bound.material === 'HMAC')
  ) {
    throw failure('bad_request', `alg: ${alg} cannot be used with kty ${request.kty}`)
  }
  switch (family) {
    case 'AES':
    case 'HMAC':
      if (bound === undefined || alg === undefined || !('bits' in bound)) {
        throw failure(
          'bad_request',
          'alg: is required for kty oct, because it determines the size of the key',
        )
      }
      return { algorithm: bound.use === 'mac' ? 'HMAC' : 'AES', alg, bits: bound.bits }
    case 'RSA':
      return { algorithm: 'RSA', alg, bits: request.bits ?? modulusBits(request.n) ?? 2048 }
    case 'EC': {
      const curve = request.crv
      if (curve === undefined) throw failure('bad_request', 'crv: is required for kty EC')
      const served = curvesServed(policy)
      if (!served.includes(curve)) throw failure('bad_request', `crv: must be ${served.join(', ')}`)
      if (bound?.use === 'other key management' && curve === es256kCurve)
        throw failure('bad_request', `crv: ${alg} cannot be used with ${curve}`)
      if (bound !== undefined && 'curve' in bound && bound.curve !== curve) {
        throw failure('bad_request', `crv: ${alg} requires ${bound.curve}`)
      }
      return { algorithm: 'EC', alg, curve }
    }
    default:
      return { algorithm: family, alg }
  }
}

/** A JWK rarely has `bits`. Whether `n` is a modulus is checked at the import. */
function modulusBits(n: string | undefined): number | undefined {
  if (n === undefined) return undefined
  const modulus = Buffer.from(n, 'base64url')
  const start = modulus.findIndex((byte) => byte !== 0)
  return start === -1 ? 0 : (modulus.length - start) * 8 - (Math.clz32(modulus[start] ?? 0) - 24)
}

/** The type of key of a `kty`, if `alg` does not determine it. */
const families: Readonly<Record<KeyType, MaterialAlgorithm>> = {
  oct: 'AES',
  RSA: 'RSA',
  EC: 'EC',
  OKP: 'Ed25519',
  AKP: 'ML-DSA-44',
}

function resolveFamily(
  request: KeyRequest,
  bound: Algorithm | undefined,
  policy: AlgorithmPolicy,
): MaterialAlgorithm {
  if (!Object.hasOwn(families, request.kty))
    throw failure('bad_request', 'kty: must be oct, RSA, EC, OKP or AKP')
  const own = (request.kty === 'OKP' || request.kty === 'AKP') && bound?.kty === 'AKP'
  const family = own ? bound.material : okpOr(request, bound)
  if (policy.fips && 'seedPrefix' in keyTypes[family]) {
    throw failure('unsupported_algorithm', `kty ${request.kty} is not permitted in FIPS mode.`)
  }
  if (
    keyTypes[family].kty === 'AKP' &&
    request.crv !== undefined &&
    canonicalName(request.crv) !== canonicalName(family)
  ) {
    throw failure('bad_request', 'crv: is not allowed for kty AKP')
  }
  if (request.kty === 'OKP' && !own && request.crv !== undefined && request.crv !== family) {
    throw failure('bad_request', 'crv: must be Ed25519, or X25519 for ECDH-ES, for kty OKP')
  }
  return family
}

/** Of kty OKP two types are kept: one signs, the other agrees on secrets. */
function okpOr({ kty, crv }: KeyRequest, bound: Algorithm | undefined): MaterialAlgorithm {
  if (kty !== 'OKP') return families[kty as KeyType]
  const agrees = bound === undefined ? crv === 'X25519' : isForMaterial(bound, 'X25519')
  return agrees ? 'X25519' : 'Ed25519'
}
