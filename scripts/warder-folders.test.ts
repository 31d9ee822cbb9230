import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const cli = fileURLToPath(new URL('../packages/warder/cli', import.meta.url))

test('what the commands share in packages/warder/cli knows none of them', () => {
  const files = globSync('*.ts', { cwd: cli }).filter((file) => !file.endsWith('.test.ts'))
  assert.ok(files.length > 5)
  for (const file of files) {
    for (const [, target = ''] of readFileSync(join(cli, file), 'utf8').matchAll(/from '(\.[^']+)'/g))
      assert.match(target, /^\.\/[^/]+$/, `${file} imports ${target}`)
  }
})
