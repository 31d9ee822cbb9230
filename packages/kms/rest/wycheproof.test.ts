import assert from 'node:assert/strict'
import { createCipheriv, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { startSharedKms } from '../testing/start.ts'
import { storeKeyAs } from '../testing/store-key.ts'

// Project Wycheproof's vectors that the REST API can be asked about, through the live server (K09): what a key signed
// in JWS form, RSA-OAEP as unwrapping sees it, and HMAC. (The others fix an IV or a signing input, which the service
// never takes from a caller; they run against the primitives.)

interface Vectors {
  readonly jws: readonly {
    readonly key: Readonly<Record<string, unknown>>
    readonly tests: readonly {
      readonly id: number
      readonly comment: string
      readonly jws: string
      readonly valid: boolean
    }[]
  }[]
  readonly oaep: readonly {
    readonly alg: string
    readonly key: Readonly<Record<string, string>>
    readonly tests: readonly {
      readonly id: number
      readonly ct: string
      readonly msg: string
      readonly label: string
      readonly result: string
    }[]
  }[]
  readonly hmac: readonly {
    readonly alg: string
    readonly tests: readonly {
      readonly id: number
      readonly key: string
      readonly msg: string
      readonly tag: string
      readonly valid: boolean
    }[]
  }[]
}
const vectors: Vectors = JSON.parse(readFileSync(new URL('./wycheproof.json', import.meta.url), 'utf8'))

const kms = await startSharedKms()
const alice = kms.user('alice')

const b64 = (hex: string): string => Buffer.from(hex, 'hex').toString('base64url')

/** Misprints of the source: called invalid but letter for letter a valid one, or called valid but no base64url. */
const misprinted: ReadonlySet<number> = new Set([367, 370, 372, 373])

for (const [index, { key, tests }] of vectors.jws.entries()) {
  const { kid, kty, use, key_ops: ops } = key
  // A key request has no `use`: `alg` determines the use of the key.
  if (use === 'enc' || String(ops).includes('encrypt')) continue
  const alg = key.alg === 'ES521' ? 'ES512' : String(key.alg ?? 'ES256')
  test(`JWS ${index}: ${tests.length} signatures of ${kty} ${alg}, of which only the right ones are valid`, async () => {
    // RFC 7520 (the figures) uses one key with several algorithms, whatever the key says.
    const bound = !tests.some(({ comment }) => comment.startsWith('Figure'))
    await storeKeyAs(kms, String(kid), 'alice', key, alg, bound)
    let valid = 0
    for (const { id, comment, jws, valid: expected } of tests) {
      const [header = '', data = '', signature = '', ...more] = jws.split('.')
      // One part more or less is not a JWS that the API could be given.
      if (more.length > 0 || misprinted.has(id)) continue
      const answer =
        kty === 'oct'
          ? await macOf(header, data, signature)
          : await alice.post('/v1/crypto/verify', { protected: header, data, signature })
      // Of a MAC the header is the client's to read, and to read strictly, as the service does for signatures.
      const accepted =
        answer.status === 200 && answer.json.valid === true && [header, data, signature].every(isStrict)
      assert.equal(accepted, expected, `${id} ${comment}: ${answer.text}`)
      assert.ok(answer.status < 500, answer.text)
      if (accepted) valid++
    }
    assert.ok(valid > 0)
  })
}

function isStrict(text: string): boolean {
  return Buffer.from(text, 'base64url').toString('base64url') === text
}

/** As a client with a MAC key does it: reads the header itself, and lets the service compute over the rest. */
function macOf(header: string, data: string, mac: string) {
  let named: { readonly kid?: unknown; readonly alg?: unknown } = {}
  try {
    named = JSON.parse(Buffer.from(header, 'base64url').toString())
  } catch {
    // The service is asked all the same, without a key.
  }
  const input = Buffer.from(`${header}.${data}`).toString('base64url')
  return alice.post('/v1/crypto/mac', { kid: named.kid, alg: named.alg, data: input, mac })
}

for (const { alg, key, tests } of vectors.oaep) {
  test(`${alg}: ${tests.length} ciphertexts are unwrapped as their authors say`, async () => {
    const { kid } = (await alice.post('/v1/crypto/keys', { ...key, alg })).json
    const encs: Readonly<Record<number, string>> = { 16: 'A128GCM', 24: 'A192GCM', 32: 'A256GCM' }
    let opened = 0
    for (const { id, ct, msg, label, result } of tests) {
      const size = msg.length / 2
      const enc = encs[size] ?? 'A256GCM'
      const header = Buffer.from(JSON.stringify({ alg, enc, kid })).toString('base64url')
      const answer = await alice.post('/v1/crypto/keys/unwrap', { protected: header, encrypted_key: b64(ct) })
      // JOSE has no labels; unwrap reports a valid key of another size than `enc` requires.
      const opens = result === 'valid' && label === ''
      const expected = !opens ? 'decryption_failed' : encs[size] === undefined ? 'crypto_failure' : undefined
      // An empty ciphertext is malformed before it is wrong.
      const kind = ct === '' ? 'bad_request' : expected
      assert.equal(answer.json.error, kind, `${id} ${answer.text}`)
      if (answer.status !== 200) continue
      opened++
      // The key that was taken in is the message.
      const named = Buffer.from(JSON.stringify({ alg: 'dir', enc, kid: answer.json.kid })).toString(
        'base64url',
      )
      const iv = randomBytes(12)
      const cipher = createCipheriv(`aes-${size * 8}-gcm` as 'aes-256-gcm', Buffer.from(msg, 'hex'), iv)
      cipher.setAAD(Buffer.from(named))
      const ciphertext = Buffer.concat([cipher.update('opened'), cipher.final()]).toString('base64url')
      const sealed = {
        protected: named,
        iv: iv.toString('base64url'),
        ciphertext,
        tag: cipher.getAuthTag().toString('base64url'),
      }
      assert.equal((await alice.post('/v1/crypto/decrypt', sealed)).status, 200)
    }
    assert.ok(opened > 0)
  })
}

for (const { alg, tests } of vectors.hmac) {
  const bits = (tests[0]?.key.length ?? 0) * 4
  const length = (tests[0]?.tag.length ?? 0) * 4
  test(`${alg}: ${tests.length} MACs of ${length} bits with keys of ${bits} bits and more`, async () => {
    const kids = new Map<string, string>()
    for (const key of new Set(tests.map((one) => one.key))) {
      const made = await alice.post('/v1/crypto/keys', { kty: 'oct', alg, k: b64(key) })
      assert.equal(made.status, 200, made.text)
      kids.set(key, made.json.kid)
    }
    const operations = tests.map(({ key, msg, tag }) => ({
      op: 'mac',
      kid: kids.get(key),
      alg,
      data: b64(msg),
      mac: b64(tag),
    }))
    const { json } = await alice.post('/v1/crypto/batch', { operations })
    for (const [index, { id, valid }] of tests.entries())
      assert.deepEqual([json.results[index].status, json.results[index].result.valid], [200, valid], `${id}`)
  })
}
