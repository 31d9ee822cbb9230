import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { type Database, openPostgres, openSqlite } from '@warder/storage'
import { startTestPostgres } from '@warder/storage/testing'
import type { Caller } from './client.ts'
import { type Started, type StartOptions, startKms } from './start.ts'

/** One of the engines that a service can keep its tables in. */
export interface Engine {
  readonly name: 'SQLite' | 'PostgreSQL'
  /** Why it cannot be tested here. */
  readonly skip: string | false
  /** A new, empty database. @returns its `database_url` */
  url(): Promise<string>
  /** A connection, closed when the tests of the file are done. */
  open(url: string): Promise<Database>
}

/** Both engines, for a test file that runs on each; their databases are removed when its tests are done. */
export async function bothEngines(): Promise<readonly Engine[]> {
  const folder = mkdtempSync(join(tmpdir(), 'warder-engines-'))
  const server = await startTestPostgres()
  const opened: Database[] = []
  after(async () => {
    for (const db of opened) await db.close()
    if ('stop' in server) await server.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  const keep = (db: Database): Database => {
    opened.push(db)
    return db
  }
  let count = 0
  return [
    {
      name: 'SQLite',
      skip: false,
      async url() {
        count += 1
        return `sqlite:${join(folder, `${count}.db`)}`
      },
      open: async (url) => keep(openSqlite({ path: url.slice('sqlite:'.length) })),
    },
    {
      name: 'PostgreSQL',
      skip: 'missing' in server ? server.missing : false,
      async url() {
        if ('missing' in server) throw new Error(server.missing)
        return server.database()
      },
      open: async (url) => keep(await openPostgres({ url })),
    },
  ]
}

/** Two services on one database, each with its own connection, like two nodes. */
export interface TwoNodes extends AsyncDisposable {
  readonly one: Database
  readonly other: Database
  readonly near: Started
  readonly far: Started
  /** A caller of the far node with a token of this user, whom both nodes know. */
  onFar(user: string): Caller
}

/** A change on the near node takes effect on the far one at once, because both have no cache lease. */
export async function startTwoNodes(
  engine: Engine,
  more: StartOptions['config'] = {},
  options: Pick<StartOptions, 'partners' | 'clock' | 'outbound' | 'metrics'> = {},
): Promise<TwoNodes> {
  const url = await engine.url()
  const [one, other] = [await engine.open(url), await engine.open(url)]
  const rootKey = randomBytes(32)
  const near = await startKms({ ...options, db: one, rootKey, config: { ...more, cache_lease_ms: 0 } })
  const far = await startKms({
    ...options,
    db: other,
    rootKey,
    config: { ...more, cache_lease_ms: 0, auth_verifier_jwks: `file:${join(near.home, 'jwks.json')}` },
  })
  return {
    one,
    other,
    near,
    far,
    onFar: (user) => far.with({ authorization: `Bearer ${near.token({ sub: user })}` }),
    async [Symbol.asyncDispose]() {
      await far[Symbol.asyncDispose]()
      await near[Symbol.asyncDispose]()
    },
  }
}
