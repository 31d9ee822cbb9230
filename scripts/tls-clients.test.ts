import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const packages = fileURLToPath(new URL('../packages', import.meta.url))
const clientOfTls = /import \{[^}]*\b(connect|Agent)\b[^}]*\} from 'node:(tls|https)'/

test('every client of TLS says that it verifies: NODE_TLS_REJECT_UNAUTHORIZED=0, meant for others, changes nothing', () => {
  const files = globSync('**/*.ts', { cwd: packages, exclude: ['**/node_modules/**'] })
    .filter((file) => !/\.test\.ts$|\/(testing|fixtures)\//.test(file))
    .filter((file) => clientOfTls.test(readFileSync(join(packages, file), 'utf8')))
  assert.ok(files.length >= 5, files.join())
  for (const file of files)
    assert.match(readFileSync(join(packages, file), 'utf8'), /\brejectUnauthorized: \w/, file)
})
