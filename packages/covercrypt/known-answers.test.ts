import assert from 'node:assert/strict'
import { createHash, createPrivateKey, createPublicKey, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { ristretto255 } from '@noble/curves/ed25519.js'
import { kmac256 as noble256 } from '@noble/hashes/sha3-addons.js'
import { ml_kem512 } from '@noble/post-quantum/ml-kem.js'
import {
  decodeMasterKey,
  decodePublicKey,
  decodeUserKey,
  encodeMasterKey,
  encodePublicKey,
  encodeUserKey,
} from './key-bytes.ts'
import { derivePublicKey } from './keys.ts'
import {
  baseTimes,
  deriveKey,
  importDecapsulationKey,
  kemOpen,
  kemSeal,
  kmac256,
  plus,
  randomScalar,
  scalarDifference,
  scalarInverse,
  scalarProduct,
  scalarSum,
  times,
  toScalar,
} from './primitives.ts'
import { open, opensWith } from './sealing.ts'
import { fromHex, toHex } from './testing/keys.ts'
import { refreshUserKey } from './user-key.ts'

interface KnownAnswers {
  readonly master: string
  readonly public: string
  readonly high: string
  readonly low: string
  readonly aad: string
  readonly plaintext: string
  readonly sealed: Readonly<Record<'*' | 'Level::low' | 'Level::high', string>>
}

const file = new URL('./fixtures/known-answers.json', import.meta.url)
const answers = JSON.parse(readFileSync(file, 'utf8')) as KnownAnswers

test('keys and ciphertexts of earlier versions round-trip and decrypt', () => {
  const master = decodeMasterKey(fromHex(answers.master))
  assert.equal(toHex(encodeMasterKey(master)), answers.master)
  assert.equal(toHex(encodePublicKey(derivePublicKey(master))), answers.public)
  assert.equal(toHex(encodePublicKey(decodePublicKey(fromHex(answers.public)))), answers.public)
  for (const usk of [answers.high, answers.low])
    assert.equal(toHex(encodeUserKey(refreshUserKey(master, decodeUserKey(fromHex(usk))))), usk)
  for (const [policy, sealed] of Object.entries(answers.sealed)) {
    const read = (usk: string) =>
      open(opensWith(decodeUserKey(fromHex(usk))), fromHex(sealed), fromHex(answers.aad))
    assert.equal(toHex(read(answers.high)), answers.plaintext)
    if (policy === 'Level::high') assert.throws(() => read(answers.low), { code: 'cannot_open' })
    else assert.equal(toHex(read(answers.low)), answers.plaintext)
  }
})

test('encapsulations have the sizes of the deployed service', () => {
  const sizes = Object.values(answers.sealed).map((hex) => hex.length / 2 - 28 - answers.plaintext.length / 2)
  assert.deepEqual(sizes, [115, 115, 883])
})

test('ristretto255 agrees with another library', () => {
  const { Point } = ristretto255
  const number = (bytes: Uint8Array) => BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`)
  const order = Point.Fn.ORDER
  for (let round = 0; round < 10; round++) {
    const [one, other] = [randomScalar(), randomScalar()]
    const point = Point.BASE.multiply(number(one))
    assert.equal(toHex(baseTimes(one)), point.toHex())
    assert.equal(toHex(times(other, baseTimes(one)) as Uint8Array), point.multiply(number(other)).toHex())
    assert.equal(
      toHex(plus(baseTimes(one), baseTimes(other))),
      point.add(Point.BASE.multiply(number(other))).toHex(),
    )
    assert.equal(number(scalarProduct(one, other)), (number(one) * number(other)) % order)
    assert.equal(number(scalarSum(one, other)), (number(one) + number(other)) % order)
    assert.equal(number(scalarDifference(one, other)), (number(one) - number(other) + order) % order)
    assert.equal((number(scalarInverse(one)) * number(one)) % order, 1n)
    const seed = randomBytes(32)
    assert.equal(number(toScalar(seed)), number(seed) % order)
  }
  assert.equal(times(one(), new Uint8Array(32)), undefined, 'the identity')
})

const one = (): Uint8Array => new Uint8Array(32).with(0, 1)

test('an expanded ML-KEM-512 key equals the key of the runtime from the same seed', () => {
  const seed = randomBytes(64)
  const { publicKey, secretKey } = ml_kem512.keygen(seed)
  const input = { key: seed, format: 'raw-seed', asymmetricKeyType: 'ml-kem-512' } as never
  const runtime = createPublicKey(createPrivateKey(input)).export({ format: 'der', type: 'spki' })
  assert.equal(toHex(runtime.subarray(-800)), toHex(publicKey))
  const sealed = kemSeal(publicKey)
  const key = importDecapsulationKey(secretKey)
  assert.ok(sealed !== undefined && key !== undefined)
  assert.equal(toHex(kemOpen(key, sealed.ciphertext)), toHex(sealed.sharedKey))
})

test('KMAC256 agrees with another library, and the key derivation is SHAKE256', () => {
  const [key, data] = [randomBytes(16), randomBytes(200)]
  const personalization = Buffer.from('USK signature')
  assert.equal(
    toHex(kmac256(key, 'USK signature', data)),
    toHex(noble256(key, data, { dkLen: 32, personalization })),
  )
  const shake = createHash('shake256', { outputLength: 32 }).update('secretlabel').digest()
  assert.equal(toHex(deriveKey(Buffer.from('secret'), 'label')), toHex(shake))
})
