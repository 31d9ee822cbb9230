import assert from 'node:assert/strict'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { runWarder, startInstallation, temporaryHome } from '../testing/installation.ts'
import { until } from '../testing/until.ts'

// After a kill without its write-ahead log the database was an old one, and destroyed keys worked.

test('a home whose database lost its write-ahead log is refused with what to do, and started when that is accepted', async (t) => {
  const home = temporaryHome()
  t.after(() => rmSync(home, { recursive: true }))
  const first = await startInstallation({ home })
  const authorization = `Bearer ${await first.adminToken()}`
  const kms = first.client('kms')
  const created = await kms.ask('/v1/crypto/keys', {
    json: { kty: 'oct', alg: 'HS256' },
    headers: { authorization },
  })
  const { kid } = created.json as { kid: string }
  // Everything so far is in the database file; what follows is in the write-ahead log alone.
  assert.equal(await first.stop(), 0)
  const second = await startInstallation({ home })
  const again = { authorization: `Bearer ${await second.adminToken()}` }
  const other = second.client('kms')
  const destroyed = await other.ask(`/v1/crypto/keys/${kid}`, { method: 'DELETE', headers: again })
  assert.equal(destroyed.status, 204)
  await until('the log knows of it', async () => {
    const { out } = await runWarder(['audit', 'export', '--home', home])
    return out.slice(out.lastIndexOf('crypto.keys')).includes('database.commits')
  })
  await second.kill()
  kms.close()
  other.close()
  rmSync(join(home, 'kms.db-wal'))

  const refused = await runWarder(['start', '--home', home])
  assert.equal(refused.code, 1)
  assert.match(refused.err, /kms\.db is older than its audit log.*destroyed keys may work.*--accept-rollback/)
  assert.ok(!readdirSync(home).includes('endpoints.json'))

  const accepted = await startInstallation({ home, args: ['--accept-rollback'] })
  assert.equal(await accepted.stop(), 0)
  const { out } = await runWarder(['audit', 'export', '--home', home])
  assert.match(out, /"state":"behind".*"operation":"database\.rollback_accepted"/)
  const later = await startInstallation({ home })
  assert.equal(await later.stop(), 0)
})
