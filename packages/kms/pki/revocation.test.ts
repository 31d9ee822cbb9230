import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crlIsSignedWith, parseCertificate, readCrl } from '@warder/pki'
import {
  createCertId,
  missingOpenssl,
  ocspRequest,
  opensslFolder,
  pem,
  readOcspResponse,
} from '@warder/pki/testing'
import { type Started, startKms } from '../testing/start.ts'
import { makeAuthorities, runSigning, toDer } from './testing/pki-scene.ts'

const day = 86_400_000
const crlPath = (id: string) => `/public/certificates/${id}/crl`
const leaf = (name: string) => ({ alg: 'ES256', names: [name], subject: `CN=${name}` })

async function fetchCrl(kms: Started, id: string) {
  const answer = await kms.with({}).get(crlPath(id))
  assert.equal(answer.status, 200, answer.text)
  return { ...answer, crl: readCrl(answer.bytes) }
}

test('the next CRL has a revocation with its reason and date, and a higher CRL number', async () => {
  let now = Date.UTC(2026, 5, 1)
  const clock = { now: () => now, monotonic: () => now }
  await using kms = await startKms({ clock })
  const alice = kms.user('alice')
  const { issuing, issue } = await makeAuthorities(alice)
  const [one, other] = [(await issue(leaf('a.example'))).json, (await issue(leaf('b.example'))).json]
  const first = await fetchCrl(kms, issuing.id)
  assert.deepEqual([first.crl.count, first.crl.number], [0, 1n])
  assert.ok(crlIsSignedWith(first.crl, parseCertificate(toDer(issuing.certificate)).key))
  assert.deepEqual(first.crl.authorityKeyIdentifier?.length, 20)

  now += 5000
  const body = { reason: 'keyCompromise', invalidity_date: '2026-05-30T00:00:00Z' }
  const revoked = await alice.post(`/v1/pki/certificates/${one.id}/revoke`, body)
  assert.equal(revoked.status, 200, revoked.text)
  assert.deepEqual(
    [revoked.json.state, revoked.json.reason, revoked.json.revoked_at, revoked.json.invalidity_date],
    ['revoked', 'keyCompromise', '2026-06-01T00:00:05Z', '2026-05-30T00:00:00Z'],
  )
  assert.equal((await alice.post(`/v1/pki/certificates/${other.id}/revoke`, {})).json.reason, 'unspecified')
  assert.equal((await fetchCrl(kms, issuing.id)).crl.count, 0, 'it is not signed by the request')
  now += 2000
  await runSigning(kms)
  const second = await fetchCrl(kms, issuing.id)
  const pastCache = await kms.with({}).get(`${crlPath(issuing.id)}?_=1764227158`)
  assert.deepEqual([pastCache.status, pastCache.bytes], [200, second.bytes])
  // Two revocations share one list, whose number is that of the second.
  assert.deepEqual([second.crl.count, second.crl.number], [2, 3n])
  const entry = second.crl.find(parseCertificate(toDer(one.certificate)).serial)
  assert.deepEqual(
    [entry?.reason, entry?.revokedAt, entry?.invalidityDate],
    ['keyCompromise', Date.UTC(2026, 5, 1, 0, 0, 5), Date.UTC(2026, 4, 30)],
  )
  assert.equal(second.crl.find(parseCertificate(toDer(other.certificate)).serial)?.reason, undefined)
  await runSigning(kms)
  assert.equal((await fetchCrl(kms, issuing.id)).crl.number, 3n, 'nothing is due')
})

test('CRLs and OCSP responses signed under a fast clock are signed again once the clock is right', async () => {
  const right = Date.UTC(2026, 5, 1)
  let now = right
  await using kms = await startKms({ clock: { now: () => now, monotonic: () => now } })
  const alice = kms.user('alice')
  const { issuing, issue } = await makeAuthorities(alice)
  const { id, certificate } = (await issue({ ...leaf('a.example'), days: 40 })).json
  await alice.post(`/v1/pki/certificates/${id}/revoke`, {})
  const { subject: name, spki } = parseCertificate(toDer(issuing.certificate))
  const question = ocspRequest([
    createCertId('sha1', { name, spki }, parseCertificate(toDer(certificate)).serial),
  ])
  const answered = async () => {
    const read = readOcspResponse((await kms.with({}).call('POST', '/ocsp', { bytes: question })).bytes)
    assert.ok(read.error === undefined)
    const [responder] = read.certificates.map(parseCertificate)
    assert.ok(responder !== undefined && responder.notBefore <= now)
    return read.answers[0]?.thisUpdate
  }

  now = right + 50 * day
  await runSigning(kms)
  const ahead = (await fetchCrl(kms, issuing.id)).crl
  assert.deepEqual([ahead.thisUpdate, await answered()], [now, now])
  // By less than the time for which answers are kept.
  now -= 60_000
  assert.equal(await answered(), now)

  now = right + day
  await runSigning(kms)
  const { crl } = await fetchCrl(kms, issuing.id)
  // The certificate, which seemed to be over, is told about again.
  assert.deepEqual([crl.thisUpdate, crl.count, await answered()], [now, 1, now])
  assert.ok((crl.number ?? 0n) > (ahead.number ?? 0n))
  await runSigning(kms)
  assert.equal((await fetchCrl(kms, issuing.id)).crl.number, crl.number, 'nothing is due')
})

test('the CRL is served with 304, HEAD and a max-age that ends before the CRL expires', async () => {
  let now = Date.UTC(2026, 5, 1)
  const clock = { now: () => now, monotonic: () => now }
  await using kms = await startKms({ clock, config: { crl_cache_seconds: 31_536_000 } })
  const { issuing } = await makeAuthorities(kms.user('alice'))
  const { headers, bytes, crl } = await fetchCrl(kms, issuing.id)
  assert.equal(headers['content-type'], 'application/pkix-crl')
  assert.equal(headers['content-disposition'], 'inline')
  assert.equal(headers['last-modified'], 'Mon, 01 Jun 2026 00:00:00 GMT')
  assert.equal(headers['cache-control'], `max-age=${7 * 86_400 - 60}, public, no-transform`)
  assert.equal(headers.expires, 'Sun, 07 Jun 2026 23:59:00 GMT')
  assert.equal(crl.nextUpdate, now + 7 * day)
  const anonymous = kms.with({})
  const ask = (sent: Record<string, string>, method = 'GET') =>
    anonymous.call(method, crlPath(issuing.id), { headers: sent })
  const etag = String(headers.etag)
  for (const sent of [
    { 'if-none-match': etag },
    { 'if-none-match': `"x", W/${etag}` },
    { 'if-none-match': '*' },
  ]) {
    const unchanged = await ask(sent)
    assert.deepEqual([unchanged.status, unchanged.bytes.length, unchanged.headers.etag], [304, 0, etag])
  }
  assert.equal((await ask({ 'if-modified-since': 'Mon, 01 Jun 2026 00:00:00 GMT' })).status, 304)
  assert.equal((await ask({ 'if-modified-since': 'Sun, 31 May 2026 23:59:59 GMT' })).status, 200)
  assert.equal(
    (await ask({ 'if-none-match': '"other"', 'if-modified-since': 'Mon, 01 Jun 2026 00:00:00 GMT' })).status,
    200,
  )
  const head = await ask({}, 'HEAD')
  assert.deepEqual(
    [head.status, head.headers['content-length'], head.bytes.length],
    [200, String(bytes.length), 0],
  )
  assert.equal((await anonymous.get(crlPath('nobody'))).status, 404)
  assert.equal((await ask({}, 'POST')).status, 405)

  now += 6 * day + 1
  await runSigning(kms)
  const next = await fetchCrl(kms, issuing.id)
  assert.deepEqual(
    [next.crl.number, next.crl.thisUpdate],
    [2n, Math.floor(now / 1000) * 1000],
    'by the schedule',
  )
  assert.notEqual(next.headers.etag, etag)
  const certificate = await anonymous.get(`/public/certificates/${issuing.id}/certificate`)
  assert.deepEqual(
    [certificate.headers['content-type'], certificate.bytes],
    ['application/pkix-cert', toDer(issuing.certificate)],
  )
})

test('a certificate on hold is released, or revoked permanently as of the hold', async () => {
  let now = Date.UTC(2026, 5, 1)
  await using kms = await startKms({ clock: { now: () => now, monotonic: () => now } })
  const { issuing, issue } = await makeAuthorities(kms.user('alice'))
  const { id, certificate } = (await issue(leaf('a.example'))).json
  const { serial } = parseCertificate(toDer(certificate))
  const post = (verb: string, json: object = {}) =>
    kms.user('alice').post(`/v1/pki/certificates/${id}/${verb}`, json)
  const listed = async () => {
    now += 2000
    await runSigning(kms)
    return (await fetchCrl(kms, issuing.id)).crl.find(serial)
  }
  assert.deepEqual([(await post('release')).status, (await post('release')).json.error], [409, 'conflict'])
  assert.equal((await post('revoke', { reason: 'certificateHold' })).json.state, 'hold')
  assert.equal((await post('revoke', { reason: 'certificateHold' })).status, 409)
  const held = await listed()
  assert.equal(held?.reason, 'certificateHold')
  assert.equal((await post('release')).json.state, 'valid')
  assert.equal(await listed(), undefined)
  await post('revoke', { reason: 'certificateHold' })
  const since = now
  now += day
  const final = await post('revoke', { reason: 'superseded' })
  assert.deepEqual(
    [final.json.state, final.json.revoked_at],
    ['revoked', new Date(since).toISOString().replace('.000', '')],
  )
  assert.deepEqual([(await listed())?.reason, (await post('release')).status], ['superseded', 409])
  const refused = await post('revoke', { reason: 'removeFromCRL' })
  assert.deepEqual([refused.status, refused.json.error], [400, 'bad_request'])
})

test('RFC 5280 §3.3: an entry is removed after one CRL that was signed after its certificate expired', async () => {
  let now = Date.UTC(2026, 5, 1)
  await using kms = await startKms({ clock: { now: () => now, monotonic: () => now } })
  const alice = kms.user('alice')
  const { issuing, issue } = await makeAuthorities(alice)
  const short = (await issue({ ...leaf('a.example'), days: 2 })).json
  await alice.post(`/v1/pki/certificates/${short.id}/revoke`, {})
  const counts: number[] = []
  for (const wait of [2000, 6 * day, 7 * day]) {
    now += wait
    await runSigning(kms)
    counts.push((await fetchCrl(kms, issuing.id)).crl.count)
  }
  assert.deepEqual(counts, [1, 1, 0])
})

test('the record of a revocation has the authority and the reason; callers without the right learn nothing', async () => {
  await using kms = await startKms()
  const [alice, bob] = [kms.user('alice'), kms.user('bob')]
  const { issuing, issue } = await makeAuthorities(alice)
  const { id } = (await issue(leaf('a.example'))).json
  const revoke = (who = alice) => who.post(`/v1/pki/certificates/${id}/revoke`, { reason: 'superseded' })
  assert.deepEqual([(await revoke(bob)).status, kms.audit.at(-1)?.outcome], [404, 'failure'])
  const grant = (object: string, operation: string) =>
    alice.post('/access/grant', { unique_identifier: object, user_id: 'bob', operation_types: [operation] })
  await grant(id, 'getattributes')
  assert.equal((await revoke(bob)).status, 403)
  assert.equal((await bob.get(`/v1/pki/certificates/${id}`)).json.state, 'valid')
  // A user with the right on the authority has it on the certificates that it issued.
  await grant(issuing.id, 'revoke')
  assert.equal((await revoke(bob)).status, 200)
  const { operation, object, outcome, details } = kms.audit.at(-1) ?? {}
  assert.deepEqual(
    [operation, object, outcome, details],
    [
      'pki.certificates.revoke',
      id,
      'success',
      { authority: issuing.id, subject: 'CN=a.example', reason: 'superseded' },
    ],
  )
  for (const path of [`/v1/pki/certificates/${issuing.id}x/revoke`, '/v1/pki/certificates/*/revoke'])
    assert.equal((await alice.post(path, {})).status, 404)
  const { kid } = (await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json
  assert.equal((await alice.post(`/v1/pki/certificates/${kid}/revoke`, {})).status, 404)
})

test('OpenSSL validates a chain with an intermediate against our CRLs', {
  skip: missingOpenssl,
}, async () => {
  await using kms = await startKms()
  const alice = kms.user('alice')
  const { root, issuing, issue } = await makeAuthorities(alice)
  const [good, bad] = [(await issue(leaf('good.example'))).json, (await issue(leaf('bad.example'))).json]
  await alice.post(`/v1/pki/certificates/${bad.id}/revoke`, { reason: 'keyCompromise' })
  await runSigning(kms)
  using folder = opensslFolder()
  folder.write('root.pem', root.certificate)
  folder.write('issuing.pem', issuing.certificate)
  const crls = [await fetchCrl(kms, root.id), await fetchCrl(kms, issuing.id)]
  folder.write('crls.pem', crls.map(({ bytes }) => pem('X509 CRL', bytes)).join(''))
  folder.write('good.pem', good.certificate)
  folder.write('bad.pem', bad.certificate)
  const words = [
    'verify',
    '-x509_strict',
    '-crl_check_all',
    '-CAfile',
    'root.pem',
    '-untrusted',
    'issuing.pem',
    '-CRLfile',
    'crls.pem',
  ]
  assert.match(folder.run(...words, 'good.pem').text, /good\.pem: OK/)
  assert.match(folder.run(...words, 'bad.pem').text, /certificate revoked/)
  await alice.post(`/v1/pki/certificates/${issuing.id}/revoke`, { reason: 'cACompromise' })
  await runSigning(kms)
  folder.write(
    'crls.pem',
    [await fetchCrl(kms, root.id), crls[1] ?? assert.fail()]
      .map(({ bytes }) => pem('X509 CRL', bytes))
      .join(''),
  )
  assert.match(folder.run(...words, 'good.pem').text, /certificate revoked/)
})
