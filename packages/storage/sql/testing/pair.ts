import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import { quickSettings } from './postgres.ts'
import { copyData, guard, makeCluster, type Server, startServer, writeServerFile } from './server.ts'

/** One of the servers. */
export interface PairServer {
  readonly port: number
  /** The address of a database on this server alone. */
  url(database: string): string
  ask<Row extends pg.QueryResultRow>(text: string): Promise<readonly Row[]>
  /** As a power cut would. */
  kill(): Promise<void>
  /** Starts it again on its port, with further settings. */
  start(settings?: readonly string[]): Promise<void>
}

/** A primary, and a standby that confirms each commit before it is acknowledged. */
export interface TestPair {
  readonly primary: PairServer
  readonly standby: PairServer
  /** The address of a database on both. */
  url(database: string): string
  /** Makes the standby a primary. */
  promote(): Promise<void>
  stop(): Promise<void>
}

const replication = ['wal_level=replica', 'max_wal_senders=10', 'wal_keep_size=256MB', 'hot_standby=on']
const lookEveryMs = 20

/**
 * Two servers of one's own: the second one begins with a copy of the first one's files, taken before it ran, and follows
 * it from there.
 * @returns the reason when there are none
 */
export async function startTestPair(): Promise<TestPair | { readonly missing: string }> {
  const cluster = makeCluster()
  if ('missing' in cluster) return cluster
  const { folder, data } = cluster
  const copy = copyData(cluster, 'standby')
  writeServerFile(cluster, join(copy, 'standby.signal'), '')
  const settings = [...quickSettings, ...replication]
  const begun: Server[] = []
  let guarding = guard(begun, folder)
  const start = async (place: string, more: readonly string[], port?: number): Promise<Server> => {
    const server = await startServer(cluster, place, [...settings, ...more], port)
    begun.push(server)
    guarding.release()
    guarding = guard(begun, folder)
    return server
  }
  const createPairServer = (first: Server, place: string, own: readonly string[]): PairServer => {
    let server = first
    const { port } = first
    const url = (database: string): string => `postgresql://postgres@127.0.0.1:${port}/${database}`
    return {
      port,
      url,
      async ask(text) {
        const client = new pg.Client({ connectionString: url('postgres') })
        client.on('error', () => undefined)
        await client.connect()
        try {
          return (await client.query(text)).rows
        } finally {
          await client.end()
        }
      },
      kill: () => server.kill(),
      async start(more = []) {
        server = await start(place, [...own, ...more], port)
      },
    }
  }
  const stop = async (): Promise<void> => {
    guarding.release()
    for (const server of begun) await server.kill()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
  const atExit = (): void => {
    for (const server of begun) server.process.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
  process.once('exit', atExit)
  const primary = createPairServer(await start(data, []), data, [])
  const follows = [
    `primary_conninfo=host=127.0.0.1 port=${primary.port} user=postgres application_name=standby`,
  ]
  const standby = createPairServer(await start(copy, follows), copy, follows)
  await primary.ask("ALTER SYSTEM SET synchronous_standby_names = '*'")
  await primary.ask('SELECT pg_reload_conf()')
  const confirms = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync' AND state = 'streaming'"
  while ((await primary.ask(confirms)).length === 0) await setTimeout(lookEveryMs)
  return {
    primary,
    standby,
    url: (database) =>
      `postgresql://postgres@127.0.0.1:${primary.port},127.0.0.1:${standby.port}/${database}`,
    promote: async () => void (await standby.ask('SELECT pg_promote(true, 60)')),
    async stop() {
      process.off('exit', atExit)
      await stop()
    },
  }
}
