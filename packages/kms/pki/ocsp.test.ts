import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CertId, lintCertificate, ocspErrorResponse, parseCertificate } from '@warder/pki'
import {
  type CertIdHash,
  createCertId,
  missingOpenssl,
  ocspRequest,
  ocspVerdict,
  opensslFolder,
  readOcspResponse,
} from '@warder/pki/testing'
import type { Answer } from '../testing/client.ts'
import { type Started, startKms } from '../testing/start.ts'
import { makeAuthorities, runSigning, toDer } from './testing/pki-scene.ts'

interface Pem {
  readonly certificate: string
}

const minute = 60_000
const leaf = (name: string) => ({ alg: 'ES256', names: [name], subject: `CN=${name}` })
const parsed = ({ certificate }: Pem) => parseCertificate(toDer(certificate))
const namesOf = (issuer: Pem) => ({ name: parsed(issuer).subject, spki: parsed(issuer).spki })
const idOf = (issuer: Pem, certificate: Pem, hash: CertIdHash = 'sha1'): CertId =>
  createCertId(hash, namesOf(issuer), parsed(certificate).serial)

const post = (kms: Started, request: Uint8Array, path = '/ocsp') =>
  kms.with({}).call('POST', path, { bytes: request, headers: { 'content-type': 'application/ocsp-request' } })
const postWithSlash = (kms: Started, request: Uint8Array) => post(kms, request, '/ocsp/')
const get = (kms: Started, request: Uint8Array, headers: Record<string, string> = {}) =>
  kms
    .with({})
    .call('GET', `/ocsp/${encodeURIComponent(Buffer.from(request).toString('base64'))}`, { headers })

const getPastCache = (kms: Started, request: Uint8Array) =>
  kms.with({}).get(`/ocsp/${encodeURIComponent(Buffer.from(request).toString('base64'))}?_=1764227158`)

function response({ status, headers, bytes }: Answer) {
  assert.equal(status, 200)
  assert.equal(headers['content-type'], 'application/ocsp-response')
  const read = readOcspResponse(bytes)
  if (read.error !== undefined) assert.fail(read.error)
  return read
}

/** Status of a certificate in an answer, checked as a relying party does. */
function told(answer: Answer, issuer: Pem, certificate: Pem, at: number, nonce?: Uint8Array) {
  const question = { issuer: parsed(issuer), certificate: parsed(certificate), at }
  const verdict = ocspVerdict(response(answer), { ...question, ...(nonce !== undefined && { nonce }) })
  assert.equal(verdict.problem, undefined)
  return verdict.status
}

/** A service whose time stands still, and how many answers its responders have signed. */
async function world(config: object = {}) {
  const time = { now: Date.UTC(2026, 5, 1) }
  const kms = await startKms({ clock: { now: () => time.now, monotonic: () => time.now }, config })
  const made = await makeAuthorities(kms.user('alice'))
  const one = (await made.issue(leaf('a.example'))).json
  const other = (await made.issue(leaf('b.example'))).json
  return {
    kms,
    time,
    ...made,
    one,
    other,
    revoke: (id: string, json: object = {}) =>
      kms.user('alice').post(`/v1/pki/certificates/${id}/revoke`, json),
    [Symbol.asyncDispose]: () => kms[Symbol.asyncDispose](),
  }
}

test('good, revoked and unknown, over GET and POST, by every hash of a CertID', async () => {
  await using all = await world()
  const { kms, time, issuing, one, other, revoke } = all
  const stranger = { certificate: issuing.certificate }
  const revoked = (await revoke(other.id, { reason: 'keyCompromise' })).json
  assert.equal(revoked.state, 'revoked')
  for (const hash of ['sha1', 'sha256', 'sha384', 'sha512'] as const)
    for (const ask of [get, getPastCache, post, postWithSlash]) {
      const about = (certificate: Pem) => ask(kms, ocspRequest([idOf(issuing, certificate, hash)]))
      assert.deepEqual(told(await about(one), issuing, one, time.now), { kind: 'good' })
      assert.deepEqual(told(await about(other), issuing, other, time.now), {
        kind: 'revoked',
        reason: 'keyCompromise',
        revokedAt: time.now,
      })
      // The authority's own certificate is one of the root's: this issuer does not know it.
      assert.deepEqual(told(await about(stranger), issuing, stranger, time.now), { kind: 'unknown' })
    }
})

test('the next OCSP request sees a revocation, a hold and a release', async () => {
  await using all = await world()
  const { kms, time, issuing, one, revoke } = all
  const ask = async () =>
    told(await get(kms, ocspRequest([idOf(issuing, one)])), issuing, one, time.now)?.kind
  assert.equal(await ask(), 'good')
  await revoke(one.id, { reason: 'certificateHold' })
  assert.equal(await ask(), 'revoked')
  await kms.user('alice').post(`/v1/pki/certificates/${one.id}/release`, {})
  assert.equal(await ask(), 'good')
  await revoke(one.id, { reason: 'superseded' })
  assert.equal(await ask(), 'revoked')
})

test('RFC 6960 §A.1: base64 in the path is read in every form that clients send', async () => {
  await using all = await world()
  const { kms, issuing, one } = all
  const id = idOf(issuing, one, 'sha512')
  // Nonces until the text has each of the characters that are written in several ways.
  let text = ''
  for (let byte = 0; !/\/.*\+|\+.*\//.test(text) || !text.endsWith('='); byte += 1)
    text = ocspRequest([id], Buffer.alloc(1 + (byte % 32), byte)).toString('base64')
  const forms = [
    text,
    encodeURIComponent(text),
    text.replaceAll('/', '%2f').replaceAll('+', '%2b'),
    text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', ''),
    text.replaceAll('=', ''),
    text.replaceAll('+', '%20'),
    `${text.replaceAll('=', '%3D')}`,
  ]
  for (const form of forms) {
    const answer = await kms.with({}).get(`/ocsp/${form}`)
    assert.equal(response(answer).answers.length, 1, form)
  }
  const doubled = await kms.with({}).get(`/ocsp/${text.slice(0, 8)}//${text.slice(8)}`)
  assert.deepEqual([doubled.status, doubled.bytes], [200, ocspErrorResponse('malformedRequest')])
})

test('an OCSP response is reused until the status changes or half of its validity has passed', async () => {
  await using all = await world({ ocsp_validity_seconds: 600 })
  const { kms, time, issuing, one, revoke } = all
  const request = ocspRequest([idOf(issuing, one)])
  const first = await get(kms, request)
  const { headers } = first
  assert.equal(headers['cache-control'], 'max-age=600, public, no-transform, must-revalidate')
  assert.equal(headers['last-modified'], 'Mon, 01 Jun 2026 00:00:00 GMT')
  assert.equal(headers.expires, 'Mon, 01 Jun 2026 00:10:00 GMT')
  assert.match(String(headers.etag), /^"[0-9a-f]{40}"$/)
  time.now += 4 * minute
  const later = await get(kms, request)
  assert.deepEqual(later.bytes, first.bytes)
  assert.equal(later.headers['cache-control'], 'max-age=360, public, no-transform, must-revalidate')
  assert.deepEqual((await post(kms, request)).bytes, first.bytes)
  const unchanged = await get(kms, request, { 'if-none-match': String(headers.etag) })
  assert.deepEqual([unchanged.status, unchanged.bytes.length], [304, 0])
  time.now += minute
  assert.notDeepEqual((await get(kms, request)).bytes, first.bytes)
  await revoke(one.id)
  const [answer] = response(await get(kms, request)).answers
  assert.equal(answer?.status.kind, 'revoked')
  const [fresh] = response(first).answers
  assert.equal((fresh?.nextUpdate ?? 0) - (fresh?.thisUpdate ?? 0), 10 * minute)
})

test('a nonce of 1 to 32 bytes is repeated, and such a response is not cached', async () => {
  await using all = await world()
  const { kms, time, issuing, one } = all
  for (const length of [1, 16, 32]) {
    const nonce = Buffer.alloc(length, length)
    const answer = await post(kms, ocspRequest([idOf(issuing, one)], nonce))
    assert.deepEqual(Buffer.from(response(answer).nonce ?? []), nonce)
    assert.deepEqual(told(answer, issuing, one, time.now, nonce), { kind: 'good' })
    assert.equal(answer.headers['cache-control'], 'no-store')
  }
  const good = ocspRequest([idOf(issuing, one)], Buffer.alloc(32, 7))
  for (const bad of [
    Buffer.from(good.toString('hex').replace(`0422${'0420'}`, '0421041f'), 'hex'),
    Buffer.from(good.toString('hex').replace('04220420', '04220421'), 'hex'),
  ])
    assert.deepEqual((await post(kms, bad)).bytes, ocspErrorResponse('malformedRequest'))
})

test('a request for several certificates of one issuer is answered; for two issuers it is refused', async () => {
  await using all = await world()
  const { kms, time, root, issuing, one, other, revoke } = all
  await revoke(other.id)
  const both = await post(kms, ocspRequest([idOf(issuing, one), idOf(issuing, other, 'sha256')]))
  assert.deepEqual(
    response(both).answers.map(({ status }) => status.kind),
    ['good', 'revoked'],
  )
  assert.deepEqual(told(both, issuing, one, time.now), { kind: 'good' })
  const mixed = await post(kms, ocspRequest([idOf(issuing, one), idOf(root, issuing)]))
  assert.deepEqual(mixed.bytes, ocspErrorResponse('unauthorized'))
  const { name } = namesOf(issuing)
  const many = Array.from({ length: 31 }, (_, index) =>
    createCertId(
      'sha1',
      { name: Buffer.concat([name, Buffer.from([index])]), spki: namesOf(root).spki },
      Buffer.from([1]),
    ),
  )
  const lookups = await post(kms, ocspRequest([idOf(issuing, one), ...many]))
  assert.deepEqual(lookups.bytes, ocspErrorResponse('unauthorized'))
  assert.deepEqual(told(await post(kms, ocspRequest([idOf(root, issuing)])), root, issuing, time.now), {
    kind: 'good',
  })
})

test('malformed requests and requests for other issuers get an OCSP error with status 200', async () => {
  await using all = await world()
  const { kms, root, issuing, one } = all
  const good = ocspRequest([idOf(issuing, one)])
  const malformed = ocspErrorResponse('malformedRequest')
  const type = 'application/ocsp-response'
  for (const bytes of [Buffer.alloc(0), Buffer.from([0x30]), Buffer.from('hello'), good.subarray(0, -1)]) {
    const answer = await post(kms, bytes)
    assert.deepEqual([answer.status, answer.headers['content-type'], answer.bytes], [200, type, malformed])
    assert.equal(answer.headers['cache-control'], 'no-store')
  }
  for (const path of ['x', 'AAAA', '%00', '%zz', '../ocsp', 'M%C3%A9', `${'A'.repeat(6000)}`]) {
    const answer = await kms.with({}).get(`/ocsp/${path}`)
    assert.deepEqual([answer.status, answer.bytes], [200, malformed], path)
  }
  const unknownIssuer = { name: namesOf(root).name, spki: namesOf(issuing).spki }
  const foreign = await post(kms, ocspRequest([createCertId('sha256', unknownIssuer, Buffer.from([1]))]))
  assert.deepEqual([foreign.status, foreign.bytes], [200, ocspErrorResponse('unauthorized')])
})

test("the responder's certificate is for OCSP only, has no revocation check, and is renewed before it expires", async () => {
  await using all = await world()
  const { kms, time, issuing, one } = all
  const request = ocspRequest([idOf(issuing, one)])
  const responderIn = async () => {
    const [der, another] = response(await get(kms, request)).certificates
    assert.ok(der !== undefined)
    assert.equal(another, undefined)
    return der
  }
  const first = await responderIn()
  assert.deepEqual(lintCertificate(first), [])
  const { notBefore, notAfter } = parseCertificate(first)
  assert.ok(notAfter - notBefore < 15 * 24 * 60 * minute)
  time.now += 8 * 24 * 60 * minute
  await runSigning(kms)
  const second = await responderIn()
  assert.notDeepEqual(second, first)
  assert.deepEqual(told(await get(kms, request), issuing, one, time.now), { kind: 'good' })
  // How PKCS#8 of a P-256 key begins: the key of the responder is sealed.
  const clear = Buffer.from('308187020100301306072a8648ce3d020106082a8648ce3d030107046d', 'hex')
  assert.ok(!(await kms.storedBytes()).includes(clear))
})

test('a setting makes the authority itself the responder', async () => {
  await using all = await world({ ocsp_signer: 'authority' })
  const { kms, time, issuing, one } = all
  const answer = await get(kms, ocspRequest([idOf(issuing, one)]))
  assert.deepEqual(response(answer).certificates, [])
  assert.deepEqual(told(answer, issuing, one, time.now), { kind: 'good' })
})

test('a flood of new requests causes only the permitted number of signatures, and cached responses are still served', async () => {
  await using all = await world({ ocsp_max_signatures_per_second: 5 })
  const { kms, time, issuing, one } = all
  const known = ocspRequest([idOf(issuing, one)])
  assert.deepEqual(told(await get(kms, known), issuing, one, time.now), { kind: 'good' })
  const unknown = (number: number) =>
    post(kms, ocspRequest([createCertId('sha1', namesOf(issuing), Buffer.from([number]))]))
  const answers = []
  for (let number = 1; number <= 20; number += 1) answers.push((await unknown(number)).bytes)
  const refused = answers.filter((bytes) => bytes.equals(ocspErrorResponse('tryLater')))
  // Four of five signatures in a second are for such questions.
  assert.equal(refused.length, 16)
  assert.deepEqual(told(await get(kms, known), issuing, one, time.now), { kind: 'good' })
  time.now += 1000
  const nonces = await Promise.all(
    Array.from({ length: 20 }, () => post(kms, ocspRequest([idOf(issuing, one)], Buffer.from('a nonce')))),
  )
  const signed = nonces.filter(({ bytes }) => !bytes.equals(ocspErrorResponse('tryLater')))
  assert.equal(signed.length, 4)
  await all.revoke(one.id)
  assert.equal(told(await get(kms, known), issuing, one, time.now).kind, 'revoked')
  time.now += 1000
  assert.ok(!(await unknown(21)).bytes.equals(ocspErrorResponse('tryLater')))
})

test('OpenSSL verifies the response to its POST request', { skip: missingOpenssl }, async () => {
  await using kms = await startKms()
  const alice = kms.user('alice')
  const { root, issuing, issue } = await makeAuthorities(alice)
  const [good, bad] = [(await issue(leaf('good.example'))).json, (await issue(leaf('bad.example'))).json]
  await alice.post(`/v1/pki/certificates/${bad.id}/revoke`, { reason: 'keyCompromise' })
  using folder = opensslFolder()
  for (const [name, { certificate }] of Object.entries({ root, issuing, good, bad }))
    folder.write(`${name}.pem`, certificate)
  for (const [name, hash, expected] of [
    ['good', '-sha1', /good\.pem: good/],
    ['bad', '-sha256', /bad\.pem: revoked\s[\s\S]*Reason: keyCompromise/],
    ['none', '-sha512', /0x1234: unknown/],
  ] as const) {
    const files = [
      '-issuer',
      'issuing.pem',
      ...(name === 'none' ? ['-serial', '0x1234'] : ['-cert', `${name}.pem`]),
    ]
    const made = folder.run('ocsp', hash, ...files, '-reqout', 'request.der')
    folder.write('response.der', (await post(kms, made.file('request.der'))).bytes)
    const answered = ['-respin', 'response.der', '-CAfile', 'root.pem']
    // It compares the nonce, and without one it prints the status.
    const compared = folder.run('ocsp', '-reqin', 'request.der', ...answered, '-verify_other', 'issuing.pem')
    assert.doesNotMatch(compared.text, /Nonce Verify error|Response Verify Failure/)
    const checked = folder.run('ocsp', hash, '-no_nonce', ...files, ...answered)
    assert.match(checked.text, /Response verify OK/, checked.text)
    assert.match(checked.text, expected)
  }
})
