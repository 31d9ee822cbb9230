import assert from 'node:assert/strict'
import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Installation, runWarder, startInstallation, temporaryHome } from '../testing/installation.ts'
import { locksOn, lookInto } from '../testing/other-program.ts'
import { until } from '../testing/until.ts'

// A backup agent that opened and closed a database took the write-ahead log away with it.

const services = ['auth', 'kms'] as const
const withoutLocks =
  process.platform === 'linux' ? false : 'the kernel tells of locks on Linux only (/proc/locks)'

/** Looks into both databases, and finds the services' locks and write-ahead logs as they were. */
function lookIntoBoth(warder: Installation, phase: string, statement?: string): void {
  for (const service of services) {
    const path = join(warder.home, `${service}.db`)
    const log = statSync(`${path}-wal`).ino
    lookInto(path, statement)
    assert.notDeepEqual(locksOn(path, warder.pid(service)), [], `${phase}: ${service} holds no lock`)
    assert.equal(statSync(`${path}-wal`, { throwIfNoEntry: false })?.ino, log, `${phase}: ${service}`)
  }
}

/** Requests with the administrator's session. */
async function caller(warder: Installation) {
  const authorization = `Bearer ${await warder.adminToken()}`
  const kms = warder.client('kms')
  return {
    async create(): Promise<string> {
      const json = { kty: 'oct', alg: 'HS256' }
      const answer = await kms.ask('/v1/crypto/keys', { json, headers: { authorization } })
      assert.equal(answer.status, 200, answer.text)
      return (answer.json as { kid: string }).kid
    },
    async destroy(kid: string): Promise<void> {
      const answer = await kms.ask(`/v1/crypto/keys/${kid}`, { method: 'DELETE', headers: { authorization } })
      assert.equal(answer.status, 204, answer.text)
    },
    /** Status of a MAC with this key. */
    async use(kid: string): Promise<number> {
      const json = { kid, alg: 'HS256', data: 'eA' }
      return (await kms.ask('/v1/crypto/mac', { json, headers: { authorization } })).status
    },
    close: () => kms.close(),
  }
}

test('another program that opens and closes the databases in every phase takes nothing away', {
  skip: withoutLocks,
}, async (t) => {
  const home = temporaryHome()
  const kept: string[] = []
  const destroyed: string[] = []
  /** One key that stays and one that goes. */
  const change = async (own: Awaited<ReturnType<typeof caller>>): Promise<void> => {
    const [stays, goes] = [await own.create(), await own.create()]
    await own.destroy(goes)
    kept.push(stays)
    destroyed.push(goes)
  }
  const allThere = async (own: Awaited<ReturnType<typeof caller>>, phase: string): Promise<void> => {
    for (const kid of kept) assert.equal(await own.use(kid), 200, `${phase}: an acknowledged key is gone`)
    for (const kid of destroyed) assert.equal(await own.use(kid), 404, `${phase}: a destroyed key works`)
  }

  let warder = await startInstallation({ home })
  let own = await caller(warder)
  t.after(async () => {
    if (warder.process.exitCode === null && warder.process.signalCode === null) await warder.kill()
    rmSync(home, { recursive: true })
  })
  lookIntoBoth(warder, 'start')
  await change(own)
  lookIntoBoth(warder, 'after a change')

  const load = Promise.all(Array.from({ length: 40 }, () => change(own)))
  lookIntoBoth(warder, 'load')
  await load
  lookIntoBoth(warder, 'checkpoint', 'PRAGMA wal_checkpoint(TRUNCATE)')
  await change(own)
  lookIntoBoth(warder, 'after the checkpoint')

  const rotation = runWarder(['root-key', 'rotate', '--home', home])
  lookIntoBoth(warder, 'rotation of the root key')
  assert.equal((await rotation).code, 0)
  lookIntoBoth(warder, 'after the rotation')
  await change(own)
  await warder.kill()
  own.close()

  const starting = startInstallation({ home })
  for (const service of services) lookInto(join(home, `${service}.db`))
  warder = await starting
  own = await caller(warder)
  await allThere(own, 'kill')
  lookIntoBoth(warder, 'start after a kill')
  await change(own)

  const stopping = warder.stop()
  for (const service of services) lookInto(join(home, `${service}.db`))
  assert.equal(await stopping, 0)
  own.close()
  warder = await startInstallation({ home })
  own = await caller(warder)
  await allThere(own, 'stop')
  own.close()
  assert.equal(await warder.stop(), 0)
})

test('a service whose write-ahead log was removed says so and acknowledges nothing more', {
  skip: process.platform === 'win32' ? 'open files cannot be removed on Windows' : false,
}, async (t) => {
  const warder = await startInstallation()
  t.after(() => warder.stop())
  const authorization = `Bearer ${await warder.adminToken()}`
  const kms = warder.client('kms')
  t.after(() => kms.close())
  assert.equal((await kms.ask('/health')).status, 200)
  rmSync(join(warder.home, 'kms.db-wal'))
  const json = { kty: 'oct', alg: 'HS256' }
  const refused = await kms.ask('/v1/crypto/keys', { json, headers: { authorization } })
  assert.equal(refused.status, 503, refused.text)
  await until('the log says so', () => warder.output().includes('kms.db-wal was removed or replaced'))
  // Health is tried at most once a second.
  await until('health says so', async () => {
    const { status, json } = await kms.ask('/health')
    return status === 503 && (json as { status: string }).status === 'DOWN'
  })
})
