import { createHash } from 'node:crypto'
import pg from 'pg'
import { migrate } from '../migrate.ts'
import { openPostgres } from '../postgres.ts'
import type { Migration } from '../types.ts'

/** Migrations of each component that a service applies at its start, in order. */
export type Components = Readonly<Record<string, readonly Migration[]>>

/** The databases that one test process makes in a server. */
export interface TestDatabases {
  /** A new, empty database. @returns its URL */
  database(): Promise<string>
  /**
   * A new, empty database whose files lie in a folder of their own, which belongs to the account of the server.
   * @returns its URL
   */
  databaseIn(folder: string): Promise<string>
  /**
   * A new database with these migrations done: a copy of one in which the product's own `migrate` did them, once for
   * all tests on the server. A service that starts on it migrates again, and finds everything as it has to be.
   * @returns its URL
   */
  migrated(components: Components): Promise<string>
  /** Drops an unused database; connections to it are cut. */
  drop(url: string): Promise<void>
  /** Takes all of them away. */
  dropAll(): Promise<void>
}

/** Holds every process that wants the same prepared database, until the first has made it. */
const lockOfPrepared = 7_340_002

/** Of this process, whose files may each ask for databases. */
let count = 0

/** @param address `host:port` of a server that lets the user `postgres` in */
export function testDatabases(address: string): TestDatabases {
  const formatUrl = (name: string): string => `postgresql://postgres@${address}/${name}`
  const parseName = (url: string): string => new URL(url).pathname.slice(1)
  const names = new Set<string>()
  const prepared = new Map<string, Promise<string>>()

  /** One connection for one thing: none stays that would keep the process, or another's database, alive. */
  const asAdmin = async <R>(use: (client: pg.Client) => Promise<R>): Promise<R> => {
    const client = new pg.Client({ connectionString: formatUrl('postgres') })
    await client.connect()
    try {
      return await use(client)
    } finally {
      await client.end()
    }
  }

  const create = async (template: string, tablespace = ''): Promise<string> => {
    count += 1
    const name = `test_${process.pid}_${count}`
    await asAdmin((client) => make(client, name, template + tablespace))
    names.add(name)
    return formatUrl(name)
  }

  const remove = async (client: pg.Client, name: string): Promise<void> => {
    await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
    names.delete(name)
  }

  const prepare = (components: Components): Promise<string> =>
    asAdmin(async (client) => {
      const name = `prepared_${createHash('sha256').update(JSON.stringify(components)).digest('hex').slice(0, 40)}`
      await client.query('SELECT pg_advisory_lock($1)', [lockOfPrepared])
      const known = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [name])
      if (known.rows.length > 0) return name
      // Only when it is ready it gets its name: a process that died before leaves nothing that looks like one.
      const draft = `draft_${process.pid}_${name.slice(-20)}`
      await make(client, draft, 'template1')
      const db = await openPostgres({ url: formatUrl(draft) })
      for (const [component, migrations] of Object.entries(components))
        await migrate(db, component, migrations)
      await db.close()
      await client.query('SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1', [
        draft,
      ])
      await client.query(`ALTER DATABASE ${draft} RENAME TO ${name}`)
      return name
    })

  return {
    database: () => create('template1'),
    async databaseIn(folder) {
      const name = `place_${process.pid}_${count}`
      await asAdmin((client) => client.query(`CREATE TABLESPACE ${name} LOCATION '${folder}'`))
      return create('template1', ` TABLESPACE ${name}`)
    },
    async migrated(components) {
      const key = JSON.stringify(components)
      const name = prepared.get(key) ?? prepare(components)
      prepared.set(key, name)
      return create(await name)
    },
    drop: (url) => asAdmin((client) => remove(client, parseName(url))),
    async dropAll() {
      if (names.size === 0) return
      await asAdmin(async (client) => {
        for (const name of [...names]) await remove(client, name)
      })
    },
  }
}

/** Newer versions write each page of a copy to the log unless they are told to copy files, which is quicker here. */
async function make(client: pg.Client, name: string, template: string): Promise<void> {
  const { rows } = await client.query<{ version: string }>(
    "SELECT current_setting('server_version_num') AS version",
  )
  const strategy = Number(rows[0]?.version) >= 150_000 ? ' STRATEGY FILE_COPY' : ''
  await client.query(`CREATE DATABASE ${name} TEMPLATE ${template}${strategy}`)
}
