import assert from 'node:assert/strict'
import { createSecretKey } from 'node:crypto'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { algorithmFor } from '../algorithms/algorithms.ts'
import type { BackendKey } from '../backend/key-backend.ts'
import { type DescribedKey, softwareKey, toDescribedKey } from '../backend/software.ts'
import { generateKey } from '../material/generate-key.ts'
import { decodeBase64Url } from './base64url.ts'
import { ContentKeys, jweDecryptOaep, jweEncryptOaep, openNow, type SealedContent } from './jwe-flattened.ts'
import { seal } from './testing/jose-samples.ts'

const policy = { fips: false }
const name = 'RSA-OAEP-256'
const algorithm = algorithmFor('key management', name, policy)
const encryption = algorithmFor('content encryption', 'A256GCM', policy)
const bytes = (text: string) => decodeBase64Url(text, 'member')
const pairOf = async () => {
  const pair = await generateKey({ algorithm: 'RSA', alg: undefined, bits: 2048 })
  assert.ok('private' in pair)
  return pair
}
const pair = await pairOf()
const rsa = toDescribedKey(pair.private)

function token(text: string) {
  const cipher = { name: 'A256GCM', encryption }
  const jwe = jweEncryptOaep(
    seal,
    pair.public,
    'k',
    { name, algorithm },
    cipher,
    Buffer.from(text),
    undefined,
  )
  const { protected: header, iv, ciphertext, tag } = jwe
  const sealed: SealedContent = {
    protected: header,
    iv: bytes(iv),
    ciphertext: bytes(ciphertext),
    tag: bytes(tag),
    aad: undefined,
  }
  return { encryptedKey: bytes(jwe.encrypted_key), sealed }
}

/** Counts the costs of a reading: a private operation takes a promise, a remembered content key none. */
function reader(contentKeys: ContentKeys, material: DescribedKey = rsa) {
  return ({ encryptedKey, sealed }: ReturnType<typeof token>) =>
    jweDecryptOaep(openNow, contentKeys, material, algorithm, encryption, encryptedKey, sealed)
}

test('a token that was decrypted once is decrypted again without a private-key operation', async () => {
  const read = reader(new ContentKeys(8))
  const [one, other] = [token('one'), token('other')]
  const first = read(one)
  assert.ok(first instanceof Promise)
  assert.equal((await first).toString(), 'one')
  const second = read(one)
  assert.ok(Buffer.isBuffer(second))
  assert.equal(second.toString(), 'one')
  assert.ok(read(other) instanceof Promise)
})

test('neither a substituted content key, nor the key of a token that failed, is cached', async () => {
  const read = reader(new ContentKeys(8))
  const right = token('right')
  const foreign = { ...right, encryptedKey: token('another').encryptedKey }
  const garbage = { ...right, encryptedKey: Buffer.alloc(256, 7) }
  const wrongTag = { ...right, sealed: { ...right.sealed, tag: Buffer.alloc(16) } }
  for (let round = 0; round < 2; round += 1) {
    for (const wrong of [foreign, garbage, wrongTag]) {
      const refused = read(wrong)
      assert.ok(refused instanceof Promise)
      await assert.rejects(refused, { kind: 'decryption_failed' })
    }
  }
})

test('a cached content key decrypts its own messages, and no changed ones', async () => {
  const read = reader(new ContentKeys(8))
  const right = token('right')
  await read(right)
  const changed = { ...right, sealed: { ...right.sealed, tag: Buffer.alloc(16) } }
  assert.throws(() => read(changed), { kind: 'decryption_failed' })
  const asAnother = { ...right, sealed: { ...right.sealed, aad: 'YWFk' } }
  assert.throws(() => read(asAnother), { kind: 'decryption_failed' })
})

test('another size, hash or RSA key is another cache entry', async () => {
  const contentKeys = new ContentKeys(8)
  const right = token('right')
  await reader(contentKeys)(right)
  const shorter = algorithmFor('content encryption', 'A128GCM', policy)
  const sha1 = algorithmFor('key management', 'RSA-OAEP', policy)
  const other = await pairOf()
  for (const attempt of [
    () => jweDecryptOaep(openNow, contentKeys, rsa, algorithm, shorter, right.encryptedKey, right.sealed),
    () => jweDecryptOaep(openNow, contentKeys, rsa, sha1, encryption, right.encryptedKey, right.sealed),
    () => reader(contentKeys, toDescribedKey(other.private))(right),
  ]) {
    const refused = attempt()
    assert.ok(refused instanceof Promise)
    await assert.rejects(refused, { kind: 'decryption_failed' })
  }
})

test('beyond the capacity the oldest entry of any key is evicted', () => {
  const contentKeys = new ContentKeys(2)
  const [one, two] = [rsa, { ...rsa }]
  const key = softwareKey(createSecretKey(Buffer.alloc(32)))
  contentKeys.add(one, 'a', key)
  contentKeys.add(two, 'b', key)
  contentKeys.add(two, 'b', key)
  contentKeys.add(two, 'c', key)
  assert.equal(contentKeys.get(one, 'a'), undefined)
  assert.equal(contentKeys.get(two, 'b'), key)
  assert.equal(contentKeys.get(two, 'c'), key)
})

test('cached content keys are dropped with their RSA key', async () => {
  const contentKeys = new ContentKeys(8)
  const held = (): WeakRef<BackendKey> => {
    const key = softwareKey(createSecretKey(Buffer.alloc(32)))
    contentKeys.add({ ...rsa }, 'a', key)
    return new WeakRef(key)
  }
  const weak = held()
  setFlagsFromString('--expose_gc')
  const collect: () => void = runInNewContext('gc')
  for (let round = 0; round < 20 && weak.deref() !== undefined; round += 1) {
    await new Promise((resolve) => setImmediate(resolve))
    collect()
  }
  assert.equal(weak.deref(), undefined)
})
