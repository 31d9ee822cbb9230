import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { removePrivateFile, writePrivateFile } from './private-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-private-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const file = join(folder, 'login.json')

/** Remains of a write that is killed before the file has its name. */
function unfinished(name: string, minutesAgo: number): string {
  const path = join(folder, name)
  writeFileSync(path, 'a token', { mode: 0o600 })
  const then = Date.now() / 1000 - minutesAgo * 60
  utimesSync(path, then, then)
  return name
}

test('what a killed write left is removed by the next one and by the end, and nothing else is', () => {
  for (const act of [() => writePrivateFile(file, 'content'), () => removePrivateFile(file)]) {
    const underWay = unfinished('login.json.0a0b.new', 0)
    const ofOther = unfinished('other.json.0a0b.new', 5)
    unfinished('login.json.0c0d.new', 5)
    act()
    const left = readdirSync(folder).filter((name) => name !== 'login.json')
    assert.deepEqual(left.sort(), [underWay, ofOther].sort())
  }
})

test('a file is written whole, for its owner alone', () => {
  const content = 'x'.repeat(3_000_000)
  writePrivateFile(file, content)
  assert.equal(readFileSync(file, 'utf8'), content)
  if (process.platform !== 'win32') assert.equal(statSync(file).mode & 0o777, 0o600)
})
