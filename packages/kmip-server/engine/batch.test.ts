import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { findObject, type ObjectId } from '@warder/keys'
import {
  boolean,
  dateTime,
  Enumeration,
  enumeration,
  integer,
  kmipVersions,
  type ResponseItem,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import type { ResponseMessage } from '@warder/kmip-codec/testing'
import { startKms } from '@warder/kms/testing'
import { type Ask, kmipClient, Payload } from '../testing/kmip-client.ts'
import { startKmipFixture } from '../testing/kmip-fixture.ts'
import { aesAttributes, attributes, objectType, uid } from '../testing/nodes.ts'

const { kms, alice } = await startKmipFixture()

const make: Ask = { operation: 'Create', payload: [objectType('SymmetricKey'), aesAttributes()] }
const unknown: Ask = { operation: 'Get', payload: [uid('nothing')] }
const statuses = ({ items }: ResponseMessage): readonly string[] => items.map(({ status }) => status)
const idIn = (item: ResponseItem | undefined): string => new Payload(item?.payload).id
const exists = async (id: string): Promise<boolean> =>
  (await findObject(kms.environment.db, id as ObjectId)) !== undefined

async function ownedBy(name: string): Promise<number> {
  const { json } = await kms.user(name).get('/access/owned')
  return (json as readonly unknown[]).length
}

test('items behind a failed one are executed with Continue, and not with Stop or without an option', async () => {
  const items = [make, unknown, make]
  const on = await alice.send(items, { batchErrorContinuation: 'Continue' })
  assert.deepEqual(statuses(on), ['Success', 'OperationFailed', 'Success'])
  for (const header of [{ batchErrorContinuation: 'Stop' }, {}] as const) {
    const stopped = await alice.send(items, header)
    assert.deepEqual(statuses(stopped), ['Success', 'OperationFailed'])
    assert.ok(await exists(idIn(stopped.items[0])))
  }
})

test('with Undo the items before a failed one are undone, and those behind it are not executed', async () => {
  const paul = kmipClient(kms.user('paul'))
  const answer = await paul.send([make, { operation: 'Activate' }, make, unknown, make], {
    batchErrorContinuation: 'Undo',
  })
  assert.deepEqual(statuses(answer), [
    'OperationUndone',
    'OperationUndone',
    'OperationUndone',
    'OperationFailed',
  ])
  assert.equal(await ownedBy('paul'), 0)
})

test('with Undo an existing key stays unchanged after a failure, and a successful batch is committed as a whole', async () => {
  const { id } = await alice.do('Create', make.payload)
  await alice.send([{ operation: 'Activate', payload: [uid(id)] }, unknown], {
    batchErrorContinuation: 'Undo',
  })
  const before = await findObject(kms.environment.db, id as ObjectId)
  assert.equal(before?.state, 'PreActive')
  const done = await alice.send(
    [{ operation: 'Activate', payload: [uid(id)] }, make, { operation: 'Activate' }, { operation: 'Get' }],
    {
      batchErrorContinuation: 'Undo',
    },
  )
  assert.deepEqual(statuses(done), ['Success', 'Success', 'Success', 'Success'])
  assert.equal((await findObject(kms.environment.db, id as ObjectId))?.state, 'Active')
  assert.equal((await findObject(kms.environment.db, idIn(done.items[1]) as ObjectId))?.state, 'Active')
})

test('an item may omit its identifier, or refer to an earlier response of the batch', async () => {
  const means = (name: keyof typeof Enumeration.UniqueIdentifier): Ask => ({
    operation: 'Check',
    payload: [enumeration(Tag.UniqueIdentifier, Enumeration.UniqueIdentifier[name])],
  })
  const nth = (place: number): Ask => ({
    operation: 'Check',
    payload: [integer(Tag.UniqueIdentifier, place)],
  })
  const { items } = await alice.send([
    make,
    { operation: 'Check' },
    means('IDPlaceholder'),
    means('Create'),
    nth(0),
    nth(-1),
    make,
    { operation: 'Check' },
    nth(0),
  ])
  const [first, second] = [idIn(items[0]), idIn(items[6])]
  assert.deepEqual(items.slice(1, 6).map(idIn), Array(5).fill(first))
  assert.notEqual(first, second)
  assert.deepEqual([idIn(items[7]), idIn(items[8])], [second, first])
  const refused = await alice.send([means('Locate'), nth(7), { operation: 'Check' }], {
    batchErrorContinuation: 'Continue',
  })
  assert.deepEqual(
    refused.items.map(({ reason }) => reason),
    ['ObjectNotFound', 'ObjectNotFound', 'ObjectNotFound'],
  )
  // The placeholder is the message's own.
  await alice.fails('Get', [], 'ObjectNotFound')
})

test('a ServerCorrelationValue is sent to clients of 2.1 and to clients that sent a ClientCorrelationValue', async () => {
  for (const version of kmipVersions) {
    const old = kmipClient(kms.user('alice'), { version })
    const query = [
      {
        operation: 'Query',
        payload: [enumeration(Tag.QueryFunction, Enumeration.QueryFunction.QueryOperations)],
      },
    ] as const
    const unasked = (await old.send(query)).serverCorrelationValue
    const asked = (await old.send(query, { clientCorrelationValue: 'mine' })).serverCorrelationValue
    assert.equal(unasked !== undefined, version === '2.1', version)
    assert.equal(asked !== undefined, version >= '1.4', version)
  }
})

test('responses repeat batch item ids and correlation values; two items with the same id are refused', async () => {
  const [one, two] = [Buffer.from('01', 'hex'), Buffer.from('02', 'hex')]
  const answer = await alice.send(
    [
      { ...make, id: one },
      { ...unknown, id: two },
    ],
    { clientCorrelationValue: 'mine' },
  )
  assert.deepEqual(
    answer.items.map(({ uniqueBatchItemId }) => Buffer.from(uniqueBatchItemId ?? []).toString('hex')),
    ['01', '02'],
  )
  assert.equal(answer.clientCorrelationValue, 'mine')
  assert.match(answer.serverCorrelationValue ?? '', /./)
  const twins = await alice.send([
    { ...make, id: one },
    { ...make, id: one },
  ])
  assert.equal(twins.items.length, 1)
  assert.deepEqual([twins.items[0]?.status, twins.items[0]?.reason], ['OperationFailed', 'InvalidMessage'])
})

test('an operation whose response exceeds MaximumResponseSize is refused and changes nothing', async () => {
  const query: Ask = {
    operation: 'Query',
    payload: [enumeration(Tag.QueryFunction, Enumeration.QueryFunction.QueryOperations)],
  }
  for (const encoding of ['ttlv', 'json', 'xml'] as const) {
    const client = kmipClient(kms.user('quentin'), { encoding })
    const [large] = (await client.send([query], { maximumResponseSize: 256 })).items
    assert.deepEqual([large?.reason, large?.message], ['ResponseTooLarge', 'TOO_LARGE'])
    const [fits] = (await client.send([query], { maximumResponseSize: 2048 })).items
    assert.equal(fits?.status, 'Success')
    await client.send([make], { maximumResponseSize: 150 })
    await client.send([make], { maximumResponseSize: -1 })
  }
  assert.equal(await ownedBy('quentin'), 0)
  const some = await alice.send([make, make, make], {
    maximumResponseSize: 300,
    batchErrorContinuation: 'Continue',
  })
  assert.deepEqual(statuses(some), ['Success', 'OperationFailed', 'OperationFailed'])
})

test('an unknown critical extension fails its item; an unknown extension that is not critical is ignored', async () => {
  const extension = (critical: boolean) =>
    structure(Tag.MessageExtension, [
      textString(Tag.VendorIdentification, 'acme'),
      boolean(Tag.CriticalityIndicator, critical),
      structure(Tag.VendorExtension, []),
    ])
  const answer = await alice.send(
    [
      { ...make, extensions: [extension(true)] },
      { ...make, extensions: [extension(false)] },
    ],
    { batchErrorContinuation: 'Continue' },
  )
  assert.deepEqual(
    answer.items.map(({ reason }) => reason),
    ['UnknownMessageExtension', undefined],
  )
})

test('credentials in the header that cannot be verified are refused', async () => {
  const authentication = structure(Tag.Authentication, [
    structure(Tag.Credential, [
      enumeration(Tag.CredentialType, Enumeration.CredentialType.UsernameAndPassword),
      structure(Tag.CredentialValue, [textString(Tag.Username, 'alice'), textString(Tag.Password, 'secret')]),
    ]),
  ])
  const answer = await alice.send([make, make], { authentication })
  assert.deepEqual(
    answer.items.map(({ reason, operation }) => [operation, reason]),
    [
      ['Create', 'AuthenticationNotSuccessful'],
      ['Create', 'AuthenticationNotSuccessful'],
    ],
  )
  assert.ok(kms.log.every((line) => !line.includes('secret')))
})

test('one of six concurrent activations of a key succeeds', async () => {
  const { id } = await alice.do('Create', make.payload)
  const answers = await Promise.all(Array.from({ length: 6 }, () => alice.ask('Activate', [uid(id)])))
  assert.equal(answers.filter(({ status }) => status === 'Success').length, 1)
  for (const { status, reason } of answers)
    if (status !== 'Success') assert.equal(reason, 'WrongKeyLifecycleState')
})

test('an identifier that clients request is assigned once', async () => {
  const wanted = [
    objectType('SymmetricKey'),
    aesAttributes(256, textString(Tag.UniqueIdentifier, 'backup-key-1')),
  ]
  assert.equal((await alice.do('Create', wanted)).id, 'backup-key-1')
  await alice.fails('Create', wanted, 'ObjectAlreadyExists')
  await kmipClient(kms.user('mallory')).fails('Create', wanted, 'ObjectAlreadyExists')
})

test('a batch has at most a thousand items', async () => {
  const ping: Ask = { operation: 'Ping' }
  assert.equal((await alice.send(Array(1000).fill(ping))).items.length, 1000)
  const [refused, ...others] = (await alice.send(Array(1001).fill(ping))).items
  assert.deepEqual([refused?.operation, refused?.reason, others.length], [undefined, 'InvalidMessage', 0])
})

test('attributes that a new object cannot have are refused before anything is stored', async () => {
  const nina = kmipClient(kms.user('nina'))
  const refused: readonly (readonly [TtlvNode, string])[] = [
    [aesAttributes(256, enumeration(Tag.State, Enumeration.State.Active)), 'AttributeReadOnly'],
    [aesAttributes(256, textString(Tag.Comment, 'a'), textString(Tag.Comment, 'b')), 'AttributeSingleValued'],
    [aesAttributes(256, integer(Tag.Comment, 1)), 'InvalidAttributeValue'],
    [aesAttributes(256, integer(Tag.BatchCount, 1)), 'InvalidAttribute'],
    [aesAttributes(256, textString(Tag.UniqueIdentifier, '')), 'InvalidAttributeValue'],
    [aesAttributes(256, textString(Tag.UniqueIdentifier, '*')), 'InvalidAttributeValue'],
    [aesAttributes(257), 'InvalidField'],
    [aesAttributes(-8), 'InvalidField'],
    [attributes(), 'MissingData'],
  ]
  for (const [given, reason] of refused)
    await nina.fails('Create', [objectType('SymmetricKey'), given], reason)
  await nina.fails('Create', [aesAttributes()], 'MissingData')
  await nina.fails('Create', [objectType('PublicKey'), aesAttributes()], 'InvalidField')
  assert.equal(await ownedBy('nina'), 0)
})

test('the output of one item is the input of the next, and ephemeral output is not sent to the client', async () => {
  const { Data, BlockCipherMode } = Enumeration
  const key = await alice.do('Create', [
    objectType('SymmetricKey'),
    aesAttributes(256, dateTime(Tag.ActivationDate, 1)),
  ])
  const ecb = structure(Tag.CryptographicParameters, [
    enumeration(Tag.BlockCipherMode, BlockCipherMode.ECB),
    enumeration(Tag.PaddingMethod, Enumeration.PaddingMethod.None),
  ])
  const sha256 = structure(Tag.CryptographicParameters, [
    enumeration(Tag.HashingAlgorithm, Enumeration.HashingAlgorithm.SHA_256),
  ])
  const { items } = await alice.send([
    { operation: 'RNGRetrieve', payload: [integer(Tag.DataLength, 32)], ephemeral: true },
    { operation: 'Encrypt', payload: [uid(key.id), ecb, enumeration(Tag.Data, Data.RNGRetrieve)] },
    { operation: 'Hash', payload: [sha256, enumeration(Tag.Data, Data.RNGRetrieve)] },
    { operation: 'Hash', payload: [sha256, enumeration(Tag.Data, Data.Decrypt)] },
  ])
  assert.deepEqual(
    items.map(({ status, reason }) => reason ?? status),
    ['Success', 'Success', 'Success', 'InvalidField'],
  )
  assert.deepEqual(items[0]?.payload, [])
  const sealed = items[1]?.payload?.find(({ tag }) => tag === Tag.Data)
  assert.ok(sealed)
  const opened = await alice.do('Decrypt', [uid(key.id), ecb, sealed])
  const hash = items[2]?.payload?.find(({ tag }) => tag === Tag.Data)?.value
  const random = createHash('sha256').update(opened.get(Tag.Data) as Uint8Array)
  assert.deepEqual(Buffer.from(hash as Uint8Array), random.digest())
})

test('a batch that takes too long stops before its next item, and with Undo it changes nothing', async () => {
  let now = 0
  // Each look at the clock takes a second.
  const clock = { now: () => Date.now(), monotonic: () => (now += 1000) }
  await using slow = await startKms({ clock })
  const paula = kmipClient(slow.user('paula'))
  const items = Array<Ask>(100).fill(make)
  const answer = await paula.send(items)
  assert.ok(answer.items.length < 100)
  assert.equal(answer.items.at(-1)?.reason, 'ServerLimitExceeded')
  const owned = async () => ((await slow.user('paula').get('/access/owned')).json as unknown[]).length
  const kept = await owned()
  assert.equal(kept, answer.items.length - 1)
  const undone = await paula.send(items, { batchErrorContinuation: 'Undo' })
  assert.equal(undone.items.at(-1)?.reason, 'ServerLimitExceeded')
  assert.equal(await owned(), kept)
})
