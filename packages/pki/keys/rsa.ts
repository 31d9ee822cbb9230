import { checkPrime } from 'node:crypto'
import { derInteger, derMagnitude, derMembers, derNull, derNumber, derSequence } from '../der.ts'
import { PkiError, pkiError } from '../error.ts'
import type { KeyPolicy, ParsedKey } from './key-algorithms.ts'
import { bitLength, greatestCommonDivisor, inverse, squareRoot, toMagnitude, toNumber } from './numbers.ts'
import { buildPkcs8, buildSpki, parsePkcs8, parseSpki } from './pkcs8.ts'

/** The numbers of a private RSA key in the order of RSAPrivateKey (RFC 8017 §A.1.2), as JWK calls them. */
export const rsaMembers = ['n', 'e', 'd', 'p', 'q', 'dp', 'dq', 'qi'] as const
export type RsaNumbers = Readonly<Record<(typeof rsaMembers)[number], bigint>>

/** Minimum size of a new key in bits. */
const minRsaBits = 2048
const maxBits = 8192
/**
 * FIPS 186-5 §A.1.1 allows e below 2^256. The limit of one machine word keeps verification fast and excludes a small
 * d (Wiener).
 */
const exponentBound = 1n << 64n
/**
 * Maximum difference of the shorter prime from half the modulus. FIPS 186-5 requires equal halves; some generators
 * deviate.
 */
const imbalance = 16

/**
 * Checks the numbers of an RSA key that can be checked quickly: p·q = n, p and q of about the same length but not
 * close to each other (FIPS 186-5 §A.1.3), e odd and at least 3, d and the CRT members consistent (RFC 8017 §3.2), n
 * not from the Infineon generator (CVE-2017-15361). `requirePrimes` completes the check.
 * @param minBits minimum bits of the modulus; less than the default only for keys that were in use elsewhere
 * @returns the size of the modulus in bits
 * @throws PkiError naming the member
 */
export function checkRsaNumbers(
  { n, e, d, p, q, dp, dq, qi }: RsaNumbers,
  minBits: number = minRsaBits,
): number {
  const bits = countBits(n)
  if (bits < minBits || bits > maxBits) throw wrong('n', `an RSA key must have ${minBits} to ${maxBits} bits`)
  if (e < 3n || e % 2n === 0n || e >= exponentBound)
    throw wrong('e', 'must be odd, at least 3 and below 2^64')
  if (p <= 1n || q <= 1n || p === q || p * q !== n) throw wrong('p', 'p times q must be n')
  const half = Math.floor(bits / 2)
  if (countBits(p) < half - imbalance || countBits(q) < half - imbalance)
    throw wrong('p', 'p and q must be of about the same length')
  if (countBits(p > q ? p - q : q - p) <= half - 100) throw wrong('p', 'p and q are too close to each other')
  if (d <= 1n || d >= n) throw wrong('d', 'must be between 1 and n')
  if ((d * e) % (p - 1n) !== 1n || (d * e) % (q - 1n) !== 1n) throw wrong('d', 'is not the inverse of e')
  if (dp !== d % (p - 1n)) throw wrong('dp', 'must be d mod (p-1)')
  if (dq !== d % (q - 1n)) throw wrong('dq', 'must be d mod (q-1)')
  if (qi <= 0n || qi >= p || (qi * q) % p !== 1n) throw wrong('qi', 'must be the inverse of q mod p')
  if (isOfInfineon(n)) throw wrong('n', 'comes from a generator whose keys can be factored (CVE-2017-15361)')
  return bits
}

/**
 * Checks that p and q are primes, on the thread pool: for 8192 bits it takes seconds.
 * @throws PkiError naming the member
 */
export async function requirePrimes({ p, q }: Pick<RsaNumbers, 'p' | 'q'>): Promise<void> {
  // Sequential, so that an import occupies one thread, not two.
  for (const [name, number] of [
    ['p', p],
    ['q', q],
  ] as const) {
    if (!(await isPrime(number))) throw wrong(name, 'is not a prime')
  }
}

/** Rounds of Miller-Rabin, as OpenSSL chooses them for untrusted numbers (at least 64). */
function isPrime(number: bigint): Promise<boolean> {
  return new Promise((resolve, reject) => {
    checkPrime(number, (error, prime) => {
      if (error) reject(error)
      else resolve(prime)
    })
  })
}

function countBits(number: bigint): number {
  return number.toString(2).length
}

const smallPrimes: readonly number[] = [
  3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107,
  109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167,
]

/** Possible remainders of powers of 65537, by small prime. */
const powers: ReadonlyMap<number, ReadonlySet<number>> = new Map(
  smallPrimes.map((prime) => {
    const seen = new Set<number>()
    for (let power = 1; !seen.has(power); power = (power * 65537) % prime) seen.add(power)
    return [prime, seen]
  }),
)

/**
 * Detects moduli of the Infineon generator. Its primes are k·M + (65537^a mod M), with M a product of small primes,
 * so n is a power of 65537 modulo each of them (Nemec et al., "The Return of Coppersmith's Attack", §2.3). False
 * positives occur once in 2^27 keys.
 */
function isOfInfineon(n: bigint): boolean {
  return smallPrimes.every((prime) => powers.get(prime)?.has(Number(n % BigInt(prime))) === true)
}

function wrong(member: string, sentence: string) {
  return pkiError('invalid_key', `${member}: ${sentence}`)
}

export const rsaIdentifier = '1.2.840.113549.1.1.1'

/** Maximum bytes of a number: 8192 bits. */
const maxNumberBytes = 1024

/** Minimum bits of a modulus from which the other numbers are computed. */
const shortestModulus = 512

/** Reads an RSAPrivateKey (RFC 8017 §A.1.2), which is stored unchanged inside a PKCS#8. @throws PkiError */
export function rsaPrivateFromPkcs1(pkcs1: Uint8Array, policy: KeyPolicy): ParsedKey {
  const what = 'The PKCS#1 private key'
  const [version, ...integers] = derMembers(pkcs1, what)
  if (derMagnitude(version, what)[0] !== 0)
    throw pkiError('invalid_key', 'RSA keys of more than two primes are not supported.')
  if (integers.length !== rsaMembers.length)
    throw pkiError('invalid_key', `${what} has a wrong number of members.`)
  const numbers = Object.fromEntries(
    rsaMembers.map((name, index) => [name, toBoundedNumber(derMagnitude(integers[index], what))]),
  ) as unknown as RsaNumbers
  return checkKey(numbers, pkcs1, policy)
}

/**
 * Builds a private key from some of its numbers, big-endian: the modulus and enough to compute the others.
 * @throws PkiError
 */
export function rsaPrivateFromNumbers(
  given: Partial<Record<keyof RsaNumbers, Uint8Array>>,
  policy: KeyPolicy,
): ParsedKey {
  const known: Partial<Record<keyof RsaNumbers, bigint>> = {}
  for (const name of rsaMembers) {
    const magnitude = given[name]
    if (magnitude !== undefined) known[name] = toBoundedNumber(magnitude)
  }
  const numbers = completeRsaNumbers(known)
  return checkKey(numbers, encodePkcs1(numbers), policy)
}

export function rsaPublicFromPkcs1(pkcs1: Uint8Array, policy: KeyPolicy): ParsedKey {
  const what = 'The PKCS#1 public key'
  const [n, e, ...others] = derMembers(pkcs1, what)
  if (others.length > 0) throw pkiError('invalid_key', `${what} has a wrong number of members.`)
  const bits = checkPublic(
    toBoundedNumber(derMagnitude(n, what)),
    toBoundedNumber(derMagnitude(e, what)),
    policy,
  )
  const canonical = buildSpki({ identifier: rsaIdentifier, parameters: derNull, key: pkcs1 })
  return { canonical, algorithm: 'RSA', bits }
}

export function rsaPublicFromNumbers(n: Uint8Array, e: Uint8Array, policy: KeyPolicy): ParsedKey {
  return rsaPublicFromPkcs1(derSequence(derInteger(n), derInteger(e)), policy)
}

/** Returns the PKCS#1 form of a stored private or public key. */
export function rsaToPkcs1(type: 'PrivateKey' | 'PublicKey', canonical: Uint8Array): Uint8Array {
  return (type === 'PrivateKey' ? parsePkcs8(canonical) : parseSpki(canonical)).key
}

/** Returns the numbers of a stored key, big-endian without leading zeros; n and e of a public key. */
export function readRsaNumbers(
  type: 'PrivateKey' | 'PublicKey',
  canonical: Uint8Array,
): Partial<Record<keyof RsaNumbers, Uint8Array>> {
  const integers = derMembers(rsaToPkcs1(type, canonical), 'The stored key')
  const start = type === 'PrivateKey' ? 1 : 0
  const numbers: Partial<Record<keyof RsaNumbers, Uint8Array>> = {}
  for (const [index, name] of rsaMembers.entries()) {
    const element = integers[start + index]
    if (element !== undefined) numbers[name] = derMagnitude(element, 'The stored key')
  }
  return numbers
}

function checkKey(numbers: RsaNumbers, pkcs1: Uint8Array, policy: KeyPolicy): ParsedKey {
  const bits = checkSize(numbers, policy)
  return {
    canonical: buildPkcs8({ identifier: rsaIdentifier, parameters: derNull, key: pkcs1 }),
    algorithm: 'RSA',
    bits,
    async check() {
      try {
        await requirePrimes(numbers)
      } catch (error) {
        throw ofNumbers(error)
      }
    },
  }
}

function checkSize(numbers: RsaNumbers, policy: KeyPolicy): number {
  try {
    return checkRsaNumbers(numbers, minBits(policy))
  } catch (error) {
    throw ofNumbers(error)
  }
}

/** Existing shorter keys are accepted to read the data that they protected; new keys are never this short. */
function minBits({ fips }: KeyPolicy): number {
  return fips ? 2048 : 1024
}

function checkPublic(n: bigint, e: bigint, policy: KeyPolicy): number {
  const bits = bitLength(n)
  if (bits < minBits(policy) || bits > maxNumberBytes * 8 || n % 2n === 0n)
    throw pkiError('invalid_key', `The modulus must be odd and have ${minBits(policy)} to 8192 bits.`)
  if (e < 3n || e % 2n === 0n || e >= 1n << 64n)
    throw pkiError('invalid_key', 'The public exponent must be odd, at least 3 and below 2^64.')
  return bits
}

function toBoundedNumber(magnitude: Uint8Array): bigint {
  if (magnitude.length > maxNumberBytes)
    throw pkiError('invalid_key', 'An RSA key must have at most 8192 bits.')
  return toNumber(magnitude)
}

/** Computes the complete key from its modulus and its primes or exponents. @throws PkiError */
export function completeRsaNumbers(given: Partial<Record<keyof RsaNumbers, bigint>>): RsaNumbers {
  const { n } = given
  if (n === undefined) throw pkiError('invalid_key', 'An RSA key must have a modulus.')
  // Checked before the division; `checkRsaNumbers` makes the final check of the length.
  if (bitLength(n) < shortestModulus)
    throw pkiError('invalid_key', 'The modulus of the RSA key is too short.')
  const { p, q } = recoverPrimes(n, given)
  if (p < 2n || q < 2n || p * q !== n) throw pkiError('invalid_key', 'The primes do not match the modulus.')
  const lambda = ((p - 1n) * (q - 1n)) / greatestCommonDivisor(p - 1n, q - 1n)
  const e = given.e ?? (given.d === undefined ? undefined : inverse(given.d, lambda))
  const d = given.d ?? (e === undefined ? undefined : inverse(e, lambda))
  const qi = given.qi ?? inverse(q, p)
  if (e === undefined || d === undefined || qi === undefined)
    throw pkiError('invalid_key', 'The numbers are too few for an RSA key, or contradict each other.')
  return { n, e, d, p, q, dp: given.dp ?? d % (p - 1n), dq: given.dq ?? d % (q - 1n), qi }
}

/** Public exponents to try when none is given. */
const commonExponents = [65537n, 3n, 17n, 257n, 5n]

function recoverPrimes(n: bigint, { p, q, d, e }: Partial<Record<keyof RsaNumbers, bigint>>) {
  if (p !== undefined && p > 0n) return { p, q: q ?? n / p }
  if (q !== undefined && q > 0n) return { p: n / q, q }
  for (const exponent of d === undefined ? [] : e === undefined ? commonExponents : [e]) {
    const found = factor(n, exponent, d as bigint)
    if (found !== undefined) return found
  }
  throw pkiError('invalid_key', 'The primes are missing and cannot be computed from the exponents.')
}

/**
 * Computes the primes from both exponents: e·d - 1 is a multiple of φ(n) divided by a small number, and n is only
 * slightly larger than φ(n), so the factor between them is known up to that small number. Works for e below 2^64 with
 * a few divisions, whereas the general method (SP 800-56B §C.1) would block the event loop.
 */
function factor(n: bigint, e: bigint, d: bigint): { p: bigint; q: bigint } | undefined {
  const multiple = e * d - 1n
  for (let divisor = 1n; divisor <= 64n; divisor += 1n) {
    const scaled = multiple * divisor
    const k = scaled / n + 1n
    if (scaled % k !== 0n) continue
    const sum = n + 1n - scaled / k
    const difference = squareRoot(sum * sum - 4n * n)
    if (difference === undefined) continue
    const p = (sum + difference) / 2n
    if (p > 1n && p < n && n % p === 0n) return { p, q: n / p }
  }
  return undefined
}

function encodePkcs1(numbers: RsaNumbers): Buffer {
  return derSequence(derNumber(0), ...rsaMembers.map((name) => derInteger(toMagnitude(numbers[name]))))
}

/** Converts an error about the numbers to an error about the key. */
function ofNumbers(error: unknown): unknown {
  return error instanceof PkiError
    ? pkiError(error.code, `The numbers of the RSA key are wrong: ${error.message}`)
    : error
}
