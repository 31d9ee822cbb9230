import { generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { inGenerationQueue, keyTypes, slhDsaBits } from '@warder/crypto'
import { type AlgorithmName, type CurveName, curveByName } from '../attributes/key-names.ts'
import { refusal } from './refusal.ts'

export interface NewPair {
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

/** A pair that can be generated: its attributes, and the function that generates it. */
export interface PairPlan {
  readonly algorithm: AlgorithmName
  /** CryptographicLength. */
  readonly bits: number
  readonly curve?: CurveName
  make(): Promise<NewPair>
}

export interface PairWish {
  readonly algorithm: AlgorithmName
  readonly bits: number | undefined
  readonly curve: CurveName | undefined
  /** true: only algorithms of FIPS builds. */
  readonly fips?: boolean
}

/** FIPS 186-5, SP 800-56A rev. 3; DSA keys are no longer created. */
const approved: ReadonlySet<AlgorithmName> = new Set<AlgorithmName>(['RSA', 'EC', 'ECDSA', 'ECDH', 'DH'])

const generate = promisify(generateKeyPair) as (type: string, options?: object) => Promise<NewPair>

/**
 * Plans the requested pair.
 * @throws Refusal InvalidField, MissingData
 */
export function pairPlan(wish: PairWish): PairPlan {
  if (wish.fips === true && !approved.has(wish.algorithm))
    throw refusal('InvalidField', `Pairs for ${wish.algorithm} are not available in FIPS mode.`)
  switch (wish.algorithm) {
    case 'RSA':
      return rsa(wish)
    case 'EC':
    case 'ECDSA':
    case 'ECDH':
      return ellipticCurve(wish)
    case 'DSA':
      return dsa(wish)
    case 'DH':
      return diffieHellman(wish)
    default:
      return named(wish)
  }
}

function rsa({ bits }: PairWish): PairPlan {
  if (bits === undefined) throw refusal('MissingData', 'CryptographicLength is missing.')
  if (bits < 2048 || bits > 8192 || bits % 8 !== 0)
    throw refusal('InvalidField', 'An RSA key must have 2048 to 8192 bits, in whole bytes.')
  const make = (): Promise<NewPair> => inGenerationQueue(() => generate('rsa', { modulusLength: bits }))
  return { algorithm: 'RSA', bits, make }
}

/** Curves whose keys are plain bytes (RFC 7748, RFC 8032), with their names in node:crypto. */
const plainCurves: Readonly<
  Partial<Record<CurveName, readonly [type: string, bits: number, signs: boolean]>>
> = {
  CURVE25519: ['x25519', 256, false],
  CURVE448: ['x448', 448, false],
  CURVEED25519: ['ed25519', 256, true],
  CURVEED448: ['ed448', 456, true],
}

/** The curve of a length, when none is named (SP 800-186 §3.2.1). */
const curveOfLength: ReadonlyMap<number, CurveName> = new Map<number, CurveName>([
  [224, 'P_224'],
  [256, 'P_256'],
  [384, 'P_384'],
  [521, 'P_521'],
])

/** Min bits of curves for new keys (SP 800-57 part 1, table 2). */
const minCurveBits = 224

function ellipticCurve({ algorithm, bits, curve: wanted, fips = false }: PairWish): PairPlan {
  const name = wanted ?? (bits === undefined ? 'P_256' : curveOfLength.get(bits))
  if (name === undefined) throw refusal('InvalidField', `No curve of ${bits} bits is supported for this key.`)
  const plain = fips ? undefined : plainCurves[name]
  if (plain !== undefined) {
    const [type, length, signs] = plain
    if ((signs && algorithm === 'ECDH') || (!signs && algorithm === 'ECDSA'))
      throw refusal('InvalidField', `Keys on ${name} cannot be used for ${algorithm}.`)
    requireLength(bits, length)
    return { algorithm, bits: length, curve: name, make: () => generate(type) }
  }
  const curve = curveByName(name)
  if (curve === undefined || curve.bits < minCurveBits || (fips && !curve.fips))
    throw refusal('InvalidField', `Keys on ${name} are not supported.`)
  requireLength(bits, curve.bits)
  const make = (): Promise<NewPair> => generate('ec', { namedCurve: curve.name })
  return {
    algorithm,
    bits: curve.bits,
    curve: name,
    make,
  }
}

function requireLength(bits: number | undefined, of: number): void {
  if (bits !== undefined && bits !== of)
    throw refusal('InvalidField', `CryptographicLength of a key on this curve is ${of}.`)
}

/** FIPS 186-4 §4.2: lengths of p and q. */
function dsa({ bits = 2048 }: PairWish): PairPlan {
  if (bits !== 2048 && bits !== 3072) throw refusal('InvalidField', 'A DSA key must have 2048 or 3072 bits.')
  const make = (): Promise<NewPair> =>
    inGenerationQueue(() => generate('dsa', { modulusLength: bits, divisorLength: 256 }))
  return { algorithm: 'DSA', bits, make }
}

/** Well-known groups (RFC 3526) instead of unchecked parameters. */
const groups: ReadonlyMap<number, string> = new Map([
  [2048, 'modp14'],
  [3072, 'modp15'],
  [4096, 'modp16'],
  [6144, 'modp17'],
  [8192, 'modp18'],
])

function diffieHellman({ bits = 2048 }: PairWish): PairPlan {
  const group = groups.get(bits)
  if (group === undefined) throw refusal('InvalidField', `A Diffie-Hellman key cannot have ${bits} bits.`)
  return { algorithm: 'DH', bits, make: () => inGenerationQueue(() => generate('dh', { group })) }
}

/** The node:crypto name of an algorithm with one parameter set, and the bits of its public key (FIPS 203 to 205). */
function findNodeKeyType(algorithm: AlgorithmName): readonly [type: string, bits: number] | undefined {
  if (algorithm === 'Ed448') return ['ed448', 456]
  const name = algorithm.replaceAll('_', '-')
  const slhDsa = slhDsaBits.get(name)
  if (slhDsa !== undefined) return [name.toLowerCase(), slhDsa]
  const row = Object.hasOwn(keyTypes, name) ? keyTypes[name as keyof typeof keyTypes] : undefined
  return row !== undefined && 'bits' in row && name !== 'X25519' ? [row.node, row.bits] : undefined
}

function named({ algorithm, bits }: PairWish): PairPlan {
  const kind = findNodeKeyType(algorithm)
  if (kind === undefined) throw refusal('InvalidField', `Pairs for ${algorithm} are not supported.`)
  const [type, length] = kind
  if (bits !== undefined && bits !== length)
    throw refusal('InvalidField', `CryptographicLength of a key for ${algorithm} is ${length}.`)
  return { algorithm, bits: length, make: () => inGenerationQueue(() => generate(type)) }
}
