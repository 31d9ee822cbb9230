import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { StartupError } from '@warder/base'
import { fillSqlite } from './sqlite-filling-store.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-filling-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const table = { name: 'thing', columns: ['id', 'name', 'bytes'] }

function emptyDatabase(name: string): string {
  const path = join(folder, name)
  const db = new DatabaseSync(path)
  db.exec('CREATE TABLE thing (id INTEGER PRIMARY KEY, name TEXT, bytes BLOB) STRICT')
  db.exec("CREATE INDEX thing_by_name ON thing (name); INSERT INTO thing VALUES (7, 'of a migration', NULL)")
  db.exec('CREATE TABLE noted (id INTEGER PRIMARY KEY) STRICT')
  db.exec('CREATE TRIGGER note AFTER INSERT ON thing BEGIN INSERT INTO noted (id) VALUES (NEW.id); END')
  db.close()
  return path
}

const createRow = (id: number) =>
  [id, id % 3 === 0 ? null : `name ${id}`, new Uint8Array([id % 256, 1])] as const

test('rows come as they are, however many at once, and indexes and triggers are there in the end', () => {
  const path = emptyDatabase('whole')
  const filling = fillSqlite(path)
  filling.begin(table)
  let next = 0
  for (const count of [0, 1, 49, 50, 51, 173]) {
    filling.add(Array.from({ length: count }, () => createRow(next++)))
  }
  filling.finish()
  const db = new DatabaseSync(path)
  const rows = db.prepare('SELECT id, name, bytes FROM thing ORDER BY id')
  rows.setReturnArrays(true)
  assert.deepEqual(
    rows.all(),
    Array.from({ length: next }, (_, id) => createRow(id)),
  )
  assert.deepEqual(db.prepare('PRAGMA integrity_check').get(), { __proto__: null, integrity_check: 'ok' })
  assert.equal(db.prepare("SELECT COUNT(*) AS n FROM sqlite_schema WHERE name = 'thing_by_name'").get()?.n, 1)
  assert.equal(
    db.prepare('SELECT COUNT(*) AS n FROM noted').get()?.n,
    0,
    'triggers do not fire for copied rows',
  )
  db.exec("INSERT INTO thing (id, name) VALUES (100000, 'later')")
  assert.equal(db.prepare('SELECT COUNT(*) AS n FROM noted').get()?.n, 1)
  db.close()
})

test('a row with another number of values is refused, as its values would come into the next', () => {
  const filling = fillSqlite(emptyDatabase('shifted'))
  filling.begin(table)
  const rows = Array.from({ length: 60 }, (_, id) => [...createRow(id)])
  rows[10]?.push(11)
  rows[11]?.shift()
  assert.throws(() => filling.add(rows), StartupError)
  filling.close()
})
