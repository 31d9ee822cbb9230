import assert from 'node:assert/strict'
import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { systemClock } from '@warder/base'
import { quietLog } from '@warder/base/testing'
import { loadRootKeys, migrate, openSeal, openSqlite, sealMigrations } from '@warder/storage'
import type { LogKeys } from '../encrypted-bytes.ts'
import { type AuditLog, type AuditLogOptions, openAuditLog } from '../log.ts'
import { ensureIndexKey, openLogKeys } from '../log-keys.ts'
import { listSegments } from '../segments.ts'
import type { AuditEvent } from '../types.ts'
import { indexFileName } from './index-store.ts'
import { extendIndex } from './indexer.ts'
import { type FoundRecord, searchLog } from './search.ts'
import { matchesSearch, parseLine, type SearchFilter } from './terms.ts'

const room = mkdtempSync(join(tmpdir(), 'warder-audit-search-'))
after(() => rmSync(room, { recursive: true, force: true }))
let count = 0
const path = (): string => join(room, String(count++))

const db = openSqlite({ path: `${path()}.db` })
after(() => db.close())
await migrate(db, 'seal', sealMigrations)
const rootKeys = loadRootKeys({ kind: 'file', path: `${path()}.key` }, {}, { create: true })
const seal = await openSeal({ db, rootKeys, service: 'kms', clock: systemClock })

const firstTime = Date.parse('2026-01-01T00:00:00Z')

const options = (folder: string, more: Partial<AuditLogOptions> = {}): AuditLogOptions => ({
  ...{ folder, service: 'kms', node: 'n1', mode: 'continue', rotateBytes: 1_500_000 },
  ...{ clock: systemClock, log: quietLog, seal },
  ...more,
})

const operations = ['crypto.encrypt', 'crypto.decrypt', 'kmip.Get', 'kmip.Locate', 'access.grant']

function makeEvent(index: number, more: Partial<AuditEvent> = {}): AuditEvent {
  const failed = index % 97 === 0
  return {
    time: firstTime + index * 1000,
    request_id: `0f8fad5b-d9cb-469f-a165-${String(index).padStart(12, '0')}`,
    operation: operations[(index * 7) % 5] ?? '',
    principal: index % 1000 === 1 ? `rare-${index}` : `user-${index % 6}`,
    auth_method: 'jwt',
    ...(index % 3 !== 0 && { object: `key-${(index * 31) % 5000}` }),
    client_ip: `192.0.2.${index % 9}`,
    outcome: failed ? 'failure' : 'success',
    status: failed ? 403 : 200,
    duration_ms: 1,
    ...(index % 11 === 0 && { details: { user: `Grantee ${index % 13}`, operations: ['encrypt'] } }),
    ...more,
  }
}

async function write(log: AuditLog, from: number, to: number): Promise<void> {
  for (let index = from; index < to; index += 1) {
    log.trail.record(makeEvent(index))
    if (index % 10_000 === 0) await log.trail.flush()
  }
  await log.trail.flush()
}

interface Indexed {
  readonly folder: string
  readonly keys: LogKeys
  readonly indexKey: KeyObject
}

async function openIndexed(folder: string): Promise<Indexed> {
  const indexed = {
    folder,
    keys: await openLogKeys(folder, seal),
    indexKey: await ensureIndexKey(folder, seal),
  }
  await extendIndex(indexed)
  return indexed
}

/** A log of several closed files and one that is being written, with its index. */
async function fillLog(records: number, more: Partial<AuditLogOptions> = {}): Promise<Indexed> {
  const folder = path()
  const log = await openAuditLog(options(folder, more))
  await write(log, 0, records)
  await log.whenIdle()
  await log.close()
  return openIndexed(folder)
}

/** Every page of a search. */
async function searchAll(log: Indexed, filter: SearchFilter, limit = 100, budgetMs = 10_000) {
  const records: FoundRecord[] = []
  const problems = new Set<string>()
  let before: number | undefined
  let pages = 0
  do {
    const page = await searchLog({ ...log, filter, limit, budgetMs, before })
    assert.ok(page.records.length <= limit)
    assert.ok(page.next === undefined || before === undefined || page.next < before, 'a page must advance')
    records.push(...page.records)
    for (const problem of page.problems) problems.add(problem)
    before = page.next
    pages += 1
  } while (before !== undefined)
  return { records, problems: [...problems], pages, seqs: records.map(({ seq }) => seq) }
}

/** What a search must find, out of the files themselves. */
function expectedIn(lines: readonly string[], filter: SearchFilter): readonly string[] {
  return lines.filter((line) => matchesSearch(parseLine(line) ?? {}, filter)).toReversed()
}

function readAllLines(folder: string): readonly string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .sort()
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n').slice(0, -1))
}

const at = (index: number): number => firstTime + index * 1000
const filters: readonly SearchFilter[] = [
  {},
  { principal: 'rare-5001' },
  { principal: 'user-3', outcome: 'failure' },
  { operation: 'kmip.*', object: 'key-31' },
  { operation: 'crypto.dec*', address: '192.0.2.4', since: at(9000), until: at(12_000) },
  { requestId: '0f8fad5b-d9cb-469f-a165-000000000042' },
  { requestId: 'no such request' },
  { object: 'key-93' },
  { outcome: 'failure', since: at(15_000) },
  { until: at(300) },
  { text: 'grantee 12' },
  { text: 'grantee 12', principal: 'user-4' },
  { operation: 'audit.*' },
  { principal: 'user-2', operation: 'kmip.Get', outcome: 'success', address: '192.0.2.2' },
]

test('a search finds what reading all of the log finds, with the index, without it, and in small pages', async () => {
  const log = await fillLog(20_000)
  const lines = readAllLines(log.folder)
  assert.ok(listSegments(log.folder).length > 3)
  const withoutIndex = { ...log, indexKey: createSecretKey(randomBytes(32)) }
  const copy = path()
  for (const filter of filters) {
    const expected = expectedIn(lines, filter)
    for (const limit of [1000, 7]) {
      if (limit === 7 && expected.length > 2000) continue
      const found = await searchAll(log, filter, limit)
      assert.deepEqual(
        found.records.map(({ line }) => line),
        expected,
        JSON.stringify(filter),
      )
      assert.deepEqual(found.problems, [])
    }
    // Each page has time for one part of the log alone.
    const hasty = await searchAll(log, filter, 1000, 0)
    assert.deepEqual(
      hasty.records.map(({ line }) => line),
      expected,
    )
  }
  copyFileSync(join(log.folder, indexFileName), copy)
  for (const filter of filters.slice(0, 6)) {
    const found = await searchAll(withoutIndex, filter, 1000)
    assert.deepEqual(
      found.records.map(({ line }) => line),
      expectedIn(lines, filter),
    )
  }
})
