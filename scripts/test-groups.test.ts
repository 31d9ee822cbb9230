import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { findSuite, groupTests, listModules } from './test-groups.ts'

test('files of one package share a process, up to twelve, unless others would notice them', () => {
  const files = (count: number, folder: string, source: string) =>
    Array.from({ length: count }, (_, index) => ({ file: `${folder}/${index}.test.ts`, source }))
  const plain = "import { test } from 'node:test'"
  const all = [
    ...files(10, 'packages/a/b/c', plain),
    ...files(1, 'packages/a/alone', "process.env.TZ = 'UTC'"),
    ...files(4, 'packages/a/d', plain),
    ...files(4, 'packages/a/both', 'const engines = await bothEngines()'),
    ...files(1, 'packages/b', plain),
  ]
  const groups = groupTests(all)
  assert.deepEqual(
    groups.map((group) => group.length),
    [12, 1, 2, 3, 1, 1],
  )
  assert.deepEqual(groups[1], ['packages/a/alone/0.test.ts'])
  assert.deepEqual(
    groups[3],
    [0, 1, 2].map((index) => `packages/a/both/${index}.test.ts`),
  )
  assert.deepEqual(groups.flat().toSorted(), all.map(({ file }) => file).toSorted())
})

test('whole installations are a suite, and the quick suite starts no service, process or database', () => {
  const read = (call: string, file = 'packages/a/b.test.ts') => findSuite({ file, source: `await ${call}()` })
  for (const call of ['startInstallation', 'startWalk', 'createSite', 'runWarder'])
    assert.equal(read(call), 'installations')
  assert.equal(read('runCertbot', 'conformance/clients/acme/certbot.test.ts'), 'installations')
  for (const call of ['startKmipFixture', 'startTestPostgres', 'bothEngines', "import('node:child_process')"])
    assert.equal(read(call), 'services')
  assert.equal(read('decode'), 'quick')
})

/** Runs files of the given texts as one group. */
function runGroup(texts: Readonly<Record<string, string>>, ...options: string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'warder-groups-'))
  const files = Object.keys(texts)
  for (const [file, text] of Object.entries(texts)) writeFileSync(join(folder, file), text)
  const { modules, remove } = listModules([files], folder)
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const result = spawnSync(process.execPath, [...options, '--test', ...modules], { encoding: 'utf8', env })
  remove()
  rmSync(folder, { recursive: true, force: true })
  return result
}

test('a test that waits for a timer without a reference passes, and a test that never ends fails alone', () => {
  const imports = "import { test } from 'node:test'\nimport { setTimeout } from 'node:timers/promises'\n"
  const texts = {
    'waits.test.ts': `${imports}test('waits', () => setTimeout(50, undefined, { ref: false }))`,
    'never.test.ts': `${imports}test('never ends', { timeout: 50 }, () => new Promise(() => {}))`,
    'whole.test.ts': `${imports}test('whole', () => {})`,
  }
  const { stdout, status } = runGroup(texts)
  assert.equal(status, 1)
  assert.match(stdout, /pass 2\n/)
  assert.match(stdout, /never ends[^\n]*\n[^\n]*timed out/)
})

test('a file that cannot be loaded fails, and the others of its group run', () => {
  const { stdout, status } = runGroup({
    'broken.test.ts': "throw new Error('no such thing')",
    'whole.test.ts': "import { test } from 'node:test'\ntest('whole', () => {})",
  })
  assert.equal(status, 1)
  assert.match(stdout, /pass 1\n/)
  assert.match(stdout, /fail 1\n/)
  assert.match(stdout, /broken\.test\.ts can be loaded/)
  assert.match(stdout, /no such thing/)
})
