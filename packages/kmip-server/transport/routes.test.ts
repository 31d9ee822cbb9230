import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findMember, kmipVersions, requireType, type StructureNode, Tag } from '@warder/kmip-codec'
import { startSharedKms } from '@warder/kms/testing'
import { kmipClient } from '../testing/kmip-client.ts'
import { aesAttributes, objectType, uid } from '../testing/nodes.ts'

const kms = await startSharedKms()

const aes = [objectType('SymmetricKey'), aesAttributes(256)]

for (const encoding of ['ttlv', 'json', 'xml'] as const) {
  for (const version of kmipVersions) {
    test(`a key is created, returned and destroyed in KMIP ${version} as ${encoding}`, async () => {
      const alice = kmipClient(kms.user('alice'), { version, encoding })
      const { id } = await alice.do('Create', aes)
      const got = await alice.do('Get', [uid(id)])
      const key = got.nodes.find(({ tag }) => tag === Tag.SymmetricKey) as StructureNode
      const block = requireType(findMember(key, Tag.KeyBlock) ?? key, 'Structure')
      const value = requireType(findMember(block, Tag.KeyValue) ?? key, 'Structure')
      const bytes = findMember(value, Tag.KeyMaterial)?.value
      assert.ok(bytes instanceof Uint8Array && bytes.length === 32)
      assert.equal((await alice.do('Destroy', [uid(id)])).id, id)
      const [reason, sentence] =
        version >= '2.0' ? ['ObjectDestroyed', 'DENIED'] : ['ItemNotFound', 'The object is destroyed.']
      assert.equal(await alice.fails('Get', [uid(id)], reason), sentence)
    })
  }
}

test('a bare operation gets a bare response, and a failed one an HTTP status and the reason', async () => {
  const alice = kms.user('alice')
  const made = await alice.post('/kmip/2_1', {
    tag: 'Create',
    value: [
      { tag: 'ObjectType', type: 'Enumeration', value: 'SymmetricKey' },
      {
        tag: 'Attributes',
        value: [
          { tag: 'CryptographicAlgorithm', type: 'Enumeration', value: 'AES' },
          { tag: 'CryptographicLength', type: 'Integer', value: 256 },
          { tag: 'CryptographicUsageMask', type: 'Integer', value: 12 },
        ],
      },
    ],
  })
  assert.equal(made.status, 200, made.text)
  assert.equal(made.json.tag, 'CreateResponse')
  const id = made.json.value.find(({ tag }: { tag: string }) => tag === 'UniqueIdentifier').value
  const get = (id: string) => ({
    tag: 'Get',
    value: [{ tag: 'UniqueIdentifier', type: 'TextString', value: id }],
  })
  assert.equal((await alice.post('/kmip/1_4', get(id))).json.tag, 'GetResponse')
  const unknown = await alice.post('/kmip/2_1', get('nothing'))
  assert.equal(unknown.status, 404)
  assert.deepEqual(unknown.json, {
    result_reason: 'ObjectNotFound',
    error: 'not_found',
    description: 'DENIED',
  })
  // Another user's key gets exactly the error of a missing one.
  const foreign = await kms.user('mallory').post('/kmip/2_1', get(id))
  assert.deepEqual([foreign.status, foreign.json], [unknown.status, unknown.json])
})

/** A bare operation on `id`. */
const bareOn = (tag: string, id: string, ...others: readonly object[]) => ({
  tag,
  value: [{ tag: 'UniqueIdentifier', type: 'TextString', value: id }, ...others],
})

test('a bare operation of KMIP 1.4 fails with a reason and a message that 1.4 has', async () => {
  const alice = kms.user('alice')
  const { id = '' } = await kmipClient(alice).do('Create', aes)
  await kmipClient(alice).do('Activate', [uid(id)])
  const sign = { tag: 'CryptographicUsageMask', type: 'Integer', value: 1 }
  const activation = { tag: 'ActivationDate', type: 'DateTime', value: '2030-01-01T00:00:00Z' }
  const legacyActivation = {
    tag: 'Attribute',
    value: [
      { tag: 'AttributeName', type: 'TextString', value: 'Activation Date' },
      { ...activation, tag: 'AttributeValue' },
    ],
  }
  const failing = async (path: string, request: object) => {
    const { status, json } = await alice.post(path, request)
    return [status, json.result_reason, json.description]
  }
  const nothing = bareOn('Get', 'nothing')
  assert.deepEqual(await failing('/kmip/2_1', nothing), [404, 'ObjectNotFound', 'DENIED'])
  const absent = [404, 'ItemNotFound', 'There is no such object for this caller.']
  assert.deepEqual(await failing('/kmip/1_4', nothing), absent)
  // The error does not reveal whether another user has it.
  const other = await kms.user('mallory').post('/kmip/1_4', bareOn('Get', id))
  assert.deepEqual([other.status, other.json.result_reason, other.json.description], absent)
  for (const [request, status, reason, legacyReason, message] of [
    [bareOn('Destroy', id), 422, 'WrongKeyLifecycleState', 'PermissionDenied', 'DENIED'],
    [
      bareOn('Check', id, sign),
      422,
      'IncompatibleCryptographicUsageMask',
      'IllegalOperation',
      'Check Failed',
    ],
  ] as const) {
    assert.deepEqual(await failing('/kmip/2_1', request), [status, reason, message])
    assert.deepEqual(await failing('/kmip/1_4', request), [status, legacyReason, message])
  }
  const modified = bareOn('ModifyAttribute', id, { tag: 'NewAttribute', value: [activation] })
  const precise = [422, 'WrongKeyLifecycleState', 'ACTIVATION_DATE:!PRE_ACTIVE']
  assert.deepEqual(await failing('/kmip/2_1', modified), precise)
  const legacyModified = bareOn('ModifyAttribute', id, legacyActivation)
  assert.deepEqual(await failing('/kmip/1_4', legacyModified), [422, 'PermissionDenied', 'DENIED'])
})

test('requests without credentials and with other content types are refused', async () => {
  for (const path of ['/kmip/2_1', '/kmip/1_4']) {
    const unauthenticated = await kms.with({}).post(path, { tag: 'Query', value: [] })
    assert.deepEqual(
      [unauthenticated.status, unauthenticated.json.result_reason],
      [401, 'AuthenticationNotSuccessful'],
    )
    const zipped = await kms.user('alice').call('POST', path, {
      bytes: Buffer.from('x'),
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
    })
    assert.deepEqual([zipped.status, zipped.json.result_reason], [415, 'InvalidMessage'])
  }
  const alice = kms.user('alice')
  const text = await alice.call('POST', '/kmip', {
    bytes: Buffer.from('x'),
    headers: { 'content-type': 'text/plain' },
  })
  assert.equal(text.status, 415)
  assert.equal((await alice.call('GET', '/kmip')).status, 405)
})

test('each item of a batch has an audit record, and the HTTP request has none', async () => {
  const alice = kmipClient(kms.user('carol'))
  const before = kms.audit.length
  const { items } = await alice.send([
    { operation: 'Create', payload: aes },
    { operation: 'Get' },
    { operation: 'Get', payload: [uid('nothing')] },
  ])
  assert.deepEqual(
    items.map(({ status }) => status),
    ['Success', 'Success', 'OperationFailed'],
  )
  const records = kms.audit.slice(before)
  assert.deepEqual(
    records.map(({ operation, outcome, reason, principal }) => [operation, outcome, reason, principal]),
    [
      ['kmip.Create', 'success', undefined, 'carol'],
      ['kmip.Get', 'success', undefined, 'carol'],
      ['kmip.Get', 'failure', 'ObjectNotFound', 'carol'],
    ],
  )
  assert.equal(records[0]?.object, records[1]?.object)
})
