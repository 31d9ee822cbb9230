import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { missingPrograms, readCommands, runCommands } from '../testing/guide.ts'
import { startInstallation } from '../testing/installation.ts'

test('the commands of the guide to files work, in their order', {
  skip: missingPrograms('cut', 'sed'),
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'warder-guide-'))
  const warder = await startInstallation()
  try {
    const [first = '', ...rest] = readCommands('docs/start/files.md')
    assert.match(first, /^alias warder=/)
    assert.ok(rest.length >= 8)
    const { status, text } = await runCommands(rest, folder, { WARDER_HOME: warder.home })
    assert.equal(status, 0, text)
    for (const expected of [
      /^tags +reports$/m,
      /^refused: bob has no right on the key$/m,
      /^bob may now: decrypt/m,
      /^USER +MAY\nbob +decrypt$/m,
      /^[0-9a-f-]{36} +admin +Active +decrypt$/m,
      /^report\.txt {2}valid, signed by key /m,
      /^a token/m,
      /^gone for ever$/m,
    ]) {
      assert.match(text, expected)
    }
    const read = (name: string): string => readFileSync(join(folder, name), 'utf8')
    assert.equal(read('report.txt'), 'figures of the third quarter\n')
    assert.equal(read('for-bob.txt'), 'figures of the third quarter\n')
    assert.equal(read('read-by-admin.txt'), 'to the boss\n')
    assert.ok(!existsSync(join(folder, 'again.txt')))
  } finally {
    await warder.stop()
    rmSync(folder, { recursive: true, force: true })
  }
})
