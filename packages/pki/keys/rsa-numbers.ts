import { checkPrime } from 'node:crypto'
import { pkiError } from '../error.ts'

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
