import { publicJwkMembers } from '@warder/base'
import { algorithms } from '@warder/crypto'
import { encrypts, type Key } from '@warder/keys'
import { toKty } from './key-shape.ts'

const bySize: Readonly<Record<number, string>> = { 2048: 'RS256', 3072: 'RS384', 4096: 'RS512' }
/** Without those that settings open: not every verifier has them. */
const byCurve: ReadonlyMap<string, string> = new Map(
  Object.entries(algorithms).flatMap(([name, algorithm]) =>
    algorithm.use === 'signature' && algorithm.curve !== undefined && algorithm.optional !== true
      ? [[algorithm.curve, name] as const]
      : [],
  ),
)

/** The members of a public JWK (RFC 7518 §6); other members of an export are omitted. */
const publicMembers = ['kty', 'crv', ...publicJwkMembers]

/**
 * The public half of a key as a JWK whose `kid` is the id of the public object. undefined if there is no public half,
 * it has no JWK format, or it was destroyed.
 * @param purpose `verification`: for a key set, in which each key states the algorithm of its signatures
 */
export function toPublicJwk(
  key: Key,
  purpose: 'any' | 'verification',
): Readonly<Record<string, string>> | undefined {
  const { object } = key
  if (object.type !== 'PublicKey' && object.type !== 'PrivateKey') return undefined
  if (key.state === 'Destroyed' || key.state === 'Destroyed_Compromised') return undefined
  const exported = key.publicMaterial.key.export({ format: 'jwk' }) as Readonly<Record<string, unknown>>
  // Signatures name the public half if there is one.
  const kid = object.type === 'PrivateKey' ? (object.linkedId ?? object.id) : object.id
  const jwk: Record<string, string> = { kid }
  for (const name of publicMembers) {
    const value = exported[name]
    if (typeof value === 'string') jwk[name] = value
  }
  // An RSA key that is not bound does both; saying one would make clients refuse the other.
  if (purpose === 'any' && object.algorithm === 'RSA' && object.boundAlg === undefined) return jwk
  jwk.use = encrypts(object.algorithm, object.boundAlg) ? 'enc' : 'sig'
  // ML-DSA: the name of the key is that of its algorithm (RFC 9964), however the key was requested.
  const named = jwk.use === 'sig' && toKty(object.algorithm) === 'AKP'
  const alg = named ? object.algorithm : (object.boundAlg ?? defaultAlg(object))
  if (alg !== undefined) jwk.alg = alg
  return jwk
}

/** For an unbound key: the algorithm that verifiers expect for a key of this size. */
function defaultAlg({ algorithm, bits, curve }: Key['object']): string | undefined {
  switch (algorithm) {
    case 'RSA':
      return bySize[bits ?? 0]
    case 'EC':
      return byCurve.get(curve ?? '')
    case 'Ed25519':
      return 'EdDSA'
    default:
      return toKty(algorithm) === 'AKP' ? algorithm : undefined
  }
}
