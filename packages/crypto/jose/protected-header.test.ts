import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { encodeBase64Url } from './base64url.ts'
import { jweHeader, jwsHeader, readJweHeader, readJwsHeader } from './protected-header.ts'

const encoded = (text: string | Uint8Array) => encodeBase64Url(Buffer.from(text as string))
const refused = (text: string, message?: RegExp) => {
  for (const read of [readJweHeader, readJwsHeader])
    assert.throws(
      () => read(text),
      message === undefined ? { kind: 'bad_request' } : { kind: 'bad_request', message },
    )
}
const right = { alg: 'dir', enc: 'A128GCM', kid: 'k' }

test('headers are written with their members in a fixed order', () => {
  const text = (header: string) => Buffer.from(header, 'base64url').toString()
  assert.equal(text(jweHeader('dir', 'A128GCM', 'k')), '{"alg":"dir","enc":"A128GCM","kid":"k"}')
  assert.equal(text(jwsHeader('ES256', 'k')), '{"alg":"ES256","kid":"k"}')
})

test('property: a header with any key id round-trips', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), (kid) => {
      assert.deepEqual(readJweHeader(jweHeader('dir', 'A256GCM', kid)), { alg: 'dir', enc: 'A256GCM', kid })
      assert.deepEqual(readJwsHeader(jwsHeader('EdDSA', kid)), { alg: 'EdDSA', kid })
    }),
  )
})

test('other members in any order are accepted', () => {
  const header = encoded(
    '{"kid":"k","typ":"JOSE","cty":"x","enc":"A128GCM","epk":{"alg":"none"},"alg":"dir"}',
  )
  assert.deepEqual(readJweHeader(header), right)
  assert.deepEqual(readJwsHeader(header), { alg: 'dir', kid: 'k' })
})

test('crit, zip and b64 are refused with any value (RFC 7515 §4.1.11, RFC 7797)', () => {
  for (const [name, values] of Object.entries({
    crit: [[], ['b64'], ['exp'], null, ''],
    zip: ['DEF', '', null],
    b64: [false, true, null],
  }))
    for (const value of values)
      refused(encoded(JSON.stringify({ ...right, [name]: value })), new RegExp(`'${name}'`))
})

test('missing, empty and mistyped alg, enc and kid are refused by name', () => {
  for (const name of ['alg', 'enc', 'kid'] as const) {
    for (const value of [undefined, '', null, 1, true, [], ['dir'], {}]) {
      const header = encoded(JSON.stringify({ ...right, [name]: value }))
      assert.throws(() => readJweHeader(header), { kind: 'bad_request', message: new RegExp(`'${name}'`) })
      if (name !== 'enc') assert.throws(() => readJwsHeader(header), { kind: 'bad_request' })
    }
  }
})

test('a header that is not one strict JSON object is refused', () => {
  for (const text of [
    '',
    'null',
    '[]',
    '"alg"',
    '1',
    '{',
    '{}{}',
    '{"alg":"dir","alg":"dir","enc":"A128GCM","kid":"k"}',
    '{"alg":"dir","enc":"A128GCM","kid":"k","x":{"a":1,"a":2}}',
    '{"alg":"dir","\\u0061lg":"none","enc":"A128GCM","kid":"k"}',
    '{"__proto__":{"alg":"dir"},"alg":"dir","enc":"A128GCM","kid":"k"}',
    '{"alg":"dir","enc":"A128GCM","kid":"k",}',
    "{'alg':'dir'}",
    `{"alg":"dir","enc":"A128GCM","kid":"k","x":${'['.repeat(100)}${']'.repeat(100)}}`,
    '\uFEFF{"alg":"dir","enc":"A128GCM","kid":"k"}',
  ])
    refused(encoded(text))
  refused(
    encoded(
      Buffer.concat([
        Buffer.from('{"alg":"dir","enc":"A128GCM","kid":"'),
        Buffer.from([0xc3, 0x28]),
        Buffer.from('"}'),
      ]),
    ),
  )
})

test('text that is not strict base64url, or too long, is refused', () => {
  const header = encoded(JSON.stringify(right))
  for (const text of [
    `${header}=`,
    `${header}\n`,
    ` ${header}`,
    `${header}.`,
    `${header}A.YWFk`,
    `${header}+`,
  ])
    refused(text)
  refused(encoded(JSON.stringify({ ...right, x: 'x'.repeat(20_000) })), /too long/)
})

test('property: reading any bytes throws only bad_request', () => {
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array().map(encoded), fc.string(), fc.json().map(encoded)), (text) => {
      for (const read of [readJweHeader, readJwsHeader]) {
        try {
          read(text)
        } catch (error) {
          assert.equal((error as { kind?: string }).kind, 'bad_request')
        }
      }
    }),
  )
})

test('a header that is parsed again gives the same result, also after more headers than the cache holds', () => {
  const first = jweHeader('dir', 'A256GCM', 'first')
  assert.deepEqual(readJweHeader(first), { alg: 'dir', enc: 'A256GCM', kid: 'first' })
  for (let index = 0; index < 5000; index += 1) {
    const kid = `key ${index}`
    assert.equal(readJweHeader(jweHeader('dir', 'A128GCM', kid)).kid, kid)
  }
  assert.deepEqual(readJweHeader(first), { alg: 'dir', enc: 'A256GCM', kid: 'first' })
  const long = jweHeader('dir', 'A256GCM', 'k'.repeat(1000))
  for (let round = 0; round < 2; round += 1) assert.equal(readJweHeader(long).kid.length, 1000)
  // A refused header is refused each time.
  for (let round = 0; round < 2; round += 1)
    assert.throws(() => readJweHeader(encodeBase64Url(Buffer.from('{"alg":"dir"}'))), { kind: 'bad_request' })
})
