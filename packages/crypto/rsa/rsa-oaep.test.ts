import assert from 'node:assert/strict'
import {
  constants,
  createHash,
  type KeyObject,
  privateDecrypt,
  publicEncrypt,
  randomBytes,
} from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import type { OaepHash } from '../algorithms/key-managements.ts'
import { generateRsa } from '../material/generate-key.ts'
import { decryptRsa, oaepPlan } from './rsa-encryption.ts'
import { oaepUnwrapCek, oaepWrap } from './rsa-oaep.ts'

const oaepUnwrap = (oaepHash: OaepHash, key: KeyObject, wrapped: Uint8Array) =>
  decryptRsa(key, oaepPlan({ oaepHash }), wrapped)
const hashes: readonly OaepHash[] = ['SHA_1', 'SHA_256']
const pairOf = async (bits: number) => {
  const made = await generateRsa(bits)
  assert.ok('private' in made)
  return { secret: made.private.key, open: made.public.key }
}
const main = await pairOf(2048)
const { secret, open } = main
const other = await pairOf(2056)

/** EME-OAEP of RFC 8017 §7.1.1 by hand, so that one part of it can be spoiled, then the bare public operation. */
function encryptSpoiled(
  hash: OaepHash,
  key: KeyObject,
  spoil: (block: Buffer, encoded: Buffer) => void,
): Buffer {
  const name = hash === 'SHA_1' ? 'sha1' : 'sha256'
  const bytes = hash === 'SHA_1' ? 20 : 32
  const encoded = Buffer.alloc((key.asymmetricKeyDetails?.modulusLength ?? 0) / 8)
  const seed = encoded.subarray(1, 1 + bytes)
  const block = encoded.subarray(1 + bytes)
  createHash(name).digest().copy(block)
  block[block.length - 33] = 1
  block.fill(7, block.length - 32)
  randomBytes(bytes).copy(seed)
  spoil(block, encoded)
  const mask = (from: Buffer, target: Buffer) => {
    for (let at = 0; at < target.length; at += 1) {
      const counter = Buffer.alloc(4)
      counter.writeUInt32BE(Math.floor(at / bytes))
      const stream = createHash(name).update(from).update(counter).digest()
      target[at] = (target[at] as number) ^ (stream[at % bytes] as number)
    }
  }
  mask(seed, block)
  mask(block, seed)
  return publicEncrypt({ key, padding: constants.RSA_NO_PADDING }, encoded)
}

test('a key wrapped by this code or by OpenSSL is unwrapped, for every key size and modulus length in bytes', async () => {
  for (const { secret, open } of [main, other]) {
    for (const hash of hashes) {
      for (const size of [16, 24, 32]) {
        const cek = randomBytes(size)
        const wrapped = oaepWrap(hash, open, cek)
        assert.deepEqual(await oaepUnwrapCek(hash, secret, wrapped, size), cek)
        assert.deepEqual(await oaepUnwrap(hash, secret, wrapped), cek)
        const oaepHash = hash === 'SHA_1' ? 'sha1' : 'sha256'
        assert.deepEqual(privateDecrypt({ key: secret, oaepHash }, wrapped), cek)
      }
      const byHand = encryptSpoiled(hash, open, () => undefined)
      assert.deepEqual(await oaepUnwrapCek(hash, secret, byHand, 32), Buffer.alloc(32, 7))
    }
  }
})

const spoilt: Readonly<Record<string, (block: Buffer, encoded: Buffer) => void>> = {
  'first byte not zero (Manger)': (_block, encoded) => encoded.writeUInt8(1, 0),
  'first byte of the label hash': (block) => block.writeUInt8(block.readUInt8(0) ^ 1, 0),
  'last byte of the label hash': (block) => block.writeUInt8(block.readUInt8(19) ^ 128, 19),
  'a bit in the zeros': (block) => block.writeUInt8(2, 60),
  'no separator': (block) => block.writeUInt8(0, block.length - 33),
  'another separator': (block) => block.writeUInt8(0xff, block.length - 33),
  'an earlier separator: a longer key': (block) => block.writeUInt8(1, block.length - 34),
  'a later separator: a shorter key': (block) => {
    block.writeUInt8(0, block.length - 33)
    block.writeUInt8(1, block.length - 32)
  },
  'everything zero': (block) => block.fill(0),
}

test('each invalid encoding yields a random key of the requested size', async () => {
  for (const hash of hashes) {
    for (const [what, spoil] of Object.entries(spoilt)) {
      const wrapped = encryptSpoiled(hash, open, spoil)
      const cek = await oaepUnwrapCek(hash, secret, wrapped, 32)
      assert.equal(cek.length, 32, what)
      assert.notDeepEqual(cek.subarray(2), Buffer.alloc(30, 7), what)
      assert.deepEqual(await oaepUnwrapCek(hash, secret, wrapped, 32), cek, what)
      if (!what.includes('separator: '))
        await assert.rejects(oaepUnwrap(hash, secret, wrapped), { kind: 'decryption_failed' })
    }
  }
})

/** Numbers at and beside the ends of the range that the private operation takes, and wrong lengths. */
function outOfRange(): readonly Buffer[] {
  const modulus = Buffer.from(open.export({ format: 'jwk' }).n as string, 'base64url')
  const plus = (by: bigint) =>
    Buffer.from((BigInt(`0x${modulus.toString('hex')}`) + by).toString(16).padStart(512, '0'), 'hex')
  const one = Buffer.alloc(256)
  one.writeUInt8(1, 255)
  const right = oaepWrap('SHA_256', open, Buffer.alloc(32, 7))
  return [
    ...[-2n, -1n, 0n, 1n].map(plus),
    one,
    Buffer.alloc(0),
    Buffer.alloc(1),
    Buffer.alloc(256),
    Buffer.alloc(256, 255),
    Buffer.alloc(100_000, 1),
    right.subarray(1),
    right.subarray(0, 255),
    Buffer.concat([right, Buffer.alloc(1)]),
    Buffer.concat([Buffer.alloc(1), right]),
  ]
}

test('bytes that are not a ciphertext of the key also yield a key, which is deterministic and different for each', async () => {
  for (const hash of hashes) {
    const seen = new Set<string>()
    const inputs = outOfRange()
    for (const bytes of inputs) {
      const cek = await oaepUnwrapCek(hash, secret, bytes, 32)
      assert.equal(cek.length, 32)
      assert.deepEqual(await oaepUnwrapCek(hash, secret, bytes, 32), cek)
      seen.add(cek.toString('hex'))
    }
    assert.equal(seen.size, inputs.length)
  }
})

test('the substituted key depends on the private key, the hash and the requested size', async () => {
  const bytes = Buffer.alloc(256, 255)
  const keys = [
    await oaepUnwrapCek('SHA_256', secret, bytes, 32),
    await oaepUnwrapCek('SHA_1', secret, bytes, 32),
    await oaepUnwrapCek('SHA_256', other.secret, bytes, 32),
    await oaepUnwrapCek('SHA_256', secret, bytes, 16),
  ]
  assert.equal(new Set(keys.map((key) => key.toString('hex', 0, 16))).size, keys.length)
})

test('a valid key of another size, or wrapped with another hash, is not returned', async () => {
  const short = Buffer.alloc(16, 9)
  const got = await oaepUnwrapCek('SHA_256', secret, oaepWrap('SHA_256', open, short), 32)
  assert.ok(!got.includes(short))
  const swapped = await oaepUnwrapCek('SHA_1', secret, oaepWrap('SHA_256', open, Buffer.alloc(32, 9)), 32)
  assert.notDeepEqual(swapped, Buffer.alloc(32, 9))
  const empty = await oaepUnwrapCek('SHA_256', secret, oaepWrap('SHA_256', open, Buffer.alloc(0)), 16)
  assert.equal(empty.length, 16)
})

test('a ciphertext that begins with a zero byte is refused without it (RFC 8017 §7.1.2)', async () => {
  const cek = Buffer.alloc(32, 7)
  let wrapped = oaepWrap('SHA_256', open, cek)
  for (let tries = 0; tries < 20_000 && wrapped[0] !== 0; tries += 1) wrapped = oaepWrap('SHA_256', open, cek)
  assert.equal(wrapped[0], 0)
  assert.deepEqual(await oaepUnwrapCek('SHA_256', secret, wrapped, 32), cek)
  assert.notDeepEqual(await oaepUnwrapCek('SHA_256', secret, wrapped.subarray(1), 32), cek)
  await assert.rejects(oaepUnwrap('SHA_256', secret, wrapped.subarray(1)), { kind: 'decryption_failed' })
})

test('property: unwrapping any bytes agrees with OpenSSL', async () => {
  const right = oaepWrap('SHA_256', open, Buffer.alloc(32, 7))
  await fc.assert(
    fc.asyncProperty(fc.nat(255), fc.nat(255), async (at, flip) => {
      const bytes = Buffer.from(right)
      bytes.writeUInt8(bytes.readUInt8(at) ^ flip, at)
      const cek = await oaepUnwrapCek('SHA_256', secret, bytes, 32)
      const theirs = await oaepUnwrap('SHA_256', secret, bytes).catch(() => undefined)
      assert.equal(cek.equals(Buffer.alloc(32, 7)), theirs?.equals(Buffer.alloc(32, 7)) === true)
      assert.equal(flip === 0, theirs !== undefined)
    }),
    { numRuns: 60 },
  )
})
