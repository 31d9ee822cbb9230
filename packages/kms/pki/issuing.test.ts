import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync, randomBytes, X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { findAuthority, issue, openAuthority } from '@warder/authority'
import { UnitOfWork } from '@warder/keys'
import { generalName, lintCertificate, parseCertificate, readKeyIdentifier, validatePath } from '@warder/pki'
import { UniqueViolation } from '@warder/storage'
import type { Caller } from '../testing/client.ts'
import { startKms } from '../testing/start.ts'
import { makeAuthorities, outsider, toDer } from './testing/pki-scene.ts'

const day = 86_400_000
const path = '/v1/pki/authorities'

test('every profile is issued without a fault, with the addresses of its list and its responder', async () => {
  await using kms = await startKms({
    config: { kms_public_url: 'https://kms.example', pki_public_url: 'http://pki.example/' },
  })
  const alice = kms.user('alice')
  const { root, issuing, issue: ask } = await makeAuthorities(alice)
  const { csr } = await outsider('CN=www.acme.example', ['DNS:www.acme.example', 'IP:192.0.2.7'])
  for (const body of [
    { csr },
    { csr, profile: 'client' },
    { alg: 'ES256', profile: 'client', subject: 'CN=alice' },
    { alg: 'RS256', profile: 'code_signing', subject: 'CN=release, O=Acme' },
    { alg: 'EdDSA', profile: 'spiffe', names: ['spiffe://acme.example/billing'] },
    { alg: 'MLDSA44', profile: 'server', names: ['*.acme.example'] },
    { alg: 'ES384', names: ['a.acme.example'], subject: 'O=Acme, C=CH' },
  ]) {
    const made = await ask(body)
    assert.equal(made.status, 200, made.text)
    const der = toDer(made.json.certificate)
    assert.deepEqual(lintCertificate(der), [], JSON.stringify(body))
    const chain = [toDer(issuing.certificate)]
    const { validity, reason } = validatePath({
      certificate: der,
      anchors: [toDer(root.certificate)],
      others: chain,
      at: Date.now(),
    })
    assert.deepEqual([validity, reason], ['Valid', undefined])
    assert.ok(der.includes(`http://pki.example/public/certificates/${issuing.id}/crl`))
    assert.ok(der.includes('http://pki.example/ocsp'))
    const { serial, extensions } = parseCertificate(der)
    assert.deepEqual(
      [serial.length, Buffer.from(serial).toString('hex'), readKeyIdentifier(extensions)?.length],
      [17, made.json.serial, 20],
    )
    assert.equal(made.json.kid === undefined, 'csr' in body)
  }
  for (const { certificate } of [root, issuing]) assert.deepEqual(lintCertificate(toDer(certificate)), [])
})

test('ML-KEM, X25519 and SLH-DSA keys from outside get the usages of their standards', async () => {
  await using kms = await startKms()
  const { issue: ask } = await makeAuthorities(kms.user('alice'))
  for (const type of ['ml-kem-768', 'x25519', 'slh-dsa-sha2-128f', 'ml-dsa-65', 'ed448']) {
    const { publicKey } = generateKeyPairSync(type as 'ed448')
    const public_key = publicKey.export({ format: 'pem', type: 'spki' })
    const made = await ask({ public_key, names: ['kem.example'] })
    assert.equal(made.status, 200, made.text)
    const errors = lintCertificate(toDer(made.json.certificate)).filter(
      ({ rule }) => rule !== 'revocation_address',
    )
    assert.deepEqual(errors, [], type)
  }
})

test('a certificate request and a public key are accepted as DER in base64', async () => {
  await using kms = await startKms()
  const { issue: ask } = await makeAuthorities(kms.user('alice'))
  const { csr } = await outsider('CN=www.acme.example', ['DNS:www.acme.example'])
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const der = publicKey.export({ format: 'der', type: 'spki' })
  for (const body of [
    { csr: toDer(csr).toString('base64') },
    {
      csr: `${toDer(csr)
        .toString('base64')
        .match(/.{1,64}/g)
        ?.join('\n')}\n`,
    },
    { public_key: der.toString('base64'), names: ['www.acme.example'] },
  ]) {
    const made = await ask(body)
    assert.equal(made.status, 200, made.text)
    if ('public_key' in body) assert.ok(toDer(made.json.certificate).includes(der))
  }
  for (const text of ['AAAA', der.toString('base64url'), der.toString('base64').slice(0, 40)])
    assert.equal((await ask({ public_key: text, names: ['www.acme.example'] })).status, 400, text)
})

test('SLH-DSA and ML-KEM keys are created and certified; authorities sign with SLH-DSA', async () => {
  await using kms = await startKms()
  const alice = kms.user('alice')
  const root = await alice.post(path, { subject: 'CN=Root', alg: 'SLH-DSA-SHAKE-128f' })
  assert.equal(root.status, 200, root.text)
  for (const [alg, type] of [
    ['ML-KEM-768', 'ml-kem-768'],
    ['SLH-DSA-SHA2-128f', 'slh-dsa-sha2-128f'],
  ] as const) {
    const body = { subject: 'CN=device', alg, profile: 'client' }
    const { status, json, text } = await alice.post(`${path}/${root.json.id}/certificates`, body)
    assert.equal(status, 200, text)
    const certificate = new X509Certificate(json.certificate)
    assert.equal(certificate.publicKey.asymmetricKeyType, type)
    assert.ok(certificate.verify(new X509Certificate(root.json.certificate).publicKey))
    const own = await kms.services.keys.get(json.kid)
    assert.ok(own?.held.publicKey?.equals(certificate.publicKey))
  }
  for (const [body, status, sentence] of [
    [{ alg: 'ML-KEM-768' }, 422, /is not supported for signing certificates/],
    [{ alg: 'SLH-DSA-SHA2-128x' }, 422, /is not supported for signing certificates/],
    [{ alg: 'SLH-DSA-SHAKE-128f', bits: 256 }, 400, /bits: is only for RSA keys/],
  ] as const) {
    const refused = await alice.post(path, { subject: 'CN=Root', ...body })
    assert.equal(refused.status, status, refused.text)
    assert.match(refused.json.description, sentence)
  }
})

test('certificates that an authority may not issue are refused with the reason, and nothing is stored', async () => {
  await using kms = await startKms()
  const alice = kms.user('alice')
  const {
    root,
    issuing,
    issue: ask,
  } = await makeAuthorities(alice, {
    permitted_names: ['acme.example', '192.0.2.0/24'],
    excluded_names: ['secret.acme.example'],
    profiles: ['server', 'client'],
    max_days: 90,
  })
  const good = await outsider('CN=www.acme.example', ['DNS:www.acme.example'])
  const withoutSan = await outsider('CN=www.acme.example')
  const evil = await outsider('CN=www.evil.example', ['DNS:www.acme.example'])
  const weak = await outsider('', ['DNS:www.acme.example'], 'rsa', { modulusLength: 1024 })
  const tiny = await outsider('', ['DNS:www.acme.example'], 'ec', { namedCurve: 'secp192k1' })
  const exponent = await outsider('', ['DNS:www.acme.example'], 'rsa', {
    modulusLength: 2048,
    publicExponent: 3,
  })
  const signature = Buffer.from(toDer(good.csr))
  signature[signature.length - 1] = (signature.at(-1) ?? 0) ^ 1
  const badCsr = `-----BEGIN CERTIFICATE REQUEST-----\n${signature.toString('base64')}\n-----END CERTIFICATE REQUEST-----`
  const ownKey = createPublicKey(issuing.certificate).export({ format: 'pem', type: 'spki' })
  const rootKey = createPublicKey(root.certificate).export({ format: 'pem', type: 'spki' })
  const names = ['www.acme.example']
  const before = (await alice.get(`${path}/${issuing.id}/certificates`)).json.length
  const owned = (await alice.get('/access/owned')).json.length
  for (const [body, status, sentence] of [
    [
      { csr: good.csr, names: ['www.evil.example'], subject: '' },
      400,
      /The name DNS:www\.evil\.example violates the name constraints of the authority, or of one above it/,
    ],
    [{ csr: good.csr, names: ['secret.acme.example'], subject: '' }, 400, /name constraints/],
    [{ csr: good.csr, names: ['*.acme.example'], subject: '' }, 400, /name constraints/],
    [{ csr: good.csr, names: ['198.51.100.1'], subject: '' }, 400, /name constraints/],
    [{ csr: good.csr, names: ['2001:db8::1'], subject: '' }, 400, /name constraints/],
    [{ csr: good.csr, names: ['*.*.acme.example'], subject: '' }, 400, /wildcard|name constraints/i],
    [{ csr: good.csr, names: ['DNS:192.0.2.1'], subject: '' }, 400, /name constraints|IP address/],
    [{ csr: good.csr, names: ['www.acme.example/x'], subject: '' }, 400, /name constraints|host name/],
    [{ csr: evil.csr }, 400, /common name of a server must be one of its alternative names|name constraints/],
    [{ csr: withoutSan.csr }, 400, /needs an alternative name|common name of a server/],
    [{ csr: good.csr, days: 91 }, 400, /at most 90 days/],
    [{ csr: good.csr, profile: 'code_signing' }, 400, /no certificates of this profile/],
    [{ csr: weak.csr }, 400, /2048/],
    [{ csr: tiny.csr }, 400, /curve|key/i],
    [{ csr: badCsr }, 400, /signature of the certificate request is wrong/],
    [{ csr: 'hello' }, 400, /certificate request/],
    [{ public_key: ownKey, names }, 400, /public key is that of an authority/],
    [{ public_key: rootKey, names }, 400, /public key is that of an authority/],
    [{ public_key: 'hello', names }, 400, /public_key/],
    [{ kid: issuing.kid, names }, 400, /public key is that of an authority/],
    [{ alg: 'ES256', csr: good.csr }, 400, /Exactly one/],
    [{ names }, 400, /Exactly one/],
    [{ alg: 'A256GCM', names }, 422, /not supported for signing/],
    [{ alg: 'ES256', names, subject: 'CN=a+O=b' }, 400, /distinguished name/],
    [{ alg: 'ES256', names: ['www.acme.example', 'spiffe://acme.example/a'] }, 400, /names of this kind/],
    [{ alg: 'ES256', names: ['a b.acme.example'] }, 400, /name constraints|host/],
    [{ alg: 'ES256', names: [] }, 400, /needs an alternative name/],
    [{ kid: 'nobody', names }, 404, /not found/i],
  ] as const) {
    const refused = await ask(body)
    assert.equal(refused.status, status, `${JSON.stringify(body).slice(0, 120)}: ${refused.text}`)
    assert.match(refused.json.description, sentence, JSON.stringify(body).slice(0, 120))
  }
  assert.equal(
    (await ask({ csr: exponent.csr })).status,
    200,
    'RSA with the exponent 3 is no fault of the standards',
  )
  assert.equal((await alice.get(`${path}/${issuing.id}/certificates`)).json.length, before + 1)
  assert.equal((await alice.get('/access/owned')).json.length, owned + 1, 'no key of a refused request stays')
})

test('an expired or revoked authority, and one on hold or without its key, issues nothing', async () => {
  let now = Date.UTC(2026, 5, 1)
  await using kms = await startKms({ clock: { now: () => now, monotonic: () => now } })
  const body = { alg: 'ES256', names: ['a.example'], days: 1 }
  const alice = (): Caller => kms.user('alice')
  const refused = async (issuer: string, sentence: RegExp, below: object = {}) => {
    for (const answer of [
      await alice().post(`${path}/${issuer}/certificates`, body),
      await alice().post(path, { subject: 'CN=X', alg: 'ES256', issuer, days: 1, ...below }),
    ]) {
      assert.equal(answer.status, 422, answer.text)
      assert.match(answer.json.description, sentence)
    }
  }
  const revoke = (id: string, reason: string) => alice().post(`/v1/pki/certificates/${id}/revoke`, { reason })
  const held = await makeAuthorities(alice(), { subject: 'CN=Held', path_length: 1 })
  await revoke(held.issuing.id, 'certificateHold')
  await refused(held.issuing.id, /is revoked/)
  await alice().post(`/v1/pki/certificates/${held.issuing.id}/release`, {})
  assert.equal((await held.issue(body)).status, 200)
  const below = (await alice().post(path, { subject: 'CN=Below', alg: 'ES256', issuer: held.issuing.id }))
    .json
  await revoke(held.issuing.id, 'cACompromise')
  await refused(held.issuing.id, /Compromised/)
  await refused(below.id, /above it, is revoked/)

  const short = await makeAuthorities(alice(), { subject: 'CN=Short', days: 2, path_length: 1 })
  const past = await short.issue({ ...body, days: 3 })
  assert.match(past.json.description, /after that of the authority, 2026-06-03T00:00:00.000Z/)
  now += 2 * day + 1000
  await refused(short.issuing.id, /not valid at present/)

  const keyless = await makeAuthorities(alice(), { subject: 'CN=Keyless', path_length: 1 })
  await alice().del(`/v1/crypto/keys/${keyless.issuing.kid}`)
  await refused(keyless.issuing.id, /no longer has the private key of the authority/)
})

test('the path lengths of all superior authorities apply', async () => {
  await using kms = await startKms()
  const alice = kms.user('alice')
  const make = (body: object) => alice.post(path, { alg: 'ES256', ...body })
  const root = (await make({ subject: 'CN=R', path_length: 2 })).json
  const one = (await make({ subject: 'CN=1', issuer: root.id })).json
  assert.equal((await alice.get(`${path}/${one.id}`)).json.path_length, 1)
  assert.match(
    (await make({ subject: 'CN=x', issuer: one.id, path_length: 1 })).json.description,
    /at most 0/,
  )
  const two = (await make({ subject: 'CN=2', issuer: one.id })).json
  assert.equal((await alice.get(`${path}/${two.id}`)).json.path_length, 0)
  const three = await make({ subject: 'CN=3', issuer: two.id })
  assert.deepEqual([three.status, /permits no authority below it/.test(three.json.description)], [400, true])
})

test('a serial number is used once, even by concurrent commits', async () => {
  await using kms = await startKms()
  const alice = kms.user('alice')
  const { issuing } = await makeAuthorities(alice)
  const { services } = kms
  const stored = await findAuthority(services.db, issuing.id)
  assert.ok(stored !== undefined)
  const serial = Buffer.concat([Buffer.from([0x41]), randomBytes(16)])
  const now = Date.now()
  const once = async () => {
    const objects = new UnitOfWork(services, now)
    const authority = await openAuthority(services, objects, stored, now)
    const { spki } = await outsider('CN=a')
    const wanted = {
      profile: 'server',
      subject: Buffer.from([0x30, 0]),
      spki,
      names: [generalName('DNS:a.example')],
      owner: 'alice',
      by: 'alice',
      isPossessionShown: true,
      serial,
    } as const
    await issue(services, objects, authority, { ...wanted, notBefore: now, notAfter: now + day }, now)
    await objects.commit(services.db.commit)
  }
  await once()
  await assert.rejects(once(), UniqueViolation)
})

test('users with the right to read get a certificate as JSON, PEM, DER and with its chain', async () => {
  await using kms = await startKms()
  const [alice, bob] = [kms.user('alice'), kms.user('bob')]
  const { root, issuing, issue: ask } = await makeAuthorities(alice)
  const made = (await ask({ alg: 'ES256', names: ['a.example'] })).json
  const get = (accept: string, who = alice) =>
    who.call('GET', `/v1/pki/certificates/${made.id}`, { headers: { accept } })
  const der = await get('application/pkix-cert')
  assert.deepEqual(
    [der.headers['content-type'], der.bytes],
    ['application/pkix-cert', toDer(made.certificate)],
  )
  assert.equal((await get('text/html, application/x-pem-file;q=0.9')).text, made.certificate)
  const preferred = await get(
    'application/json;q=0.1, application/x-pem-file;q=0, application/pkix-cert;q=0.5',
  )
  assert.deepEqual(preferred.bytes, der.bytes)
  assert.equal(
    (await get('application/pem-certificate-chain')).text,
    made.certificate + issuing.certificate + root.certificate,
  )
  assert.equal(made.chain, issuing.certificate + root.certificate)
  const { json } = await get('application/json')
  assert.deepEqual(
    [json.subject, json.names, json.profile, json.authority],
    ['', ['DNS:a.example'], 'server', issuing.id],
  )
  assert.equal((await get('*/*', bob)).status, 404)
  assert.equal((await bob.get(`${path}/${issuing.id}/certificates`)).status, 404)
  assert.deepEqual((await bob.get(path)).json, [])
  assert.equal(
    (await bob.post(`${path}/${issuing.id}/certificates`, { alg: 'ES256', names: ['a'] })).status,
    404,
  )
  const grant = (operation: string) =>
    alice.post('/access/grant', {
      unique_identifier: issuing.id,
      user_id: 'bob',
      operation_types: [operation],
    })
  await grant('certify')
  assert.equal(
    (await bob.post(`${path}/${issuing.id}/certificates`, { alg: 'ES256', names: ['b.example'] })).status,
    200,
  )
  assert.deepEqual(
    (await bob.get(path)).json.map(({ id }: { id: string }) => id),
    [issuing.id],
  )
  assert.equal((await bob.get(`${path}/${issuing.id}/certificates`)).status, 403)
  await grant('getattributes')
  assert.equal((await get('*/*', bob)).status, 200)
  for (const query of ['state=new', 'limit=0', 'limit=5000', 'after=x', 'expires_before=soon'])
    assert.equal((await alice.get(`${path}/${issuing.id}/certificates?${query}`)).status, 400, query)
  const { id } = (await alice.post('/v1/crypto/keys', { kty: 'EC', crv: 'P-256' })).json
  assert.equal((await alice.get(`${path}/${id}`)).status, 404)
})

test("the next page of an authority's certificates continues after the previous one", async () => {
  await using kms = await startKms()
  const alice = kms.user('alice')
  const { issuing, issue: ask } = await makeAuthorities(alice)
  for (const days of [3, 1, 2, 2, 5])
    await ask({ alg: 'ES256', names: ['a.example'], subject: `CN=for ${days}`, days })
  const seen: string[] = []
  let query = '?limit=2'
  for (;;) {
    const page = await alice.get(`${path}/${issuing.id}/certificates${query}`)
    seen.push(...page.json.map(({ subject }: { subject: string }) => subject))
    const next = page.headers['x-next-after']
    if (next === undefined) break
    query = `?limit=2&after=${encodeURIComponent(String(next))}`
  }
  assert.deepEqual(seen, [
    'CN=for 1',
    'CN=for 2',
    'CN=for 2',
    'CN=for 3',
    'CN=for 5',
    'CN=OCSP responder,O=Acme',
  ])
  const soon = new Date(Date.now() + 2.5 * day).toISOString()
  const ending = await alice.get(
    `${path}/${issuing.id}/certificates?expires_before=${encodeURIComponent(soon)}&subject=FOR&state=valid`,
  )
  assert.equal(ending.json.length, 3)
})

test('the list tells which certificates are renewed automatically, and begins with the valid ones if asked to', async () => {
  let now = Date.UTC(2026, 5, 1)
  await using kms = await startKms({ clock: { now: () => now, monotonic: () => now } })
  const alice = kms.user('alice')
  const { issuing, issue } = await makeAuthorities(alice)
  const make = async (name: string, days: number, renewal: object | undefined) => {
    const { status, text, json } = await issue({ alg: 'ES256', subject: `CN=${name}`, names: [name], days })
    assert.equal(status, 200, text)
    if (renewal === undefined) return
    const set = await alice.call('PUT', `/v1/pki/certificates/${json.id}/renewal`, { json: renewal })
    assert.equal(set.status, 200, set.text)
  }
  await make('a.example', 1, undefined)
  await make('b.example', 20, { automatic: true })
  await make('c.example', 30, { automatic: true, new_key: true })
  await make('d.example', 40, { automatic: false })
  const list = async (query: string) => {
    const found: string[] = []
    let after = ''
    do {
      // Of this time.
      const { status, text, json, headers } = await kms
        .user('alice')
        .get(`${path}/${issuing.id}/certificates?limit=1&${query}${after}`)
      assert.equal(status, 200, text)
      for (const { subject, profile, renews } of json)
        found.push(`${profile === 'ocsp_responder' ? profile : subject} ${renews}`)
      after = headers['x-next-after'] === undefined ? '' : `&after=${headers['x-next-after']}`
    } while (after !== '')
    return found.filter((line) => !line.startsWith('ocsp_responder'))
  }
  const all = ['CN=a.example false', 'CN=b.example true', 'CN=c.example true', 'CN=d.example false']
  assert.deepEqual(await list(''), all)
  assert.deepEqual(await list('state=valid'), all)
  now += 2 * day
  assert.deepEqual(await list(''), all)
  assert.deepEqual(await list('state=valid'), all.slice(1))
  assert.deepEqual(await list('state=expired'), all.slice(0, 1))
})
