import assert from 'node:assert/strict'
import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { after, test } from 'node:test'
import { StartupError, systemClock } from '@warder/base'
import { quietLog } from '@warder/base/testing'
import {
  loadRootKeys,
  migrate,
  openSeal,
  openSealToRead,
  openSqlite,
  rotateRootKeyFile,
  sealMigrations,
} from '@warder/storage'
import { archiveOld, pruneOld } from './archive.ts'
import { readCheckpointSigner, readPublicCheckpointKey } from './checkpoint-key.ts'
import { readBlocks } from './encrypted-bytes.ts'
import { exportAudit } from './export.ts'
import { type OpenLogFile, openLogFile } from './files.ts'
import { commitsOperation, readKnownCommits } from './known-commits.ts'
import { type AuditLog, type AuditLogOptions, openAuditLog } from './log.ts'
import { openLogKeys } from './log-keys.ts'
import { LogReader } from './reader.ts'
import { listSegments } from './segments.ts'
import { tailAudit } from './tail.ts'
import { verifyAudit } from './verify.ts'
import { createOwnEvent } from './writer.ts'

const room = mkdtempSync(join(tmpdir(), 'warder-audit-encryption-'))
after(() => rmSync(room, { recursive: true, force: true }))
let count = 0
const path = (): string => join(room, String(count++))

async function createSeal() {
  const rootKeyFile = `${path()}.key`
  const db = openSqlite({ path: `${rootKeyFile}.db` })
  after(() => db.close())
  await migrate(db, 'seal', sealMigrations)
  const rootKeys = loadRootKeys({ kind: 'file', path: rootKeyFile }, {}, { create: true })
  return { db, rootKeyFile, seal: await openSeal({ db, rootKeys, service: 'kms', clock: systemClock }) }
}
const { seal, db, rootKeyFile } = await createSeal()

const day = 86_400_000
const firstDay = Date.parse('2026-01-01T00:00:00Z')
const clock = { ...systemClock, now: () => firstDay }

const options = (folder: string, more: Partial<AuditLogOptions> = {}): AuditLogOptions => ({
  ...{ folder, service: 'kms', node: 'n1', mode: 'reject', rotateBytes: 1500, clock, log: quietLog, seal },
  encrypt: true,
  ...more,
})

/** One record a day. */
async function record(log: AuditLog, days: number, from = 0): Promise<void> {
  for (let index = from; index < from + days; index += 1)
    await log.trail.recordDurably({
      ...{ time: firstDay + index * day, request_id: '-', operation: 'crypto.encrypt', principal: 'alice' },
      ...{ auth_method: 'jwt', object: `key-${index}`, client_ip: '127.0.0.1', outcome: 'success' },
      ...{ status: 200, duration_ms: 0 },
    })
  await log.whenIdle()
}

async function fillLog(
  folder: string,
  days: number,
  more: Partial<AuditLogOptions> = {},
  from = 0,
): Promise<void> {
  const log = await openAuditLog(options(folder, more))
  await record(log, days, from)
  await log.close()
}

const checkpointKeys = (folder: string) => {
  const key = readPublicCheckpointKey(folder)
  return key === undefined ? [] : [key]
}
const openKeys = (folder: string) => openLogKeys(folder, seal)
const verify = async (folder: string) =>
  verifyAudit(folder, { thorough: true, keys: checkpointKeys(folder), logKeys: await openKeys(folder) })
/** Verifies as a user who has only the files. */
const verifyWithoutKeys = (folder: string) =>
  verifyAudit(folder, { thorough: true, keys: checkpointKeys(folder) })
async function objects(folder: string): Promise<readonly string[]> {
  const found: string[] = []
  for await (const line of exportAudit({ folder, format: 'json', keys: await openKeys(folder) })) {
    const { object } = JSON.parse(line)
    if (object !== undefined) found.push(object)
  }
  return found
}
const keyNames = (days: number) => Array.from({ length: days }, (_, index) => `key-${index}`)
async function archive(folder: string, days: number, to?: string, encrypt = true) {
  const keys = await openKeys(folder)
  const [first] = keys
  const unlocked = {
    keys,
    encryptWith: encrypt && first !== undefined ? { id: first[0], key: first[1] } : undefined,
    signer: await readCheckpointSigner(folder, seal),
  }
  const done = []
  const before = firstDay + days * day
  for await (const one of archiveOld({ folder, before, by: 'olga', now: firstDay, to, unlocked }))
    done.push(one)
  return done
}
const lastFile = (folder: string): string => listSegments(folder).at(-1)?.path ?? ''

test('an encrypted log holds no recorded text in the clear, and all of it can be read with its key', async () => {
  const folder = path()
  await fillLog(folder, 9)
  await fillLog(folder, 5, {}, 9)
  for (const name of readdirSync(folder)) {
    const bytes = readFileSync(join(folder, name), 'latin1')
    assert.ok(!bytes.includes('alice') && !bytes.includes('key-'), name)
    assert.ok(!name.endsWith('.jsonl'), name)
  }
  assert.deepEqual(await objects(folder), keyNames(14))
  const verdict = await verify(folder)
  assert.deepEqual([verdict.ok, verdict.unopened, verdict.unread, verdict.records], [true, 0, [], 15])
  const tail: string[] = []
  for await (const line of tailAudit({ folder, format: 'json', lines: 3, keys: await openKeys(folder) }))
    tail.push(JSON.parse(line).object)
  assert.deepEqual(tail, ['key-11', 'key-12', 'key-13'])
  for (const refused of [
    async () => (await exportAudit({ folder, format: 'json' }).next()).value,
    async () => (await tailAudit({ folder, format: 'json', lines: 1 }).next()).value,
    () => new LogReader(folder, 0).next(1, 1),
  ])
    await assert.rejects(
      refused,
      (error) => error instanceof StartupError && /is encrypted/.test(error.message),
    )
})

test('who follows an encrypted log gets each record once, while it is written, archived and pruned', async () => {
  const folder = path()
  const log = await openAuditLog(options(folder, { rotateBytes: 4000 }))
  const reader = new LogReader(folder, 0, log.keys)
  const seen: number[] = []
  const some = async (): Promise<number> => {
    const records = await reader.next(3, 2000)
    seen.push(...records.map(({ seq }) => seq))
    return records.length
  }
  await Promise.all([record(log, 5), record(log, 7, 5)])
  await some()
  await record(log, 16, 12)
  await archive(folder, 20)
  for (; (await some()) > 0; );
  await record(log, 5, 28)
  for (; (await some()) > 0; );
  await log.close()
  assert.deepEqual(
    seen,
    Array.from({ length: log.head.seq }, (_, index) => index + 1),
  )
  assert.equal(reader.takeMissed(), 0)
})

test('the setting changes with a new file, and what was written before is read as before', async () => {
  const folder = path()
  await fillLog(folder, 3, { encrypt: false })
  await fillLog(folder, 3, {}, 3)
  await fillLog(folder, 6, { encrypt: false }, 6)
  await fillLog(folder, 3, {}, 12)
  const forms = listSegments(folder).map(({ path: file = '' }) => file.endsWith('.enc'))
  assert.ok(forms.includes(true) && forms.includes(false))
  assert.equal(forms.at(-1), true)
  assert.deepEqual(await objects(folder), keyNames(15))
  assert.equal((await verify(folder)).ok, true)
  // Archiving encrypts a file in clear; after the setting is off, an encrypted file stays encrypted.
  const done = [...(await archive(folder, 4)), ...(await archive(folder, 15, undefined, false))]
  const inClear = done.filter(({ path: file }) => !file.endsWith('.enc'))
  assert.ok(inClear.length > 0 && inClear.length < done.length)
  assert.deepEqual(await objects(folder), keyNames(15))
  assert.equal((await verify(folder)).ok, true)
  // An empty file of the other form gives way.
  const empty = path()
  mkdirSync(empty)
  writeFileSync(join(empty, 'audit-0000000000000001.jsonl'), '')
  await fillLog(empty, 1)
  assert.equal(basename(lastFile(empty)), 'audit-0000000000000001.jsonl.enc')
})

test('without the key closed files are verified as they are stored, archived or not', async () => {
  const folder = path()
  const to = path()
  await fillLog(folder, 28)
  const open = basename(lastFile(folder))
  const closed = listSegments(folder).length - 1
  const before = await verifyWithoutKeys(folder)
  assert.deepEqual([before.ok, before.unopened, before.unread], [false, closed, [open]])
  assert.equal(before.firstBroken, undefined)
  const inPlace = await archive(folder, 8)
  const moved = await archive(folder, 18, to)
  assert.ok(inPlace.length > 0 && moved.length > inPlace.length)
  const after = await verifyWithoutKeys(folder)
  assert.deepEqual(
    [after.unopened, after.removed, after.unread],
    [closed - moved.length, moved.length, [open]],
  )
  const outside = await verifyWithoutKeys(to)
  assert.deepEqual([outside.ok, outside.unopened], [true, moved.length])
  const { seq = 0, hash = '' } = outside.head ?? {}
  const expect = (head: { seq: number; hash: string }) =>
    verifyAudit(to, { keys: checkpointKeys(to), expectHead: head })
  assert.equal((await expect({ seq, hash })).ok, true)
  assert.equal((await expect({ seq, hash: 'f'.repeat(64) })).ok, false)
  assert.equal((await expect({ seq: seq - 1, hash })).ok, false, 'it cannot be looked up')
  assert.equal((await verify(to)).unopened, 0)
  assert.equal((await objects(to)).length, moved.reduce((sum, { records }) => sum + records, 0) - 1)
  for (const place of [folder, to]) {
    const file = listSegments(place).find(({ path: there }) => there !== undefined)?.path ?? ''
    const bytes = readFileSync(file)
    bytes.writeUInt8(bytes.readUInt8(bytes.length >> 1) ^ 1, bytes.length >> 1)
    writeFileSync(file, bytes)
    assert.match(
      (await verifyWithoutKeys(place)).firstBroken?.reason ?? '',
      /was changed after it was closed/,
    )
    assert.match((await verify(place)).firstBroken?.reason ?? '', /changed|damaged/)
  }
  const signer = await readCheckpointSigner(folder, seal)
  const pruned = [...pruneOld({ folder, before: firstDay + 24 * day, by: 'olga', now: firstDay, signer })]
  assert.ok(pruned.length > 0)
  assert.equal((await verify(folder)).ok, true)
})

test('a signature for one stored form holds for no other', async () => {
  const folder = path()
  await fillLog(folder, 18)
  await archive(folder, 14)
  const [first, second] = listSegments(folder)
  assert.ok(first?.signed?.archived !== undefined && second?.signed?.archived !== undefined)
  for (const archived of [
    { ...first.signed.archived, bytes: 1 },
    second.signed.archived,
    { ...first.signed.archived, signature: '' },
  ]) {
    writeFileSync(
      join(folder, 'audit-0000000000000001.checkpoint'),
      JSON.stringify({ ...first.signed, archived }),
    )
    assert.ok((await verifyWithoutKeys(folder)).unread.includes('audit-0000000000000001.jsonl.enc'))
  }
})

test('blocks that are changed, moved, repeated or taken out are found', async () => {
  const folder = path()
  await fillLog(folder, 6, { rotateBytes: 1e6 })
  const file = lastFile(folder)
  const whole = readFileSync(file)
  const blocks = []
  for await (const { at, next } of readBlocks(file, await openKeys(folder)))
    blocks.push(whole.subarray(at, next))
  const header = whole.subarray(0, whole.length - blocks.reduce((sum, { length }) => sum + length, 0))
  const [a, b, c, ...rest] = blocks
  assert.ok(a !== undefined && b !== undefined && c !== undefined && rest.length > 1)
  const flip = (at: number): Buffer => {
    const bytes = Buffer.from(whole)
    bytes.writeUInt8(bytes.readUInt8(at) ^ 0x10, at)
    return bytes
  }
  const broken = [
    Buffer.concat([header, b, a, c, ...rest]),
    Buffer.concat([header, a, a, b, c, ...rest]),
    Buffer.concat([header, b, c, ...rest]),
    Buffer.concat([header, a, c, ...rest]),
    ...Array.from({ length: 40 }, (_, index) => flip(Math.floor((index * whole.length) / 40))),
  ]
  for (const [index, bytes] of broken.entries()) {
    writeFileSync(file, bytes)
    assert.equal((await verify(folder)).ok, false, String(index))
  }
  writeFileSync(file, whole)
  assert.equal((await verify(folder)).ok, true)
})

test('an end that was not written whole is put aside by the start, and the records before are there', async () => {
  const folder = path()
  await fillLog(folder, 4, { rotateBytes: 1e6 })
  const file = lastFile(folder)
  const whole = readFileSync(file)
  let lastAt = 0
  for await (const { at } of readBlocks(file, await openKeys(folder))) lastAt = at
  for (const size of [lastAt + 1, lastAt + 4, lastAt + 30, whole.length - 1, 20, 60]) {
    const again = path()
    mkdirSync(again)
    for (const name of readdirSync(folder)) copyFileSync(join(folder, name), join(again, name))
    truncateSync(lastFile(again), size)
    const { torn } = await verify(again)
    assert.equal(torn?.at, size > lastAt ? lastAt : size === 20 ? 0 : 56, String(size))
    await fillLog(again, 1, { rotateBytes: 1e6 }, 9)
    assert.equal((await verify(again)).ok, true, String(size))
    assert.deepEqual(await objects(again), size > lastAt ? [...keyNames(3), 'key-9'] : ['key-9'])
    assert.equal(readdirSync(again).filter((name) => name.includes('.torn-')).length, 1)
    assert.equal(readdirSync(again).filter((name) => name.includes('.broken-')).length, 0)
  }
  // A power cut leaves zeros: of whole pages, or behind the part that came to the disk.
  for (const zeros of [Buffer.alloc(3000), Buffer.concat([whole.subarray(lastAt, -20), Buffer.alloc(20)])]) {
    writeFileSync(file, whole.subarray(0, lastAt))
    appendFileSync(file, zeros)
    assert.equal((await verify(folder)).torn?.hole, true)
    await fillLog(folder, 1, { rotateBytes: 1e6 }, 9)
    assert.equal((await verify(folder)).ok, true)
    assert.equal((await objects(folder)).at(-1), 'key-9')
  }
})

test('a log of another database is put aside, with its key, and a new one begins', async () => {
  const folder = path()
  await fillLog(folder, 3)
  const other = await createSeal()
  const log = await openAuditLog(options(folder, { seal: other.seal }))
  await record(log, 1)
  await log.close()
  const operations: string[] = []
  for await (const line of exportAudit({ folder, format: 'json', keys: log.keys }))
    operations.push(JSON.parse(line).operation)
  assert.deepEqual(operations, ['audit.chain_sealed', 'audit.checkpoint_key', 'crypto.encrypt'])
  // The first database still opens what was put aside.
  const aside = readdirSync(folder).find((name) =>
    name.startsWith('audit-0000000000000001.jsonl.enc.broken-'),
  )
  const keys = await openKeys(folder)
  assert.equal((await verifyAudit(join(folder, aside ?? ''), { logKeys: keys })).ok, true)
})

test('another root key opens what was written before it, also for a command that writes nothing', async () => {
  const folder = path()
  await fillLog(folder, 5)
  await rotateRootKeyFile(rootKeyFile, { databases: [{ service: 'kms', db }] })
  const rootKeys = loadRootKeys({ kind: 'file', path: rootKeyFile }, {}, { create: false })
  const readOnly = await openSealToRead({ db, rootKeys, service: 'kms' })
  assert.ok(readOnly !== undefined)
  const logKeys = await openLogKeys(folder, readOnly)
  assert.equal((await verifyAudit(folder, { logKeys })).ok, true)
  await fillLog(folder, 3, { seal: await openSeal({ db, rootKeys, service: 'kms', clock }) }, 5)
  assert.deepEqual(await objects(folder), keyNames(8))
  const { rootKeyFile: foreign } = await createSeal()
  const wrong = loadRootKeys({ kind: 'file', path: foreign }, {}, { create: false })
  assert.equal(await openSealToRead({ db, rootKeys: wrong, service: 'kms' }), undefined)
})

test('what an encrypted log knows of its database takes its key', async () => {
  const folder = path()
  const log = await openAuditLog(options(folder))
  for (const commits of [3, 7])
    await log.trail.recordDurably({ ...createOwnEvent(firstDay, commitsOperation), details: { commits } })
  await log.close()
  assert.deepEqual(await readKnownCommits(folder), { used: true, commits: undefined, unread: true })
  assert.deepEqual(await readKnownCommits(folder, log.keys), { used: true, commits: 7, unread: false })
})

test('a disk that fails in the middle of a block leaves nothing of it, and no block is ever written twice alike', async () => {
  const folder = path()
  let full = false
  const written: Buffer[] = []
  const openFile: OpenLogFile = (name) => {
    const file = openLogFile(name)
    return {
      get size() {
        return file.size
      },
      async append(bytes) {
        written.push(Buffer.from(bytes))
        if (!full) return file.append(bytes)
        // As much as there was room for; the file cuts it off again.
        appendFileSync(name, bytes.subarray(0, bytes.length >> 1))
        file.cutTo(file.size)
        throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
      },
      sync: () => file.sync(),
      cutTo: (size) => file.cutTo(size),
      changed: () => file.changed(),
      close: () => file.close(),
    }
  }
  const log = await openAuditLog(options(folder, { openFile, rotateBytes: 1e6 }))
  await record(log, 2)
  full = true
  await assert.rejects(record(log, 1, 5))
  const { size } = statSync(lastFile(folder))
  full = false
  await log.trail.probe?.()
  assert.equal(statSync(lastFile(folder)).size, size)
  await record(log, 1, 2)
  await log.close()
  assert.deepEqual(await objects(folder), keyNames(3))
  assert.equal((await verify(folder)).ok, true)
  assert.equal(new Set(written.map((bytes) => bytes.toString('latin1', 4, 16))).size, written.length)
})
