/** What a key of an algorithm does. */
type Purpose = 'encrypt' | 'wrap' | 'sign' | 'mac'

interface Algorithm {
  readonly name: string
  readonly purpose: Purpose
  readonly kty: string
  readonly crv?: string
}

const list = (purpose: Purpose, kty: string, ...names: readonly string[]): readonly Algorithm[] =>
  names.map((name) => ({ name, purpose, kty }))

/** Algorithms to which the service binds a key, the recommended one of a purpose first. */
export const algorithms: readonly Algorithm[] = [
  ...list('encrypt', 'oct', 'A256GCM', 'A192GCM', 'A128GCM'),
  ...list('encrypt', 'RSA', 'RSA-OAEP-256', 'RSA-OAEP'),
  ...['ECDH-ES+A256KW', 'ECDH-ES+A192KW', 'ECDH-ES+A128KW'].map(
    (name): Algorithm => ({ name, purpose: 'encrypt', kty: 'EC', crv: 'P-256' }),
  ),
  ...list('wrap', 'oct', 'A256KW', 'A192KW', 'A256GCMKW', 'A192GCMKW', 'A128GCMKW'),
  { name: 'ES256', purpose: 'sign', kty: 'EC', crv: 'P-256' },
  { name: 'ES384', purpose: 'sign', kty: 'EC', crv: 'P-384' },
  { name: 'ES512', purpose: 'sign', kty: 'EC', crv: 'P-521' },
  { name: 'EdDSA', purpose: 'sign', kty: 'OKP', crv: 'Ed25519' },
  ...list('sign', 'RSA', 'PS256', 'PS384', 'PS512', 'RS256', 'RS384', 'RS512'),
  ...list('sign', 'AKP', 'ML-DSA-65', 'ML-DSA-87', 'ML-DSA-44', 'MLDSA44'),
  ...list('mac', 'oct', 'HS256', 'HS384', 'HS512'),
]

export type Operation = 'encrypt' | 'decrypt' | 'sign' | 'verify' | 'mac'

/** What decides which operations a key has. */
interface KeyFacts {
  readonly object_type: string
  readonly kty: string
  readonly alg?: string
  readonly crv?: string
  readonly bits?: number
  readonly key_ops: readonly string[]
}

const namesOfType = (purposes: readonly Purpose[], kty: string): readonly string[] =>
  algorithms.filter((each) => purposes.includes(each.purpose) && each.kty === kty).map(({ name }) => name)

/** `alg` and `enc` of a JWE (RFC 7516) that a key can make, the best first. */
function listProtections({ kty, alg, crv, bits = 256 }: KeyFacts): readonly JweAlgorithm[] {
  const enc = 'A256GCM'
  if (kty === 'ABE') return [{ alg: 'ABE', enc }]
  if (kty === 'oct') {
    if (alg === undefined) return [{ alg: 'dir', enc: `A${bits}GCM` }]
    return /^A\d+GCM$/.test(alg) ? [{ alg: 'dir', enc: alg }] : [{ alg, enc }]
  }
  if (alg !== undefined) return [{ alg, enc }]
  const agrees = kty === 'EC' || crv === 'X25519'
  return namesOfType(['encrypt'], agrees ? 'EC' : kty).map((name) => ({ alg: name, enc }))
}

const curveSignatures: Readonly<Record<string, string>> = {
  ...{ 'P-256': 'ES256', 'P-384': 'ES384', 'P-521': 'ES512', secp256k1: 'ES256K', Ed25519: 'EdDSA' },
}

function listSignatures({ kty, alg, crv }: KeyFacts): readonly string[] {
  if (alg !== undefined) return [alg]
  const ofCurve = curveSignatures[crv ?? '']
  if (ofCurve !== undefined) return [ofCurve]
  return namesOfType(['sign'], kty)
}

interface JweAlgorithm {
  readonly alg: string
  readonly enc: string
}

/** An operation of a key, with the algorithms that it can use. */
export interface KeyUse {
  readonly operation: Operation
  readonly algs: readonly JweAlgorithm[]
}

/** The operations that a key has by its purpose and its half of a pair. */
export function listUses(key: KeyFacts): readonly KeyUse[] {
  const { object_type: type, kty, key_ops: ops } = key
  if (!['SymmetricKey', 'PrivateKey', 'PublicKey'].includes(type)) return []
  const isPublic = type === 'PublicKey'
  const signatures = kty === 'oct' ? [] : listSignatures(key).map((alg) => ({ alg, enc: '' }))
  const macs = (key.alg === undefined ? ['HS256', 'HS384', 'HS512'] : [key.alg]).map((alg) => ({
    alg,
    enc: '',
  }))
  const isMac = kty === 'oct' && ops.includes('sign')
  const uses: readonly (KeyUse | false)[] = [
    ops.includes('encrypt') && { operation: 'encrypt', algs: listProtections(key) },
    ops.includes('decrypt') && !isPublic && { operation: 'decrypt', algs: [] },
    ops.includes('sign') && kty !== 'oct' && !isPublic && { operation: 'sign', algs: signatures },
    (ops.includes('verify') || ops.includes('sign')) && kty !== 'oct' && { operation: 'verify', algs: [] },
    isMac && { operation: 'mac', algs: macs },
  ]
  return uses
    .filter((use) => use !== false)
    .filter(({ operation, algs }) => algs.length > 0 || !needsAlg(operation))
}

const needsAlg = (operation: Operation): boolean => operation !== 'decrypt' && operation !== 'verify'
