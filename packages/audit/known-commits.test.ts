import assert from 'node:assert/strict'
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { systemClock } from '@warder/base'
import { createLogger } from '@warder/runtime'
import { commitsOperation, readKnownCommits } from './known-commits.ts'
import { openAuditLog } from './log.ts'
import type { AuditEvent } from './types.ts'
import { createOwnEvent } from './writer.ts'

const parent = mkdtempSync(join(tmpdir(), 'warder-known-'))
after(() => rmSync(parent, { recursive: true }))

const event = (operation: string, details: Readonly<Record<string, unknown>> = {}): AuditEvent => ({
  ...createOwnEvent(0, operation),
  details,
})

/** A log with these records. @returns its folder */
async function writeLog(events: readonly AuditEvent[], rotateBytes = 1_000_000_000): Promise<string> {
  const folder = mkdtempSync(join(parent, 'log-'))
  const log = await openAuditLog({
    folder,
    service: 'kms',
    node: 'n',
    mode: 'continue',
    rotateBytes,
    clock: systemClock,
    log: createLogger({ level: 'error', service: 'kms' }),
  })
  for (const one of events) {
    log.trail.record(one)
    if (rotateBytes < 1_000_000) await log.trail.flush()
  }
  await log.close()
  return folder
}

test('a service without a log, and one with an empty log, was not used', async () => {
  assert.deepEqual(await readKnownCommits(join(parent, 'none')), {
    used: false,
    commits: undefined,
    unread: false,
  })
  assert.deepEqual(await readKnownCommits(await writeLog([])), {
    used: false,
    commits: undefined,
    unread: false,
  })
})

test('the last number counts, however many records follow it', async () => {
  const many = Array.from({ length: 8000 }, () => event('crypto.encrypt', { text: 'x'.repeat(300) }))
  const folder = await writeLog([
    event(commitsOperation, { commits: 5, unread: false }),
    event(commitsOperation, { commits: 9, unread: false }),
    ...many,
  ])
  assert.deepEqual(await readKnownCommits(folder), { used: true, commits: 9, unread: false })
  assert.deepEqual(await readKnownCommits(await writeLog(many.slice(0, 3))), {
    used: true,
    commits: undefined,
    unread: false,
  })
})

test('a number is found wherever it lies between two pieces that are read', async () => {
  const before = 1_048_576
  for (const shift of [-400, -200, -100, 0, 100]) {
    const folder = await writeLog([event(commitsOperation, { commits: 7, unread: false })])
    const [name = ''] = readdirSync(folder)
    const tail = `${JSON.stringify({ operation: 'x', fill: 'y'.repeat(1000) })}\n`
    appendFileSync(join(folder, name), tail.repeat(Math.ceil(before / tail.length)).slice(-(before + shift)))
    assert.equal((await readKnownCommits(folder)).commits, 7, String(shift))
  }
})

test('an earlier file is read where the last one tells nothing', async () => {
  const others = Array.from({ length: 300 }, () => event('crypto.encrypt', { text: 'x'.repeat(300) }))
  const folder = await writeLog([event(commitsOperation, { commits: 3, unread: false }), ...others], 65_536)
  assert.ok(readdirSync(folder).length > 1)
  assert.deepEqual(await readKnownCommits(folder), { used: true, commits: 3, unread: false })
})

test('what a caller wrote, and a torn line, tell nothing', async () => {
  const folder = await writeLog([
    event(commitsOperation, { commits: 3, unread: false }),
    event('realm.create', {
      operation: commitsOperation,
      details: { commits: 1 },
      commits: 1,
      unread: false,
    }),
    event('realm.create', { text: `"operation":"${commitsOperation}","details":{"commits":1}` }),
  ])
  const [name = ''] = readdirSync(folder)
  const path = join(folder, name)
  const [first = ''] = readFileSync(path, 'utf8').split('\n')
  appendFileSync(path, first.replace('"commits":3', '"commits":8'))
  assert.equal((await readKnownCommits(folder)).commits, 3)
  writeFileSync(path, `${'\0'.repeat(100)}\n`, { flag: 'a' })
  assert.equal((await readKnownCommits(folder)).commits, 3)
})
