import assert from 'node:assert/strict'
import { it } from 'node:test'
import { requestsWithText } from '@warder/server/testing'
import { kmsOperations } from '../service/operations.ts'
import { startKms } from '../testing/start.ts'

const nowhere = '00000000-0000-4000-8000-000000000000'
const cursor = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

// PostgreSQL has no U+0000 in a text: `postgresql.test.ts` runs this there, too.
it('U+0000 and unpaired surrogates get 400 in every text of a request', async () => {
  await using kms = await startKms()
  const alice = kms.user('alice')
  const made = await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM', tags: ['one'] })
  const { kid } = made.json
  const samples = { kid, id: nowhere, version: '1', name: 'aws' }
  const { db } = kms.environment
  const clock = kms.services.clock
  const operations = kmsOperations({ db, clock, baseUrl: 'https://localhost', transit: true })
  let requests = 0
  for (const [escaped, encoded] of [
    ['\\u0000', '%00'],
    ['\\udfff', '%ED%BF%BF'],
  ] as const)
    for (const hostile of requestsWithText(
      operations as Parameters<typeof requestsWithText>[0],
      samples,
      escaped,
      encoded,
    )) {
      const { method, path, body, place, operation } = hostile
      const answer = await alice.call(method, path, body === undefined ? {} : { text: body })
      requests++
      // A public path whose text is base64: OCSP has its own error for a malformed request.
      if (operation === 'pki.ocsp.get') continue
      const strict = /^(?:crypto|key|access)\./.test(operation) && !/^access\.officers/.test(operation)
      const allowed = strict ? [400] : [400, 401, 403, 404, 405, 409, 415, 422, 429]
      assert.ok(allowed.includes(answer.status), `${operation} ${place}: ${answer.status} ${answer.text}`)
    }
  assert.ok(requests > 500, String(requests))

  for (const text of [cursor(['a\0', 'b']), cursor(['\ud800']), cursor({ a: '\0' }), cursor('\0')])
    for (const path of ['/v1/crypto/keys', '/access/owned', '/access/obtained', '/access/users'])
      for (const name of ['after', 'cursor', 'page']) {
        const answer = await alice.get(`${path}?${name}=${text}`)
        assert.ok(answer.status < 500, `${path} ${name}: ${answer.text}`)
      }
  // KMIP has its own rules for texts; an item fails if the database cannot store its text.
  for (const text of ['a\0', '\0']) {
    const name = { tag: 'NameValue', type: 'TextString', value: text }
    const attributes = [
      { tag: 'CryptographicAlgorithm', type: 'Enumeration', value: 'AES' },
      { tag: 'CryptographicLength', type: 'Integer', value: 256 },
      { tag: 'CryptographicUsageMask', type: 'Integer', value: 12 },
      {
        tag: 'Name',
        value: [name, { tag: 'NameType', type: 'Enumeration', value: 'UninterpretedTextString' }],
      },
    ]
    const create = {
      tag: 'Create',
      value: [
        { tag: 'ObjectType', type: 'Enumeration', value: 'SymmetricKey' },
        { tag: 'Attributes', value: attributes },
      ],
    }
    const byName = { tag: 'Locate', value: [{ tag: 'Attributes', value: attributes.slice(3) }] }
    const byId = { tag: 'Get', value: [{ tag: 'UniqueIdentifier', type: 'TextString', value: text }] }
    // Nothing has such a name.
    assert.deepEqual((await alice.post('/kmip/2_1', byName)).json.value, [])
    for (const operation of [create, byId]) {
      const answer = await alice.post('/kmip/2_1', operation)
      assert.ok([400, 404, 422].includes(answer.status), `${operation.tag}: ${answer.status} ${answer.text}`)
    }
  }
  assert.deepEqual(
    kms.log.filter((line) => line.includes('"level":50')),
    [],
  )
})
