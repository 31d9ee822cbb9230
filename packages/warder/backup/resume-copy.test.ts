import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { resumeCopy } from './resume-copy.ts'
import { firstBytes } from './sealed-stream.ts'

const room = mkdtempSync(join(tmpdir(), 'warder-copy-on-'))
after(() => rmSync(room, { recursive: true, force: true }))
const mebibyte = 1024 * 1024
const spool = join(room, 'spool')
const whole = Buffer.concat([firstBytes, randomBytes(3.5 * mebibyte)])
writeFileSync(spool, whole)
const digest = createHash('sha256').update(whole).digest('hex')

test('an interrupted copy goes on behind the bytes that are there and the same', async () => {
  const path = join(room, 'interrupted')
  const interruption = new AbortController()
  const stopAt = (done: number) => done >= 2 * mebibyte && interruption.abort()
  await assert.rejects(resumeCopy(spool, path, { signal: interruption.signal, onBytes: stopAt }), {
    name: 'AbortError',
  })
  assert.ok(!existsSync(path))
  const begun: number[] = []
  assert.equal(await resumeCopy(spool, path, { onBytes: (done) => void begun.push(done) }), digest)
  assert.ok((begun[0] ?? 0) >= 2 * mebibyte)
  assert.ok(readFileSync(path).equals(whole))
  assert.equal(statSync(path).mode & 0o777, 0o600)
  await assert.rejects(resumeCopy(spool, path), /already exists/)
})

test('what is left of another backup, or longer, is written over', async () => {
  const other = Buffer.from(whole)
  other.writeUInt8(other.readUInt8(mebibyte + 5) ^ 1, mebibyte + 5)
  const path = join(room, 'of another')
  writeFileSync(`${path}.arriving`, Buffer.concat([other, Buffer.alloc(5000)]))
  const begun: number[] = []
  assert.equal(await resumeCopy(spool, path, { onBytes: (done) => void begun.push(done) }), digest)
  assert.equal(begun[0], mebibyte)
  assert.ok(readFileSync(path).equals(whole))
})

test('two copies at once make one whole file', async () => {
  const path = join(room, 'twice')
  const ended = await Promise.allSettled([resumeCopy(spool, path), resumeCopy(spool, path)])
  assert.ok(ended.some(({ status }) => status === 'fulfilled'))
  assert.ok(readFileSync(path).equals(whole))
})

test('neither a file of somebody else nor one behind a link is written over', async () => {
  const theirs = join(room, 'theirs')
  writeFileSync(theirs, 'of somebody')
  symlinkSync(theirs, join(room, 'linked.arriving'))
  await assert.rejects(resumeCopy(spool, join(room, 'linked')), { code: 'ELOOP' })
  writeFileSync(join(room, 'named.arriving'), 'of somebody')
  await assert.rejects(resumeCopy(spool, join(room, 'named')), /exists and is not part of a backup/)
  assert.equal(
    readFileSync(theirs, 'utf8') + readFileSync(join(room, 'named.arriving'), 'utf8'),
    'of somebodyof somebody',
  )
})
