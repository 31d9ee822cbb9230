import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, before, test } from 'node:test'
import { type Answer, grant, outsider } from '@warder/kms/testing'
import { type AcmeClient, base } from './testing/client.ts'
import { accountKey, externalBinding, signed } from './testing/signer.ts'
import { type StartedAcme, startAcme } from './testing/start.ts'

let acme: StartedAcme
let alice: AcmeClient
let mallory: AcmeClient
before(async () => {
  acme = await startAcme()
  ;[alice, mallory] = [await acme.account(), await acme.account()]
})
after(() => acme[Symbol.asyncDispose]())

/** A refusal as RFC 8555 §6.7 wants it, with a nonce for the next try. */
function refused(answer: Answer, status: number, type: string): void {
  assert.equal(answer.status, status, answer.text)
  assert.equal(answer.headers['content-type'], 'application/problem+json')
  assert.equal(answer.json.type, `urn:ietf:params:acme:error:${type}`, answer.text)
  assert.equal(typeof answer.json.detail, 'string')
  assert.match(String(answer.headers['replay-nonce']), /^[\w-]{43}$/)
}

const identifiers = [{ type: 'dns', value: 'localhost' }]
const pemToUrl = (pem: string) =>
  Buffer.from(pem.replaceAll(/-----[A-Z ]+-----|\s/g, ''), 'base64').toString('base64url')
const createCsr = async (names: readonly string[], subject = '') =>
  pemToUrl((await outsider(subject, names)).csr)

test('a request that is sent twice is refused, and so is a nonce that is forged or absent', async () => {
  const url = alice.url('new-order')
  const nonce = await alice.nonce()
  const body = signed(alice.key, { nonce, url, kid: alice.kid }, { identifiers })
  assert.equal((await alice.send(url, body)).status, 201)
  refused(await alice.send(url, body), 400, 'badNonce')
  const at = (header: object) => alice.post(url, { identifiers }, header)
  refused(await at({ nonce: 'AAAA' }), 400, 'badNonce')
  refused(await at({ nonce: undefined }), 400, 'badNonce')
  const fresh = await alice.nonce()
  refused(await at({ nonce: `${fresh.slice(0, -1)}${fresh.endsWith('A') ? 'E' : 'A'}` }), 400, 'badNonce')
  refused(await at({ nonce: 7 }), 400, 'malformed')
})

test('a wrong signature does not use the nonce up', async () => {
  const url = alice.url('new-order')
  const nonce = await alice.nonce()
  const forged = signed(mallory.key, { nonce, url, kid: alice.kid }, { identifiers })
  refused(await alice.send(url, forged), 403, 'unauthorized')
  assert.equal((await alice.post(url, { identifiers }, { nonce })).status, 201)
})

test('an old nonce is refused', async () => {
  let now = Date.now()
  await using later = await startAcme({ kms: { clock: { now: () => now, monotonic: () => now } } })
  const client = later.client()
  const nonce = await client.nonce()
  now += 3_600_001
  const url = client.url('new-account')
  const body = signed(client.key, { nonce, url, jwk: client.key.jwk }, { onlyReturnExisting: true })
  refused(await client.send(url, body), 400, 'badNonce')
})

test('a request is for the address that its header names', async () => {
  const url = alice.url('new-order')
  for (const other of [
    alice.url('new-account'),
    `${url}/`,
    `${url}?x=1`,
    url.replace('https:', 'http:'),
    url.replace('localhost', 'evil.example'),
    url.slice(base.length),
  ])
    refused(await alice.post(url, { identifiers }, { url: other }), 403, 'unauthorized')
  refused(await alice.post(url, { identifiers }, { url: undefined }), 403, 'unauthorized')
  const { issuing, root } = acme.authorities
  const elsewhere = url.replace(issuing.id, root.id)
  refused(await alice.post(elsewhere, { identifiers }), 404, 'malformed')
})

test('none and MACs do not sign, nor does an algorithm of another kind of key', async () => {
  const url = alice.url('new-order')
  for (const alg of ['none', 'HS256', 'HS512', 'RS256', 'ES384', 'es256', '']) {
    const answer = await alice.post(url, { identifiers }, { alg })
    refused(answer, 400, 'badSignatureAlgorithm')
    assert.ok(Array.isArray(answer.json.algorithms))
  }
  refused(await alice.post(url, { identifiers }, { alg: undefined }), 400, 'badSignatureAlgorithm')
  // The public key of the account as the secret of a MAC (CVE-2015-9235).
  const nonce = await alice.nonce()
  const header = { alg: 'HS256', nonce, url, kid: alice.kid }
  const texts = [header, { identifiers }].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  )
  const mac = createHmac('sha256', JSON.stringify(alice.key.jwk)).update(texts.join('.')).digest('base64url')
  const [protectedText = '', payload = ''] = texts
  refused(
    await alice.send(url, { protected: protectedText, payload, signature: mac }),
    400,
    'badSignatureAlgorithm',
  )
})

test('an account is named by its address here, and signs with its own key', async () => {
  const url = alice.url('new-order')
  const order = { identifiers }
  refused(await alice.post(url, order, { kid: mallory.kid }), 403, 'unauthorized')
  for (const kid of [
    `${alice.kid}x`,
    String(alice.kid).replace('localhost', 'evil.example'),
    String(alice.kid).slice(base.length),
    'x',
    '',
  ])
    refused(await alice.post(url, order, { kid }), 400, 'accountDoesNotExist')
  refused(await alice.post(url, order, { kid: 7 }), 400, 'malformed')
  const { jwk } = alice.key
  refused(await alice.post(url, order, { jwk }), 400, 'malformed')
  refused(await alice.post(url, order, { kid: undefined, jwk }), 400, 'malformed')
  refused(await alice.post(url, order, { kid: undefined }), 400, 'malformed')
  refused(await alice.post(alice.url('new-account'), {}), 400, 'malformed')
})

test('what is another account’s is not there', async () => {
  const order = await alice.post(alice.url('new-order'), { identifiers })
  const address = String(order.headers.location)
  const [authorization] = order.json.authorizations
  const { challenges } = (await alice.post(authorization, '')).json
  for (const url of [address, authorization, challenges[0].url])
    refused(await mallory.post(url, ''), 404, 'malformed')
  refused(await mallory.post(challenges[0].url, {}), 404, 'malformed')
  refused(await mallory.post(authorization, { status: 'deactivated' }), 404, 'malformed')
  refused(
    await mallory.post(`${address}/finalize`, { csr: await createCsr(['DNS:localhost']) }),
    404,
    'malformed',
  )
  refused(await mallory.post(`${alice.kid}`, { status: 'deactivated' }), 403, 'unauthorized')
  refused(await mallory.post(`${alice.kid}/orders`, ''), 403, 'unauthorized')
  const ready = await acme.readyOrder(alice)
  await acme.certificate(alice, ready)
  const { certificate } = (await alice.post(ready, '')).json
  refused(await mallory.post(certificate, ''), 404, 'malformed')
})

test('an order is finished when everything is proved, once, for its names alone', async () => {
  const order = await alice.post(alice.url('new-order'), { identifiers })
  const finalize = `${order.headers.location}/finalize`
  const csr = await createCsr(['DNS:localhost'])
  refused(await alice.post(finalize, { csr }), 403, 'orderNotReady')
  const ready = `${await acme.readyOrder(alice)}/finalize`
  for (const [type, wrong] of [
    ['badCSR', await createCsr(['DNS:localhost', 'DNS:other.example'])],
    ['badCSR', await createCsr(['DNS:other.example'])],
    ['badCSR', await createCsr(['DNS:*.localhost'])],
    ['badCSR', await createCsr([], 'CN=other')],
    ['badCSR', await createCsr(['DNS:localhost'], 'CN=other.example')],
    ['badCSR', await createCsr(['DNS:localhost', 'URI:https://localhost/'])],
    ['badCSR', `${csr.slice(0, -4)}AAAA`],
    ['badCSR', 'AAAA'],
    ['malformed', `${csr}=`],
    ['malformed', 7],
    ['badCSR', pemToUrl((await outsider('', ['DNS:localhost'], 'rsa', { modulusLength: 1024 })).csr)],
  ] as const)
    refused(await alice.post(ready, { csr: wrong }), 400, type)
  assert.equal((await alice.post(ready, { csr })).status, 200, 'a refused CSR leaves the order ready')
  refused(await alice.post(ready, { csr }), 403, 'orderNotReady')
})

test('the key of the account is not certified', async () => {
  const { issueRequest, certificateSigner, nameFromParts, subjectAltName, generalName } = await import(
    '@warder/pki'
  )
  const { createPublicKey } = await import('node:crypto')
  const ready = `${await acme.readyOrder(alice)}/finalize`
  const { privateKey } = alice.key
  const spki = createPublicKey(privateKey).export({ format: 'der', type: 'spki' })
  const extensions = [subjectAltName([generalName('DNS:localhost')])]
  const csr = await issueRequest(
    { subject: nameFromParts([]), spki, extensions },
    certificateSigner(privateKey, spki),
  )
  refused(await alice.post(ready, { csr: csr.toString('base64url') }), 400, 'badPublicKey')
})

test('a challenge that is answered wrongly makes the order invalid, and nothing of the answer is told', async () => {
  const order = await alice.post(alice.url('new-order'), { identifiers })
  const { challenges } = (await alice.post(order.json.authorizations[0], '')).json
  const http = challenges.find((each: { type: string }) => each.type === 'http-01')
  acme.host.answers.set(http.token, `${http.token}.${mallory.key.thumbprint} secret`)
  const answered = await alice.post(http.url, {})
  assert.equal(answered.json.status, 'invalid')
  assert.equal(answered.json.error.type, 'urn:ietf:params:acme:error:incorrectResponse')
  assert.doesNotMatch(answered.text, /secret/)
  const after = await alice.post(String(order.headers.location), '')
  assert.deepEqual([after.json.status, after.json.error.status], ['invalid', 403])
  acme.host.answers.set(http.token, `${http.token}.${alice.key.thumbprint}`)
  assert.equal((await alice.post(http.url, {})).json.status, 'invalid', 'what is decided stays')
})

test('challenges do not lead into private networks, neither by the name nor by a redirect', async () => {
  await using guarded = await startAcme({ config: { acme_allow_private_networks: false } })
  const client = await guarded.account()
  for (const value of ['localhost', '127.0.0.1', '::1', '10.0.0.1', '169.254.169.254']) {
    const type = value === 'localhost' ? 'dns' : 'ip'
    const order = await client.post(client.url('new-order'), { identifiers: [{ type, value }] })
    assert.equal(order.status, 201, order.text)
    for (const kind of ['http-01', 'tls-alpn-01']) {
      const next = await client.post(client.url('new-order'), { identifiers: [{ type, value }] })
      const { challenges } = (await client.post(next.json.authorizations[0], '')).json
      const challenge = challenges.find((each: { type: string }) => each.type === kind)
      const answered = await client.post(challenge.url, {})
      assert.equal(answered.json.error.type, 'urn:ietf:params:acme:error:connection', answered.text)
      assert.match(answered.json.error.detail, /not public/)
      assert.doesNotMatch(answered.json.error.detail, value === 'localhost' ? /127\.0/ : /never/)
    }
  }
  assert.deepEqual(guarded.host.asked, [])
})

test('a redirect to another port is not followed', async () => {
  const order = await alice.post(alice.url('new-order'), { identifiers })
  const { challenges } = (await alice.post(order.json.authorizations[0], '')).json
  const http = challenges.find((each: { type: string }) => each.type === 'http-01')
  acme.host.redirect = `http://localhost:${acme.kms.port}/`
  const answered = await alice.post(http.url, {})
  acme.host.redirect = undefined
  assert.equal(answered.json.error.type, 'urn:ietf:params:acme:error:connection')
})

test('bodies that are no JWS are refused, whatever they are', async () => {
  const url = alice.url('new-order')
  const good = signed(alice.key, { nonce: await alice.nonce(), url, kid: alice.kid }, { identifiers })
  const header = (value: unknown) => ({
    ...good,
    protected: Buffer.from(JSON.stringify(value)).toString('base64url'),
  })
  for (const body of [
    '',
    'null',
    '[]',
    '{}',
    '{"protected":1,"payload":"","signature":""}',
    JSON.stringify({ ...good, header: { kid: 'x' } }),
    JSON.stringify({ payload: good.payload, signatures: [good] }),
    JSON.stringify({ ...good, protected: `${good.protected}=` }),
    JSON.stringify({ ...good, signature: `${good.signature}\n` }),
    JSON.stringify(good).replace('{', '{"payload":"",'),
    header([]),
    header({ alg: 'ES256', crit: ['b64'], b64: false, url, kid: alice.kid }),
    header('x'),
  ])
    refused(await alice.send(url, body), 400, 'malformed')
  for (const type of ['application/json', 'text/plain', 'application/jose'])
    refused(await alice.send(url, good, type), 415, 'malformed')
})

test('a large body is refused before it is looked at', async () => {
  const url = alice.url('new-order')
  refused(await alice.send(url, 'x'.repeat(65_537)), 413, 'malformed')
  const many = Array.from({ length: 101 }, (_, index) => ({ type: 'dns', value: `a${index}.example` }))
  refused(await alice.post(url, { identifiers: many }), 400, 'malformed')
})

test('identifiers that are no names, or of another type, are refused', async () => {
  const url = alice.url('new-order')
  const one = (type: unknown, value: unknown) => alice.post(url, { identifiers: [{ type, value }] })
  for (const value of [
    '',
    '.',
    'a..b',
    '-a.example',
    'a_b.example',
    '*.*.example',
    'a.*.example',
    '*',
    'ä.example',
    'a.example.',
    '127.0.0.1',
    'a b',
    'a\u0000.example',
    `${'a'.repeat(64)}.example`,
    'x'.repeat(300),
    7,
  ])
    refused(await one('dns', value), 400, 'malformed')
  for (const value of ['1', '1.2.3', '::ffff:1.2.3.4', '0:0:0:0:0:0:0:1', 'fe80::1%eth0', '[::1]'])
    refused(await one('ip', value), 400, 'malformed')
  refused(await one('email', 'a@example.com'), 400, 'unsupportedIdentifier')
  refused(await alice.post(url, { identifiers: [] }), 400, 'malformed')
  refused(await alice.post(url, {}), 400, 'malformed')
  refused(await alice.post(url, ''), 400, 'malformed')
  refused(await alice.post(url, { identifiers, notAfter: 'tomorrow' }), 400, 'malformed')
})

test('an account needs a credential of this authority, which serves once', async () => {
  refused(await acme.client().register(), 403, 'externalAccountRequired')
  const credential = await acme.credential()
  const client = acme.client()
  const url = client.url('new-account')
  const bind = async (binding: unknown, key = client.key) => {
    const header = { nonce: await client.nonce(), url, jwk: key.jwk }
    return client.send(url, signed(key, header, { externalAccountBinding: binding }))
  }
  const { jwk } = client.key
  const wrongKey = { ...credential, hmac_key: Buffer.alloc(32).toString('base64url') }
  refused(await bind(externalBinding(wrongKey, jwk, url)), 403, 'unauthorized')
  refused(await bind(externalBinding({ ...credential, kid: 'x' }, jwk, url)), 403, 'unauthorized')
  refused(await bind(externalBinding(credential, accountKey().jwk, url)), 400, 'malformed')
  refused(await bind(externalBinding(credential, jwk, `${url}x`)), 400, 'malformed')
  refused(await bind(externalBinding(credential, jwk, url, { alg: 'none' })), 400, 'badSignatureAlgorithm')
  refused(await bind(externalBinding(credential, jwk, url, { alg: 'ES256' })), 400, 'badSignatureAlgorithm')
  refused(await bind(externalBinding(credential, jwk, url, { nonce: 'x' })), 400, 'malformed')
  refused(await bind('x'), 400, 'malformed')
  assert.equal((await bind(externalBinding(credential, jwk, url))).status, 201)
  assert.equal(
    (await bind(externalBinding(credential, jwk, url))).status,
    200,
    'the account is there already',
  )
  const second = accountKey()
  refused(await bind(externalBinding(credential, second.jwk, url), second), 403, 'unauthorized')
})

test('one credential binds one account, also when it is used twice at once', async () => {
  const credential = await acme.credential()
  const clients = Array.from({ length: 4 }, () => acme.client())
  const answers = await Promise.all(clients.map((client) => client.register(credential)))
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [201, 403, 403, 403])
})

test('keys that are weak, private or none are refused', async () => {
  const client = acme.client()
  const url = client.url('new-account')
  const post = async (jwk: unknown) =>
    client.send(url, signed(client.key, { nonce: await client.nonce(), url, jwk }, {}))
  const { generateKeyPairSync } = await import('node:crypto')
  const weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' })
  refused(await post(weak), 400, 'badPublicKey')
  refused(await post(client.key.privateKey.export({ format: 'jwk' })), 400, 'badPublicKey')
  refused(await post({ kty: 'oct', k: 'AAAA' }), 400, 'badPublicKey')
  refused(await post({ kty: 'EC', crv: 'P-256', x: 'AAAA', y: 'AAAA' }), 400, 'badPublicKey')
  refused(await post('x'), 400, 'malformed')
})

test('a certificate is revoked by its account, by its own key, by who controls its names, and by nobody else', async () => {
  const issue = async () => {
    const order = await acme.readyOrder(alice)
    const made = await outsider('CN=localhost', ['DNS:localhost'])
    const finalized = await alice.post(`${order}/finalize`, { csr: pemToUrl(made.csr) })
    const pem = (await alice.post(finalized.json.certificate, '')).text
    const [leaf = ''] = pem.split(/(?<=-----END CERTIFICATE-----\n)/)
    return { certificate: pemToUrl(leaf), made }
  }
  const { certificate, made } = await issue()
  const url = alice.url('revoke-cert')
  refused(await mallory.post(url, { certificate }), 403, 'unauthorized')
  const byKey = async (key: typeof alice.key, payload: object) =>
    alice.send(url, signed(key, { nonce: await alice.nonce(), url, jwk: key.jwk }, payload))
  refused(await byKey(accountKey(), { certificate }), 403, 'unauthorized')
  refused(await byKey(mallory.key, { certificate }), 403, 'unauthorized')
  refused(await alice.post(url, { certificate, reason: 2 }), 400, 'badRevocationReason')
  refused(await alice.post(url, { certificate, reason: '1' }), 400, 'badRevocationReason')
  refused(await alice.post(url, { certificate: 'AAAA' }), 400, 'malformed')
  refused(await alice.post(url, {}), 400, 'malformed')
  const foreign = pemToUrl(acme.authorities.root.certificate)
  refused(await alice.post(url, { certificate: foreign }), 404, 'malformed')
  const own = {
    ...accountKey(),
    privateKey: made.privateKey,
    jwk: (await import('node:crypto')).createPublicKey(made.privateKey).export({ format: 'jwk' }) as never,
  }
  assert.equal((await byKey(own, { certificate, reason: 1 })).status, 200)
  refused(await alice.post(url, { certificate }), 400, 'alreadyRevoked')
  const second = await issue()
  await acme.readyOrder(mallory)
  assert.equal((await mallory.post(url, { certificate: second.certificate })).status, 200)
})

test('an account that was deactivated, or whose access was taken, does nothing', async () => {
  const { issuing } = acme.authorities
  const one = await acme.account()
  assert.equal((await one.post(String(one.kid), { status: 'deactivated' })).json.status, 'deactivated')
  refused(await one.post(one.url('new-order'), { identifiers }), 403, 'unauthorized')
  refused(await one.register(), 403, 'unauthorized')
  const two = await acme.account()
  const id = String(two.kid).split('/').at(-1)
  const owner = acme.kms.user('alice')
  const path = `/v1/pki/authorities/${issuing.id}/acme/accounts/${id}`
  assert.equal((await acme.kms.user('mallory').del(path)).status, 404)
  assert.equal((await owner.del(path)).status, 204)
  refused(await two.post(two.url('new-order'), { identifiers }), 403, 'unauthorized')
})

test('an account acts for a user, whose rights count with every order', async () => {
  const { issuing } = acme.authorities
  const [owner, bob] = [acme.kms.user('alice'), acme.kms.user('bob')]
  const path = `/v1/pki/authorities/${issuing.id}/acme`
  assert.equal((await bob.post(`${path}/credentials`, {})).status, 404)
  await grant(owner, issuing.id, 'bob', 'certify')
  const credential = await bob.post(`${path}/credentials`, {})
  assert.equal(credential.status, 201)
  assert.equal((await bob.call('PUT', path, { json: {} })).status, 403)
  assert.equal((await bob.get(`${path}/accounts`)).status, 403)
  const client = acme.client()
  assert.equal((await client.register(credential.json)).status, 201)
  const order = await acme.readyOrder(client)
  const pem = await acme.certificate(client, order)
  assert.ok(pem.includes('BEGIN CERTIFICATE'))
  const pending = await acme.readyOrder(client)
  const right = { unique_identifier: issuing.id, user_id: 'bob', operation_types: ['certify'] }
  assert.equal((await owner.post('/access/revoke', right)).status, 200)
  refused(await client.post(client.url('new-order'), { identifiers }), 403, 'unauthorized')
  refused(
    await client.post(`${pending}/finalize`, { csr: await createCsr(['DNS:localhost']) }),
    403,
    'unauthorized',
  )
})

test('the key of an account changes where both keys have signed', async () => {
  const one = await acme.account()
  const next = accountKey('ed25519')
  const url = one.url('key-change')
  const inner = (changes: object = {}, header: object = {}, key = next) =>
    signed(key, { url, jwk: next.jwk, ...header }, { account: one.kid, oldKey: one.key.jwk, ...changes })
  refused(await one.post(url, inner({}, {}, { ...accountKey('ed25519') })), 403, 'unauthorized')
  refused(await one.post(url, inner({ account: mallory.kid })), 400, 'malformed')
  refused(await one.post(url, inner({ oldKey: mallory.key.jwk })), 400, 'malformed')
  refused(await one.post(url, inner({}, { url: one.url('new-order') })), 400, 'malformed')
  refused(await one.post(url, inner({}, { nonce: 'x' })), 400, 'malformed')
  refused(await one.post(url, { ...inner(), signature: '' }), 403, 'unauthorized')
  const taken = await one.post(
    url,
    signed(mallory.key, { url, jwk: mallory.key.jwk }, { account: one.kid, oldKey: one.key.jwk }),
  )
  refused(taken, 409, 'malformed')
  assert.equal(taken.headers.location, mallory.kid)
  assert.equal((await one.post(url, inner())).status, 200)
  refused(await one.post(one.url('new-order'), { identifiers }), 400, 'badSignatureAlgorithm')
  const header = { nonce: await one.nonce(), url: one.url('new-order'), kid: one.kid }
  assert.equal((await one.send(one.url('new-order'), signed(next, header, { identifiers }))).status, 201)
})

test('a kid with U+0000 is malformed, of an account and of an external account', async () => {
  const url = alice.url('new-order')
  for (const kid of ['%00', 'a%00b', '%ED%A0%80', '\0', '\ud800']) {
    const named = url.replace('new-order', `account/${kid}`)
    const answer = await alice.send(
      url,
      signed(alice.key, { nonce: await alice.nonce(), url, kid: named }, { identifiers }),
    )
    assert.ok(answer.status >= 400 && answer.status < 500, `${JSON.stringify(kid)}: ${answer.text}`)
  }
  const account = alice.url('new-account')
  const hmac_key = Buffer.alloc(32).toString('base64url')
  for (const kid of ['\0', 'a\0', '\ud800']) {
    const key = accountKey()
    const externalAccountBinding = externalBinding({ kid, hmac_key }, key.jwk, account)
    const payload = { termsOfServiceAgreed: true, externalAccountBinding }
    const body = signed(key, { nonce: await alice.nonce(), url: account, jwk: key.jwk }, payload)
    const answer = await alice.send(account, body)
    assert.ok(answer.status >= 400 && answer.status < 500, `${JSON.stringify(kid)}: ${answer.text}`)
  }
})
