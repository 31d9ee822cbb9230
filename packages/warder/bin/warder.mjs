#!/usr/bin/env node
// Plain JavaScript, so that it runs on an old Node and can report the required version. It hands over to the pinned
// Node of node_modules where this one is too old, then to ../main.ts.
import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { basename, dirname, join } from 'node:path'
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
  // It is for this process only; its children were not handed over.
  delete process.env.WARDER_NODE_HANDOVER
  // A checkout caches the code without types, compiled, beside its packages. The few files of an installed Warder load
  // as quickly without (docs/adr/packaging.md), and no folder contains code that another user might have written.
  if (existsSync(join(here, '..', 'main.ts'))) {
    process.env.NODE_COMPILE_CACHE ??= join(here, '..', '..', '..', 'node_modules', '.compile-cache')
    const { enableCompileCache } = await import('node:module')
    enableCompileCache(process.env.NODE_COMPILE_CACHE)
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
