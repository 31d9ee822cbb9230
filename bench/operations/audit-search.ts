import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { AuditThread, openAuditLog, openIndexKey, type SearchFilter, startIndexKeeper } from '@warder/audit'
import { systemClock } from '@warder/base'
import { quietLog } from '@warder/base/testing'
import { loadRootKeys, migrate, openSeal, openSqlite, sealMigrations } from '@warder/storage'

/**
 * Measures the index of the audit log: how long it takes to make, how large it is, and how long a page of a search takes.
 *
 * Run: `node bench/operations/audit-search.ts [--records 10000000] [--keep DIR]`. With `--keep` the log stays there, and the
 * next run searches it at once.
 */
const { values } = parseArgs({
  options: { records: { type: 'string', default: '10000000' }, keep: { type: 'string' } },
})
const wanted = Number(values.records)
const print = (line: string): void => void process.stdout.write(`${line}\n`)
const room =
  values.keep === undefined ? mkdtempSync(join(tmpdir(), 'warder-bench-search-')) : resolve(values.keep)
mkdirSync(room, { recursive: true })
const folder = join(room, 'kms')

const db = openSqlite({ path: join(room, 'seal.db') })
await migrate(db, 'seal', sealMigrations)
const rootKeys = loadRootKeys({ kind: 'file', path: join(room, 'root.key') }, {}, { create: true })
const seal = await openSeal({ db, rootKeys, service: 'kms', clock: systemClock })

const operations = ['crypto.encrypt', 'crypto.encrypt', 'crypto.encrypt', 'crypto.decrypt', 'crypto.sign']
const firstTime = Date.parse('2026-01-01T00:00:00Z')
const atOnce = 4000

/** Fills the log: 500 users, 20,000 keys, one failure in 1,009, each 1,000,003th record of one caller. */
async function fill(): Promise<void> {
  const options = {
    folder,
    service: 'kms',
    node: 'bench',
    mode: 'continue',
    rotateBytes: 64 * 2 ** 20,
  } as const
  const log = await openAuditLog({ ...options, clock: systemClock, log: quietLog, seal })
  for (let index = log.head.seq; index < wanted; index += 1) {
    const failed = index % 1009 === 0
    log.trail.record({
      time: firstTime + index * 3,
      request_id: `0f8fad5b-d9cb-469f-a165-${index.toString(16).padStart(12, '0')}`,
      operation: operations[index % 5] ?? '',
      principal: index % 1_000_003 === 500_000 ? 'mallory' : `user-${Math.floor(index / 7) % 500}`,
      auth_method: 'jwt',
      object: `018f8fad-d9cb-769f-a165-${String((index * 7919) % 20_000).padStart(12, '0')}`,
      algorithm: 'dir A256GCM',
      client_ip: `192.0.2.${index % 200}`,
      outcome: failed ? 'failure' : 'success',
      status: failed ? 403 : 200,
      duration_ms: 0.4,
    })
    if (index % atOnce === 0) await log.trail.flush()
  }
  await log.close()
}

const seconds = (from: number): string => ((performance.now() - from) / 1000).toFixed(1)
const formatCpu = ({ user, system }: NodeJS.CpuUsage): string =>
  `${((user + system) / wanted).toFixed(2)} µs of processor time for a record`
const megabytes = (names: (name: string) => boolean): number =>
  readdirSync(folder)
    .filter(names)
    .reduce((sum, name) => sum + statSync(join(folder, name)).size, 0) /
  2 ** 20

const searches: Readonly<Record<string, SearchFilter>> = {
  'the newest records': {},
  'one request': { requestId: '0f8fad5b-d9cb-469f-a165-000000000abc' },
  'no such request': { requestId: '0f8fad5b-d9cb-469f-a165-ffffffffffff' },
  'a rare caller': { principal: 'mallory' },
  'no such caller': { principal: 'nobody' },
  'failures of a user': { principal: 'user-7', outcome: 'failure' },
  'a key': { object: '018f8fad-d9cb-769f-a165-000000000007' },
  'a user and a key': { principal: 'user-7', object: '018f8fad-d9cb-769f-a165-000000000007' },
  'an hour, an operation': {
    operation: 'crypto.sign',
    since: firstTime + 3_600_000,
    until: firstTime + 7_200_000,
  },
  'text that is nowhere': { text: 'needle' },
}

async function search(): Promise<void> {
  const thread = new AuditThread()
  const indexKey = await openIndexKey(folder, seal)
  if (indexKey === undefined) throw new Error('there is no index')
  const began = performance.now()
  const first = { folder, keys: new Map(), indexKey, filter: { requestId: '-' }, limit: 1, budgetMs: 0 }
  await thread.run({ type: 'search', request: first })
  print(`the thread starts, and searches one part: ${(performance.now() - began).toFixed(0)} ms`)
  for (const [name, filter] of Object.entries(searches)) {
    const times: number[] = []
    let before: number | undefined
    let found = 0
    let pages = 0
    do {
      const began = performance.now()
      const request = { folder, keys: new Map(), indexKey, filter, before, limit: 100, budgetMs: 120 }
      const page = await thread.run({ type: 'search', request })
      times.push(performance.now() - began)
      found += page.records.length
      before = page.next
      pages += 1
    } while (before !== undefined && pages < 50)
    const [longest = 0] = times.toSorted((a, b) => b - a)
    const passed = (wanted - (before ?? 0)) / pages
    print(
      `${name}: first page ${times[0]?.toFixed(0)} ms, longest of ${pages} pages ${longest.toFixed(0)} ms, ${found} records${before === undefined ? '' : ', and more'}; a page passes ${passed.toFixed(0)} of the log`,
    )
  }
  await thread.stop()
}

try {
  let began = performance.now()
  await fill()
  print(
    `${wanted} records in ${megabytes((name) => name.startsWith('audit-')).toFixed(0)} MiB: written in ${seconds(began)} s`,
  )
  began = performance.now()
  const cpu = process.cpuUsage()
  const keeper = await startIndexKeeper({ folder, keys: new Map(), seal, log: quietLog, seq: () => 0 })
  await keeper.extend()
  await keeper.stop()
  print(
    `index of ${megabytes((name) => name.startsWith('index.db')).toFixed(0)} MiB: made in ${seconds(began)} s, with ${formatCpu(process.cpuUsage(cpu))}`,
  )
  await search()
} finally {
  await db.close()
  if (values.keep === undefined) rmSync(room, { recursive: true, force: true })
}
