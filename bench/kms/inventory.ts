/**
 * How long a page of the list of keys takes among many keys: `node bench/kms/inventory.ts [keys] [rounds] [folder]`, by
 * default a million keys, half of them of one owner, in SQLite; with `POSTGRES_URL` in the environment, an empty database,
 * there. The database stays in the folder, and another run with it measures at once. `page` is the page alone, `request` a whole request over HTTPS, one after the other. Milliseconds.
 */

import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { countByState, type InventoryFilter, inventoryPage } from '@warder/keys'
import { startKms } from '@warder/kms/testing'
import { openPostgres, openSqlite, query } from '@warder/storage'

const keys = Number(process.argv[2] ?? 1_000_000)
const rounds = Number(process.argv[3] ?? 100)
const url = process.env.POSTGRES_URL
const dayMs = 86_400_000
const now = Date.now()
const today = Math.floor(now / dayMs)

const kept = process.argv[4]
const folder = kept ?? mkdtempSync(join(tmpdir(), 'warder-inventory-'))
const path = join(folder, 'kms.db')
const isSeeded = kept !== undefined && existsSync(path)
const db = url === undefined ? openSqlite({ path }) : await openPostgres({ url })
// The same one in each run: it protects nothing here.
const rootKey = new Uint8Array(32).fill(7)
await using kms = await startKms({ db, rootKey, config: { 'roles.crypto_officer_users': ['olga'] } })

/**
 * Inserts rows directly into the database: nothing is sealed, so these keys cannot be used. One in a thousand is RSA, in
 * another state, tagged or near its end; the days of creation and of use are spread over three years.
 */
async function seed(): Promise<void> {
  const block = 10_000
  const series =
    url === undefined
      ? 'WITH RECURSIVE n(i) AS (SELECT CAST(? AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < ?)'
      : 'WITH n AS (SELECT i FROM generate_series(CAST(? AS BIGINT), CAST(? AS BIGINT)) AS g(i))'
  const id = url === undefined ? "printf('%012d', i)" : "lpad(CAST(i AS TEXT), 12, '0')"
  const rows = query<[number, number]>(`${series} INSERT INTO managed_object
    (id, object_type, algorithm, bits, state, owner, usage_mask, created_at, changed_at, activation_at, deactivation_at,
     last_used_day, form, version)
    SELECT ${id}, 'SymmetricKey', CASE i % 1000 WHEN 1 THEN 'RSA' ELSE 'AES' END, 256,
      CASE i % 1000 WHEN 2 THEN 'Compromised' ELSE 'Active' END, CASE i % 2 WHEN 0 THEN 'alice' ELSE 'user-' || (i % 500) END,
      12, ${now - 1095 * dayMs} + i * 94, ${now}, ${now - 1095 * dayMs} + i * 94,
      CASE i % 1000 WHEN 4 THEN ${now} + (i % 365) * ${dayMs} END,
      CASE i % 10 WHEN 0 THEN NULL ELSE ${today} - (i % 1000) END, '{}', 1 FROM n`)
  const tags = query<[number, number]>(`${series} INSERT INTO object_tag (object_id, tag)
    SELECT ${id}, 'payments' FROM n WHERE i % 1000 = 6`)
  for (let from = 0; from < keys; from += block) {
    const params: [number, number] = [from, Math.min(from + block, keys) - 1]
    await db.commit([
      { query: rows as never, params },
      { query: tags as never, params },
    ])
  }
}

const seeding = performance.now()
if (!isSeeded) await seed()
process.stdout.write(
  `${keys} keys in ${((performance.now() - seeding) / 1000).toFixed(1)} s, ${db.dialect}\n`,
)
process.stdout.write(
  `${''.padEnd(40)}${'found'.padStart(7)}${'page p50'.padStart(10)}${'p99'.padStart(8)}${'request p50'.padStart(13)}${'p99'.padStart(8)}\n`,
)

async function measureTime(run: () => unknown): Promise<readonly number[]> {
  const times: number[] = []
  for (let round = 0; round < rounds; round++) {
    const start = performance.now()
    await run()
    times.push(performance.now() - start)
  }
  return times.sort((one, other) => one - other)
}

function percentile(times: readonly number[], share: number): string {
  return (times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN).toFixed(2)
}

const olga = kms.user('olga')
const date = (at: number): string => new Date(at).toISOString()

async function measure(title: string, filter: InventoryFilter, words: Readonly<Record<string, string>>) {
  const page = () => inventoryPage(db, filter, undefined, 100, now)
  const { keys: found } = await page()
  const path = `/v1/crypto/keys?${new URLSearchParams({ owner: filter.owner ?? '*', ...words })}`
  const answered = (await olga.get(path)).json
  if (answered.keys.length !== found.length)
    throw new Error(`${title}: ${answered.keys.length} ${found.length}`)
  if (rounds === 0) return
  const alone = await measureTime(page)
  const whole = await measureTime(() => olga.get(path))
  const columns = [
    String(found.length).padStart(7),
    percentile(alone, 0.5).padStart(10),
    percentile(alone, 0.99).padStart(8),
    percentile(whole, 0.5).padStart(13),
    percentile(whole, 0.99).padStart(8),
  ]
  process.stdout.write(`${title.padEnd(40)}${columns.join('')}\n`)
}

const soon = { from: now, before: now + 30 * dayMs }
const soonWords = { expires_after: date(soon.from), expires_before: date(soon.before) }
const unused = { from: Number.MIN_SAFE_INTEGER, before: today - 90 }
const unusedWords = { unused_since: date((today - 90) * dayMs) }
for (const [who, owner] of [
  ['all owners', undefined],
  ['half of them', 'alice'],
  ['2,000 of them', 'user-7'],
] as const) {
  await measure(`${who}: no filter`, { owner }, {})
  await measure(`${who}: tag`, { owner, tag: 'payments' }, { tag: 'payments' })
  await measure(`${who}: algorithm`, { owner, algorithm: 'RSA' }, { algorithm: 'RSA' })
  await measure(`${who}: state`, { owner, state: 'Compromised' }, { state: 'Compromised' })
  await measure(`${who}: ends in 30 days`, { owner, ends: soon }, soonWords)
  await measure(`${who}: unused for 90 days`, { owner, usedDay: unused }, unusedWords)
  const created = { from: now - 30 * dayMs, before: now }
  await measure(
    `${who}: made in 30 days`,
    { owner, created },
    {
      created_after: date(created.from),
      created_before: date(created.before),
    },
  )
  await measure(
    `${who}: tag, unused for 90 days`,
    { owner, tag: 'payments', usedDay: unused },
    {
      tag: 'payments',
      ...unusedWords,
    },
  )
}
if (rounds > 0) {
  const counts = await measureTime(() => countByState(db))
  process.stdout.write(
    `${'how many are in each state'.padEnd(47)}${percentile(counts, 0.5).padStart(10)}${percentile(counts, 0.99).padStart(8)}\n`,
  )
}
await db.close()
if (kept === undefined) rmSync(folder, { recursive: true, force: true })
