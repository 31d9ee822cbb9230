import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { groupsOf, modulesOf } from './test-groups.ts'

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
  const groups = groupsOf(all)
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

test('a file that cannot be loaded fails, and the others of its group run', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'warder-groups-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'broken.test.ts'), "throw new Error('no such thing')")
  writeFileSync(join(folder, 'whole.test.ts'), "import { test } from 'node:test'\ntest('whole', () => {})")
  const { modules, remove } = modulesOf([['broken.test.ts', 'whole.test.ts']], folder)
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const { stdout, status } = spawnSync(process.execPath, ['--test', ...modules], { encoding: 'utf8', env })
  remove()
  assert.equal(status, 1)
  assert.match(stdout, /pass 1\n/)
  assert.match(stdout, /fail 1\n/)
  assert.match(stdout, /broken\.test\.ts can be loaded/)
  assert.match(stdout, /no such thing/)
})
