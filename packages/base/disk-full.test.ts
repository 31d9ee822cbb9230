import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { describeFullDisk, describeWriteError } from './errors.ts'

const path = join(tmpdir(), 'no such folder', 'file')
const withCode = (code: string) => Object.assign(new Error(`${code}: of the system, write`), { code })

test('a full disk is told with its folder and the room on it', () => {
  const said = describeFullDisk(withCode('ENOSPC'), path) ?? ''
  assert.ok(said.startsWith(`no space is left on the disk of ${tmpdir()} (`), said)
  assert.match(said, / \(\d+ KiB free\)$/)
  assert.match(describeFullDisk(withCode('EDQUOT'), path) ?? '', /^the quota of this user/)
  assert.match(describeFullDisk(withCode('EFBIG'), path) ?? '', /\(ulimit -f\)/)
  assert.equal(describeFullDisk(withCode('EACCES'), path), undefined)
  assert.equal(describeFullDisk(undefined, path), undefined)
  assert.equal(describeWriteError(withCode('EACCES'), path), 'EACCES: of the system, write')
})

test('a full database of SQLite counts as a full disk', () => {
  const db = new DatabaseSync(':memory:')
  db.exec('CREATE TABLE t (bytes BLOB); PRAGMA max_page_count = 2')
  assert.throws(
    () => db.exec('INSERT INTO t VALUES (zeroblob(100000))'),
    (error: unknown) => describeFullDisk(error, path)?.startsWith('no space is left') === true,
  )
  db.close()
})

test('a write that the kernel refuses for its size is told as such', {
  skip: process.platform !== 'linux',
}, () => {
  const script =
    "try { require('node:fs').writeFileSync(process.argv[1], Buffer.alloc(4096)) } catch ({ code }) { console.log(code) }"
  const file = join(tmpdir(), `warder-limited-${process.pid}`)
  const words = ['-c', 'ulimit -S -f 1; "$0" -e "$1" "$2"; rm -f "$2"', process.execPath, script, file]
  assert.equal(spawnSync('sh', words, { encoding: 'utf8' }).stdout, 'EFBIG\n')
})
