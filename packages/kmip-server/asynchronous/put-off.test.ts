import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type RequestItem, structure, Tag } from '@warder/kmip-codec'
import { startSharedKms } from '@warder/kms/testing'
import { type Database, query, StorageUnavailable } from '@warder/storage'
import { createJobs, type Jobs } from '../engine/jobs.ts'
import { newMessage } from '../engine/message.ts'
import { defer } from './put-off.ts'

const kms = await startSharedKms()

const rows = query<[], { readonly n: number }>('SELECT COUNT(*) AS n FROM kmip_pending')
const countRows = async () => Number((await kms.environment.db.get(rows, []))?.n)
const item: RequestItem = {
  operation: 'Ping',
  uniqueBatchItemId: undefined,
  ephemeral: undefined,
  payload: structure(Tag.RequestPayload, []),
  extensions: [],
  refusal: undefined,
}

/** Puts one item off. @returns its answer in short */
async function asked(
  jobs: Jobs,
  { user = 'alice', db = kms.environment.db, size = 100, items = [item] } = {},
) {
  const { environment } = kms
  const message = newMessage(
    {
      services: { ...kms.services, db },
      operations: new Map(),
      log: environment.log,
      metrics: environment.metrics,
    },
    jobs,
    { principal: undefined, clientAddress: '192.0.2.1', requestId: 'r' },
    { name: user, method: 'test' },
    { version: '2.1', size, maximumResponseSize: undefined, clientCorrelationValue: undefined },
  )
  const [answer] = await defer(message, items, undefined)
  const { status, message: text } = answer?.response ?? {}
  return text === undefined ? status : `${status}: ${text}`
}

const broken = (error: unknown): never => assert.fail(String(error))
const roomy = { waiting: 100, bytes: 2 ** 30, bytesOfOwner: 2 ** 30 }
const full = 'OperationFailed: Too many requests wait already.'

test('requests that are refused because the queue is full store nothing', async () => {
  const jobs = createJobs(0, { ...roomy, waiting: 0 }, broken)
  for (let count = 0; count < 101; count++) assert.equal(await asked(jobs), full)
  assert.equal(await countRows(), 0)
})

test('a queue slot is released when the request cannot be stored', async () => {
  const jobs = createJobs(0, { ...roomy, waiting: 1 }, broken)
  const commit: Database['commit'] = () => Promise.reject(new StorageUnavailable('the test took it away'))
  assert.match(`${await asked(jobs, { db: { ...kms.environment.db, commit } })}`, /^OperationFailed/)
  assert.equal(jobs.waiting, 0)
  assert.equal(await asked(jobs), 'OperationPending')
  assert.deepEqual([await asked(jobs), await countRows()], [full, 1])
})

test('the bytes of waiting requests are bounded per user and in total, and checked before anything is stored', async () => {
  const jobs = createJobs(0, { waiting: 100, bytes: 100_000, bytesOfOwner: 60_000 }, broken)
  const [carol, dave] = [{ user: 'carol' }, { user: 'dave' }]
  const before = await countRows()
  assert.equal(await asked(jobs, { ...carol, size: 50_000 }), 'OperationPending')
  assert.equal(await asked(jobs, { ...carol, size: 10_000 }), full)
  assert.equal(await asked(jobs, { ...dave, size: 50_000 }), full)
  assert.equal(await asked(jobs, { ...dave, size: 45_000 }), 'OperationPending')
  assert.equal(await countRows(), before + 2)
})

test('a message of many small nodes counts for more than its bytes', async () => {
  const jobs = createJobs(0, { ...roomy, bytesOfOwner: 100_000 }, broken)
  const nodes = Array(1000).fill(structure(Tag.Attributes, []))
  const many = { ...item, payload: structure(Tag.RequestPayload, nodes) }
  assert.equal(await asked(jobs, { user: 'erin', size: 8000, items: [many] }), full)
  assert.equal(await asked(jobs, { user: 'erin', size: 8000 }), 'OperationPending')
})
