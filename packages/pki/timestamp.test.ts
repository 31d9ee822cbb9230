import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { PkiError } from './error.ts'
import { timestampRequest, tokenInResponse } from './timestamp.ts'
import { timestampVerdict } from './timestamp-verdict.ts'

const fixture = JSON.parse(readFileSync(new URL('fixtures/openssl.json', import.meta.url), 'utf8')) as {
  readonly data: string
  readonly request: string
  readonly nonce: string
  readonly root: string
  readonly anotherRoot: string
  readonly response: string
  readonly tokens: Readonly<Record<'rsa' | 'ec' | 'webServer' | 'manyPurposes' | 'unnamed', string>>
}
const bytes = (text: string): Buffer => Buffer.from(text, 'base64')
const digest = createHash('sha256').update(fixture.data).digest()
const nonce = Buffer.from(fixture.nonce, 'hex')
const anchors = [bytes(fixture.root)]
const judge = (token: Uint8Array, more: object = {}) => timestampVerdict({ token, digest, anchors, ...more })
const catchProblem = (token: Uint8Array, more: object = {}): string => {
  const verdict = judge(token, more)
  return 'problem' in verdict ? verdict.problem : 'it holds'
}

test('a request equals that of OpenSSL byte for byte', () => {
  assert.deepEqual(timestampRequest(digest, nonce), bytes(fixture.request))
})

test('tokens of OpenSSL with RSA and ECDSA are valid, also long after their certificate expired', () => {
  for (const [name, authority] of [
    ['rsa', 'CN=rsa-authority'],
    ['ec', 'CN=ec-authority'],
  ] as const) {
    const verdict = judge(bytes(fixture.tokens[name]), { nonce })
    assert.ok('time' in verdict, JSON.stringify(verdict))
    assert.equal(verdict.authority, authority)
    assert.equal(new Date(verdict.time).toISOString().slice(0, 10), '2026-11-24')
  }
  assert.deepEqual(Buffer.from(tokenInResponse(bytes(fixture.response))), bytes(fixture.tokens.ec))
})

test('a token for other data, for another request, or of an untrusted authority is refused', () => {
  const token = bytes(fixture.tokens.ec)
  assert.match(catchProblem(token, { digest: Buffer.alloc(32) }), /stamps other data/)
  assert.match(catchProblem(token, { nonce: Buffer.from('01', 'hex') }), /does not belong to this request/)
  assert.match(catchProblem(token, { anchors: [bytes(fixture.anotherRoot)] }), /not trusted/)
  assert.match(catchProblem(token, { anchors: [] }), /not trusted/)
})

test('a token is refused when its key has other purposes or is not the one in the signature', () => {
  assert.match(catchProblem(bytes(fixture.tokens.webServer)), /not reserved for time stamping/)
  assert.match(catchProblem(bytes(fixture.tokens.manyPurposes)), /not reserved for time stamping/)
  assert.match(catchProblem(bytes(fixture.tokens.unnamed)), /does not contain the certificate of its signer/)
})

test('the refusal of an authority is quoted, and a malformed response is refused', () => {
  for (const nothing of ['', '3000', '300506032a0304', '3005300302010000'])
    assert.throws(() => tokenInResponse(Buffer.from(nothing, 'hex')), PkiError)
  const busy = Buffer.from('300d300b02010230060c0462757379', 'hex')
  assert.throws(() => tokenInResponse(busy), /returned no token \(status 2: busy\)/)
  assert.throws(() => tokenInResponse(Buffer.alloc((1 << 18) + 1)), /too long/)
})

test('a token with a changed byte is refused or has the same contents', () => {
  const token = bytes(fixture.tokens.ec)
  const whole = judge(token)
  let refused = 0
  for (let place = 0; place < token.length; place += 1) {
    const changed = Buffer.from(token)
    changed[place] = (changed[place] ?? 0) ^ 0x41
    const verdict = judge(changed)
    if ('problem' in verdict) refused += 1
    // CMS versions and redundant algorithm names are not used.
    else assert.deepEqual(verdict, whole, `byte ${place}`)
  }
  assert.ok(refused > token.length * 0.9, `${refused} of ${token.length}`)
  for (let length = 0; length < token.length; length += 7)
    assert.notEqual(catchProblem(token.subarray(0, length)), 'it holds')
})
