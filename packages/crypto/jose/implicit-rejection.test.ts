import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Failure } from '@warder/base'
import { algorithmFor } from '../algorithms/algorithms.ts'
import { toDescribedKey } from '../backend/software.ts'
import { generateKey } from '../material/generate-key.ts'
import { oaepWrap } from '../rsa/rsa-oaep.ts'
import { decodeBase64Url } from './base64url.ts'
import { ContentKeys, jweDecryptOaep, jweEncryptOaep, openNow } from './jwe-flattened.ts'
import { seal } from './testing/jose-samples.ts'

const policy = { fips: false }
const pair = await generateKey({ algorithm: 'RSA', alg: undefined, bits: 2048 })
assert.ok('private' in pair)
const { private: secret, public: open } = pair

test('every invalid encrypted_key gets exactly the error of a wrong tag (RFC 7516 §11.5)', async () => {
  for (const name of ['RSA-OAEP', 'RSA-OAEP-256']) {
    const algorithm = algorithmFor('key management', name, policy)
    for (const enc of ['A128GCM', 'A192GCM', 'A256GCM']) {
      const encryption = algorithmFor('content encryption', enc, policy)
      const cipher = { name: enc, encryption }
      const jwe = jweEncryptOaep(
        seal,
        open,
        'k',
        { name, algorithm },
        cipher,
        Buffer.from('hello'),
        undefined,
      )
      const bytes = (text: string) => decodeBase64Url(text, 'member')
      const { protected: header, iv, ciphertext, tag } = jwe
      const sealed = {
        protected: header,
        iv: bytes(iv),
        ciphertext: bytes(ciphertext),
        tag: bytes(tag),
        aad: undefined,
      }
      const right = bytes(jwe.encrypted_key)
      // With content keys that were opened, and with none: the refusals are the same.
      const contentKeys = new ContentKeys(8)
      const again = async () =>
        jweDecryptOaep(openNow, contentKeys, toDescribedKey(secret), algorithm, encryption, right, sealed)
      assert.equal((await again()).toString(), 'hello')
      assert.equal((await again()).toString(), 'hello')
      const attempt = async (encryptedKey: Uint8Array, tag: Buffer = sealed.tag) => {
        const opening = async () =>
          jweDecryptOaep(openNow, contentKeys, toDescribedKey(secret), algorithm, encryption, encryptedKey, {
            ...sealed,
            tag,
          })
        const thrown = await opening().then(
          () => assert.fail('it opened'),
          (error: unknown) => error,
        )
        assert.ok(thrown instanceof Failure)
        const { kind, status, message, detail, cause, retryAfterSeconds, members, headers } = thrown
        return { kind, status, message, detail, cause, retryAfterSeconds, members, headers }
      }
      const wrongTag = await attempt(right, Buffer.alloc(16))
      assert.equal(wrongTag.kind, 'decryption_failed')
      const flipped = Buffer.from(right)
      flipped.writeUInt8(flipped.readUInt8(200) ^ 1, 200)
      const size = encryption.bits / 8
      for (const wrong of [
        flipped,
        oaepWrap(algorithm.oaepHash, open.key, Buffer.alloc(size)),
        oaepWrap(algorithm.oaepHash, open.key, Buffer.alloc(size - 1)),
        oaepWrap(algorithm.oaepHash === 'SHA_1' ? 'SHA_256' : 'SHA_1', open.key, Buffer.alloc(size)),
        Buffer.alloc(256),
        Buffer.alloc(256, 255),
        right.subarray(1),
        Buffer.concat([right, right]),
        Buffer.alloc(0),
      ])
        assert.deepEqual(await attempt(wrong), wrongTag)
    }
  }
})
