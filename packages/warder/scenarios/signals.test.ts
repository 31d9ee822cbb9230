import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { get } from 'node:https'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { connect, type TLSSocket } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { localCertificates } from '../installation/configuration.ts'
import {
  cleanEnvironment,
  type Installation,
  startInstallation,
  temporaryHome,
} from '../testing/installation.ts'
import { until } from '../testing/until.ts'

let warder: Installation
const home = temporaryHome()

before(async () => {
  warder = await startInstallation({ home, env: { KMS_METRICS_PORT: '0', KMS_WORKERS: '2' } })
})
after(async () => {
  if (warder.process.exitCode === null && warder.process.signalCode === null) await warder.stop()
  rmSync(home, { recursive: true, force: true })
})

function connection(url: string): Promise<TLSSocket> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), ca: readFileSync(warder.caFile) }, () =>
      resolve(socket),
    )
    socket.once('error', reject)
  })
}

async function serialOf(url: string): Promise<string> {
  const socket = await connection(url)
  const serial = socket.getPeerCertificate().serialNumber
  socket.destroy()
  return serial
}

/** Nobody listens on the port any more. */
function refusesConnections(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port }, () => {
      socket.destroy()
      resolve(false)
    })
    socket.once('error', () => resolve(true))
  })
}

function metricsOf(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    get(url, { ca: readFileSync(warder.caFile), agent: false }, (response) => {
      let body = ''
      response.on('data', (part) => {
        body += part
      })
      response.on('end', () => resolve(body))
    }).once('error', reject)
  })
}

const metricsPlace = (): string | undefined => {
  const port = /"metrics_port":(\d+)/.exec(warder.output())?.[1]
  return port === undefined ? undefined : `https://127.0.0.1:${port}`
}

test('metrics stand on a port of their own, counted over all workers, and not on the public one', async () => {
  const client = warder.client('kms')
  for (let count = 0; count < 6; count += 1) assert.equal((await client.ask('/version')).status, 200)
  assert.equal((await client.ask('/metrics')).status, 404)
  client.close()
  await until('the log names the port', () => metricsPlace() !== undefined)
  // A request is counted when its answer has been sent: just after the client has it.
  const counted = /warder_operations_total\{operation="[a-z._]*version",status="200"\} (\d+)/
  let count = 0
  await until('all six are counted', async () => {
    count = Number(counted.exec(await metricsOf(`${metricsPlace()}/metrics`))?.[1] ?? 0)
    return count >= 6
  })
  assert.equal(count, 6)
  const metrics = await metricsOf(`${metricsPlace()}/metrics`)
  for (const line of [
    /^warder_database_waiting_commits 0$/m,
    /^warder_database_errors_total\{kind="unavailable"\} 0$/m,
    /^warder_key_cache_uses_total\{outcome="hit"\} \d+$/m,
    /^# TYPE warder_objects gauge$/m,
    /^warder_queue_jobs\{queue="large_data"\} 0$/m,
    /^warder_queue_jobs\{queue="revocation_lists"\} 0$/m,
  ])
    assert.match(metrics, line)
})

test('SIGHUP serves new certificates to new connections, and keeps the old ones when the new are broken', async () => {
  const before = await serialOf(warder.kmsUrl)
  const tls = join(home, 'tls')
  const { ensureLocalAuthority } = await import('@warder/server')
  rmSync(join(tls, 'kms.crt'))
  await ensureLocalAuthority({
    folder: tls,
    clock: { now: () => Date.now(), monotonic: () => performance.now() },
    certificates: localCertificates,
  })
  assert.equal(await serialOf(warder.kmsUrl), before, 'nothing is read before the signal')
  warder.process.kill('SIGHUP')
  // Each worker changes over by itself: new connections reach one or the other.
  await until('every worker serves the new certificate', async () => {
    const seen = await Promise.all(Array.from({ length: 12 }, () => serialOf(warder.kmsUrl)))
    return !seen.includes(before)
  })
  const renewed = await serialOf(warder.kmsUrl)
  assert.equal(await serialOf(metricsPlace() ?? ''), renewed, 'so does the listener of the metrics')
  rmSync(join(tls, 'kms.crt'))
  warder.process.kill('SIGHUP')
  await until('the log says so', () => warder.output().includes('the previous ones stay in use'))
  assert.equal(await serialOf(warder.kmsUrl), renewed)
})

test('a service that is killed is started again, where it was', async () => {
  const pid = warder.pid('kms')
  const { ensureLocalAuthority } = await import('@warder/server')
  await ensureLocalAuthority({
    folder: join(home, 'tls'),
    clock: { now: () => Date.now(), monotonic: () => performance.now() },
    certificates: localCertificates,
  })
  process.kill(pid, 'SIGKILL')
  await until('it serves again', async () => {
    const client = warder.client('kms')
    try {
      return (await client.ask('/health')).status === 200
    } catch {
      return false
    } finally {
      client.close()
    }
  })
  assert.notEqual(warder.pid('kms'), pid)
})

test('a second signal stops at once, and nothing is left behind', async () => {
  const pids = [warder.pid('auth'), warder.pid('kms')]
  const ended = new Promise((resolve) => warder.process.once('exit', resolve))
  warder.process.kill('SIGTERM')
  warder.process.kill('SIGINT')
  await ended
  assert.ok(!existsSync(join(home, 'endpoints.json')))
  await until('both services are gone', () =>
    pids.every((pid) => {
      try {
        return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
      } catch {
        return true
      }
    }),
  )
})

test('a signal to npm, which ends only its shell, stops everything', {
  skip: process.platform === 'win32',
}, async () => {
  const place = temporaryHome()
  const root = fileURLToPath(new URL('../../..', import.meta.url))
  const npm = spawn('npm', ['start'], {
    cwd: root,
    env: cleanEnvironment({ WARDER_HOME: place }),
    stdio: 'ignore',
  })
  const endpoints = join(place, 'endpoints.json')
  await until('it is started', () => existsSync(endpoints))
  const { kms } = JSON.parse(readFileSync(endpoints, 'utf8')) as { kms: { url: string } }
  npm.kill('SIGTERM')
  await until('it stops', () => !existsSync(endpoints))
  await until('nobody listens', () => refusesConnections(Number(new URL(kms.url).port)))
  rmSync(place, { recursive: true, force: true })
})
