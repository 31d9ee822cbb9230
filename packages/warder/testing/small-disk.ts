import { spawn, spawnSync } from 'node:child_process'
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  statfsSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cleanEnvironment } from './installation.ts'

/** Room that is left on a small disk, bytes: of a limit of file sizes, what each file may have; else of the whole disk. */
export interface Room {
  readonly eachFile: number
  readonly wholeDisk: number
}

export interface Ran {
  readonly code: number | null
  readonly out: Buffer
  readonly err: string
}

/** A disk that a test fills. */
export interface SmallDisk {
  /** A folder on it. */
  readonly folder: string
  /** Words of the error when it is full. */
  readonly full: RegExp
  /** true: a whole file system; false: the kernel refuses bytes of each file beyond a size. */
  readonly isFileSystem: boolean
  /** Runs a script of Node while there is only so much room. @param room absent = enough */
  run(words: readonly string[], room?: Room, env?: Readonly<Record<string, string>>): Promise<Ran>
  /** Leaves no room for processes that run already. */
  fill(pids: readonly number[]): void
  makeRoom(pids: readonly number[]): void
  remove(): void
}

const entry = fileURLToPath(new URL('../bin/warder.mjs', import.meta.url))

/** Words for `run` that call the command. */
export const warderArguments = (...words: readonly string[]): readonly string[] => [entry, ...words]

/** Why no limit of file sizes can be set here. */
export const noLimits =
  process.platform === 'linux' && spawnSync('prlimit', ['--version']).status === 0
    ? false
    : 'it takes Linux and prlimit'

/**
 * A limit of file sizes (RLIMIT_FSIZE) for processes that a test starts: a real refusal of the kernel (EFBIG), which needs
 * no right. A write that crosses the limit is cut short before the next one fails, as on a disk that fills.
 */
export function limitFileSizes(): SmallDisk {
  const folder = mkdtempSync(join(tmpdir(), 'warder-limited-'))
  const limit = (pids: readonly number[], bytes: number | 'unlimited'): void => {
    for (const pid of pids) spawnSync('prlimit', [`--pid=${pid}`, `--fsize=${bytes}:`])
  }
  return {
    folder,
    full: /would be larger than this process \(ulimit -f\) or the file system allows|disk I\/O error/,
    isFileSystem: false,
    run: (words, room, env) =>
      room === undefined
        ? runNode([process.execPath, ...words], env)
        : runNode(['prlimit', `--fsize=${room.eachFile}:`, process.execPath, ...words], env),
    fill: (pids) => limit(pids, 0),
    makeRoom: (pids) => limit(pids, 'unlimited'),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** A file system of some megabytes. @param place where it is mounted */
export function smallFileSystem(place: string): SmallDisk {
  const folder = join(place, 'there')
  mkdirSync(folder)
  const filler = join(place, 'filler')
  const fill = (left: number): void => {
    rmSync(filler, { force: true })
    const file = openSync(filler, 'w')
    const { bsize, bavail } = statfsSync(place)
    const page = Buffer.alloc(bsize, 1)
    try {
      for (let blocks = bavail - Math.ceil(left / bsize); blocks > 0; blocks -= 1) writeSync(file, page)
    } catch (error) {
      // A service has written meanwhile.
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    }
    fsyncSync(file)
    closeSync(file)
  }
  const makeRoom = (): void => rmSync(filler, { force: true })
  return {
    folder,
    full: /no space is left on the disk of \S+ \(\d+ KiB free\)/,
    isFileSystem: true,
    async run(words, room, env) {
      if (room !== undefined) fill(room.wholeDisk)
      try {
        return await runNode([process.execPath, ...words], env)
      } finally {
        makeRoom()
      }
    },
    fill: () => fill(0),
    makeRoom,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

const megabytes = 96

/** Why no file system can be mounted here, where nobody else sees it. */
export function noMounts(): string | false {
  const tried = spawnSync('unshare', [
    ...unshareOptions,
    'mount',
    '-t',
    'tmpfs',
    '-o',
    'size=1m',
    'warder',
    tmpdir(),
  ])
  return tried.status === 0 ? false : 'no file system can be mounted here (unshare, mount)'
}

/** As root, or in a user namespace, as whose root the same commands work. */
const unshareOptions = process.getuid?.() === 0 ? ['--mount'] : ['--user', '--map-root-user', '--mount']

/** Runs a test file where a small file system is mounted at `WARDER_SMALL_DISK`. */
export async function runOnSmallFileSystem(file: string): Promise<Ran> {
  const place = mkdtempSync(join(tmpdir(), 'warder-small-'))
  const script = `mount -t tmpfs -o size=${megabytes}m warder "$1" && exec "$2" "$3"`
  try {
    return await runNode(
      ['unshare', ...unshareOptions, 'sh', '-c', script, 'sh', place, process.execPath, file],
      {
        WARDER_SMALL_DISK: place,
      },
    )
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}

function runNode(
  [program = '', ...words]: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, words, {
      env: cleanEnvironment(env),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const out: Buffer[] = []
    let err = ''
    child.stdout.on('data', (bytes: Buffer) => out.push(bytes))
    child.stderr.on('data', (text) => {
      err += text
    })
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, out: Buffer.concat(out), err }))
  })
}
