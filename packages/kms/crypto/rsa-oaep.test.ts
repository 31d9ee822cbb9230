import assert from 'node:assert/strict'
import { createSecretKey } from 'node:crypto'
import { test } from 'node:test'
import { CompactEncrypt, compactDecrypt } from 'jose'
import { gcmDecrypt, gcmEncrypt, generateRsa, oaepUnwrap, oaepUnwrapCek, oaepWrap } from './index.ts'

const rows = [
  ['RSA-OAEP', 'SHA-1'],
  ['RSA-OAEP-256', 'SHA-256'],
] as const
const pair = await generateRsa(2048)
assert.ok('private' in pair)
const { private: secret, public: open } = pair

test('the jose library opens our tokens and we open its own', async () => {
  for (const [alg, hash] of rows) {
    const header = { alg, enc: 'A256GCM' }
    const theirs = await new CompactEncrypt(Buffer.from('hi')).setProtectedHeader(header).encrypt(open.key)
    const [head = '', wrapped = '', iv = '', ciphertext = '', tag = ''] = theirs.split('.')
    const bytes = (text: string) => Buffer.from(text, 'base64url')
    const cek = createSecretKey(await oaepUnwrapCek(hash, secret.key, bytes(wrapped), 32))
    const sealed = { iv: bytes(iv), ciphertext: bytes(ciphertext), tag: bytes(tag) }
    assert.equal(gcmDecrypt(cek, sealed, Buffer.from(head)).toString(), 'hi')
    const own = gcmEncrypt(cek, Buffer.from('ho'), Buffer.from(head))
    const parts = [oaepWrap(hash, open.key, cek.export()), own.iv, own.ciphertext, own.tag]
    const ours = [head, ...parts.map((part) => part.toString('base64url'))].join('.')
    assert.equal(Buffer.from((await compactDecrypt(ours, secret.key)).plaintext).toString(), 'ho')
  }
})

test('a key that cannot be unwrapped becomes a random one of the size that was asked for', async () => {
  const short = oaepWrap('SHA-256', open.key, Buffer.alloc(16))
  for (const bad of [
    Buffer.alloc(0),
    Buffer.alloc(256),
    Buffer.alloc(256, 255),
    Buffer.alloc(300, 1),
    short,
  ]) {
    const first = await oaepUnwrapCek('SHA-256', secret.key, bad, 32)
    assert.equal(first.length, 32)
    assert.notDeepEqual(first, await oaepUnwrapCek('SHA-256', secret.key, bad, 32))
  }
  await assert.rejects(oaepUnwrap('SHA-256', secret.key, Buffer.alloc(256)), { kind: 'decryption_failed' })
})
