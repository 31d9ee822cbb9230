import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

// A process that closes any descriptor of a database file drops the locks that SQLite holds on it.

const packages = fileURLToPath(new URL('../packages', import.meta.url))
const sources = globSync('**/*.ts', { cwd: packages })
  .filter((file) => !/node_modules|\.test\.ts$|(^|\/)testing\/|\/fixtures\//.test(file))
  .map((file) => ({ file, text: readFileSync(join(packages, file), 'utf8') }))

/** Names that a source imports from `node:fs` and `node:fs/promises`. */
function fileFunctions(text: string): string[] {
  const imports = text.matchAll(/import \{([^}]*)\} from 'node:fs(?:\/promises)?'/g)
  return [...imports].flatMap(([, names = '']) => names.split(',').map((name) => name.trim())).filter(Boolean)
}

const files = (rule: (text: string) => boolean): string[] =>
  sources
    .filter(({ text }) => rule(text))
    .map(({ file }) => file)
    .sort()

test('databases are opened in one place', () => {
  assert.deepEqual(
    files((text) => /\bnew DatabaseSync\b|\bbackup\b.*node:sqlite/.test(text)),
    ['storage/sql/sqlite-connection.ts'],
  )
  assert.deepEqual(
    files((text) => text.includes("'node:sqlite'")),
    ['storage/sql/sqlite-connection.ts', 'storage/sql/sqlite.ts'],
  )
})

test('no code beside SQLite opens a file of a database: it is created where there is none, and else looked at by path', () => {
  assert.deepEqual(
    files((text) => /[}'"`]-(wal|shm)\b/.test(text)),
    ['storage/sql/sqlite-files.ts'],
  )
  const [creating] = sources.filter(({ file }) => file === 'storage/sql/sqlite-files.ts')
  assert.deepEqual(creating?.text.match(/openSync\([^)]*\)/g), [
    'openSync(path, constants.O_CREAT | constants.O_EXCL | constants.O_RDWR, 0o600)',
  ])
  const harmless = new Set(['closeSync', 'constants', 'existsSync', 'openSync', 'statSync'])
  assert.deepEqual(
    fileFunctions(creating?.text ?? '').filter((name) => !harmless.has(name)),
    [],
  )
})

test('sources that know where a database is open no files', () => {
  const knowing = sources.filter(
    ({ file, text }) =>
      /databasePlace|DatabasePlace/.test(text) ||
      (file.startsWith('storage/sql/') && file !== 'storage/sql/sqlite-files.ts'),
  )
  assert.ok(knowing.length > 10)
  const opening = knowing
    .map(({ file, text }) => [
      file,
      fileFunctions(text).filter((name) => !/^(accessSync|constants|existsSync|statSync)$/.test(name)),
    ])
    .filter(([, names]) => names?.length !== 0)
  assert.deepEqual(opening, [])
})
