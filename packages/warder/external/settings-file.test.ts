import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { addSettings } from './settings-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-settings-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const wanted = new Map<string, unknown>([
  ['a_config.on', true],
  ['a_config.names', ['x', 'y']],
])
const section = '[a_config]\non = true\nnames = [ "x", "y" ]'

test('settings are added behind what is there, once, and a section of somebody else stays as it is', () => {
  const file = join(folder, 'one.toml')
  assert.equal(addSettings(file, wanted), 'written')
  assert.equal(readFileSync(file, 'utf8'), `${section}\n`)
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.equal(addSettings(file, wanted), 'there already')
  writeFileSync(file, 'port = 1 # a_config.on\n[roles]\nx = []')
  assert.equal(addSettings(file, wanted), 'written')
  assert.equal(readFileSync(file, 'utf8'), `port = 1 # a_config.on\n[roles]\nx = []\n\n${section}\n`)
  for (const theirs of [
    '[a_config]\non = false\n',
    'a_config.on = false\n',
    ' [ a_config ]\n',
    'a_config = { on = true }\n',
    '[a_config.more]\n',
  ]) {
    writeFileSync(file, theirs)
    assert.equal(addSettings(file, wanted), 'not ours', theirs)
    assert.equal(readFileSync(file, 'utf8'), theirs)
  }
})
