import assert from 'node:assert/strict'
import { createPublicKey } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { StartupError, systemClock } from '@warder/base'
import { quietLog } from '@warder/base/testing'
import { loadRootKeys, migrate, openSeal, openSqlite, type Seal, sealMigrations } from '@warder/storage'
import { archiveOld, pruneOld } from './archive.ts'
import { openCheckpointKey, readCheckpointSigner, readPublicCheckpointKey } from './checkpoint-key.ts'
import { startCloser } from './closer.ts'
import { noLogKeys } from './encrypted-bytes.ts'
import { exportAudit } from './export.ts'
import { type AuditLog, type AuditLogOptions, openAuditLog } from './log.ts'
import { LogReader } from './reader.ts'
import { listSegments } from './segments.ts'
import { tailAudit } from './tail.ts'
import { verifyAudit } from './verify.ts'

const room = mkdtempSync(join(tmpdir(), 'warder-audit-files-'))
after(() => rmSync(room, { recursive: true, force: true }))
let count = 0
const path = (): string => join(room, String(count++))

async function newSeal(): Promise<Seal> {
  const db = openSqlite({ path: `${path()}.db` })
  await migrate(db, 'seal', sealMigrations)
  const rootKeys = loadRootKeys({ kind: 'file', path: `${path()}.key` }, {}, { create: true })
  after(() => db.close())
  return openSeal({ db, rootKeys, service: 'kms', clock: systemClock })
}
const seal = await newSeal()

const day = 86_400_000
const firstDay = Date.parse('2026-01-01T00:00:00Z')
/** Gives the log's own records the age of the others. */
const clock = { ...systemClock, now: () => firstDay }

const options = (folder: string, more: Partial<AuditLogOptions> = {}): AuditLogOptions => ({
  folder,
  service: 'kms',
  node: 'n1',
  mode: 'reject',
  rotateBytes: 1500,
  clock,
  log: quietLog,
  seal,
  ...more,
})

/** Records one record a day, and waits until all full files are closed. */
async function record(log: AuditLog, days: number, from = 0): Promise<void> {
  for (let index = from; index < from + days; index += 1) {
    await log.trail.recordDurably({
      time: firstDay + index * day,
      request_id: '-',
      operation: index % 2 === 0 ? 'crypto.encrypt' : 'crypto.sign',
      principal: `user-${index % 3}`,
      auth_method: 'jwt',
      object: `key-${index % 5}`,
      client_ip: '127.0.0.1',
      outcome: 'success',
      status: 200,
      duration_ms: 0,
      details: { time: '1999-01-01T00:00:00.000Z' },
    })
  }
  await log.whenIdle()
}

/** A log of some closed files and one that is written. */
async function fillLog(folder: string, days = 40): Promise<void> {
  const log = await openAuditLog(options(folder))
  await record(log, days)
  await log.close()
}

const readKeys = (folder: string) => {
  const key = readPublicCheckpointKey(folder)
  return key === undefined ? [] : [key]
}
const verify = (folder: string) => verifyAudit(folder, { thorough: true, keys: readKeys(folder) })
const operations = async (folder: string): Promise<readonly string[]> => {
  const found: string[] = []
  for await (const line of exportAudit({ folder, format: 'json' })) found.push(JSON.parse(line).operation)
  return found
}
const archive = async (folder: string, before: number, to?: string) => {
  const done = []
  const unlocked = {
    keys: noLogKeys,
    encryptWith: undefined,
    signer: await readCheckpointSigner(folder, seal),
  }
  for await (const one of archiveOld({ folder, before, by: 'olga', now: Date.now(), to, unlocked }))
    done.push(one)
  return done
}
const prune = async (folder: string, before: number) => {
  const signer = await readCheckpointSigner(folder, seal)
  return [...pruneOld({ folder, before, by: 'olga', now: Date.now(), signer })]
}

test('a full file is closed with a signed checkpoint that says what stands in it', async () => {
  const folder = path()
  await fillLog(folder)
  const segments = listSegments(folder)
  assert.ok(segments.length > 4)
  for (const { signed } of segments.slice(0, -1)) assert.ok(signed !== undefined)
  assert.equal(segments.at(-1)?.signed, undefined)
  const first = segments[0]?.signed?.checkpoint
  assert.equal(first?.first_seq, 1)
  // A time in the details is not the record's.
  assert.match(first?.earliest ?? '', /^2026-01-01/)
  const verdict = await verify(folder)
  assert.deepEqual([verdict.ok, verdict.removed, verdict.unexplained], [true, 0, []])
})

test('a start goes on from the last checkpoint, and closed files are read again afterwards', async () => {
  const folder = path()
  await fillLog(folder)
  const [first] = listSegments(folder)
  const file = first?.path ?? ''
  const text = readFileSync(file, 'utf8')
  writeFileSync(file, text.replace('user-1', 'user-9'))
  const damage: string[] = []
  const onDamage = (file: string, problem: string): void => void damage.push(`${file} ${problem}`)
  const log = await openAuditLog({ ...options(folder), onDamage })
  await log.whenIdle()
  await log.close()
  assert.match(damage.join(), /^\S+ it has changed since it was closed$/)
  // The old log was not put aside for it: the chain goes on and says what is wrong.
  assert.ok((await operations(folder)).includes('audit.file_changed'))
  assert.match((await verify(folder)).firstBroken?.reason ?? '', /its hash differs/)
  // Without the key's word a start reads everything.
  const other = await openAuditLog({ ...options(folder), seal: await newSeal() })
  await other.close()
  assert.ok(readdirSync(folder).some((name) => name.includes('.broken-')) === false)
})

async function _operationsSafely(folder: string): Promise<readonly string[]> {
  return operations(folder)
}

test('a closed file that became shorter is found by the start', async () => {
  const folder = path()
  await fillLog(folder)
  const file = listSegments(folder)[0]?.path ?? ''
  truncateSync(file, 700)
  const log = await openAuditLog(options(folder))
  await log.close()
  assert.ok(
    readdirSync(folder).some((name) => name.endsWith('.checkpoint') === false && name.includes('.broken-')),
  )
  assert.ok((await operations(folder)).includes('audit.chain_sealed'))
})

test('old files are archived, exported from there, verified, and pruned; the chain holds and says it', async () => {
  const folder = path()
  await fillLog(folder)
  const before = await operations(folder)
  const files = listSegments(folder).length
  const done = await archive(folder, firstDay + 20 * day)
  assert.ok(done.length > 1 && done.length < files - 1)
  assert.deepEqual(await archive(folder, firstDay + 20 * day), [])
  assert.equal(listSegments(folder).filter(({ compressed }) => compressed).length, done.length)
  assert.deepEqual(await operations(folder), before)
  assert.equal((await verify(folder)).ok, true)
  const removed = await prune(folder, firstDay + 12 * day)
  assert.ok(removed.length > 0 && removed.length < done.length)
  const verdict = await verify(folder)
  assert.deepEqual([verdict.ok, verdict.removed, verdict.unexplained], [true, removed.length, []])
  const log = await openAuditLog(options(folder))
  await record(log, 3, 40)
  await log.close()
  const now = await operations(folder)
  assert.equal(now.filter((operation) => operation === 'audit.file_removed').length, removed.length)
  // Once: the next start has nothing to add.
  await (await openAuditLog(options(folder))).close()
  assert.equal((await verify(folder)).ok, true)
})

test('an archive elsewhere is verified and exported by itself', async () => {
  const [folder, to] = [path(), path()]
  await fillLog(folder)
  const done = await archive(folder, firstDay + 20 * day, to)
  assert.ok(done.length > 1)
  const verdict = await verify(to)
  assert.deepEqual([verdict.ok, verdict.files], [true, done.length])
  assert.equal((await operations(to)).length, verdict.records)
  assert.equal((await verify(folder)).removed, done.length)
  // A damaged copy is found, and stops the next archiving over it.
  const copy = done[1]?.path ?? ''
  const bytes = readFileSync(copy)
  bytes.writeUInt8(bytes.readUInt8(bytes.length >> 1) ^ 1, bytes.length >> 1)
  writeFileSync(copy, bytes)
  assert.equal((await verify(to)).ok, false)
})

test('an archived copy that does not hold the file keeps the file', async () => {
  const folder = path()
  await fillLog(folder)
  const [first, second] = listSegments(folder)
  const file = first?.path ?? ''
  copyFileSync(second?.path ?? '', `${file}.zst`)
  await assert.rejects(archive(folder, firstDay + 20 * day), StartupError)
  assert.ok(existsSync(file))
})

test('a file that is gone without a word is an alarm; without a checkpoint the chain is broken', async () => {
  const folder = path()
  await fillLog(folder)
  const [first, second] = listSegments(folder)
  rmSync(first?.path ?? '')
  assert.deepEqual((await verify(folder)).unexplained, ['audit-0000000000000001.jsonl'])
  const log = await openAuditLog(options(folder))
  await log.whenIdle()
  await log.close()
  assert.ok((await operations(folder)).includes('audit.file_removed'))
  assert.equal((await verify(folder)).unexplained.length, 1)
  rmSync(second?.path ?? '')
  rmSync(join(folder, `audit-${String(second?.firstSeq).padStart(16, '0')}.checkpoint`))
  assert.match((await verify(folder)).firstBroken?.reason ?? '', /is missing here/)
})

test('a checkpoint that was changed, or that another key signed, holds nothing', async () => {
  const [folder, other] = [path(), path()]
  await fillLog(folder)
  await fillLog(other)
  const name = join(folder, 'audit-0000000000000001.checkpoint')
  const text = readFileSync(name, 'utf8')
  for (const forged of [
    text.replace(/"last_hash":"../, '"last_hash":"00'),
    readFileSync(join(other, 'audit-0000000000000001.checkpoint'), 'utf8'),
    '{}',
    'null',
  ]) {
    writeFileSync(name, forged)
    const verdict = await verify(folder)
    const unread = forged.length < 10
    assert.equal(verdict.ok, unread, forged)
    const keep = listSegments(folder)[0]?.path ?? ''
    const bytes = readFileSync(keep)
    rmSync(keep)
    assert.equal((await verify(folder)).ok, false, forged)
    writeFileSync(keep, bytes)
  }
  // The next start reads the file and signs again.
  const log = await openAuditLog(options(folder))
  await log.whenIdle()
  await log.close()
  assert.equal((await verify(folder)).ok, true)
})

test('the key of another database gives way to a new one, which signs again and is recorded', async () => {
  const folder = path()
  await fillLog(folder)
  await archive(folder, firstDay + 20 * day)
  await prune(folder, firstDay + 12 * day)
  const before = readFileSync(join(folder, 'checkpoint.pub'), 'utf8')
  const log = await openAuditLog({ ...options(folder), seal: await newSeal() })
  await log.whenIdle()
  await log.close()
  assert.notEqual(readFileSync(join(folder, 'checkpoint.pub'), 'utf8'), before)
  assert.equal((await verify(folder)).ok, true)
  assert.equal((await verifyAudit(folder, { keys: [createPublicKey(before)] })).ok, false)
  const lines: string[] = []
  for await (const line of exportAudit({ folder, format: 'json' })) lines.push(line)
  const made = lines
    .map((line) => JSON.parse(line))
    .filter(({ operation }) => operation === 'audit.checkpoint_key')
  assert.ok(made.at(-1)?.details.replaces !== undefined)
})

test('neither the private key nor an unsealed copy of it stands in the folder', async () => {
  const folder = path()
  await fillLog(folder, 3)
  for (const name of readdirSync(folder)) {
    const bytes = readFileSync(join(folder, name), 'latin1')
    assert.ok(!bytes.includes('PRIVATE KEY'), name)
  }
})

test('a reader gives each record once while the log is written, archived and pruned, and says what it missed', async () => {
  const folder = path()
  const log = await openAuditLog(options(folder))
  const reader = new LogReader(folder, 0)
  const seen: number[] = []
  const readAll = async (): Promise<void> => {
    for (;;) {
      const records = await reader.next(3, 2000)
      if (records.length === 0) return
      seen.push(...records.map(({ seq }) => seq))
    }
  }
  await record(log, 5)
  await readAll()
  await record(log, 25, 5)
  const [some] = await reader.next(1, 2000)
  seen.push(some?.seq ?? 0)
  await archive(folder, firstDay + 25 * day)
  await readAll()
  await record(log, 10, 30)
  await readAll()
  await log.close()
  assert.deepEqual(
    seen,
    Array.from({ length: log.head.seq }, (_, index) => index + 1),
  )
  assert.equal(reader.takeMissed(), 0)
  const gone = await prune(folder, firstDay + 20 * day)
  const late = new LogReader(folder, 0)
  const [first] = await late.next(1, 1)
  const missed = gone.reduce((sum, { records }) => sum + records, 0)
  assert.deepEqual([first?.seq, late.takeMissed()], [missed + 1, missed])
})

test('the last records that fit, and those that follow', async () => {
  const folder = path()
  const log = await openAuditLog(options(folder))
  await record(log, 30)
  const stop = new AbortController()
  const wanted = { folder, format: 'json', lines: 12, principal: 'user-1', operation: 'crypto.*' } as const
  const found: { principal: string; seq: number }[] = []
  for await (const line of tailAudit(wanted, stop.signal)) {
    found.push(JSON.parse(line))
    if (found.length === 10) await record(log, 6, 30)
    if (found.length === 12) stop.abort()
  }
  await log.close()
  assert.ok(found.every(({ principal }) => principal === 'user-1'))
  assert.equal(new Set(found.map(({ seq }) => seq)).size, 12)
  assert.ok(found.every(({ seq }, index) => index === 0 || seq > (found[index - 1]?.seq ?? 0)))
})

test('a checkpoint that was cut while it was written over is signed again by the next start', async () => {
  const folder = path()
  await fillLog(folder)
  await archive(folder, firstDay + 10 * day)
  const closed = listSegments(folder).filter(({ signed }) => signed !== undefined)
  const formatCheckpointPath = (firstSeq = 0) =>
    join(folder, `audit-${String(firstSeq).padStart(16, '0')}.checkpoint`)
  const [archived, plain] = [true, false].map((wanted) =>
    closed.find(({ compressed }) => compressed === wanted),
  )
  for (const segment of [archived, plain]) {
    const checkpoint = formatCheckpointPath(segment?.firstSeq)
    const before = JSON.parse(readFileSync(checkpoint, 'utf8')).checkpoint
    truncateSync(checkpoint, 700)
    const log = await openAuditLog(options(folder))
    await log.whenIdle()
    await log.close()
    const { closed_at: _, ...again } = JSON.parse(readFileSync(checkpoint, 'utf8')).checkpoint
    assert.deepEqual({ ...before, ...again }, before)
    assert.ok((await verify(folder)).ok)
  }
})

test('a checkpoint that cannot be written is tried again after a while', async () => {
  const folder = path()
  await fillLog(folder)
  const [first] = readdirSync(folder).filter((name) => name.endsWith('.checkpoint'))
  assert.ok(first)
  const checkpoint = join(folder, first)
  rmSync(checkpoint)
  // As a full disk, it takes no new file.
  mkdirSync(`${checkpoint}.new`)
  const { signer } = await openCheckpointKey(folder, seal, 'test')
  const failed = Promise.withResolvers<void>()
  const closer = startCloser({
    folder,
    service: 'kms',
    node: 'n1',
    signer,
    keys: noLogKeys,
    clock,
    log: { ...quietLog, error: () => failed.resolve() },
    record: async () => undefined,
    retryMs: 5,
  })
  closer.tend()
  await failed.promise
  rmSync(`${checkpoint}.new`, { recursive: true })
  while (!existsSync(checkpoint)) await new Promise((resolve) => setTimeout(resolve, 5))
  await closer.stop()
  assert.ok((await verify(folder)).ok)
})

// A closed file that was removed, with one unsigned line in its checkpoint, was taken for pruned.

const readCheckpoint = (folder: string, firstSeq = 1) =>
  join(folder, `audit-${String(firstSeq).padStart(16, '0')}.checkpoint`)

function changeCheckpoint(folder: string, change: (signed: Record<string, unknown>) => object): void {
  const file = readCheckpoint(folder)
  writeFileSync(file, `${JSON.stringify(change(JSON.parse(readFileSync(file, 'utf8'))))}\n`)
}

test('a removal that the key of the log has not signed explains nothing, and the service does not record it as one', async () => {
  const [folder, other] = [path(), path()]
  await fillLog(folder)
  await fillLog(other)
  await prune(other, firstDay + 12 * day)
  await tend(other)
  const foreign = listSegments(other)[0]?.signed?.removal
  assert.equal(foreign?.recorded, true)
  const head = (await verify(folder)).head
  const at = '2026-02-01T00:00:00.000Z'
  rmSync(listSegments(folder)[0]?.path ?? '')
  for (const removal of [
    { at, by: 'olga' },
    { at, by: 'olga', recorded: true },
    { at, by: 'olga', to: '/mnt/archive' },
    { at, by: 'olga', recorded: true, signature: 'AAAA' },
    { ...foreign, at },
    // Of another file of a log with the same key.
    foreign,
  ]) {
    changeCheckpoint(folder, (signed) => ({ ...signed, removal }))
    const verdict = await verifyAudit(folder, {
      thorough: true,
      keys: readKeys(folder),
      ...(head && { expectHead: head }),
    })
    const same: boolean =
      JSON.stringify(removal) === JSON.stringify(foreign) && (await isSameLog(folder, other))
    assert.equal(verdict.unexplained.length, same ? 0 : 1, JSON.stringify(removal))
  }
  changeCheckpoint(folder, (signed) => ({ ...signed, removal: { at, by: 'olga', recorded: true } }))
  await tend(folder)
  const told = (await removals(folder)).at(-1)
  assert.deepEqual(
    [told?.outcome, told?.details.by, told?.details.claimed_by],
    ['failure', 'unknown', 'olga'],
  )
  assert.equal((await verify(folder)).unexplained.length, 1)
  // The operator has the root key, and says that the file was old enough.
  assert.equal((await prune(folder, firstDay + 12 * day)).length > 0, true)
  assert.deepEqual((await verify(folder)).unexplained, [])
})

/** Starts the service, until nothing is left to do with closed files. */
async function tend(folder: string): Promise<void> {
  const log = await openAuditLog(options(folder))
  await log.whenIdle()
  await log.close()
}

async function isSameLog(one: string, other: string): Promise<boolean> {
  const [a, b] = [one, other].map((folder) => listSegments(folder)[0]?.signed?.checkpoint.sha256)
  return a === b && a !== undefined
}

async function removals(folder: string) {
  const found: { outcome: string; details: Readonly<Record<string, unknown>> }[] = []
  for await (const line of exportAudit({ folder, format: 'json', operation: 'audit.file_removed' }))
    found.push(JSON.parse(line))
  return found
}

test('a signed removal that says that it is recorded is compared with the chain', async () => {
  const folder = path()
  await fillLog(folder)
  await prune(folder, firstDay + 6 * day)
  await tend(folder)
  const recorded = listSegments(folder).filter(({ signed }) => signed?.removal?.recorded === true)
  assert.ok(recorded.length > 0)
  assert.deepEqual((await verify(folder)).unexplained, [])
  // The log goes on from before the record: as if it had never been written.
  const last = listSegments(folder).at(-1)?.path ?? ''
  const lines = readFileSync(last, 'utf8').split('\n')
  const before = lines.findIndex((line) => line.includes('audit.file_removed'))
  writeFileSync(last, `${lines.slice(0, before).join('\n')}\n`)
  assert.ok((await verify(folder)).unexplained.length > 0)
})

test('removals that a version before signatures has recorded are signed at the next start, without an alarm', async () => {
  const folder = path()
  await fillLog(folder)
  await prune(folder, firstDay + 12 * day)
  await tend(folder)
  const count = (await removals(folder)).length
  for (const { firstSeq, signed } of listSegments(folder)) {
    if (signed?.removal === undefined) continue
    const { signature: _, ...removal } = signed.removal
    writeFileSync(readCheckpoint(folder, firstSeq), JSON.stringify({ ...signed, removal }))
  }
  assert.deepEqual((await verify(folder)).unexplained, [])
  await tend(folder)
  assert.equal((await removals(folder)).length, count)
  assert.ok(
    listSegments(folder).every(({ signed }) => signed?.removal === undefined || signed.removal.signature),
  )
})

test('without the key of the log no file is removed or moved away, and an archive misses what was moved on', async () => {
  const [folder, to] = [path(), path()]
  await fillLog(folder)
  const old = { folder, before: firstDay + 20 * day, by: 'olga', now: Date.now() }
  assert.throws(
    () => [...pruneOld({ ...old, signer: undefined })],
    /is not removed: its removal must be signed with the key/,
  )
  await assert.rejects(async () => {
    for await (const _ of archiveOld({ ...old, to }));
  }, /is not removed: its removal must be signed with the key/)
  assert.deepEqual((await verify(folder)).unexplained, [])
  const [first] = await archive(folder, firstDay + 20 * day, to)
  // The line that explains it where it was does not explain it where it is.
  copyFileSync(readCheckpoint(folder), readCheckpoint(to))
  rmSync(first?.path ?? '')
  assert.equal((await verify(to)).ok && (await verify(to)).unexplained.length === 0, false)
})

test('a start that fails while closed files are read again, or beside an archiving, records no change of a file', async () => {
  const folder = path()
  await fillLog(folder, 60)
  for (let round = 0; round < 12; round += 1) {
    const log = await openAuditLog(options(folder))
    // As when a port is taken: the service ends while files are being read.
    await new Promise((resolve) => setTimeout(resolve, round * 4))
    if (round === 8) await archive(folder, firstDay + 30 * day)
    if (round === 9) await log.whenIdle()
    await log.close()
  }
  assert.ok(!(await operations(folder)).includes('audit.file_changed'))
  // A file that was changed is told all the same, though starts before failed.
  const file = listSegments(folder).find(({ compressed }) => !compressed)?.path ?? ''
  writeFileSync(file, readFileSync(file, 'utf8').replace('user-1', 'user-9'))
  await (await openAuditLog(options(folder))).close()
  await tend(folder)
  assert.equal((await operations(folder)).filter((name) => name === 'audit.file_changed').length, 1)
})
