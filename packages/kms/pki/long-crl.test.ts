import assert from 'node:assert/strict'
import { test } from 'node:test'
import { issuerId } from '@warder/authority'
import { crlIsSignedWith, parseCertificate, readCrl } from '@warder/pki'
import { query } from '@warder/storage'
import { bothEngines } from '../testing/engines.ts'
import { startKms } from '../testing/start.ts'
import { makeAuthorities, runSigning, toDer } from './testing/pki-scene.ts'

const day = 86_400_000

/** Many certificates at once, every tenth revoked. */
const fill = query<readonly (string | number)[], unknown>(
  `INSERT INTO pki_issued (id, issuer, authority_id, certificate_id, owner, profile, subject, fingerprint, not_before,
     not_after, issued_at, revoked_at, reason, invalidity_at, changed_at, crl_number, version)
   WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
   SELECT ? || '.41' || (10000000 + n), ?, ?, NULL, 'alice', 'server', 'CN=x', '', ?, ?, ?,
     CASE WHEN n % 10 = 0 THEN CAST(? AS BIGINT) + n ELSE NULL END, CASE WHEN n % 10 = 0 THEN 'superseded' ELSE NULL END, NULL, ?, NULL, 1
   FROM numbers`,
)

for (const engine of await bothEngines()) {
  test(`a CRL that a thread builds contains every revoked certificate once, on ${engine.name}`, {
    skip: engine.skip,
    timeout: 60_000,
  }, async () => {
    const db = await engine.open(await engine.url())
    await using kms = await startKms({ db })
    const alice = kms.user('alice')
    const { issuing, issue } = await makeAuthorities(alice)
    const { subject, spki, key } = parseCertificate(toDer(issuing.certificate))
    const issuer = issuerId({ name: subject, spki })
    const count = 60_000
    const at = Math.floor(Date.now() / 1000) * 1000
    const row = [count, issuer, issuer, issuing.id, at, at + day, at, at - day, at]
    await db.commit([{ query: fill, params: row }])
    const { id } = (await issue({ alg: 'ES256', names: ['a.example'] })).json
    await alice.post(`/v1/pki/certificates/${id}/revoke`, {})
    const turns: number[] = []
    let last = performance.now()
    const ticking = setInterval(() => {
      turns.push(performance.now() - last)
      last = performance.now()
    }, 5)
    await runSigning(kms)
    clearInterval(ticking)
    const answer = await kms.with({}).get(`/public/certificates/${issuing.id}/crl`)
    const crl = readCrl(answer.bytes)
    assert.equal(crl.count, count / 10 + 1)
    assert.ok(crlIsSignedWith(crl, key))
    const serials = new Set([...crl.entries()].map(({ serial }) => Buffer.from(serial).toString('hex')))
    assert.equal(serials.size, crl.count)
    assert.ok(serials.has(`41${10_000_000 + count}`))
    assert.equal(crl.find(Buffer.from(`41${10_000_010}`, 'hex'))?.reason, 'superseded')
    assert.ok(turns.length > 3, 'the event loop went on')
  })
}
