/**
 * How long a page of the list of keys takes among many keys: `node bench/kms/inventory.ts [keys] [rounds] [folder]`, by
 * default a million keys, half of them of one owner, in SQLite; with `POSTGRES_URL` in the environment, an empty database,
 * there. The database stays in the folder, and another run with it measures at once. `page` is the page alone, `request` a
 * whole request over HTTPS, one after the other. Then all pages of lists of the console, from the first to the last one.
 * Milliseconds.
 */

import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { countByState, type InventoryFilter, inventoryPage } from '@warder/keys'
import { startKms } from '@warder/kms/testing'
import { openPostgres, openSqlite } from '@warder/storage'
import { seedInventory } from './seed-inventory.ts'

const keys = Number(process.argv[2] ?? 1_000_000)
const rounds = Number(process.argv[3] ?? 100)
const url = process.env.POSTGRES_URL
const dayMs = 86_400_000
const now = Date.now()
const today = Math.floor(now / dayMs)

const kept = process.argv[4]
const folder = kept ?? mkdtempSync(join(tmpdir(), 'warder-inventory-'))
mkdirSync(folder, { recursive: true })
const path = join(folder, 'kms.db')
const isSeeded = kept !== undefined && existsSync(path)
const db = url === undefined ? openSqlite({ path }) : await openPostgres({ url })
// The same one in each run: it protects nothing here.
const rootKey = new Uint8Array(32).fill(7)
await using kms = await startKms({ db, rootKey, config: { 'roles.crypto_officer_users': ['olga'] } })

const seeding = performance.now()
// Half of them are of alice.
if (!isSeeded)
  await seedInventory(db, {
    keys,
    owner: "CASE i % 2 WHEN 0 THEN 'alice' ELSE 'user-' || (i % 500) END",
    now,
  })
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

const room = { excludedType: 'Certificate' } as const
const roomWords = { excluded_type: 'Certificate' }

/** All pages of a list, as the room of keys in the console asks for them. */
async function measureWalk(title: string, words: Readonly<Record<string, string>>): Promise<void> {
  const times: number[] = []
  let found = 0
  let next: string | null = null
  do {
    const parameters = new URLSearchParams({ ...roomWords, owner: '*', ...words })
    if (next !== null) parameters.set('after', next)
    const start = performance.now()
    const { status, text, json } = await olga.get(`/v1/crypto/keys?${parameters}`)
    times.push(performance.now() - start)
    if (status !== 200) throw new Error(`${title}: ${status} ${text}`)
    const page = json as { readonly keys: readonly unknown[]; readonly next: string | null }
    found += page.keys.length
    next = page.next
  } while (next !== null)
  const last = times.at(-1) ?? Number.NaN
  times.sort((one, other) => one - other)
  process.stdout.write(
    `${title.padEnd(40)}${found} keys on ${times.length} pages: p50 ${percentile(times, 0.5)}, p99 ${percentile(times, 0.99)}, ` +
      `most ${percentile(times, 1)}, the last one ${last.toFixed(2)}\n`,
  )
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
  const notRotated = { from: Number.MIN_SAFE_INTEGER, before: (today - 90) * dayMs }
  const day = date(notRotated.before)
  for (const [name, filter, words] of [
    ['type', { type: 'PrivateKey' }, { type: 'PrivateKey' }],
    ['disabled', { ...room, disabled: true }, { disabled: 'true' }],
    ['waiting for destruction', { ...room, awaitsDestruction: true }, { awaits_destruction: 'true' }],
    ['bound algorithm', { ...room, boundAlg: 'ES256' }, { alg: 'ES256' }],
    ['not rotated for 90 days', { ...room, rotated: notRotated }, { rotated_before: day }],
    ['older than 90 days', { ...room, created: notRotated }, { created_before: day }],
  ] as const)
    await measure(`the console: ${name}`, { owner: undefined, ...filter }, {
      ...('type' in words ? {} : roomWords),
      ...words,
    } as Readonly<Record<string, string>>)
  // A token is valid for ten minutes: no walk of 10,000 pages.
  await measureWalk('all pages of 1000', { limit: '1000' })
  await measureWalk('all pages: bound algorithm', { alg: 'ES256' })
  await measureWalk('all pages: tag', { tag: 'payments' })
  await measureWalk('all pages: unused for 90 days', { ...unusedWords, limit: '1000' })
  const counts = await measureTime(() => countByState(db))
  process.stdout.write(
    `${'how many are in each state'.padEnd(47)}${percentile(counts, 0.5).padStart(10)}${percentile(counts, 0.99).padStart(8)}\n`,
  )
}
await db.close()
if (kept === undefined) rmSync(folder, { recursive: true, force: true })
