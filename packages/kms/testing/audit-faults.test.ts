import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openAuditLog, verifyAudit } from '@warder/audit'
import { systemClock } from '@warder/base'
import { createLogger, createMetrics } from '@warder/runtime'
import { openSqlite, query } from '@warder/storage'
import { createSite, type ServiceProcess, type Site } from './process.ts'

// The two failure modes of the audit log on a started service whose log really cannot be written: the kernel refuses
// every byte beyond a size (RLIMIT_FSIZE), which the audit file has nearly reached and the database is far from.

const missing =
  process.platform === 'linux' && spawnSync('prlimit', ['--version']).status === 0
    ? false
    : 'it takes Linux and prlimit'
const objects = query<[], { readonly id: string }>('SELECT id FROM managed_object')

interface Record {
  readonly operation: string
  readonly outcome: string
  readonly object?: string
  readonly status: number
  readonly details?: { readonly count?: number }
}

/** The reason why a service cannot run as a user for whom file modes apply. */
function cannotBecomeAnother(): string | false {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'only root can become another user'
  const tried = spawnSync(process.execPath, ['--check', fileURLToPath(import.meta.url)], {
    uid: anonymous,
    gid: anonymous,
  })
  return tried.status === 0 ? false : 'another user cannot read this checkout'
}

const auditFolder = (site: Site): string => join(site.folder, 'home', 'audit', 'kms')

/** An audit log of more bytes than the database will ever have in this test. @returns its size */
async function fillAudit(site: Site): Promise<number> {
  // A log of many records belongs to a database that was used.
  assert.equal(await (await start(site, 'continue')).stop(), 0)
  const folder = auditFolder(site)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const log = await openAuditLog({
    folder,
    service: 'kms',
    node: 'test',
    mode: 'continue',
    rotateBytes: 2 ** 30,
    clock: systemClock,
    log: createLogger({ level: 'error', service: 'kms' }),
    metrics: createMetrics(),
  })
  const size = (): number =>
    readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
  while (size() < 8_000_000) {
    for (let count = 0; count < 2000; count++) {
      log.trail.record({
        time: Date.now(),
        request_id: 'r',
        operation: 'filler',
        principal: 'nobody',
        auth_method: 'none',
        client_ip: '127.0.0.1',
        outcome: 'success',
        status: 200,
        duration_ms: 0,
        details: { filler: 'x'.repeat(200) },
      })
    }
    await log.trail.flush()
  }
  await log.close()
  return size()
}

function records(site: Site): readonly Record[] {
  const folder = auditFolder(site)
  return readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').trimEnd().split('\n'))
    .map((line) => JSON.parse(line) as Record)
    .filter(({ operation }) => operation !== 'filler')
}

function start(site: Site, mode: string, maxFileBytes?: number): Promise<ServiceProcess> {
  const databaseUrl = `sqlite:${join(site.folder, 'kms.db')}`
  return site.start({
    name: 'home',
    databaseUrl,
    env: { KMS_AUDIT_FAILURE_MODE: mode },
    ...(maxFileBytes !== undefined && { maxFileBytes }),
  })
}

/** There is room on the disk again. */
function lift({ process: { pid } }: ServiceProcess): void {
  assert.equal(spawnSync('prlimit', [`--pid=${pid}`, '--fsize=unlimited']).status, 0)
}

async function storedIds(site: Site): Promise<readonly string[]> {
  const db = openSqlite({ path: join(site.folder, 'kms.db') })
  try {
    return (await db.all(objects, [])).map(({ id }) => id).sort()
  } finally {
    await db.close()
  }
}

const key = { kty: 'oct', alg: 'A256GCM' }

test('reject on a full disk: 503 before any change, also for reads, until there is room again (K17)', {
  skip: missing,
  timeout: 60_000,
}, async () => {
  using site = createSite()
  const size = await fillAudit(site)
  const service = await start(site, 'reject', size + 6000)
  const alice = service.user('alice')
  const acknowledged: string[] = []
  let answer = await alice.post('/v1/crypto/keys', key)
  for (let count = 0; answer.status === 200 && count < 100; count++) {
    acknowledged.push(answer.json.kid)
    answer = await alice.post('/v1/crypto/keys', key)
  }
  assert.ok(acknowledged.length > 0)
  const [kid = ''] = acknowledged
  const data = 'eA'
  const refused = [
    answer,
    ...(await Promise.all(Array.from({ length: 20 }, () => alice.post('/v1/crypto/keys', key)))),
    await alice.post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data }),
    await alice.get(`/v1/crypto/keys/${kid}`),
    await alice.del(`/v1/crypto/keys/${kid}`),
    await alice.post(`/v1/crypto/keys/${kid}/tags`, { tags: ['t'] }),
    await alice.post('/access/grant', {
      unique_identifier: kid,
      user_id: 'bob',
      operation_types: ['encrypt'],
    }),
    await alice.post('/v1/crypto/batch', {
      operations: [{ op: 'encrypt', kid, alg: 'dir', enc: 'A256GCM', data }],
    }),
  ]
  for (const { status, json } of refused) assert.deepEqual([status, json.error], [503, 'audit_unavailable'])
  const health = await alice.get('/health')
  assert.deepEqual(
    [health.status, health.json.status, health.json.dependencies],
    [
      503,
      'DOWN',
      {
        database: { name: 'sqlite', status: 'UP' },
        audit: { name: 'audit log', status: 'DOWN', message: 'The audit log cannot be written.' },
      },
    ],
    'the audit log is down',
  )
  assert.deepEqual(await storedIds(site), acknowledged.toSorted())

  lift(service)
  const after = await alice.post('/v1/crypto/keys', key)
  assert.equal(after.status, 200, after.text)
  acknowledged.push(after.json.kid)
  while ((await alice.get('/health')).status !== 200) await new Promise((resolve) => setTimeout(resolve, 50))
  assert.deepEqual((await alice.get(`/v1/crypto/keys/${kid}`)).json.tags, [])
  assert.deepEqual((await alice.get(`/access/list/${kid}`)).json, [])
  assert.equal(await service.stop(), 0)
  const created = records(site).filter(
    ({ operation, outcome }) => operation === 'crypto.keys.create' && outcome === 'success',
  )
  // Each success is recorded once, and nothing else is.
  assert.deepEqual(created.map(({ object }) => object).sort(), acknowledged.toSorted())
  assert.equal((await verifyAudit(auditFolder(site))).ok, true)
})

test('continue on a full disk: requests do not wait, and the first record that can be written has the number of lost ones (K17)', {
  skip: missing,
  timeout: 60_000,
}, async () => {
  using site = createSite()
  const size = await fillAudit(site)
  const service = await start(site, 'continue', size + 3000)
  const alice = service.user('alice')
  const made = 40
  const answers = []
  for (let count = 0; count < made; count++) answers.push(await alice.post('/v1/crypto/keys', key))
  for (const { status, text } of answers) assert.equal(status, 200, text)
  assert.equal((await storedIds(site)).length, made)
  lift(service)
  // The writer tries again by itself; each request is another occasion.
  for (
    let count = 0;
    count < 200 && !records(site).some(({ operation }) => operation === 'audit.lost');
    count++
  )
    assert.equal((await alice.get('/me')).status, 200)
  assert.equal(await service.stop(), 0)
  const told = records(site)
  const lost = told
    .filter(({ operation }) => operation === 'audit.lost')
    .reduce((sum, { details }) => sum + (details?.count ?? 0), 0)
  const kept = told.filter(({ operation }) => operation === 'crypto.keys.create').length
  assert.ok(lost > 0 && kept < made, `${lost} lost, ${kept} kept`)
  const others = told.filter(({ operation }) => operation === 'server.me').length
  assert.ok(kept + lost >= made && kept + lost <= made + 200 + others, `${lost} lost, ${kept} kept`)
  assert.match(service.output(), /audit/)
  assert.equal((await verifyAudit(auditFolder(site))).ok, true)
})

const anonymous = 65_534

test('a read-only audit file prevents the start with its name, in both modes, and stays unchanged (K17)', {
  skip: cannotBecomeAnother(),
  timeout: 60_000,
}, async () => {
  using site = createSite()
  chmodSync(site.folder, 0o755)
  chmodSync(join(site.folder, 'jwks.json'), 0o644)
  const home = join(site.folder, 'home')
  mkdirSync(home, { mode: 0o700 })
  chownSync(home, anonymous, anonymous)
  const options = (mode: string) => ({
    name: 'home',
    databaseUrl: 'sqlite:kms.db',
    uid: anonymous,
    env: { KMS_AUDIT_FAILURE_MODE: mode },
  })
  const service = await site.start(options('continue'))
  assert.equal((await service.user('alice').post('/v1/crypto/keys', key)).status, 200)
  await service.stop()
  const folder = auditFolder(site)
  const [file = ''] = readdirSync(folder).filter((name) => name.endsWith('.jsonl'))
  chmodSync(join(folder, file), 0o400)
  const before = readFileSync(join(folder, file))
  for (const mode of ['continue', 'reject']) {
    await assert.rejects(site.start(options(mode)), (error: Error) => error.message.includes(file))
  }
  assert.deepEqual(readFileSync(join(folder, file)), before)
})
