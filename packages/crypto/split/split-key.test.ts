import assert from 'node:assert/strict'
import { checkPrimeSync, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { primeFor, toBytes } from './prime-field.ts'
import { type BinaryField, gf8, gf16, inverse, type KeyPart, type SplitKeyMethod } from './shamir.ts'
import { joinParts, maximumParts, splitSecret } from './split-key.ts'

const polynomial = ['PolynomialSharingGF28', 'PolynomialSharingGF216', 'PolynomialSharingPrimeField'] as const
const refused = (code: string) => ({ code })

function split(secret: Uint8Array, method: SplitKeyMethod, parts: number, threshold: number) {
  return splitSecret(secret, { method, parts, threshold, primeFieldSize: undefined })
}
function join(
  method: SplitKeyMethod,
  threshold: number,
  parts: readonly KeyPart[],
  primeFieldSize?: Uint8Array,
  length?: number,
) {
  return joinParts({ method, threshold, parts, primeFieldSize, length })
}

for (const [name, field, elements] of [
  ['GF(2^8)', gf8, 0xff],
  ['GF(2^16)', gf16, 0xffff],
] as const) {
  test(`${name} is a field: it associates, distributes, and everything but zero has an inverse`, () => {
    const element = fc.integer({ min: 0, max: elements })
    const { multiply }: BinaryField = field
    fc.assert(
      fc.property(element, element, element, (a, b, c) => {
        assert.equal(multiply(a, b), multiply(b, a))
        assert.equal(multiply(a, multiply(b, c)), multiply(multiply(a, b), c))
        assert.equal(multiply(a, b ^ c), multiply(a, b) ^ multiply(a, c))
        assert.equal(multiply(a, 1), a)
        assert.ok(multiply(a, b) <= elements)
        if (a !== 0) assert.equal(multiply(a, inverse(field, a)), 1)
      }),
    )
  })
}

test('the fields are those of the standard: x·x^7 = x^4+x^3+x^2+1, y·y = y+m, inverses as its formula has them', () => {
  assert.equal(gf8.multiply(2, 0x80), 0x1d)
  assert.equal(gf16.multiply(0x0100, 0x0100), 0x013a)
  for (const element of [0x0001, 0x0102, 0xabcd, 0xff00, 0x00ff]) {
    const [u, v] = [element >> 8, element & 0xff]
    // d = (u + v)v + mu²; (uy + v)⁻¹ = u/d y + (u + v)/d
    const d = gf8.multiply(u ^ v, v) ^ gf8.multiply(0x3a, gf8.multiply(u, u))
    const over = inverse(gf8, d)
    assert.equal(inverse(gf16, element), (gf8.multiply(u, over) << 8) | gf8.multiply(u ^ v, over))
  }
})

test('any k of n parts restore the key, in any order, and so do all of them', () => {
  for (const method of polynomial) {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 1, maxLength: 40 }),
        fc.integer({ min: 2, max: 6 }),
        fc.nat(3),
        fc.infiniteStream(fc.nat(1000)),
        (material, threshold, more, order) => {
          const secret =
            method === 'PolynomialSharingGF216' && material.length % 2 === 1
              ? Buffer.concat([material, material])
              : Buffer.from(material)
          const { parts, primeFieldSize } = split(secret, method, threshold + more, threshold)
          const shuffled = [...parts]
            .map((part) => ({ part, key: order.next().value ?? 0 }))
            .sort((a, b) => a.key - b.key)
          const some = shuffled.map(({ part }) => part)
          assert.deepEqual(
            join(method, threshold, some.slice(0, threshold), primeFieldSize, secret.length),
            secret,
          )
          assert.deepEqual(join(method, threshold, some, primeFieldSize, secret.length), secret)
        },
      ),
      { numRuns: 60 },
    )
  }
})

test('k-1 parts are consistent with every secret', () => {
  // With the part that is left out free, each byte of the key can be any of the 256.
  const secret = Buffer.from([0x42])
  const { parts } = split(secret, 'PolynomialSharingGF28', 3, 3)
  const seen = new Set<number>()
  for (let value = 0; value < 256; value += 1) {
    const guess: KeyPart = { identifier: 3, bytes: Buffer.from([value]) }
    seen.add(join('PolynomialSharingGF28', 3, [...parts.slice(0, 2), guess])[0] ?? -1)
  }
  assert.equal(seen.size, 256)
})

test('XOR requires every part', () => {
  const secret = randomBytes(32)
  const { parts } = split(secret, 'XOR', 5, 5)
  assert.equal(parts.length, 5)
  assert.deepEqual(join('XOR', 5, [...parts].reverse()), secret)
  assert.notDeepEqual(parts[0]?.bytes, parts[1]?.bytes)
  assert.throws(() => join('XOR', 5, parts.slice(1)), refused('wrong_key'))
  assert.throws(() => split(secret, 'XOR', 5, 4), refused('invalid_input'))
})

test('foreign and changed parts are detected if there is one more than needed', () => {
  for (const method of polynomial) {
    const { parts, primeFieldSize } = split(Buffer.alloc(16, 7), method, 4, 3)
    const foreign = split(Buffer.alloc(16, 8), method, 4, 3).parts[3] as KeyPart
    assert.throws(() => join(method, 3, [...parts.slice(0, 3), foreign], primeFieldSize), refused('failed'))
  }
})

test('the primes are prime, and larger than every secret of their size', () => {
  for (const bytes of [1, 16, 24, 32, 48, 64, 65, 159]) {
    const prime = primeFor(bytes, undefined)
    assert.ok(prime > 1n << BigInt(bytes * 8))
    assert.equal(checkPrimeSync(prime, { checks: 10 }), true)
  }
  assert.equal(primeFor(16, undefined), 2n ** 128n + 51n)
  assert.equal(primeFor(32, undefined), 2n ** 256n + 297n)
  const own = 2n ** 521n - 1n
  assert.equal(primeFor(64, toBytes(own, 66)), own)
  assert.throws(() => primeFor(16, toBytes(own - 2n, 66)), refused('invalid_input'))
  assert.throws(() => primeFor(66, toBytes(own, 66)), refused('invalid_input'))
  assert.throws(() => primeFor(8000, undefined), refused('invalid_input'))
})

test('a secret keeps its leading zeros in a prime field', () => {
  const secret = Buffer.concat([Buffer.alloc(5), Buffer.from([1, 2, 3])])
  const { parts, primeFieldSize } = split(secret, 'PolynomialSharingPrimeField', 3, 2)
  assert.deepEqual(join('PolynomialSharingPrimeField', 2, parts.slice(1), primeFieldSize, 8), secret)
  assert.deepEqual(join('PolynomialSharingPrimeField', 2, parts.slice(1), primeFieldSize), secret.subarray(5))
})

test('the work of one request is bounded', () => {
  assert.throws(() => split(randomBytes(8192), 'PolynomialSharingGF28', 255, 255), refused('too_much_work'))
  assert.throws(
    () => split(randomBytes(2400), 'PolynomialSharingPrimeField', 255, 255),
    refused('too_much_work'),
  )
  const parts = Array.from({ length: 255 }, (_, index) => ({
    identifier: index + 1,
    bytes: Buffer.alloc(2400),
  }))
  assert.throws(() => join('PolynomialSharingGF28', 128, parts), refused('too_much_work'))
  assert.equal(split(randomBytes(2400), 'PolynomialSharingGF28', 40, 20).parts.length, 40)
  assert.equal(split(randomBytes(64), 'PolynomialSharingGF28', 255, 255).parts.length, 255)
})

test('inconsistent parameters are refused', () => {
  const secret = randomBytes(16)
  for (const [parts, threshold] of [
    [1, 1],
    [3, 1],
    [3, 4],
    [maximumParts + 1, 2],
    [0, 0],
  ] as const)
    assert.throws(() => split(secret, 'PolynomialSharingGF28', parts, threshold), refused('invalid_input'))
  assert.throws(() => split(Buffer.alloc(0), 'XOR', 2, 2), refused('invalid_input'))
  assert.throws(() => split(Buffer.alloc(8193), 'XOR', 2, 2), refused('invalid_input'))
  assert.throws(() => split(randomBytes(3), 'PolynomialSharingGF216', 2, 2), refused('invalid_input'))
  assert.throws(
    () => splitSecret(secret, { method: 'XOR', parts: 2, threshold: 2, primeFieldSize: Buffer.from([7]) }),
    refused('invalid_input'),
  )
  const { parts } = split(secret, 'PolynomialSharingGF28', 3, 2)
  const [one, two] = parts as [KeyPart, KeyPart, KeyPart]
  assert.throws(() => join('PolynomialSharingGF28', 2, [one]), refused('wrong_key'))
  for (const wrong of [
    [one, one],
    [one, { ...two, identifier: 0 }],
    [one, { ...two, identifier: 256 }],
    [one, { ...two, bytes: two.bytes.subarray(1) }],
  ])
    assert.throws(() => join('PolynomialSharingGF28', 2, wrong), refused('invalid_input'))
  assert.throws(() => join('PolynomialSharingPrimeField', 2, [one, two]), refused('invalid_input'))
  const many = split(secret, 'PolynomialSharingGF28', 255, 200).parts
  assert.deepEqual(join('PolynomialSharingGF28', 200, many.slice(30, 230)), secret)
})
