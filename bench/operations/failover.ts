import { setTimeout } from 'node:timers/promises'
import { change, openPostgres, query } from '@warder/storage'
import { startTestPair } from '@warder/storage/testing'

/**
 * How long after the promotion of a standby the first write is acknowledged, and whether one that was acknowledged is
 * lost: eight writers, the primary killed, the standby promoted.
 *
 * Run: `node bench/operations/failover.ts`
 */
const pair = await startTestPair()
if ('missing' in pair) throw new Error(pair.missing)
const table = query<[], unknown>('CREATE TABLE thing (id TEXT NOT NULL PRIMARY KEY)')
const insert = query<[string], unknown>('INSERT INTO thing (id) VALUES (?)')
const db = await openPostgres({ url: pair.url('postgres') })
try {
  await db.commit([change(table, [])])
  const acknowledged = new Map<string, number>()
  let stopping = false
  const writers = Array.from({ length: 8 }, async (_, name) => {
    for (let count = 0; !stopping; count += 1) {
      const id = `${name}-${count}`
      try {
        await db.commit([change(insert, [id])])
        acknowledged.set(id, performance.now())
      } catch {
        await setTimeout(5)
      }
    }
  })
  await setTimeout(2000)
  await pair.primary.kill()
  const killed = performance.now()
  await setTimeout(1000)
  const asked = performance.now()
  await pair.promote()
  const promoted = performance.now()
  await setTimeout(3000)
  stopping = true
  await Promise.all(writers)
  const first = Math.min(...[...acknowledged.values()].filter((at) => at > killed + 500))
  const rows = await pair.standby.ask<{ id: string }>('SELECT id FROM thing')
  const there = new Set(rows.map(({ id }) => id))
  const lost = [...acknowledged.keys()].filter((id) => !there.has(id)).length
  process.stdout.write(
    `${acknowledged.size} acknowledged, ${lost} lost; promotion ${((promoted - asked) / 1000).toFixed(2)} s, first write ${((first - promoted) / 1000).toFixed(2)} s after it was done\n`,
  )
} finally {
  await db.close()
  await pair.stop()
}
