import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { type HttpsClient, httpsClient } from '@warder/command-line/https-client'
import { startTestPostgres } from '@warder/storage/testing'
import { cleanEnvironment, runWarder, startInstallation, temporaryHome } from '../testing/installation.ts'
import { program } from '../testing/program.ts'
import { until } from '../testing/until.ts'

const postgres = await startTestPostgres()
const skip = 'missing' in postgres ? postgres.missing : false
after(async () => {
  if (!('missing' in postgres)) await postgres.stop()
})

/** The database behind an address at which nobody answers while it is away. */
async function switchable(url: string) {
  const there = new URL(url)
  const sockets = new Set<Socket>()
  const serve = async (port: number): Promise<Server> => {
    const server = createServer((near) => {
      const far = connect(Number(there.port), there.hostname)
      for (const socket of [near, far]) {
        sockets.add(socket)
        socket.on('error', () => undefined)
        socket.on('close', () => {
          sockets.delete(socket)
          near.destroy()
          far.destroy()
        })
      }
      near.pipe(far).pipe(near)
    }).listen(port, '127.0.0.1')
    await once(server, 'listening')
    return server
  }
  let server = await serve(0)
  const { port } = server.address() as AddressInfo
  const here = new URL(url)
  here.port = String(port)
  return {
    url: here.href,
    async goAway() {
      server.close()
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => setImmediate(resolve))
    },
    async comeBack() {
      server = await serve(port)
    },
  }
}

const down = { name: 'postgresql', status: 'DOWN', message: 'The database does not respond.' }

/** The status of /health, or `undefined` while the server that waits gives its port to the one that serves. */
const healthOf = (client: HttpsClient): Promise<number | undefined> =>
  client.ask('/health').then(
    ({ status }) => status,
    () => undefined,
  )

test('a service that starts without its database waits for it, and says so at /health', {
  skip,
}, async (t) => {
  if ('missing' in postgres) return
  const database = await switchable(await postgres.database())
  await database.goAway()
  const home = temporaryHome()
  const child = spawn(process.execPath, [program, 'kms', '--home', home], {
    env: cleanEnvironment({ KMS_DATABASE_URL: database.url }),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.after(async () => {
    child.kill('SIGKILL')
    await database.goAway()
    rmSync(home, { recursive: true, force: true, maxRetries: 5 })
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text) => {
      output += text
    })
  const place = (): string | undefined => /"url":"(https:[^"]+)"/.exec(output)?.[1]
  await until('the log says where it answers', () => place() !== undefined)
  const client = httpsClient(place() ?? '', join(home, 'tls', 'ca.crt'))
  const health = await client.ask('/health')
  assert.deepEqual([health.status, JSON.parse(health.text).dependencies.database], [503, down])
  const other = await client.ask('/version')
  assert.deepEqual([other.status, JSON.parse(other.text).error], [503, 'storage_unavailable'])
  await until('it has waited twice', () => output.split('the start waits for it').length > 2)
  await database.comeBack()
  await until('it serves', async () => (await healthOf(client)) === 200)
  client.close()
  const ended = once(child, 'close')
  child.kill('SIGTERM')
  assert.deepEqual(await ended, [0, null], output)
})

test('a service that ends while its database is away comes back with it, and leaves the other alone', {
  skip,
}, async () => {
  if ('missing' in postgres) return
  const database = await switchable(await postgres.database())
  const home = temporaryHome()
  const warder = await startInstallation({ home, env: { KMS_DATABASE_URL: database.url } })
  const [auth, kms] = [warder.client('auth'), warder.client('kms')]
  const authPid = warder.pid('auth')
  try {
    await database.goAway()
    process.kill(warder.pid('kms'), 'SIGKILL')
    await until('the kms waits', () => warder.output().includes('the start waits for it'))
    assert.deepEqual([await healthOf(kms), await healthOf(auth)], [503, 200])
    await database.comeBack()
    await until('the kms serves', async () => (await healthOf(kms)) === 200)
    assert.deepEqual([await healthOf(auth), warder.pid('auth')], [200, authPid])
    await database.goAway()
    process.kill(warder.pid('kms'), 'SIGKILL')
    await until('it is started again later', () => warder.output().includes('starting it again in 1 s'))
    await until('the kms waits once more', async () => (await healthOf(kms)) === 503)
    assert.equal(await warder.stop(), 0, 'it is stopped while it waits')
  } finally {
    for (const client of [auth, kms]) client.close()
    if (warder.process.exitCode === null) await warder.stop()
    await database.goAway()
    rmSync(home, { recursive: true, force: true, maxRetries: 5 })
  }
})

test('a user who may not make tables is told so in one line, with what to do', { skip }, async (t) => {
  assert.ok('database' in postgres)
  // A role of PostgreSQL that owns nothing.
  const url = `${await postgres.database()}?options=-c%20role%3Dpg_monitor`
  const home = temporaryHome()
  t.after(() => rmSync(home, { recursive: true, force: true }))
  const { code, err } = await runWarder(['auth', '--home', home], { AUTH_DATABASE_URL: url })
  assert.equal(code, 1)
  assert.equal(
    err.trimEnd().split('\n').at(-1),
    'warder auth: PostgreSQL rejected a statement: permission denied for schema public (42501); the user in ' +
      'database_url must own the database: ALTER DATABASE name OWNER TO user',
  )
})
