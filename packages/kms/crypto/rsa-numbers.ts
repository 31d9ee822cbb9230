import { checkPrimeSync } from 'node:crypto'
import { failure } from '@warder/foundation/errors'

export type RsaNumbers = Readonly<Record<'n' | 'e' | 'd' | 'p' | 'q' | 'dp' | 'dq' | 'qi', bigint>>

const smallestBits = 2048
const largestBits = 8192
/** FIPS 186-5 §A.1.1 allows e below 2^256; one machine word is enough and keeps verification cheap. */
const exponentBound = 1n << 64n
const primeChecks = 10

/**
 * Checks that the numbers are one RSA key: p·q = n with p ≠ q both (probably) prime, e odd and at least 3,
 * d and the CRT members consistent (RFC 8017 §3.2).
 * @returns the size of the modulus in bits
 * @throws failure('bad_request') naming the member
 */
export function checkRsaNumbers({ n, e, d, p, q, dp, dq, qi }: RsaNumbers): number {
  const bits = n.toString(2).length
  if (bits < smallestBits || bits > largestBits)
    throw wrong('n', `an RSA key has ${smallestBits} to ${largestBits} bits`)
  if (e < 3n || e % 2n === 0n || e >= exponentBound)
    throw wrong('e', 'must be odd, at least 3 and below 2^64')
  if (p <= 1n || q <= 1n || p === q || p * q !== n) throw wrong('p', 'p times q must be n')
  if (d <= 1n || d >= n) throw wrong('d', 'must be between 1 and n')
  if ((d * e) % (p - 1n) !== 1n || (d * e) % (q - 1n) !== 1n) throw wrong('d', 'is not the inverse of e')
  if (dp !== d % (p - 1n)) throw wrong('dp', 'must be d mod (p-1)')
  if (dq !== d % (q - 1n)) throw wrong('dq', 'must be d mod (q-1)')
  if (qi <= 0n || qi >= p || (qi * q) % p !== 1n) throw wrong('qi', 'must be the inverse of q mod p')
  for (const [name, prime] of [
    ['p', p],
    ['q', q],
  ] as const) {
    if (!checkPrimeSync(prime, { checks: primeChecks })) throw wrong(name, 'is not a prime')
  }
  return bits
}

function wrong(member: string, sentence: string) {
  return failure('bad_request', `${member}: ${sentence}`)
}
