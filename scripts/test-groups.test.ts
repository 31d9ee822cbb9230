import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { groupsOf, modulesOf } from './test-groups.ts'

const plain = { source: "import { test } from 'node:test'" }

test('files of one folder share a process, up to eight, unless others would notice them', () => {
  const many = Array.from({ length: 10 }, (_, index) => ({
    file: `packages/a/b/c/${index}.test.ts`,
    ...plain,
  }))
  const alone = { file: 'packages/a/b/c/alone.test.ts', source: "process.env.TZ = 'UTC'" }
  const deeper = { file: 'packages/a/b/c/d/deep.test.ts', ...plain }
  const other = { file: 'packages/a/x/other.test.ts', ...plain }
  const groups = groupsOf([...many, alone, deeper, other])
  assert.deepEqual(
    groups.map((group) => group.length),
    [8, 3, 1, 1],
  )
  assert.deepEqual(
    groups.flat().toSorted(),
    [...many, alone, deeper, other].map(({ file }) => file).toSorted(),
  )
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
