import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ocspErrorResponse, parseCertificate } from '@warder/pki'
import { createCertId, ocspRequest, readOcspResponse } from '@warder/pki/testing'
import { createTokenBuckets } from '@warder/server'
import fc from 'fast-check'
import { startKms } from '../testing/start.ts'
import { certificatePem, toPem } from './pem.ts'
import { makeAuthorities, outsider, toDer } from './testing/pki-scene.ts'

/** Bytes with some of them changed, left out, or followed by others. */
function damaged(good: Buffer): fc.Arbitrary<Buffer> {
  const at = fc.nat(good.length - 1)
  return fc.oneof(
    fc.tuple(at, fc.integer({ min: 1, max: 255 })).map(([place, flip]) => {
      const bytes = Buffer.from(good)
      bytes[place] = (bytes[place] ?? 0) ^ flip
      return bytes
    }),
    at.map((place) => good.subarray(0, place)),
    fc.tuple(at, at).map(([one, other]) => Buffer.concat([good.subarray(0, one), good.subarray(other)])),
    // Lengths that promise more than there is, at any level.
    at.map((place) =>
      Buffer.concat([good.subarray(0, place), Buffer.from('84ffffffff', 'hex'), good.subarray(place)]),
    ),
    fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  )
}

test('property: a damaged certificate request is refused with a clear error, unless its signed part is intact', async () => {
  await using kms = await startKms()
  const { issue } = await makeAuthorities(kms.user('alice'))
  const good = toDer((await outsider('CN=www.acme.example', ['DNS:www.acme.example'])).csr)
  await fc.assert(
    fc.asyncProperty(damaged(good), async (bytes) => {
      const answer = await issue({ csr: toPem('CERTIFICATE REQUEST', bytes) })
      assert.ok([400, 422].includes(answer.status) || bytes.equals(good), answer.text)
    }),
    { numRuns: 150 },
  )
})

test('property: a damaged certificate or public key is refused with a clear error', async () => {
  await using kms = await startKms()
  const alice = kms.user('alice')
  const { root, issuing, issue } = await makeAuthorities(alice)
  const certificate = toDer(issuing.certificate)
  const { spki } = await outsider('CN=a')
  await fc.assert(
    fc.asyncProperty(damaged(certificate), damaged(spki), async (bytes, key) => {
      const body = { certificate: certificatePem(bytes) + root.certificate, kid: issuing.kid }
      const imported = await alice.post('/v1/pki/authorities', body)
      assert.ok([400, 422].includes(imported.status) || bytes.equals(certificate), imported.text)
      const issued = await issue({ public_key: toPem('PUBLIC KEY', key), names: ['a.example'] })
      assert.ok([200, 400, 422].includes(issued.status), issued.text)
    }),
    { numRuns: 80 },
  )
})

test('property: the responder answers any request with an OCSP response', async () => {
  await using kms = await startKms()
  const { issuing, issue } = await makeAuthorities(kms.user('alice'))
  const made = (await issue({ alg: 'ES256', names: ['a.example'] })).json
  const { subject: name, spki } = parseCertificate(toDer(issuing.certificate))
  const { serial } = parseCertificate(toDer(made.certificate))
  const good = ocspRequest([createCertId('sha1', { name, spki }, serial)], Buffer.alloc(8, 1))
  const anonymous = kms.with({})
  await fc.assert(
    fc.asyncProperty(damaged(good), async (bytes) => {
      const posted = await anonymous.call('POST', '/ocsp', {
        bytes,
        headers: { 'content-type': 'application/ocsp-request' },
      })
      const asked =
        bytes.length === 0
          ? posted
          : await anonymous.get(`/ocsp/${encodeURIComponent(bytes.toString('base64'))}`)
      for (const { status, headers, bytes: answer } of [posted, asked]) {
        assert.deepEqual([status, headers['content-type']], [200, 'application/ocsp-response'])
        readOcspResponse(answer)
      }
    }),
    { numRuns: 200 },
  )
  const deep = Buffer.concat([...Array(2000).fill(Buffer.from('3080', 'hex'))])
  for (const bytes of [deep, Buffer.alloc(60_000, 0x30)])
    assert.deepEqual(
      (await anonymous.call('POST', '/ocsp', { bytes })).bytes,
      ocspErrorResponse('malformedRequest'),
    )
  assert.equal((await anonymous.call('POST', '/ocsp', { bytes: Buffer.alloc(65_537) })).status, 413)
})

test('members of requests are validated before anything is created', async () => {
  await using kms = await startKms()
  const alice = kms.user('alice')
  const { issuing, issue } = await makeAuthorities(alice)
  const owned = async () => (await alice.get('/access/owned')).json.length
  const before = await owned()
  const make = (body: object) => alice.post('/v1/pki/authorities', body)
  const subject = 'CN=x'
  for (const body of [
    {},
    { subject },
    { alg: 'ES256' },
    { subject: '', alg: 'ES256' },
    { subject, alg: 'PS256' },
    { subject, alg: 'HS256' },
    { subject, alg: '__proto__' },
    { subject, alg: 'ES256', bits: 2048, kid: issuing.kid },
    { subject, alg: 'ES256', days: 0 },
    { subject, alg: 'ES256', days: 1e9 },
    { subject, alg: 'ES256', path_length: 33 },
    { subject, alg: 'ES256', permitted_names: [''] },
    { subject, alg: 'ES256', permitted_names: ['IP:192.0.2.0/64'] },
    { subject, alg: 'ES256', profiles: [] },
    { subject, alg: 'ES256', profiles: ['everything'] },
    { subject, alg: 'ES256', issuer: issuing.id },
    { subject: `C=Switzerland`, alg: 'ES256' },
    { certificate: issuing.certificate },
    { certificate: 'x', kid: issuing.kid },
    { certificate: issuing.certificate.repeat(12), kid: issuing.kid },
    { certificate: issuing.certificate, kid: issuing.kid, subject },
  ]) {
    const { status, json, text } = await make(body)
    assert.ok(status === 400 || status === 422, `${JSON.stringify(body).slice(0, 80)}: ${text}`)
    assert.ok(typeof json.description === 'string' && json.description.length > 10)
  }
  assert.equal((await make({ subject, alg: 'ES256', issuer: 'nobody' })).status, 404)
  assert.equal((await issue({ alg: 'ES256', names: Array(101).fill('a.example') })).status, 400)
  assert.equal((await issue({ alg: 'ES256', names: ['a.example'], days: -1 })).status, 400)
  assert.equal(await owned(), before)
})

test('public requests count against the rate limit', async () => {
  const rateLimiter = createTokenBuckets({
    ratePerSecond: 1,
    burst: 5,
    slots: 16,
    clock: { now: Date.now, monotonic: () => 0 },
  })
  await using kms = await startKms({ server: { rateLimiter } })
  const statuses = []
  for (const path of [
    '/ocsp/AAAA',
    '/public/certificates/x/crl',
    '/public/certificates/x/certificate',
    '/ocsp/AAAA',
    '/ocsp/AAAA',
    '/ocsp/AAAA',
  ])
    statuses.push((await kms.with({}).get(path)).status)
  assert.deepEqual(statuses, [200, 404, 404, 200, 200, 429])
})
