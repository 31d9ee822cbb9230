import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  copyFileSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { cleanEnvironment, startInstallation } from 'warder/testing'
import { seedKeys } from '../kms/seed.ts'

/**
 * Measures how long a backup of many keys takes while they are used, how long its restore takes beside a copy of the
 * databases, and what a drill takes. SQLite.
 *
 * Run: `node bench/operations/backup.ts [--keys 1000000] [--rate 200] [--room DIR [--step prepare|backup|restore|drill]]`.
 * `beside` is the 99th percentile of encryptions that are asked for at that rate while the backup is made, divided by that
 * of the same time without one. With `--room` the installation and its backup stay there, and a run may take one step
 * alone, so that nothing is measured on a machine that has just written a million keys.
 */
const { values } = parseArgs({
  options: {
    keys: { type: 'string', default: '1000000' },
    rate: { type: 'string', default: '200' },
    room: { type: 'string' },
    step: { type: 'string' },
  },
})
const keys = Number(values.keys)
const everyMs = 1000 / Number(values.rate)
const entry = fileURLToPath(new URL('../../packages/warder/bin/warder.mjs', import.meta.url))
const print = (line: string): void => void process.stdout.write(`${line}\n`)

const room = values.room === undefined ? mkdtempSync(join(tmpdir(), 'warder-bench-')) : resolve(values.room)
mkdirSync(room, { recursive: true })
const home = join(room, 'home')
const file = join(room, 'all.backup')
/** Ids of some keys that the administrator owns. */
const seededFile = join(room, 'keys.json')
const passphrase = join(room, 'passphrase')
writeFileSync(passphrase, 'correct horse battery staple')
const secret = ['--passphrase-file', passphrase]

/** @returns seconds */
async function command(...words: readonly string[]): Promise<number> {
  const began = performance.now()
  const child = spawn(process.execPath, [entry, ...words], {
    env: cleanEnvironment({}),
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let errors = ''
  child.stderr.on('data', (text) => {
    errors += text
  })
  await once(child, 'close')
  if (child.exitCode !== 0) throw new Error(`warder ${words.join(' ')}: ${errors}`)
  return (performance.now() - began) / 1000
}

/** Copies the databases as any program would, and waits for the disk. @returns seconds */
function plainCopy(to: string): number {
  mkdirSync(to)
  const began = performance.now()
  for (const name of ['auth.db', 'kms.db']) {
    copyFileSync(join(home, name), join(to, name))
    const file = openSync(join(to, name), 'r+')
    fsyncSync(file)
    closeSync(file)
  }
  return (performance.now() - began) / 1000
}

function p99(times: number[]): number {
  times.sort((a, b) => a - b)
  return times[Math.floor(times.length * 0.99)] ?? Number.NaN
}

const seconds = (value: number): string => `${value.toFixed(1)} s`

async function prepare(): Promise<void> {
  const first = await startInstallation({ home })
  await first.stop()
  const { own, seconds: took } = await seedKeys(home, 'admin', keys)
  writeFileSync(seededFile, JSON.stringify(own))
  print(`${keys} keys written in ${seconds(took)}`)
}

async function measureBackup(): Promise<void> {
  const own = JSON.parse(readFileSync(seededFile, 'utf8')) as readonly string[]
  const warder = await startInstallation({ home })
  const client = warder.client('kms')
  const headers = { authorization: `Bearer ${await warder.adminToken()}` }
  let turn = 0
  const encrypt = async (times: number[]): Promise<void> => {
    const kid = own[turn++ % own.length]
    const asked = performance.now()
    const json = { kid, alg: 'dir', enc: 'A256GCM', data: 'aGVsbG8' }
    const { status, text } = await client.ask('/v1/crypto/encrypt', { json, headers })
    if (status !== 200) throw new Error(text)
    times.push(performance.now() - asked)
  }
  /** Sends requests at the same rate, regardless of the answers, until `work` is done. */
  const during = async (work: Promise<unknown>): Promise<number> => {
    const times: number[] = []
    const waiting = new Set<Promise<void>>()
    let done = false
    void work.finally(() => {
      done = true
    })
    for (let next = performance.now(); !done; next += everyMs) {
      const one = encrypt(times).finally(() => waiting.delete(one))
      waiting.add(one)
      await setTimeout(Math.max(0, next + everyMs - performance.now()))
    }
    await Promise.all(waiting)
    return p99(times)
  }
  await during(setTimeout(3000))
  const calm = await during(setTimeout(10_000))
  rmSync(file, { force: true })
  const backing = command('backup', file, '--home', home, ...secret)
  const beside = await during(backing)
  const backup = await backing
  const again = await during(setTimeout(10_000))
  client.close()
  await warder.stop()
  const size = statSync(join(home, 'kms.db')).size
  print(
    `${keys} keys, ${Math.round(size / 2 ** 20)} MiB, backup ${Math.round(statSync(file).size / 2 ** 20)} MiB`,
  )
  const usual = Math.max(calm, again)
  print(
    `backup      ${seconds(backup)}; p99 of encrypt ${usual.toFixed(1)} ms, beside it ${beside.toFixed(1)} ms: ${(beside / usual).toFixed(2)} times`,
  )
}

async function measureRestore(): Promise<void> {
  const folders = ['copy-1', 'copy-2', 'restored'].map((name) => join(room, name))
  const [first = '', second = '', restored = ''] = folders
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  const copies = [plainCopy(first)]
  const restore = await command(
    'restore',
    file,
    '--home',
    restored,
    '--from',
    join(home, 'backup-signing.pub'),
    ...secret,
  )
  copies.push(plainCopy(second))
  const copy = copies.reduce((sum, one) => sum + one, 0) / copies.length
  print(
    `restore     ${seconds(restore)}; plain copy ${copies.map(seconds).join(', ')}: ${(copy / restore).toFixed(3)} of it`,
  )
}

async function measureDrill(): Promise<void> {
  const rootKey = join(room, 'root.key')
  writeFileSync(rootKey, readFileSync(join(home, 'root.key')), { mode: 0o600 })
  const drill = await command('drill', file, '--home', home, ...secret, '--root-key-file', rootKey)
  print(`drill       ${seconds(drill)}`)
}

const steps = { prepare, backup: measureBackup, restore: measureRestore, drill: measureDrill }
try {
  for (const [name, step] of Object.entries(steps))
    if (values.step === undefined || values.step === name) await step()
} finally {
  if (values.room === undefined) rmSync(room, { recursive: true, force: true })
}
