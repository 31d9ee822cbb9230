import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Migration } from '@warder/storage'
import { components } from '../testing/old-installation.ts'

// What a migration may do while nodes of the version before go on (`older`, docs/adr/upgrades.md): nothing that makes a
// statement of theirs fail, or changes what it means.

/** Newest migration of the first version whose nodes look at `older`; those up to it are not upgraded while others run. */
const first: Readonly<Record<string, number>> = {
  auth: 6,
  kms: 17,
  seal: 1,
  lease: 1,
  'commit count': 1,
  audit: 1,
}

/** Later ones that stop nodes of the version before, and why they have to. */
const stops: Readonly<Record<string, string>> = {
  'kms 26': 'an older node would change keys without having the rotation policy look at them again',
}

/** What the migration itself makes. */
interface Made {
  readonly tables: ReadonlySet<string>
  readonly columns: ReadonlySet<string>
}

const created = (pattern: RegExp, statements: readonly string[]): ReadonlySet<string> =>
  new Set(statements.flatMap((statement) => pattern.exec(statement)?.slice(1).join(' ') ?? []))

/** Whether the statements of a trigger only add rows to these tables. */
function writesOnly(statements: string, tables: ReadonlySet<string>): boolean {
  const written = [...statements.matchAll(/\bINSERT INTO (\w+)/g)].map(([, table = '']) => table)
  return (
    written.length > 0 &&
    written.every((table) => tables.has(table)) &&
    !/\b(?:UPDATE|DELETE FROM|RAISE|REPLACE)\b/.test(statements)
  )
}

/** @param unique indexes that refuse rows @returns why a node of the version before fails on it; undefined = it goes on */
function breaking(
  statement: string,
  { tables, columns }: Made,
  unique: ReadonlySet<string>,
): string | undefined {
  const text = statement
    .replace(/^\/\* \w+ \*\/ /, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
  if (/^CREATE (?:TABLE|INDEX) /.test(text)) return undefined
  const uniqueIndex = /^CREATE UNIQUE INDEX \w+ ON (\w+) .*?(?:WHERE (\w+) IS NOT NULL)?$/.exec(text)
  if (uniqueIndex !== null) {
    const [, table = '', column = ''] = uniqueIndex
    return tables.has(table) || columns.has(`${table} ${column}`)
      ? undefined
      : 'it refuses rows of older nodes'
  }
  const added = /^ALTER TABLE \w+ ADD COLUMN \w+ \w+(.*)$/.exec(text)?.[1]
  if (added !== undefined)
    return /NOT NULL(?!.*DEFAULT)|UNIQUE|PRIMARY|CHECK|REFERENCES/.test(added)
      ? 'older nodes do not fill it'
      : undefined
  const dropped = /^DROP INDEX (\w+)$/.exec(text)?.[1]
  if (dropped !== undefined) return unique.has(dropped) ? 'older nodes rely on it' : undefined
  const trigger = /^CREATE TRIGGER \w+ AFTER .* BEGIN (.*) END$/.exec(text)?.[1]
  if (trigger !== undefined)
    return writesOnly(trigger, tables) ? undefined : 'older nodes write what it changes'
  const body = /^CREATE OR REPLACE FUNCTION \w+\(\) RETURNS trigger .*\$\$ BEGIN (.*) END \$\$$/.exec(
    text,
  )?.[1]
  if (body !== undefined) return writesOnly(body, tables) ? undefined : 'older nodes write what it changes'
  if (/^CREATE TRIGGER \w+ AFTER .* EXECUTE FUNCTION \w+\(\)$/.test(text)) return undefined
  const inserted = /^INSERT INTO (\w+) /.exec(text)?.[1]
  if (inserted !== undefined && tables.has(inserted)) return undefined
  const update = /^UPDATE (\w+) SET (.*?) (?:WHERE .*)?$/.exec(`${text} `)
  const set = update?.[2]?.split(',').map((part) => `${update[1]} ${part.trim().split(' ')[0]}`)
  if (set?.every((column) => columns.has(column))) return undefined
  return 'it changes what older nodes read'
}

/** @returns one line for each statement, or conversion, that older nodes fail on */
function problemsOf(
  { older, statements, convert }: Migration,
  unique: ReadonlySet<string>,
): readonly string[] {
  if (older === undefined) return []
  const made = {
    tables: created(/^(?:\/\* \w+ \*\/)?\s*CREATE TABLE (\w+)/, statements),
    columns: created(/^ALTER TABLE (\w+) ADD COLUMN (\w+)/, statements),
  }
  const found = statements.flatMap((statement) => {
    const why = breaking(statement, made, unique)
    return why === undefined ? [] : [`${statement}: ${why}`]
  })
  return convert === undefined ? found : [...found, 'convert: it changes what older nodes read']
}

const uniqueOf = (migrations: readonly Migration[]): ReadonlySet<string> =>
  created(
    /^\s*CREATE UNIQUE INDEX (\w+)/,
    migrations.flatMap(({ statements }) => statements),
  )

test('a migration that lets nodes of the version before go on has nothing that breaks them', () => {
  for (const [component, migrations] of Object.entries(components))
    for (const migration of migrations)
      assert.deepEqual(problemsOf(migration, uniqueOf(migrations)), [], `${component} ${migration.number}`)
})

test('a migration that stops nodes of the version before has its reason', () => {
  const unexplained = Object.entries(components).flatMap(([component, migrations]) =>
    migrations
      .filter(({ number, older }) => older === undefined && number > (first[component] ?? 0))
      .map(({ number }) => `${component} ${number}`),
  )
  assert.deepEqual(unexplained, Object.keys(stops))
})

test('statements that break nodes of the version before are found', () => {
  const unique = new Set(['thing_by_name'])
  const problems = (...statements: string[]) =>
    problemsOf({ number: 2, name: 'two', older: true, statements }, unique).length
  for (const statement of [
    'ALTER TABLE thing ADD COLUMN count BIGINT NOT NULL',
    'ALTER TABLE thing RENAME COLUMN a TO b',
    'ALTER TABLE thing DROP COLUMN a',
    'ALTER TABLE thing ALTER COLUMN a SET NOT NULL',
    'DROP TABLE thing',
    'DROP INDEX thing_by_name',
    'CREATE UNIQUE INDEX thing_by_a ON thing (a)',
    "UPDATE thing SET a = 'b'",
    "UPDATE thing SET a = 'b' WHERE a IS NULL",
    'DELETE FROM thing',
    "INSERT INTO thing (a) VALUES ('b')",
    'CREATE TRIGGER t AFTER INSERT ON thing BEGIN INSERT INTO thing (a) SELECT 1; END',
    'CREATE TRIGGER t BEFORE INSERT ON thing BEGIN SELECT 1; END',
    "CREATE OR REPLACE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$",
  ])
    assert.equal(problems(statement), 1, statement)
  assert.equal(
    problems(
      'ALTER TABLE thing ADD COLUMN count BIGINT NOT NULL DEFAULT 0',
      'ALTER TABLE thing ADD COLUMN text TEXT',
      "UPDATE thing SET text = a, count = 1 WHERE a = 'b'",
      'CREATE UNIQUE INDEX thing_by_text ON thing (text) WHERE text IS NOT NULL',
      'CREATE TABLE other (id TEXT NOT NULL PRIMARY KEY)',
      "/* sqlite */ CREATE TRIGGER t AFTER INSERT ON thing BEGIN INSERT INTO other (id) SELECT 'a'; END",
      "INSERT INTO other (id) VALUES ('a')",
      'DROP INDEX thing_by_a',
    ),
    0,
  )
  const convert = async (): Promise<void> => undefined
  assert.equal(problemsOf({ number: 2, name: 'two', older: true, statements: [], convert }, unique).length, 1)
})
