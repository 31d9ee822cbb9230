import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { test } from 'node:test'
import { Failure } from '@warder/base'
import fc from 'fast-check'
import { type Admit, aborted, readBody } from './body.ts'
import { BodyBudget, BodyReservation } from './body-budget.ts'
import { BodyMessage } from './node-internals/body-message.ts'

interface Read {
  readonly message: BodyMessage
  readonly outcomes: { readonly outcome: Uint8Array | Failure | typeof aborted; readonly held: number }[]
}

const admitAll: Admit = () => {}

function begin(budget: BodyBudget, limit: number, declared?: number, admit = admitAll): Read {
  const message = new BodyMessage(new Socket())
  if (declared !== undefined) message.headers['content-length'] = String(declared)
  const outcomes: Read['outcomes'] = []
  const reservation = new BodyReservation(budget, '192.0.2.1')
  readBody(message, undefined as unknown as ServerResponse, limit, reservation, admit, (outcome) => {
    outcomes.push({ outcome, held: reservation.bytes })
  })
  return { message, outcomes }
}

/** As the parser does: every piece is a copy of its own. */
function writeChunks({ message }: Read, bytes: Uint8Array, pieceLength: number): void {
  for (let at = 0; at < bytes.length; at += pieceLength)
    message.push(Buffer.from(bytes.subarray(at, at + pieceLength)))
}

const getKind = ({ outcomes }: Read): string | undefined =>
  outcomes[0]?.outcome instanceof Failure ? outcomes[0].outcome.kind : undefined

test('a body in pieces of one byte is held in one buffer, all of which counts', () => {
  const budget = new BodyBudget(1 << 20)
  const read = begin(budget, 1 << 20)
  const body = Buffer.alloc(10_000, 'abc')
  writeChunks(read, body, 1)
  const counted = budget.held
  assert.ok(counted > body.length && counted <= 2 * body.length, String(counted))
  read.message.push(null)
  const [{ outcome, held } = { outcome: aborted, held: 0 }] = read.outcomes
  assert.ok(outcome instanceof Uint8Array)
  assert.deepEqual(Buffer.from(outcome), body)
  assert.deepEqual([outcome.buffer.byteLength, held, budget.held], [counted, counted, counted])
})

test('a body in one piece is not copied and counts as long as it is', () => {
  const budget = new BodyBudget(1000)
  const read = begin(budget, 1000)
  const piece = Buffer.from('all at once')
  read.message.push(piece)
  read.message.push(null)
  assert.equal(read.outcomes[0]?.outcome, piece)
  assert.deepEqual([read.outcomes[0]?.held, budget.held], [piece.length, piece.length])
})

test('however a body is cut, the same bytes come out, and no more count than may come', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 1, maxLength: 5000 }),
      fc.integer({ min: 1, max: 1500 }),
      fc.boolean(),
      (body, pieceLength, declared) => {
        const budget = new BodyBudget(5000)
        const read = begin(budget, 5000, declared ? body.length : undefined)
        writeChunks(read, body, pieceLength)
        if (declared) assert.equal(budget.held, body.length)
        read.message.push(null)
        assert.deepEqual(Buffer.from(read.outcomes[0]?.outcome as Uint8Array), Buffer.from(body))
        assert.equal(read.outcomes[0]?.held, budget.held)
      },
    ),
  )
})

test('a declared length takes nothing before it has come', () => {
  const budget = new BodyBudget(1 << 20)
  const read = begin(budget, 1 << 20, 1 << 20)
  writeChunks(read, Buffer.alloc(3), 1)
  assert.ok(budget.held <= 1024, String(budget.held))
})

test('a refused or aborted body gives back all that it held', () => {
  const budget = new BodyBudget(3000)
  const long = begin(budget, 2000)
  writeChunks(long, Buffer.alloc(2000), 1)
  assert.equal(budget.held, 2000)
  assert.deepEqual(long.outcomes, [])
  const crowded = begin(budget, 5000)
  writeChunks(crowded, Buffer.alloc(2), 1)
  assert.deepEqual([getKind(crowded), budget.held], ['overloaded', 2000])
  writeChunks(long, Buffer.alloc(1), 1)
  assert.deepEqual([getKind(long), budget.held], ['payload_too_large', 0])
  const gone = begin(budget, 2000)
  writeChunks(gone, Buffer.alloc(100), 1)
  gone.message.destroy()
  assert.deepEqual([gone.outcomes, budget.held], [[{ outcome: aborted, held: 0 }], 0])
})
