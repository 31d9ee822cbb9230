import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { rmSync, statSync, writeFileSync } from 'node:fs'
import { get } from 'node:https'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { type IssuedCertificate, issue, newFolder, writeFiles } from '@warder/server/testing'
import { foundationSettings } from '../config/foundation-settings.ts'
import { createGate, gateMemory } from './fixtures/gated-service.ts'
import type { ServiceLaunch } from './launch.ts'
import { type RunningService, runService } from './primary.ts'

const home = newFolder()
const memory = gateMemory()
const gate = createGate(memory)

/** The server's certificate, the authority of clients, and a client of it. */
interface Generation {
  readonly server: IssuedCertificate
  readonly authority: IssuedCertificate
  readonly client: IssuedCertificate
}

async function generation(): Promise<Generation> {
  const authority = await issue({ commonName: 'clients', purpose: 'authority' })
  const client = await issue(
    { commonName: 'alice', purpose: 'client', hostnames: [], addresses: [] },
    authority,
  )
  return { server: await issue({}), authority, client }
}

function install({ server, authority }: Generation): void {
  writeFiles(home, 'server', server)
  writeFileSync(join(home, 'clients.crt'), authority.certificatePem)
}

function launch(): ServiceLaunch {
  const defaults = Object.entries(
    foundationSettings({ name: 'test', port: 0, bodyLimitBytes: 1_048_576 }),
  ).map(([name, row]) => [name, row.default])
  const own = {
    port: 0,
    workers: 1,
    metrics_port: 0,
    log_level: 'error',
    tls_cert_file: 'server.crt',
    tls_key_file: 'server.key',
    clients_ca_cert_file: 'clients.crt',
    gate: memory,
  }
  return {
    module: new URL('./fixtures/gated-service.ts', import.meta.url).href,
    exportName: 'gatedService',
    config: { ...Object.fromEntries(defaults), ...own } as ServiceLaunch['config'],
    home,
    version: '0',
    env: {},
  }
}

let service: RunningService
let first: Generation
let second: Generation
let third: Generation
before(async () => {
  ;[first, second, third] = await Promise.all([generation(), generation(), generation()])
  install(first)
  service = await runService(launch())
})
after(async () => {
  gate.open()
  await service.stop()
  rmSync(home, { recursive: true, force: true })
})

interface Answer {
  readonly status: number | undefined
  readonly server: string | undefined
}

/** One request over a connection of its own. @returns undefined when no process answers */
function ask(
  path: string,
  { client }: Generation,
  port = Number(new URL(service.url).port),
): Promise<Answer | undefined> {
  const place = { host: '127.0.0.1', port, path, agent: false, rejectUnauthorized: false }
  return new Promise((resolve) => {
    const request = get({ ...place, cert: client.certificatePem, key: client.keyPem }, (response) => {
      const server = (response.socket as TLSSocket).getPeerX509Certificate()?.toString()
      response.resume().once('end', () => resolve({ status: response.statusCode, server }))
    })
    request.once('error', () => resolve(undefined))
  })
}

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 10_000
  while (!(await holds())) {
    assert.ok(performance.now() < deadline, `it did not happen that ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** Ends the worker. @returns when the one that takes its place waits at the gate */
async function replaceWorker(): Promise<void> {
  const before = gate.starts()
  gate.close()
  await ask('/end', first)
  await until('another worker starts', () => gate.starts() > before)
}

async function assertServes(now: Generation, past: Generation): Promise<void> {
  await until('it serves again', async () => (await ask('/whoami', now)) !== undefined)
  const answer = await ask('/whoami', now)
  assert.equal(answer?.server, now.server.certificatePem)
  assert.equal(answer?.status, 200)
  assert.equal((await ask('/whoami', past))?.status, 401)
}

test('a worker that takes the place of another has the certificates and the client authority of the last reload', async () => {
  assert.equal((await ask('/whoami', first))?.status, 200)
  install(second)
  service.reloadTls()
  await until('the reload is served', async () => (await ask('/whoami', first))?.status === 401)
  await replaceWorker()
  gate.open()
  await assertServes(second, first)
})

test('a reload reaches a worker that still starts', async () => {
  await replaceWorker()
  install(third)
  service.reloadTls()
  // The worker answers in order: it has seen the reload when it tells its metrics.
  await ask('/metrics', third, service.metricsPort)
  gate.open()
  await assertServes(third, second)
})

test('a worker that could not take the place of another is followed by one that can', async () => {
  const before = gate.starts()
  gate.refuse(1)
  await ask('/end', first)
  await until('it serves again', async () => (await ask('/whoami', third)) !== undefined)
  assert.equal(gate.starts() - before, 2)
})

test('another program that looks into the database while a worker is replaced does not take its write-ahead log away', async () => {
  const path = join(home, 'test.db')
  const lookInto = (): void => {
    const program = `
      const { DatabaseSync } = require('node:sqlite')
      const db = new DatabaseSync(process.argv[1])
      db.prepare('SELECT count(*) FROM sqlite_schema').get()
      db.close()`
    execFileSync(process.execPath, ['--no-warnings', '-e', program, path])
  }
  const log = statSync(`${path}-wal`).ino
  await replaceWorker()
  lookInto()
  assert.equal(statSync(`${path}-wal`, { throwIfNoEntry: false })?.ino, log)
  gate.open()
  await until('it serves again', async () => (await ask('/whoami', third)) !== undefined)
  lookInto()
  assert.equal(statSync(`${path}-wal`, { throwIfNoEntry: false })?.ino, log)
})
