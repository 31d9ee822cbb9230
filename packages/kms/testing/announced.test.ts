import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { verifyAudit } from '@warder/audit'
import { createSite } from './process.ts'

interface Record {
  readonly operation: string
  readonly outcome: string
  readonly reason?: string
  readonly object?: string
  readonly details?: { readonly commit?: string; readonly follows?: string }
}

test('a key whose creation was recorded before a crash and not committed is not listed', {
  timeout: 60_000,
}, async () => {
  using site = createSite()
  const options = {
    name: 'home',
    databaseUrl: `sqlite:${join(site.folder, 'kms.db')}`,
    env: { KMS_AUDIT_FAILURE_MODE: 'reject' },
  }
  const folder = join(site.folder, 'home', 'audit', 'kms')
  const records = (): readonly Record[] =>
    (existsSync(folder) ? readdirSync(folder) : [])
      .filter((name) => name.endsWith('.jsonl'))
      .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n'))
      .filter((line) => line.endsWith('}'))
      .map((line) => JSON.parse(line) as Record)
      .filter(({ operation }) => operation === 'crypto.keys.create')
  const key = { kty: 'oct', alg: 'A256GCM' }

  let service = await site.start(options)
  const { json } = await service.user('alice').post('/v1/crypto/keys', key)
  // Another writer locks the file: a prepared change is not committed before the service is killed.
  const other = new DatabaseSync(join(site.folder, 'kms.db'))
  other.exec('BEGIN IMMEDIATE')
  const lost = service
    .user('alice')
    .post('/v1/crypto/keys', key)
    .catch(() => undefined)
  while (records().length < 2) await new Promise((resolve) => setTimeout(resolve, 20))
  await service.kill()
  other.exec('ROLLBACK')
  other.close()
  await lost

  service = await site.start(options)
  const [made, announced, corrected, ...more] = records()
  assert.deepEqual([made?.object, made?.outcome, more.length], [json.kid, 'success', 0])
  assert.deepEqual(
    [announced?.outcome, corrected?.outcome, corrected?.reason, corrected?.details?.follows],
    ['success', 'failure', 'not_committed', 'uncommitted'],
  )
  assert.deepEqual(
    [corrected?.object, corrected?.details?.commit],
    [announced?.object, announced?.details?.commit],
  )
  const alice = service.user('alice')
  assert.equal((await alice.get(`/v1/crypto/keys/${made?.object}`)).status, 200)
  assert.equal((await alice.get(`/v1/crypto/keys/${announced?.object}`)).status, 404)
  assert.equal(await service.stop(), 0)
  assert.equal((await verifyAudit(folder)).ok, true)
})
