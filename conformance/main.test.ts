import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { main } from './main.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-conformance-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const transcripts = fileURLToPath(new URL('./clients/transcripts', import.meta.url))

async function run(...args: readonly string[]): Promise<{ readonly code: number; readonly out: string }> {
  const lines: string[] = []
  const code = await main(args, (line) => lines.push(line))
  return { code, out: lines.join('\n') }
}

test('Cases of any folder are run, and a table says what came of them', async () => {
  const { code, out } = await run(transcripts, '--over', 'socket', '--case', 'MongoDB')
  assert.equal(code, 0, out)
  assert.match(out, /^1\.0 {6}socket {12}1 {6}0 {6}0$/m)
})

test('A case that differs fails with its first difference, and the messages go to a file', async () => {
  const text = readFileSync(join(transcripts, 'MongoDB-10.xml'), 'utf8')
  writeFileSync(join(folder, 'Wrong-10.xml'), text.replace('value="Active"', 'value="Compromised"'))
  writeFileSync(join(folder, 'Broken-10.xml'), '<KMIP><RequestMessage/></KMIP>')
  const failures = join(folder, 'failures.txt')
  const { code, out } = await run(folder, '--over', 'https-json', '--failures', failures)
  assert.equal(code, 1)
  assert.match(out, /failed https-json Wrong-10: step 3 GetAttributes: .*State.* must be/)
  assert.match(out, /skipped https-json Broken-10: cannot be read/)
  const written = readFileSync(failures, 'utf8')
  assert.match(written, /^=== GetAttributes\nWrong-10 step 3/)
  assert.match(written, /<Operation type="Enumeration" value="GetAttributes"\/>/)
})

test('A case that cannot be read fails the run, although it is skipped', async () => {
  const unreadable = mkdtempSync(join(folder, 'unreadable-'))
  writeFileSync(join(unreadable, 'Broken-10.xml'), '<KMIP>\n# nothing\n<RequestMessage/></KMIP>')
  const { code, out } = await run(unreadable, '--over', 'socket')
  assert.equal(code, 1)
  assert.match(out, /skipped socket Broken-10: cannot be read/)
})

test('It says how it is called, and what it cannot do', async () => {
  assert.equal((await run('--help')).code, 0)
  assert.match((await run('--help')).out, /FOLDER {15}any folder of test cases/)
  for (const [sentence, ...args] of [
    [/--over is one of/, '--over', 'carrier-pigeon'],
    [/there are no test cases/, join(folder, 'none')],
    [/Unknown option/, '--fly'],
  ] as const) {
    const { code, out } = await run(...args)
    assert.equal(code, 2, out)
    assert.match(out, sentence)
  }
})
