import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { StartupError } from '@warder/base'
import { StorageUnavailable } from './errors.ts'
import { change, insertInto, query } from './query.ts'
import { openSqlite } from './sqlite.ts'
import { startSqliteWriter } from './sqlite-writer.ts'

// Acknowledged writes were lost when another program opened and closed the database.

const folder = mkdtempSync(join(tmpdir(), 'warder-files-'))
after(() => rmSync(folder, { recursive: true }))

const table = change(query('CREATE TABLE thing (id TEXT NOT NULL PRIMARY KEY) STRICT'), [])
const insert = insertInto<[string]>('thing', ['id'])
const all = query<[], { readonly id: string }>('SELECT id FROM thing ORDER BY id')

/** As another program does: opens the database, reads it, closes it. @returns the names of the things it saw */
function lookInto(path: string): string {
  const program = `
    const { DatabaseSync } = require('node:sqlite')
    const db = new DatabaseSync(process.argv[1])
    process.stdout.write(db.prepare('SELECT id FROM thing ORDER BY id').all().map(({ id }) => id).join())
    db.close()`
  return execFileSync(process.execPath, ['--no-warnings', '-e', program, path], { encoding: 'utf8' })
}

test('another program that opens and closes the database leaves the write-ahead log where it is', async (t) => {
  const path = join(folder, 'looked-into.db')
  const writer = await startSqliteWriter({ path })
  t.after(() => writer.close())
  const [one, two] = [
    openSqlite({ path, writer: writer.port() }),
    openSqlite({ path, writer: writer.port() }),
  ]
  await one.commit([table])
  await one.commit([change(insert, ['a'], 1)])
  assert.equal(lookInto(path), 'a')
  assert.ok(existsSync(`${path}-wal`))
  // A connection that ends, and one that begins, let go of nothing.
  await two.close()
  const three = openSqlite({ path, writer: writer.port() })
  await one.commit([change(insert, ['b'], 1)])
  assert.equal(lookInto(path), 'a,b')
  assert.ok(existsSync(`${path}-wal`))
  assert.equal(one.problem(), undefined)
  for (const db of [one, three]) await db.close()
  assert.equal(lookInto(path), 'a,b')
})

for (const ending of ['', '-wal', '-shm'] as const) {
  test(`nothing is acknowledged any more once kms.db${ending} is another file`, {
    skip: process.platform === 'win32' ? 'open files cannot be removed on Windows' : false,
  }, async (t) => {
    const path = join(folder, `replaced${ending}.db`)
    const writer = await startSqliteWriter({ path })
    t.after(() => writer.close())
    const told = new Promise<string>((resolve) => writer.onProblem(resolve))
    const db = openSqlite({ path, writer: writer.port() })
    await db.commit([table])
    await db.commit([change(insert, ['a'], 1)])
    assert.ok((await db.ping()) >= 0)
    assert.equal(db.problem(), undefined)
    const ids = async (): Promise<string> => (await db.all(all, [])).map(({ id }) => id).join()
    assert.equal(await ids(), 'a')
    renameSync(`${path}${ending}`, join(folder, 'aside'))
    // A replaced database was noticed within a second, and commits were acknowledged until then.
    await assert.rejects(db.commit([change(insert, ['b'], 1)]), StorageUnavailable)
    const problem = await told
    await assert.rejects(db.commit([change(insert, ['b'], 1)]), StorageUnavailable)
    assert.match(problem, new RegExp(`replaced${ending}\\.db${ending} was removed or replaced`))
    assert.equal(db.problem(), problem)
    await assert.rejects(db.ping(), { name: 'StorageUnavailable', detail: problem })
    assert.match(await ids(), /^a/, 'reads go on')
    // A replacement does not bring back what is lost; later connections are told, too.
    renameSync(join(folder, 'aside'), `${path}${ending}`)
    await assert.rejects(db.commit([change(insert, ['c'], 1)]), StorageUnavailable)
    const late = openSqlite({ path, writer: writer.port() })
    await assert.rejects(late.commit([change(insert, ['d'], 1)]), StorageUnavailable)
    assert.equal(late.problem(), problem)
    for (const one of [db, late]) await one.close()
  })
}

test('a connection that writes for itself refuses alike', async () => {
  const path = join(folder, 'own.db')
  const db = openSqlite({ path })
  await db.commit([table])
  rmSync(`${path}-wal`)
  await assert.rejects(db.commit([change(insert, ['b'], 1)]), StorageUnavailable)
  assert.match(String(db.problem()), /own\.db-wal was removed/)
  await db.close()
})

test('a link without a target is named: SQLite would create the target readable by all users', () => {
  const path = join(folder, 'link.db')
  symlinkSync(join(folder, 'nowhere.db'), path)
  assert.throws(
    () => openSqlite({ path }),
    (error: unknown) =>
      error instanceof StartupError && /link to a file that does not exist/.test(error.message),
  )
  assert.ok(!existsSync(join(folder, 'nowhere.db')))
})
