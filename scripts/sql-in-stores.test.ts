import assert from 'node:assert/strict'
import { globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const packages = fileURLToPath(new URL('../packages', import.meta.url))

/** SQL stands in files named `…-store.ts` or in a folder `store`, in migrations, and in what makes statements: `storage/sql`. */
const checked = readdirSync(packages)

const store = /^sql\/|-store\.ts$|(^|\/)store\/|(^|\/)migrations\.ts$/
const beside = /node_modules|\.test\.ts$|(^|\/)testing\/|\/fixtures\//

/** A statement at the beginning of a text, or the functions that make one. */
const sql =
  /['"`]\s*(?:SELECT\s|INSERT\s+INTO\s|UPDATE\s+\S+\s+SET\s|DELETE\s+FROM\s|WITH\s+\S+\s+AS\s|CREATE\s+(?:TABLE|INDEX|UNIQUE)\s|DROP\s|ALTER\s+TABLE\s)|\b(?:query|insertInto)</

for (const name of checked) {
  test(`packages/${name} has SQL in its store files only`, () => {
    const files = globSync('**/*.ts', { cwd: join(packages, name) })
      .map((file) => file.replaceAll('\\', '/'))
      .filter((file) => !beside.test(file) && !store.test(file))
    assert.deepEqual(
      files.filter((file) => sql.test(readFileSync(join(packages, name, file), 'utf8'))),
      [],
    )
  })
}

test('the rule sees statements of every kind, and no prose', () => {
  for (const text of [
    "db.get('SELECT 1')",
    '`\n  INSERT INTO t (a)`',
    "'UPDATE t SET a = 1'",
    "'DELETE FROM t'",
    "'CREATE TABLE t (a)'",
    'query<[id: string], Row>(text)',
  ]) {
    assert.match(text, sql)
  }
  for (const text of [
    "'Select a realm'",
    '// DELETE FROM is in the store',
    "'update it'",
    "query.get('a')",
  ]) {
    assert.doesNotMatch(text, sql)
  }
})
