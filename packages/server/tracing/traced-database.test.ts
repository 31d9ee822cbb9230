import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { activeTrace } from '@warder/outbound/http-client'
import { change, insertInto, migrate, openPostgres, openSqlite, query } from '@warder/storage'
import { startTestPostgres } from '@warder/storage/testing'
import { createExactTime } from './otlp-traces.ts'
import { traceDatabase } from './traced-database.ts'
import { createTracer, maxSpansPerRequest } from './tracer.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-traced-'))
const postgres = await startTestPostgres()
after(async () => {
  if ('stop' in postgres) await postgres.stop()
  rmSync(folder, { recursive: true })
})

const migrations = [
  {
    number: 1,
    name: 'one',
    statements: ['CREATE TABLE thing (id TEXT NOT NULL PRIMARY KEY, amount BIGINT NOT NULL)'],
  },
]
const insert = insertInto<[string, number]>('thing', ['id', 'amount'])
const add = query<[number, string]>('UPDATE thing SET amount = amount + ? WHERE id = ?')
const one = query<[string], { readonly amount: number }>('SELECT amount FROM thing WHERE id = ?')

const engines = [
  {
    name: 'SQLite',
    skip: false as string | false,
    open: async () => openSqlite({ path: join(folder, 'a.db') }),
    /** Reads of SQLite are no spans. */
    reads: [] as string[],
  },
  {
    name: 'PostgreSQL',
    skip: 'missing' in postgres ? postgres.missing : false,
    async open() {
      assert.ok('database' in postgres)
      return openPostgres({ url: await postgres.database(), readers: 1, writers: 1 })
    },
    reads: ['SELECT thing'],
  },
]

for (const { name, skip, open, reads } of engines)
  test(`commits that a request waits for are spans without values on ${name}`, { skip }, async () => {
    const db = await open()
    try {
      await migrate(db, 'things', migrations)
      const tracer = createTracer({ percent: 100, now: Date.now, onDropped: assert.fail })
      const traced = traceDatabase(db)
      await traced.commit([change(insert, ['no request waits', 1])])
      assert.deepEqual(tracer.take(10), [], 'outside of a request there is no span')
      const request = tracer.beginWork({ name: 'x', kind: 'server', attributes: {} })
      assert.ok(request !== undefined)
      await activeTrace.run(request, async () => {
        await traced.commit([change(insert, ['secret', 1]), change(add, [2, 'secret'])])
        assert.equal((await traced.get(one, ['secret']))?.amount, 3)
        await assert.rejects(traced.commit([change(insert, ['secret', 1], 1)]), { name: 'UniqueViolation' })
      })
      request.end(false)
      const spans = tracer.take(10)
      assert.deepEqual(
        spans.map((span) => span.name),
        ['COMMIT', ...reads, 'COMMIT', 'x'],
      )
      const [first] = spans
      assert.deepEqual(first?.attributes, {
        'db.system.name': db.dialect,
        'db.operation.name': 'COMMIT',
        'db.operation.batch.size': 2,
        'db.query.summary': 'INSERT thing; UPDATE thing',
      })
      assert.equal(first?.parentSpanId, spans.at(-1)?.spanId)
      const refused = spans.at(-2)
      assert.deepEqual([refused?.failed, refused?.attributes['error.type']], [true, 'UniqueViolation'])
      assert.doesNotMatch(JSON.stringify(spans), /secret/)
    } finally {
      await db.close()
    }
  })

test('one request records so many spans, and what is below them counts', () => {
  const tracer = createTracer({ percent: 100, now: Date.now, onDropped: assert.fail })
  const request = tracer.begin({})
  const head = { name: 'x', kind: 'internal', attributes: {} } as const
  for (let count = 0; count < maxSpansPerRequest - 1; count += 1) request?.begin(head)?.end(false)
  const last = request?.begin(head)
  assert.ok(last !== undefined)
  assert.deepEqual([last.begin(head), request?.begin(head)], [undefined, undefined])
  const unsampled = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00' }
  assert.equal(tracer.begin(unsampled)?.begin(head), undefined)
})

test('times of spans have fractions, and follow a wall clock that is set', () => {
  let [wall, monotonic] = [1_000_000, 50]
  const now = createExactTime({ now: () => wall, monotonic: () => monotonic })
  monotonic += 0.25
  assert.equal(now(), 1_000_000.25)
  wall += 60_000
  assert.equal(now(), 1_060_000)
  monotonic += 0.5
  assert.equal(now(), 1_060_000.5)
})
