import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { change, type Database, openPostgres, query, StorageUnavailable } from './index.ts'
import { startTestPostgres } from './testing/index.ts'

const server = await startTestPostgres()
const skip = 'missing' in server ? server.missing : false
const opened: Database[] = []
after(async () => {
  for (const db of opened) await db.close()
  if ('stop' in server) await server.stop()
})

async function newDatabase(): Promise<string> {
  assert.ok('database' in server)
  return server.database()
}

async function open(url: string): Promise<Database> {
  const db = await openPostgres({ url })
  opened.push(db)
  return db
}

const table = query<[], unknown>('CREATE TABLE thing (id TEXT NOT NULL PRIMARY KEY)')
const insert = query<[string], unknown>('INSERT INTO thing (id) VALUES (?)')
const all = query<[], { id: string }>('SELECT id FROM thing ORDER BY id')
const sleep = query<[], unknown>('SELECT pg_sleep(20)')
const sleeping = query<[], { pid: number }>(
  "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query = 'SELECT pg_sleep(20)' AND wait_event = 'PgSleep'",
)
const cut = query<[pid: number], unknown>('SELECT pg_terminate_backend(?)')

const ids = async (db: Database): Promise<string[]> => (await db.all(all, [])).map(({ id }) => id)

test('a connection that is lost during a commit fails that commit and nothing else', { skip }, async () => {
  const url = await newDatabase()
  const [one, other] = [await open(url), await open(url)]
  await one.commit([change(table, [])])
  const lost = assert.rejects(one.commit([change(insert, ['a']), change(sleep, [])]), StorageUnavailable)
  let found: readonly { pid: number }[] = []
  while (found.length === 0) found = await other.all(sleeping, [])
  for (const { pid } of found) await other.all(cut, [pid])
  await lost
  // The end of the connection comes after the answer that names the reason.
  await new Promise((resolve) => setTimeout(resolve, 50))
  await one.commit([change(insert, ['b'])])
  assert.deepEqual(await ids(one), ['b'])
})
