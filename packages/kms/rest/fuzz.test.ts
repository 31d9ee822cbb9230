import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isTestedOnPostgresql } from '@warder/storage/testing'
import fc from 'fast-check'
import { startSharedKms } from '../testing/start.ts'

/** On the second engine it is the statements that differ: fewer requests reach them all. */
const runs = isTestedOnPostgresql ? 150 : 700

const kms = await startSharedKms()

interface DescribedOperation {
  readonly requestBody?: unknown
  readonly responses: Readonly<Record<string, unknown>>
}
type Described = Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>

test('property: any request to a documented operation gets a documented status and body, and never a 5xx', async () => {
  const alice = kms.user('alice')
  const kids: string[] = []
  for (const body of [
    { kty: 'oct', alg: 'A256GCM' },
    { kty: 'oct', alg: 'HS256' },
    { kty: 'EC', crv: 'P-256' },
    { kty: 'RSA' },
  ]) {
    const { kid, kid_public } = (await alice.post('/v1/crypto/keys', body)).json
    kids.push(kid, ...(kid_public ? [kid_public] : []))
  }
  const { paths } = (await alice.get('/openapi.json')).json as { paths: Described }
  const targets = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods)
      .filter((method) => method !== 'delete' || !path.endsWith('/keys/{kid}'))
      .map((method) => ({ method: method.toUpperCase(), path })),
  )
  const kid = fc.oneof(fc.constantFrom(...kids), fc.string({ unit: 'binary', maxLength: 40 }))
  const name = fc.constantFrom(
    'dir',
    'RSA-OAEP',
    'RSA-OAEP-256',
    'A256GCM',
    'A128GCM',
    'ES256',
    'RS256',
    'PS512',
    'HS256',
    'none',
  )
  const bytes = fc.uint8Array({ maxLength: 300 }).map((value) => Buffer.from(value).toString('base64url'))
  const header = fc
    .record({ alg: name, enc: name, kid }, { requiredKeys: [] })
    .map((members) => Buffer.from(JSON.stringify(members)).toString('base64url'))
  const text = fc.oneof(name, bytes, fc.string({ unit: 'binary', maxLength: 20 }))
  const member = fc.oneof(
    { weight: 5, arbitrary: text },
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
  )
  const body = fc.record(
    {
      op: fc.constantFrom('encrypt', 'decrypt', 'sign', 'verify', 'mac'),
      kid: fc.oneof(kid, member),
      alg: fc.oneof(name, member),
      enc: fc.oneof(name, member),
      protected: fc.oneof(header, member),
      data: fc.oneof(bytes, member),
      aad: member,
      iv: fc.oneof(
        fc.uint8Array({ minLength: 12, maxLength: 12 }).map((iv) => Buffer.from(iv).toString('base64url')),
        member,
      ),
      tag: fc.oneof(
        fc.uint8Array({ minLength: 16, maxLength: 16 }).map((tag) => Buffer.from(tag).toString('base64url')),
        member,
      ),
      ciphertext: fc.oneof(bytes, member),
      encrypted_key: fc.oneof(bytes, member),
      signature: fc.oneof(bytes, member),
      mac: member,
      kty: fc.constantFrom('oct', 'EC', 'OKP', 'AKP'),
      crv: member,
      k: fc.oneof(bytes, member),
      d: fc.oneof(bytes, member),
      x: member,
      tags: fc.oneof(fc.array(text, { maxLength: 4 }), member),
      unique_identifier: fc.oneof(kid, member),
      user_id: member,
      operation_types: fc.oneof(fc.array(fc.constantFrom('encrypt', 'Read', 'create', 'x')), member),
      username: member,
      password: member,
    },
    { requiredKeys: [] },
  )
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...targets), kid, body, async ({ method, path }, id, json) => {
      const at = path.replaceAll(/\{.*?\}/g, encodeURIComponent(id.isWellFormed() ? id : 'x') || 'x')
      const sent = path.endsWith('/batch') ? { operations: [json, json] } : json
      const answer = await alice.call(method, at, method === 'GET' ? {} : { json: sent })
      assert.ok(answer.status < 500, `${method} ${at} answered ${answer.status} ${answer.text}`)
      const described = paths[path]?.[method.toLowerCase()]?.responses ?? {}
      assert.ok(
        String(answer.status) in described,
        `${method} ${path} does not say that it answers ${answer.status}`,
      )
      // ACME tells failures as problems (RFC 8555 §6.7, RFC 9457).
      if (answer.status >= 400 && path.startsWith('/acme/')) assert.equal(typeof answer.json.type, 'string')
      else if (answer.status >= 400) {
        assert.equal(typeof answer.json.error, 'string')
        assert.equal(typeof answer.json.description, 'string')
      }
      for (const one of answer.json?.results ?? []) assert.ok(one.status < 500, answer.text)
    }),
    { numRuns: runs },
  )
})
