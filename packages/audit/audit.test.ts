import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Secret, StartupError, systemClock } from '@warder/base'
import { quietLog } from '@warder/base/testing'
import fc from 'fast-check'
import { createAuditClient } from './client.ts'
import { canonicalJson } from './details.ts'
import { exportAudit, formatCef } from './export.ts'
import { type OpenLogFile, openLogFile } from './files.ts'
import { type AuditLogOptions, openAuditLog } from './log.ts'
import type { AuditEvent } from './types.ts'
import { verifyAudit } from './verify.ts'

const room = mkdtempSync(join(tmpdir(), 'warder-audit-'))
after(() => rmSync(room, { recursive: true, force: true }))
let count = 0

function folder(): string {
  count += 1
  return join(room, String(count))
}

function options(path: string, more: Partial<AuditLogOptions> = {}): AuditLogOptions {
  return {
    folder: path,
    service: 'kms',
    node: 'n"1',
    mode: 'continue',
    rotateBytes: 1_000_000,
    clock: systemClock,
    log: quietLog,
    ...more,
  }
}

function event(more: Partial<AuditEvent> = {}): AuditEvent {
  return {
    time: 1_700_000_000_123,
    request_id: 'r1',
    operation: 'crypto.encrypt',
    principal: 'alice',
    auth_method: 'jwt',
    client_ip: '127.0.0.1',
    outcome: 'success',
    status: 200,
    duration_ms: 1.23456,
    ...more,
  }
}

type Line = Readonly<Record<string, unknown>>
const files = (path: string): string[] =>
  readdirSync(path)
    .filter((name) => name.endsWith('.jsonl'))
    .sort()
const text = (path: string): string =>
  files(path)
    .map((name) => readFileSync(join(path, name), 'utf8'))
    .join('')
const lines = (path: string): Line[] =>
  text(path)
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)

const getDetails = (line: Line | undefined): Line => (line?.details ?? {}) as Line

test('canonical JSON is that of RFC 8785', () => {
  assert.equal(
    canonicalJson({ '€': 'Euro', '\r': 'CR', \ufb33: 'x', '1': 'One', '😀': 'smile', '\u0080': 'c', ö: 'o' }),
    '{"\\r":"CR","1":"One","\u0080":"c","ö":"o","€":"Euro","😀":"smile","\ufb33":"x"}',
  )
  assert.equal(
    canonicalJson([333333333.3333333, 1e30, 4.5, 2e-3, 1e-27, -0]),
    '[333333333.3333333,1e+30,4.5,0.002,1e-27,0]',
  )
  assert.equal(canonicalJson({ b: undefined, a: '\ud800' }), '{"a":"\ufffd"}')
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const once = canonicalJson(value)
      assert.equal(canonicalJson(JSON.parse(once)), once)
    }),
  )
})

test('records are chained from zeros, hold what was said, and verify', async () => {
  const path = folder()
  const log = await openAuditLog(options(path))
  log.trail.record(
    event({ object: 'k1', algorithm: 'A256GCM', realm: '_', reason: 'none', details: { z: 1, a: [true] } }),
  )
  log.trail.record(event({ principal: 'unauthenticated', outcome: 'failure', status: 401 }))
  await log.close()
  const [first, second] = lines(path)
  assert.deepEqual([first?.seq, first?.prev, first?.service, first?.node], [1, '0'.repeat(64), 'kms', 'n"1'])
  assert.deepEqual([second?.seq, second?.prev, second?.status], [2, first?.hash, 401])
  assert.equal(first?.time, '2023-11-14T22:13:20.123Z')
  assert.deepEqual(
    [first?.object, first?.algorithm, first?.details, first?.duration_ms],
    ['k1', 'A256GCM', { a: [true], z: 1 }, 1.235],
  )
  const verdict = await verifyAudit(path)
  assert.deepEqual([verdict.ok, verdict.records, verdict.head], [true, 2, { seq: 2, hash: second?.hash }])
  assert.equal(statSync(path).mode & 0o777, 0o700)
  assert.equal(statSync(join(path, files(path)[0] ?? '')).mode & 0o777, 0o600)
})

test('whatever a caller puts into a record stays one line, bounded, and without secrets', async () => {
  const path = folder()
  const log = await openAuditLog(options(path))
  const hostile = fc.sample(fc.record({ text: fc.string({ unit: 'binary', maxLength: 50 }) }), 50)
  for (const { text: one } of hostile)
    log.trail.record(event({ principal: one, object: one, details: { [one]: one } }))
  log.trail.record(
    event({
      object: 'x'.repeat(100_000),
      details: { big: 'y'.repeat(100_000), list: Array(10_000).fill('z'.repeat(100)) },
    }),
  )
  log.trail.record(
    event({ details: { secret: Secret.fromText('hunter2'), bytes: Buffer.from('hunter2') as never } }),
  )
  await log.close()
  const verdict = await verifyAudit(path)
  assert.deepEqual([verdict.ok, verdict.records], [true, 52])
  const written = text(path)
  assert.ok(written.split('\n').every((line) => line.length < 30_000))
  assert.ok(!written.includes('hunter2') && !written.includes('104,117,110'))
})

test('any changed byte, removed, repeated or moved line is found', async () => {
  const path = folder()
  const log = await openAuditLog(options(path))
  for (let index = 0; index < 8; index += 1)
    log.trail.record(event({ object: `k${index}`, details: { index } }))
  await log.close()
  const file = join(path, files(path)[0] ?? '')
  const good = readFileSync(file)
  const rows = good.toString().trimEnd().split('\n')
  const broken = async (content: Buffer | string): Promise<boolean> => {
    writeFileSync(file, content)
    const { ok, torn, records } = await verifyAudit(path)
    return !ok || torn !== undefined || records !== 8
  }
  await fc.assert(
    fc.asyncProperty(fc.nat(good.length - 1), fc.integer({ min: 1, max: 255 }), async (at, flip) => {
      const changed = Buffer.from(good)
      changed.writeUInt8(changed.readUInt8(at) ^ flip, at)
      assert.ok(await broken(changed), `byte ${at}`)
    }),
    { numRuns: 300 },
  )
  const joinLines = (list: readonly (string | undefined)[]): string => `${list.join('\n')}\n`
  assert.ok(await broken(joinLines(rows.toSpliced(3, 1))))
  assert.ok(await broken(joinLines(rows.toSpliced(3, 0, rows[3] ?? ''))))
  assert.ok(await broken(joinLines([rows[1], rows[0], ...rows.slice(2)])))
  assert.ok(
    await broken(joinLines(rows.toSpliced(2, 1, (rows[2] ?? '').replace('{', '{"outcome":"failure",')))),
    'a member twice',
  )
  writeFileSync(file, good)
  const { firstBroken } = await verifyAudit(file)
  assert.equal(firstBroken, undefined)
})

test('the log goes on in a new file when it is full, and a missing file is found', async () => {
  const path = folder()
  const log = await openAuditLog(options(path, { rotateBytes: 1500 }))
  for (let index = 0; index < 30; index += 1) {
    log.trail.record(event({ object: `k${index}` }))
    await log.trail.flush()
  }
  await log.close()
  const names = files(path)
  assert.ok(names.length > 3)
  assert.deepEqual([(await verifyAudit(path)).ok, (await verifyAudit(path)).records], [true, 30])
  assert.equal((await verifyAudit(join(path, names[1] ?? ''))).ok, true, 'a rotated file verifies by itself')
  const again = await openAuditLog(options(path, { rotateBytes: 1500 }))
  again.trail.record(event())
  await again.close()
  assert.equal((await verifyAudit(path)).records, 31)
  rmSync(join(path, names[1] ?? ''))
  assert.match((await verifyAudit(path)).firstBroken?.reason ?? '', /missing/)
})

test('a torn last line is cut and recorded at the next start', async () => {
  const path = folder()
  const log = await openAuditLog(options(path))
  log.trail.record(event())
  await log.close()
  appendFileSync(join(path, files(path)[0] ?? ''), '{"auth_method":"jw')
  const again = await openAuditLog(options(path))
  await again.close()
  const [, cut] = lines(path)
  assert.deepEqual([cut?.operation, getDetails(cut).bytes], ['audit.torn_line_removed', 18])
  assert.equal((await verifyAudit(path)).ok, true)
})

for (const [what, damaged] of [
  ['at its end', (whole: Buffer) => Buffer.concat([whole, Buffer.alloc(9000)])],
  ['longer than any line', (whole: Buffer) => Buffer.concat([whole, Buffer.alloc(3_000_000)])],
  [
    'with whole records behind it',
    (whole: Buffer) => {
      const holed = Buffer.from(whole)
      const second = whole.indexOf(10) + 1
      return holed.fill(0, second + 20, second + 120)
    },
  ],
] as const)
  test(`a torn tail with a hole of zeros ${what} is put aside and recorded`, async () => {
    const path = folder()
    const log = await openAuditLog(options(path))
    for (const object of ['k1', 'k2', 'k3']) log.trail.record(event({ object }))
    await log.close()
    const file = join(path, files(path)[0] ?? '')
    const before = damaged(readFileSync(file))
    writeFileSync(file, before)
    const { ok, torn } = await verifyAudit(path)
    assert.deepEqual([ok, torn?.hole], [true, true])
    await (await openAuditLog(options(path))).close()
    const all = lines(path)
    const cut = all.at(-1)
    const { bytes, sha256, kept } = getDetails(cut) as Record<string, string>
    assert.deepEqual([all[0]?.object, cut?.operation], ['k1', 'audit.torn_tail_removed'])
    const tail = before.subarray(-Number(bytes))
    const { hash } = await import('node:crypto')
    assert.deepEqual([sha256, readFileSync(join(path, kept ?? ''))], [hash('sha256', tail), tail])
    assert.deepEqual([(await verifyAudit(path, { thorough: true })).ok, all.length], [true, all.length])
  })

test('zeros in a file that is not the last one break the chain', async () => {
  const path = folder()
  const log = await openAuditLog(options(path, { rotateBytes: 500 }))
  for (let index = 0; index < 4; index += 1) {
    log.trail.record(event())
    await log.trail.flush()
  }
  await log.close()
  const first = join(path, files(path)[0] ?? '')
  writeFileSync(first, readFileSync(first).fill(0, 30, 60))
  assert.match((await verifyAudit(path)).firstBroken?.reason ?? '', /not JSON/)
})

test('a broken chain is put aside, and a new one begins with a record that names it', async () => {
  const path = folder()
  const log = await openAuditLog(options(path))
  for (let index = 0; index < 3; index += 1) log.trail.record(event())
  await log.close()
  const file = join(path, files(path)[0] ?? '')
  writeFileSync(file, readFileSync(file, 'utf8').replace('alice', 'mallo'))
  const again = await openAuditLog(options(path))
  await again.close()
  const [first] = lines(path)
  const details = first?.details as { sealed: { file: string; sha256: string }[]; broken_at: Line }
  assert.deepEqual([first?.seq, first?.operation, details.broken_at.line], [1, 'audit.chain_sealed', 1])
  const [sealed] = details.sealed
  assert.ok(sealed)
  assert.ok(readdirSync(path).includes(sealed.file))
  const { hash } = await import('node:crypto')
  assert.equal(hash('sha256', readFileSync(join(path, sealed.file))), sealed.sha256)
})

test('two writers of one folder are refused; a lock left by a killed one is not in the way', async () => {
  const path = folder()
  const log = await openAuditLog(options(path))
  await assert.rejects(openAuditLog(options(path)), /is being written by process/)
  await log.close()
  writeFileSync(join(path, 'writer.lock'), `${process.pid} 1\n`)
  await (await openAuditLog(options(path))).close()
})

/** A disk that can be made to fail, in the middle of a write too. */
function failingDisk() {
  const disk = { full: false, syncFails: false, partial: false }
  const open: OpenLogFile = (path) => {
    const file = openLogFile(path)
    return {
      get size() {
        return file.size
      },
      async append(bytes) {
        if (disk.full) throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
        return file.append(bytes)
      },
      async sync() {
        if (disk.syncFails) throw new Error('EIO: i/o error')
        return file.sync()
      },
      cutTo: (size) => file.cutTo(size),
      changed: () => file.changed(),
      close: () => file.close(),
    }
  }
  return { disk, open }
}

test('continue: nothing waits for a full disk, and the next record that can be written says how many were lost', async () => {
  const path = folder()
  const { disk, open } = failingDisk()
  const log = await openAuditLog(options(path, { openFile: open }))
  log.trail.record(event())
  await log.trail.flush()
  disk.full = true
  for (let index = 0; index < 5; index += 1) log.trail.record(event())
  await log.trail.flush()
  disk.full = false
  log.trail.record(event({ object: 'after' }))
  await log.close()
  const [, lost, after] = lines(path)
  assert.deepEqual([lost?.operation, getDetails(lost).count, after?.object], ['audit.lost', 5, 'after'])
  assert.equal((await verifyAudit(path)).ok, true)
})

for (const [what, damage, operation] of [
  ['a broken chain', (whole: string) => whole.replace('alice', 'mallo'), 'audit.chain_sealed'],
  ['a torn last line', (whole: string) => `${whole}{"auth_method":"jw`, 'audit.torn_line_removed'],
  ['a hole of zeros', (whole: string) => `${whole}${'\0'.repeat(4096)}{}\n`, 'audit.torn_tail_removed'],
] as const)
  for (const fault of ['full', 'syncFails'] as const)
    test(`a start that cannot record ${what} (${fault}) fails and leaves the log as it was`, async () => {
      const path = folder()
      const log = await openAuditLog(options(path))
      for (let index = 0; index < 3; index += 1) log.trail.record(event())
      await log.close()
      const file = join(path, files(path)[0] ?? '')
      const damaged = damage(readFileSync(file, 'utf8'))
      writeFileSync(file, damaged)
      const before = readdirSync(path)
      const { disk, open } = failingDisk()
      disk[fault] = true
      await assert.rejects(openAuditLog(options(path, { openFile: open })), (error: unknown) => {
        assert.ok(error instanceof StartupError)
        assert.match(error.message, /cannot be written: (ENOSPC|EIO)/)
        return true
      })
      assert.deepEqual(readdirSync(path), before)
      assert.equal(text(path), damaged)
      disk[fault] = false
      const again = await openAuditLog(options(path, { openFile: open }))
      assert.equal(lines(path).at(-1)?.operation, operation, 'on disk before the log is open')
      await again.close()
      assert.equal((await verifyAudit(path)).ok, true)
    })

/** A disk whose syncs end when the test says so. */
function slowDisk() {
  const steps: string[] = []
  const ends: ((error?: Error) => void)[] = []
  let begun = Promise.withResolvers<void>()
  const open: OpenLogFile = (path) => {
    const name = `file ${files(path.slice(0, path.lastIndexOf('/'))).length + 1}`
    const file = openLogFile(path)
    steps.push(`${name} opened`)
    return {
      get size() {
        return file.size
      },
      append: (bytes) => file.append(bytes),
      async sync() {
        const end = Promise.withResolvers<void>()
        ends.push((error) => (error === undefined ? end.resolve() : end.reject(error)))
        begun.resolve()
        await end.promise
        await file.sync()
        steps.push(`${name} synced`)
      },
      cutTo: (size) => file.cutTo(size),
      changed: () => file.changed(),
      close() {
        steps.push(`${name} closed`)
        file.close()
      },
    }
  }
  return {
    steps,
    open,
    /** A sync is under way: what ends it. */
    async underWay(): Promise<(error?: Error) => void> {
      if (ends.length === 0) await begun.promise
      begun = Promise.withResolvers()
      return ends.shift() ?? (() => {})
    },
  }
}

/** Lets everything run that waits for neither a timer nor the disk. */
const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

test('who flushes or closes while a sync is under way waits for it, and for what came behind it', async () => {
  const { steps, open, underWay } = slowDisk()
  const log = await openAuditLog(options(folder(), { openFile: open }))
  log.trail.record(event())
  const flushes = [log.trail.flush(), log.trail.flush()].map((flush) =>
    flush.then(() => steps.push('flushed')),
  )
  const endFirst = await underWay()
  log.trail.record(event())
  const behind = log.trail.flush().then(() => steps.push('flushed behind'))
  await turns()
  assert.deepEqual(steps, ['file 1 opened'])
  endFirst()
  const endSecond = await underWay()
  const closed = log.close()
  await turns()
  assert.deepEqual(steps.slice(0, 3), ['file 1 opened', 'file 1 synced', 'flushed'])
  assert.ok(!steps.includes('flushed behind') && !steps.includes('file 1 closed'))
  endSecond()
  await Promise.all([...flushes, behind, closed])
  assert.deepEqual(
    [steps.filter((step) => step === 'file 1 synced').length, steps.at(-1)],
    [2, 'file 1 closed'],
  )
})

test('a sync that failed is told to who began it, and tried again by who waited for it', async () => {
  const { steps, open, underWay } = slowDisk()
  const log = await openAuditLog(options(folder(), { openFile: open }))
  log.trail.record(event())
  const first = log.trail.flush()
  const endFirst = await underWay()
  const closed = log.close()
  await turns()
  endFirst(new Error('EIO: i/o error'))
  await assert.rejects(first, /EIO/)
  const endSecond = await underWay()
  endSecond()
  await closed
  assert.deepEqual(steps, ['file 1 opened', 'file 1 synced', 'file 1 closed'])
})

test('the next file begins when the full one is on disk, also when its sync was under way', async () => {
  const { steps, open, underWay } = slowDisk()
  const log = await openAuditLog(options(folder(), { openFile: open, rotateBytes: 100 }))
  log.trail.record(event())
  const flushed = log.trail.flush()
  const endFirst = await underWay()
  log.trail.record(event())
  await turns()
  assert.deepEqual(steps, ['file 1 opened'])
  endFirst()
  await flushed
  const closed = log.close()
  const endSecond = await underWay()
  endSecond()
  await closed
  assert.deepEqual(steps, [
    'file 1 opened',
    'file 1 synced',
    'file 2 opened',
    'file 1 closed',
    'file 2 synced',
    'file 2 closed',
  ])
})

test('reject: a record that cannot be on disk is refused with audit_unavailable, and it recovers by itself', async () => {
  const path = folder()
  const { disk, open } = failingDisk()
  const log = await openAuditLog(options(path, { openFile: open, mode: 'reject' }))
  await log.trail.recordDurably(event({ object: 'one' }))
  disk.full = true
  await assert.rejects(log.trail.recordDurably(event()), { kind: 'audit_unavailable', status: 503 })
  disk.full = false
  disk.syncFails = true
  await assert.rejects(log.trail.recordDurably(event({ object: 'unsynced' })), { kind: 'audit_unavailable' })
  disk.syncFails = false
  await log.trail.recordDurably(event({ object: 'two' }))
  await log.close()
  assert.deepEqual([(await verifyAudit(path)).ok, lines(path).at(-1)?.object], [true, 'two'])
})

test('after a loss many may flush at once, and the chain stays whole', async () => {
  const path = folder()
  const { disk, open } = failingDisk()
  const log = await openAuditLog(options(path, { openFile: open }))
  const clients = [createAuditClient(log.connect(), 'continue'), createAuditClient(log.connect(), 'continue')]
  disk.full = true
  for (const client of clients) client.record(event())
  await Promise.all(clients.map((client) => client.flush()))
  disk.full = false
  await Promise.all([...clients.map((client) => client.flush()), log.trail.flush(), log.trail.flush()])
  await log.close()
  for (const client of clients) client.close()
  const verdict = await verifyAudit(path, { thorough: true })
  assert.deepEqual([verdict.ok, verdict.records, lines(path)[0]?.operation], [true, 1, 'audit.lost'])
})

test('whether a record could be written is tried, and leaves nothing behind', async () => {
  const path = folder()
  const { disk, open } = failingDisk()
  const log = await openAuditLog(options(path, { mode: 'reject', openFile: open }))
  const probe = async (): Promise<boolean> =>
    (await log.trail.probe?.().then(
      () => true,
      () => false,
    )) ?? false
  await log.trail.recordDurably(event())
  const before = text(path)
  assert.equal(await probe(), true)
  disk.full = true
  assert.deepEqual([await probe(), await probe()], [false, false])
  disk.full = false
  assert.equal(await probe(), true)
  disk.syncFails = true
  await assert.rejects(log.trail.recordDurably(event()))
  assert.equal(await probe(), false, 'a disk that does not confirm what is written')
  disk.syncFails = false
  assert.equal(await probe(), true)
  assert.equal(text(path), before)
  const results = await Promise.all([
    probe(),
    log.trail.recordDurably(event({ object: 'k1' })),
    probe(),
    log.trail.recordDurably(event({ object: 'k2' })),
  ])
  assert.deepEqual([results[0], results[2]], [true, true])
  await log.close()
  assert.deepEqual(
    [lines(path).map(({ object }) => object), (await verifyAudit(path)).ok],
    [[undefined, 'k1', 'k2'], true],
  )
})

test('reject: a record that was refused because the disk did not confirm it is not in the log', async () => {
  const path = folder()
  const { disk, open } = failingDisk()
  const log = await openAuditLog(options(path, { openFile: open, mode: 'reject' }))
  disk.syncFails = true
  await assert.rejects(log.trail.recordDurably(event({ object: 'refused' })), { kind: 'audit_unavailable' })
  await log.close()
  assert.ok(!text(path).includes('refused'))
  await (await openAuditLog(options(path))).close()
})

test('characters that hide or turn text round are escaped, and mean what they meant', async () => {
  const path = folder()
  const log = await openAuditLog(options(path))
  const names = [
    'ann\u202enimda\u202c',
    'a\u200bb',
    'x\u2028y\u0085\u007f\ufeff',
    'tag\u{e0041}',
    'a\\u202e',
    'Zoë €😀',
  ]
  for (const principal of names)
    log.trail.record(event({ principal, object: principal, details: { [principal]: principal } }))
  await log.close()
  const shown = lines(path)
  assert.deepEqual(
    shown.map(({ principal }) => principal),
    names,
  )
  assert.deepEqual(
    shown.map((line) => getDetails(line)),
    names.map((name) => ({ [name]: name })),
  )
  const unseen = /[\p{Cf}\p{Zl}\p{Zp}\u007f-\u009f]/u
  assert.doesNotMatch(text(path), unseen)
  assert.match(text(path), /"principal":"ann\\u202enimda\\u202c"/)
  assert.match(text(path), /"principal":"Zoë €😀"/)
  for (const thorough of [true, false])
    assert.deepEqual((await verifyAudit(path, { thorough })).firstBroken, undefined)
  // The hash is that of RFC 8785: who checks the chain needs to know nothing of the escapes.
  const { hash } = await import('node:crypto')
  for (const { hash: digest, ...rest } of shown)
    assert.equal(digest, hash('sha256', String(rest.prev) + canonicalJson(rest)))
  for (const format of ['json', 'cef'] as const) {
    const exported: string[] = []
    for await (const line of exportAudit({ folder: path, format })) exported.push(line)
    assert.doesNotMatch(exported.join('\n'), unseen)
    assert.ok(exported[0]?.includes('\\u202e'))
  }
  assert.doesNotMatch(formatCef({ principal: 'a\u001b[2J', operation: '\u202e' }), /[\p{Cc}\p{Cf}]/u)
})

test('a log of the version before, with such characters as they are, is whole and shown escaped', async () => {
  const path = folder()
  const log = await openAuditLog(options(path))
  log.trail.record(event({ principal: 'ann\u202enimda' }))
  log.trail.record(event())
  await log.close()
  const file = join(path, files(path)[0] ?? '')
  const literal = readFileSync(file, 'utf8').replace('\\u202e', '\u202e')
  writeFileSync(file, literal)
  for (const thorough of [true, false]) assert.equal((await verifyAudit(path, { thorough })).ok, true)
  const exported: string[] = []
  for await (const line of exportAudit({ folder: path, format: 'json' })) exported.push(line)
  assert.ok(exported[0]?.includes('ann\\u202enimda') && !exported[0].includes('\u202e'))
})

test('line separators of Unicode do not hide a record from verification or export', async () => {
  const path = folder()
  const log = await openAuditLog(options(path))
  log.trail.record(event({ principal: 'a\u2028b\u2029c', object: 'k\ufffd' }))
  log.trail.record(event({ principal: 'second' }))
  await log.close()
  const exported: string[] = []
  for await (const line of exportAudit({ folder: path, format: 'json' })) exported.push(line)
  assert.equal(exported.length, 2)
  const file = join(path, files(path)[0] ?? '')
  const bytes = readFileSync(file)
  bytes.writeUInt8(0xf0, bytes.indexOf(Buffer.from('\ufffd')))
  writeFileSync(file, bytes)
  assert.equal((await verifyAudit(path)).ok, false)
})

test('a log that was cut off at its end is found out by a head kept elsewhere', async () => {
  const path = folder()
  const log = await openAuditLog(options(path))
  for (let index = 0; index < 3; index += 1) log.trail.record(event())
  await log.close()
  const { head } = await verifyAudit(path)
  assert.ok(head)
  assert.equal((await verifyAudit(path, { expectHead: head })).ok, true)
  const file = join(path, files(path)[0] ?? '')
  writeFileSync(file, `${readFileSync(file, 'utf8').trimEnd().split('\n').slice(0, 2).join('\n')}\n`)
  assert.equal((await verifyAudit(path)).ok, true)
  assert.match(
    (await verifyAudit(path, { expectHead: head })).firstBroken?.reason ?? '',
    /record 3 is expected, but is no longer in the log/,
  )
})

test('a read-only file and a folder that cannot be made stop the start', {
  skip: process.getuid?.() === 0 && 'root may write everything',
}, async () => {
  const path = folder()
  await (await openAuditLog(options(path))).close()
  chmodSync(path, 0o500)
  await assert.rejects(openAuditLog(options(path)))
  chmodSync(path, 0o700)
})

test('workers hand over their records in order; durable ones are answered when they are on disk', async () => {
  const path = folder()
  const log = await openAuditLog(options(path, { mode: 'reject' }))
  const clients = [createAuditClient(log.connect(), 'reject'), createAuditClient(log.connect(), 'reject')]
  for (let index = 0; index < 100; index += 1)
    clients[index % 2]?.record(event({ object: `w${index % 2}-${index}` }))
  await Promise.all(
    clients.map((client, index) => client.recordDurably(event({ object: `durable-${index}` }))),
  )
  assert.ok(text(path).includes('durable-0') && text(path).includes('durable-1'))
  for (const client of clients) {
    await client.flush()
    client.close()
  }
  await log.close()
  const objects = lines(path).map(({ object }) => String(object))
  assert.equal(objects.length, 102)
  for (const worker of ['w0', 'w1']) {
    const numbers = objects.filter((one) => one.startsWith(worker)).map((one) => Number(one.split('-')[1]))
    assert.deepEqual(
      numbers,
      [...numbers].sort((a, b) => a - b),
    )
  }
  assert.equal((await verifyAudit(path)).ok, true)
})

test('killed at any moment, the log verifies after a start, and what was acknowledged is in it', async () => {
  const path = folder()
  for (let round = 0; round < 5; round += 1) {
    const child = fork(fileURLToPath(new URL('./fixtures/endless-writer.ts', import.meta.url)), [path], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    let acknowledged = ''
    child.on('message', (object) => {
      acknowledged = String(object)
    })
    await new Promise<void>((resolve) => child.once('message', () => resolve()))
    await new Promise((resolve) => setTimeout(resolve, 10 + round * 17))
    child.kill('SIGKILL')
    await new Promise((resolve) => child.once('exit', resolve))
    const log = await openAuditLog(options(path))
    await log.close()
    assert.equal((await verifyAudit(path)).ok, true)
    assert.ok(text(path).includes(`"${acknowledged}"`), acknowledged)
  }
  assert.deepEqual(
    readdirSync(path).filter((name) => name.includes('broken')),
    [],
  )
})

test('an export is the records of a time, as JSON or as CEF', async () => {
  const path = folder()
  const log = await openAuditLog(options(path))
  log.trail.record(event({ time: 1000, object: 'old' }))
  log.trail.record(event({ time: 5000, object: 'a|b=c\\d\ne', outcome: 'failure', status: 403 }))
  await log.close()
  const collect = async (format: 'json' | 'cef', since?: number): Promise<string[]> => {
    const all: string[] = []
    for await (const line of exportAudit({ folder: path, format, ...(since === undefined ? {} : { since }) }))
      all.push(line)
    return all
  }
  assert.equal((await collect('json')).length, 2)
  const [only, ...none] = await collect('cef', 2000)
  assert.equal(none.length, 0)
  assert.match(
    only ?? '',
    /^CEF:0\|Warder\|kms\|1\|crypto\.encrypt\|crypto\.encrypt\|6\|rt=5000 src=127\.0\.0\.1 suser=alice/,
  )
  assert.ok((only ?? '').includes('cs1=a|b\\=c\\\\d\\ne'))
  assert.match(formatCef({ service: 'a|b', operation: 'x\ny' }), /\|a\\\|b\|1\|x y\|/)
})

test('a log that cannot be opened stops the start with one line that says which', async () => {
  const path = folder()
  const first = await openAuditLog(options(path))
  await first.close()
  for (const name of readdirSync(path)) {
    rmSync(join(path, name))
    mkdirSync(join(path, name))
  }
  await assert.rejects(openAuditLog(options(path)), {
    name: 'StartupError',
    message: /^audit: the log in .* cannot be used: /,
  })
})
