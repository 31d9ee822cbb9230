#!/usr/bin/env node
// Plain JavaScript, so that it runs on an old Node and can say what to do. It hands over to the pinned Node of
// node_modules where this one is too old, then to ../main.ts.
import { existsSync, lstatSync, mkdirSync, statSync } from 'node:fs'
import { availableParallelism, homedir } from 'node:os'
import { basename, dirname, isAbsolute, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { handOver } from './handover.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
// Name of the command in lines that are to be pasted: `npm install -g` puts it in the PATH.
const [, entry = ''] = process.argv
if (basename(entry) === 'warder' && !entry.includes('node_modules')) process.env.WARDER_PROGRAM ??= 'warder'
const newEnough = major > 26 || (major === 26 && minor >= 10)

// Without a listener Node opens a debugger on SIGUSR1, to which every user of this machine can connect and read keys. It is
// the signal by which other servers open their logs again.
process.on('SIGUSR1', () => undefined)

if (newEnough) {
  // Process 1 of a container gets only signals that have a handler: this one serves until the command has its own.
  if (process.pid === 1) {
    for (const [signal, code] of [
      ['SIGTERM', 143],
      ['SIGINT', 130],
    ]) {
      process.on(signal, () => {
        if (process.listenerCount(signal) === 1) process.exit(code)
      })
    }
  }
  // It tells this process alone; its children were not handed over.
  delete process.env.WARDER_NODE_HANDOVER
  // The command, the services and their threads load from it what was stripped of types and compiled before.
  const cache = process.env.NODE_COMPILE_CACHE ?? compileCache()
  if (cache !== undefined) {
    process.env.NODE_COMPILE_CACHE = cache
    const { enableCompileCache } = await import('node:module')
    enableCompileCache(cache)
  }
  // RSA, key generation and password hashing run on this pool; it is read when the pool is first used.
  process.env.UV_THREADPOOL_SIZE ??= String(Math.max(4, availableParallelism()))
  const { main } = await import('../main.ts')
  const code = await main(process.argv.slice(2))
  // Set already: the output was not taken, whatever else went well.
  process.exitCode ??= code
} else {
  const name = process.platform === 'win32' ? 'node.cmd' : 'node'
  // In a checkout; installed beside other packages; installed alone, with its own folder of packages.
  const places = [
    ['..', '..', '..', 'node_modules'],
    ['..', '..'],
    ['..', 'node_modules'],
  ]
  const candidates = places.map((place) => join(here, ...place, '.bin', name))
  const pinned = candidates.find((candidate) => existsSync(candidate))
  if (process.env.WARDER_NODE_HANDOVER !== undefined || pinned === undefined) {
    process.stderr.write(
      `Warder runs on Node 26.10 or later; this is ${process.version}.\n` +
        'Run `npm ci --ignore-scripts` in the checkout, or `npm install warder` without --omit=optional (they bring the\n' +
        'right Node for Linux, macOS and Windows),\n' +
        'or install Node 26 from https://nodejs.org and run the command again.\n',
    )
    process.exit(1)
  }
  handOver(pinned)
}

/**
 * In a checkout beside its packages, as its code is. Of an installed package, whose folder may be another user's, in a
 * folder that this user alone can write to: what lies in the cache is run, so root takes nothing from somebody else's.
 */
function compileCache() {
  if (existsSync(join(here, '..', 'main.ts')))
    return join(here, '..', '..', '..', 'node_modules', '.compile-cache')
  const { XDG_CACHE_HOME: named = '' } = process.env
  let folder = named
  try {
    if (!isAbsolute(folder)) folder = join(homedir(), '.cache')
  } catch {
    // A user whom the system does not know has no home.
    return undefined
  }
  const nearest = existsSync(folder) ? folder : dirname(folder)
  const own = join(folder, 'warder')
  try {
    if (!isOwn(statSync(nearest), 0o002)) return undefined
    mkdirSync(own, { recursive: true, mode: 0o700 })
    const found = lstatSync(own)
    return found.isDirectory() && isOwn(found, 0o022) ? own : undefined
  } catch {
    // There is no such folder, and none can be made: commands start without a cache.
    return undefined
  }
}

/** @param mask bits of its mode that let others write */
function isOwn({ uid, mode }, mask) {
  return process.getuid === undefined || (uid === process.getuid() && (mode & mask) === 0)
}
