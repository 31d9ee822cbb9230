import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const foundation = fileURLToPath(new URL('../packages/foundation', import.meta.url))

/** The product's files: no tests, and nothing that only tests import. */
const sources = new Map(
  globSync('**/*.ts', { cwd: foundation })
    .filter((file) => !/(?:^|\/)(?:node_modules|fixtures|testing)\/|\.test\.ts$/.test(file))
    .map((file) => [file, readFileSync(join(foundation, file), 'utf8')] as const),
)

const sql =
  /(['"`])\s*(?:SELECT\s|INSERT\s+INTO\s|UPDATE\s+\w+\s+SET\s|DELETE\s+FROM\s|(?:CREATE|DROP|ALTER)\s+TABLE\s|PRAGMA\s)/

test('SQL of foundation is in sql/ and in files named …-store.ts', () => {
  const found = [...sources].filter(([file, source]) => sql.test(source) && !/^sql\/|-store\.ts$/.test(file))
  assert.deepEqual(
    found.map(([file]) => file),
    [],
  )
  assert.ok(sql.test(sources.get('seal/seal-store.ts') ?? ''), 'the search sees SQL where there is some')
})

/** The words of other packages; `auth_method`, `authTag` and the like are of cryptography and of the audit record. */
const foreign = [/kmip|ttlv/i, /\b(?:kms|auth)\b/i, /\b(?:KMS|AUTH)_/, /@warder\/(?!pki)/]

test('foundation knows neither KMIP nor the names of the services', () => {
  const found = [...sources].flatMap(([file, source]) =>
    source
      .split('\n')
      .map((line, index) => `${file}:${index + 1}: ${line}`)
      .filter((line) => foreign.some((word) => word.test(line))),
  )
  assert.deepEqual(found, [])
})
