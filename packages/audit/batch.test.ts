import assert from 'node:assert/strict'
import { test } from 'node:test'
import { escapeHidden } from '@warder/base'
import fc from 'fast-check'
import { chainBatch, type RecordBatch } from './batch.ts'
import { canonicalJson } from './details.ts'
import { type ChainHead, computeHash, createRecordMaker, genesis } from './record.ts'
import type { AuditEvent } from './types.ts'
import { createOwnEvent } from './writer.ts'

const origin = { node: 'knoten "ä"', service: 'kms' }
const makeRecord = createRecordMaker(origin)
const plain = createOwnEvent(Date.UTC(2026, 0, 1), 'test.operation')

type Line = Readonly<Record<string, unknown>>

/** Every line is the canonical JSON of a record with its hash behind it, and continues the one before it. */
function checkLines(text: string, head: ChainHead): readonly Line[] {
  assert.ok(text === '' || text.endsWith('\n'))
  let { seq, hash: prev } = head
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      const record = JSON.parse(line) as Line
      const { hash, ...rest } = record
      assert.equal(line, escapeHidden(`${canonicalJson(rest).slice(0, -1)},"hash":"${hash}"}`))
      assert.deepEqual([record.seq, record.prev, hash], [seq + 1, prev, computeHash(record)])
      assert.deepEqual([record.node, record.service], [origin.node, origin.service])
      seq += 1
      prev = String(hash)
      return record
    })
}

function createBatch(events: readonly AuditEvent[]): RecordBatch {
  return { text: events.map(makeRecord).join(''), count: events.length }
}

const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 30 }),
  fc.string({ unit: 'binary', maxLength: 30 }).map((some) => some.toWellFormed()),
  fc.string({
    unit: fc.constantFrom('\\', '\u202e', 'u202e', '\u{e0041}', '\u0085', '\u0001', '"'),
    maxLength: 8,
  }),
)
const event: fc.Arbitrary<AuditEvent> = fc.record(
  {
    time: fc.integer({ min: 0, max: 4e12 }),
    request_id: text,
    operation: fc.constantFrom('crypto.encrypt', 'crypto.decrypt'),
    principal: text,
    auth_method: fc.constantFrom('jwt', 'none'),
    realm: text,
    object: text,
    algorithm: fc.constantFrom('A256GCM', 'RS256'),
    client_ip: text,
    outcome: fc.constantFrom('success', 'failure'),
    status: fc.integer({ min: 100, max: 599 }),
    reason: text,
    duration_ms: fc.double({ min: 0, max: 1e6, noNaN: true }),
    // Names without escapes: JSON.parse of Node 26 mistakes some of them for those of an object before.
    details: fc.dictionary(
      fc.string({ unit: 'grapheme', maxLength: 30 }).filter((name) => !/__proto__|[\p{C}"\\]/u.test(name)),
      fc.oneof(text, fc.integer(), fc.boolean()),
    ),
  },
  {
    requiredKeys: [
      'time',
      'request_id',
      'operation',
      'principal',
      'auth_method',
      'client_ip',
      'outcome',
      'status',
      'duration_ms',
    ],
  },
)

test('a chain is whole, whatever is recorded', () => {
  const batches = fc.array(fc.array(event, { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 5 })
  fc.assert(
    fc.property(batches, fc.constantFrom(0, 5, 9, 97, 995, 99_999, 2 ** 40), (given, seq) => {
      const start: ChainHead = { seq, hash: genesis }
      let head = start
      let written = ''
      for (const events of given) {
        const chained = chainBatch(createBatch(events), head)
        written += chained.lines
        head = chained.head
      }
      const events = given.flat()
      const lines = checkLines(written, start)
      assert.equal(lines.length, events.length)
      for (const [index, one] of events.entries()) {
        const line = lines[index]
        assert.deepEqual(
          [line?.principal, line?.object, line?.status, line?.request_id, line?.reason],
          [one.principal, one.object, one.status, one.request_id, one.reason],
        )
      }
      assert.deepEqual([head.seq, head.hash], [lines.at(-1)?.seq, lines.at(-1)?.hash])
    }),
  )
})

test('durations have three places at most, written as ECMAScript writes numbers', () => {
  const head: ChainHead = { seq: 0, hash: genesis }
  const writeDuration = (duration_ms: number): unknown =>
    checkLines(chainBatch(createBatch([{ ...plain, duration_ms }]), head).lines, head)[0]?.duration_ms
  for (const [given, expected] of [
    [1.23456, 1.235],
    [0.0004, 0],
    [12.05, 12.05],
    [7, 7],
    [3.1, 3.1],
    [1e12, 1e12],
    [1e300, 1e300],
    [-1, 0],
    [Number.NaN, 0],
    [Number.POSITIVE_INFINITY, 0],
  ] as const)
    assert.equal(writeDuration(given), expected)
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 5_000_000 }), (micros) => {
      assert.equal(writeDuration(micros / 1000), micros / 1000)
    }),
  )
})

test('a batch holds a record of any size', () => {
  const huge = {
    ...plain,
    principal: '\u0001'.repeat(1024),
    object: 'ö'.repeat(1024),
    details: Object.fromEntries(Array.from({ length: 15 }, (_, index) => [`m${index}`, '€'.repeat(1000)])),
  }
  const head: ChainHead = { seq: 7, hash: genesis }
  const [line] = checkLines(chainBatch(createBatch([huge]), head).lines, head)
  assert.deepEqual(Object.values(line?.details ?? {}), Array(15).fill('€'.repeat(1000)))
})

test('tabs and line ends in a record do not move its parts', () => {
  const text = 'a\tb\nc'
  const head: ChainHead = { seq: 0, hash: genesis }
  const event = { ...plain, principal: text, object: text, reason: text, details: { [text]: text } }
  const [line, more] = checkLines(chainBatch(createBatch([event]), head).lines, head)
  assert.equal(more, undefined)
  assert.deepEqual(
    [line?.principal, line?.object, line?.reason, line?.details],
    [text, text, text, { [text]: text }],
  )
})
