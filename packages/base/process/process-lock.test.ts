import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { StartupError } from '../errors.ts'
import { takeLock } from './process-lock.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-lock-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const formatHeld = (pid: string): string => `held by ${pid}`

test('one holder at a time, by its process id; released it can be taken again, and nothing is left', () => {
  const path = join(folder, 'one.lock')
  const release = takeLock(path, formatHeld)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.throws(
    () => takeLock(path, formatHeld),
    (error: unknown) => error instanceof StartupError && error.message === `held by ${process.pid}`,
  )
  release()
  takeLock(path, formatHeld)()
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.startsWith('one')),
    [],
  )
})

test('a lock that a killed process left is taken over', () => {
  const path = join(folder, 'dead.lock')
  const { pid } = spawnSync(process.execPath, ['-e', ''])
  writeFileSync(path, `${pid} 123\n`)
  const release = takeLock(path, formatHeld)
  assert.match(readFileSync(path, 'utf8'), new RegExp(`^${process.pid} `))
  release()
})

test('a process id that is in use again by another process does not hold the lock', {
  skip: process.platform !== 'linux',
}, () => {
  const path = join(folder, 'reused.lock')
  writeFileSync(path, `${process.pid} 1\n`)
  takeLock(path, formatHeld)()
})

test('who lets go late removes only a lock of its own', () => {
  const path = join(folder, 'late.lock')
  const release = takeLock(path, formatHeld)
  rmSync(path)
  const second = takeLock(path, formatHeld)
  release()
  assert.ok(existsSync(path))
  second()
  assert.ok(!existsSync(path))
})

test('a folder that cannot be written is named', () => {
  const path = join(folder, 'missing', 'x.lock')
  assert.throws(
    () => takeLock(path, formatHeld),
    (error: unknown) => error instanceof StartupError && error.message.includes(path),
  )
})

test('the lock in a copy of a folder is for the original: the copy can be taken, and the original stays held', () => {
  const [original, copy, moved] = ['original', 'copy', 'moved'].map((name) => join(folder, name))
  assert.ok(original && copy && moved)
  mkdirSync(original)
  const release = takeLock(join(original, 'a.lock'), formatHeld)
  cpSync(original, copy, { recursive: true })
  const releaseCopy = takeLock(join(copy, 'a.lock'), formatHeld)
  for (const path of [original, copy])
    assert.throws(() => takeLock(join(path, 'a.lock'), formatHeld), /held by/)
  // The same folder by another name is held still.
  renameSync(original, moved)
  assert.throws(() => takeLock(join(moved, 'a.lock'), formatHeld), /held by/)
  renameSync(moved, original)
  releaseCopy()
  release()
  assert.deepEqual([existsSync(join(original, 'a.lock')), existsSync(join(copy, 'a.lock'))], [false, false])
})

test('a lock of a version that named no folder is held by its process', () => {
  const path = join(folder, 'old.lock')
  takeLock(path, formatHeld)
  const [pid, started, id] = readFileSync(path, 'utf8').trim().split(' ')
  writeFileSync(path, `${pid} ${started} ${id}\n`)
  assert.throws(() => takeLock(path, formatHeld), /held by/)
})
