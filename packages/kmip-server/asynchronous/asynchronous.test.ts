import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { findObject, type ObjectId } from '@warder/keys'
import {
  byteString,
  Enumeration,
  enumeration,
  type ResponseItem,
  structure,
  Tag,
  type TtlvNode,
} from '@warder/kmip-codec'
import { startKms, startSharedKms } from '@warder/kms/testing'
import { type Database, openSqlite, StorageUnavailable } from '@warder/storage'
import { type Ask, type KmipClient, kmipClient, Payload } from '../testing/kmip-client.ts'
import { aesAttributes, objectType, uid } from '../testing/nodes.ts'

let now = Date.now()
const kms = await startSharedKms({ clock: { now: () => now, monotonic: () => performance.now() } })

const noBytes = new Uint8Array()
const make: Ask = { operation: 'Create', payload: [objectType('SymmetricKey'), aesAttributes()] }
const later = { asynchronous: 'Mandatory' } as const
const value = (item: ResponseItem | undefined) =>
  byteString(Tag.AsynchronousCorrelationValue, item?.asynchronousCorrelationValue ?? new Uint8Array())

async function polled(client: KmipClient, item: ResponseItem | undefined): Promise<ResponseItem> {
  for (let round = 0; round < 500; round++) {
    const { items } = await client.send([{ operation: 'Poll', payload: [value(item)] }])
    const [answer] = items
    assert.ok(answer)
    if (answer.status !== 'OperationPending') return answer
    assert.deepEqual(answer.asynchronousCorrelationValue, item?.asynchronousCorrelationValue)
    await wait(5)
  }
  assert.fail('it is never done')
}

for (const version of ['2.1', '2.0'] as const) {
  test(`a mandatory asynchronous request is answered at once and polled for, in KMIP ${version}`, async () => {
    const alice = kmipClient(kms.user('alice'), { version })
    const { items } = await alice.send([make, { operation: 'Get' }, { operation: 'Activate' }], later)
    assert.deepEqual(
      items.map(({ status, operation }) => [operation, status]),
      [
        ['Create', 'OperationPending'],
        ['Get', 'OperationPending'],
        ['Activate', 'OperationPending'],
      ],
    )
    const made = await polled(alice, items[0])
    assert.deepEqual([made.operation, made.status], ['Create', 'Success'])
    const { id } = new Payload(made.payload)
    const got = await polled(alice, items[1])
    assert.deepEqual([got.operation, new Payload(got.payload).id], ['Get', id])
    assert.equal((await polled(alice, items[2])).status, 'Success')
    assert.equal((await findObject(kms.environment.db, id as ObjectId))?.state, 'Active')
    // Only its owner can fetch it again, until it expires.
    assert.equal((await polled(alice, items[0])).status, 'Success')
    const mallory = kmipClient(kms.user('mallory'), { version })
    await mallory.fails('Poll', [value(items[0])], 'InvalidAsynchronousCorrelationValue')
    now += 600_001
    await alice.fails('Poll', [value(items[0])], 'InvalidAsynchronousCorrelationValue')
  })
}

test('Poll reports a failed item, and the items behind it are not executed', async () => {
  const alice = kmipClient(kms.user('alice'))
  const { items } = await alice.send([{ operation: 'Get', payload: [uid('nothing')] }, make], later)
  assert.deepEqual((await polled(alice, items[0])).reason, 'ObjectNotFound')
  assert.deepEqual((await polled(alice, items[1])).reason, 'GeneralFailure')
})

test('Cancel stops a request that has not begun; otherwise the request completes', async () => {
  const alice = kmipClient(kms.user('carol'))
  const slow: Ask = {
    operation: 'CreateKeyPair',
    payload: [
      structure(Tag.CommonAttributes, [
        enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.SLH_DSA_SHA2_256s),
      ]),
    ],
  }
  const { items } = await alice.send([slow], later)
  const cancelled = await alice.do('Cancel', [value(items[0])])
  const owned = async () => ((await kms.user('carol').get('/access/owned')).json as unknown[]).length
  if (cancelled.get(Tag.CancellationResult) === Enumeration.CancellationResult.Canceled) {
    await alice.fails('Poll', [value(items[0])], 'InvalidAsynchronousCorrelationValue')
    await wait(200)
    assert.equal(await owned(), 0)
  } else assert.equal(await owned(), 2)
  const again = await alice.send([make], later)
  await polled(alice, again.items[0])
  const late = await alice.do('Cancel', [value(again.items[0])])
  assert.equal(late.get(Tag.CancellationResult), Enumeration.CancellationResult.Completed)
})

test('asynchronous requests of one user are bounded, and synchronous requests are still answered', async () => {
  const dave = kmipClient(kms.user('dave'))
  const hundred = await dave.send(Array(100).fill(make), later)
  assert.equal(hundred.items[99]?.status, 'OperationPending')
  const [more] = (await dave.send([make], later)).items
  assert.equal(more?.reason, 'ServerLimitExceeded')
  const [ping] = (await dave.send([{ operation: 'Ping' }], later)).items
  assert.equal(ping?.status, 'Success')
  const [undo] = (
    await kmipClient(kms.user('erin')).send([make], { ...later, batchErrorContinuation: 'Undo' })
  ).items
  assert.equal(undo?.reason, 'FeatureNotSupported')
  await polled(dave, hundred.items[99])
})

/** A service of its own; `before` each commit, numbered from when `count` was called, the test may wait or throw. */
async function startOver(before: (commit: number) => unknown) {
  const opened = new AsyncDisposableStack()
  const folder = mkdtempSync(join(tmpdir(), 'warder-kmip-'))
  opened.defer(() => rmSync(folder, { recursive: true }))
  const db = openSqlite({ path: join(folder, 'kms.db') })
  opened.defer(() => db.close())
  let commits = Number.NEGATIVE_INFINITY
  const commit: Database['commit'] = async (changes) => {
    await before(++commits)
    return db.commit(changes)
  }
  const own = opened.use(await startKms({ db: { ...db, commit } }))
  const count = () => {
    commits = 0
  }
  return { own, count, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

test('asynchronous requests of one user that hold too many bytes are refused', async () => {
  const gate = Promise.withResolvers<void>()
  // The row of the request comes first, then its answer.
  await using started = await startOver((commit) => commit === 2 && gate.promise)
  const alice = kmipClient(started.own.user('alice'))
  started.count()
  const large: Ask = { operation: 'Hash', payload: [byteString(Tag.Data, new Uint8Array(50 * 2 ** 20))] }
  const [first] = (await alice.send([large], later)).items
  assert.equal(first?.status, 'OperationPending')
  const [second] = (await alice.send([large], later)).items
  assert.equal(second?.reason, 'ServerLimitExceeded')
  gate.resolve()
  await polled(alice, first)
})

for (const [continuation, following] of [
  ['Continue', 'Success'],
  ['Stop', 'OperationFailed'],
] as const) {
  test(`a batch completes although the database is unavailable for a moment, with ${continuation}`, async () => {
    const recordsAtTries: number[] = []
    const failed = () =>
      started.own.audit.filter(
        ({ operation, outcome }) => operation === 'kmip.Create' && outcome === 'failure',
      )
    // The rows of the requests, the first item, and the second; its answer is tried until it is written.
    await using started = await startOver((commit) => {
      if (commit > 3 && commit < 8) recordsAtTries.push(failed().length)
      if (commit > 2 && commit < 7) throw new StorageUnavailable('the test took it away')
    })
    const alice = kmipClient(started.own.user('alice'))
    started.count()
    const { items } = await alice.send([make, make, make], {
      ...later,
      batchErrorContinuation: continuation,
    })
    const statuses = []
    for (const item of items) statuses.push((await polled(alice, item)).status)
    assert.deepEqual(statuses, ['Success', 'OperationFailed', following])
    // It is on record before the first try, once.
    assert.deepEqual(recordsAtTries, [1, 1, 1, 1])
    assert.equal(failed().length, following === 'Success' ? 1 : 2)
  })
}

test('an item whose result cannot be stored does not block the items behind it', async () => {
  await using started = await startOver((commit) => {
    if (commit === 2) throw new StorageUnavailable('the test took it away')
    if (commit === 3) throw new Error('the test broke it')
  })
  const alice = kmipClient(started.own.user('alice'))
  started.count()
  const { items } = await alice.send([make, make], { ...later, batchErrorContinuation: 'Continue' })
  assert.equal((await polled(alice, items[1])).status, 'Success')
  const { items: lost } = await alice.send([{ operation: 'Poll', payload: [value(items[0])] }])
  assert.equal(lost[0]?.status, 'OperationPending')
  assert.match(started.own.log.join(), /put off could not be answered/)
})

/** Twelve slow requests, more than are done at one time, and one that stands behind them. */
const slowly: Ask = {
  operation: 'Create',
  payload: [objectType('SymmetricKey'), aesAttributes()],
}
const listed = async (client: KmipClient, ...payload: readonly TtlvNode[]) =>
  (await client.do('QueryAsynchronousRequests', payload)).nodes.map((node) => {
    const members = new Payload(node.type === 'Structure' ? node.value : [])
    const id = members.get(Tag.AsynchronousCorrelationValue)
    assert.ok(id instanceof Uint8Array)
    return {
      id: Buffer.from(id).toString(),
      operation: members.get(Tag.Operation),
      date: members.get(Tag.SubmissionDate),
      stage: members.get(Tag.ProcessingStage),
    }
  })
const { ProcessingStage } = Enumeration

test('Process executes a request before those that were queued earlier, and the next Poll returns its result', async () => {
  const gina = kmipClient(kms.user('gina'))
  const sent = []
  for (let count = 0; count < 12; count++) sent.push(...(await gina.send([slowly], later)).items)
  const last = sent.at(-1)
  const payload = (await gina.do('Process', [value(last)])).nodes
  assert.deepEqual(payload, [])
  const { items } = await gina.send([{ operation: 'Poll', payload: [value(last)] }])
  assert.deepEqual([items[0]?.operation, items[0]?.status], ['Create', 'Success'])
  // A finished operation stays finished.
  await gina.do('Process', [value(last)])
  await kmipClient(kms.user('mallory')).fails(
    'Process',
    [value(sent[0])],
    'InvalidAsynchronousCorrelationValue',
  )
  await gina.fails('Process', [value(undefined)], 'InvalidAsynchronousCorrelationValue')
  await kmipClient(kms.user('gina'), { version: '2.0' }).fails(
    'Process',
    [value(last)],
    'OperationNotSupported',
  )
  for (const item of sent) assert.equal((await polled(gina, item)).status, 'Success')
})

test('QueryAsynchronousRequests lists the requests of its caller, with operation, date and stage', async () => {
  const hugo = kmipClient(kms.user('hugo'))
  assert.deepEqual(await listed(hugo), [])
  const { items } = await hugo.send([slowly, { operation: 'Get' }], later)
  const names = items.map((item) => Buffer.from(item.asynchronousCorrelationValue ?? noBytes).toString())
  const { Create, Get, Destroy } = Enumeration.Operation
  const before = await listed(hugo)
  assert.deepEqual(
    before.map(({ id, operation }) => [id, operation]),
    [
      [names[0], Create],
      [names[1], Get],
    ],
  )
  for (const { date } of before) assert.equal(date, Math.floor(now / 1000))
  for (const item of items) await polled(hugo, item)
  const after = await listed(hugo)
  assert.deepEqual(
    after.map(({ stage }) => stage),
    [ProcessingStage.Completed, ProcessingStage.Completed],
  )
  const only = (...codes: readonly number[]) =>
    structure(
      Tag.Operations,
      codes.map((code) => enumeration(Tag.Operation, code)),
    )
  const values = structure(Tag.AsynchronousCorrelationValues, [value(items[0])])
  assert.deepEqual(await listed(hugo, only(Get)), [after[1]])
  assert.deepEqual(await listed(hugo, only(Destroy)), [])
  assert.deepEqual(await listed(hugo, values), [after[0]])
  assert.deepEqual(await listed(hugo, values, only(Get)), [])
  assert.deepEqual(await listed(kmipClient(kms.user('mallory')), values), [])
  now += 600_001
  assert.deepEqual(await listed(hugo), [])
})

test('stored results are encrypted', async () => {
  const frank = kmipClient(kms.user('frank'))
  const { id } = await frank.do('Create', make.payload)
  const { items } = await frank.send([{ operation: 'Get', payload: [uid(id)] }], later)
  const got = await polled(frank, items[0])
  const bytes = keyBytes(got.payload ?? [])
  assert.equal(bytes.length, 32)
  assert.equal(kms.databaseBytes().indexOf(bytes), -1)
})

function keyBytes(nodes: readonly TtlvNode[]): Uint8Array {
  for (const node of nodes) {
    if (node.tag === Tag.KeyMaterial && node.type === 'ByteString') return node.value
    const within = node.type === 'Structure' ? keyBytes(node.value) : noBytes
    if (within.length > 0) return within
  }
  return noBytes
}
