import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { kmsService } from '@warder/kms'
import { outsider } from '@warder/kms/testing'
import { readCertificate, readCertificateExtensions, readKeyIdentifier } from '@warder/pki'
import type { AcmeClient } from './testing/client.ts'
import { dnsHost } from './testing/dns-host.ts'
import { signed } from './testing/signer.ts'
import { type StartedAcme, startAcme } from './testing/start.ts'
import { tlsHost } from './testing/tls-host.ts'

const day = 86_400_000
const clockAt = (time: { now: number }) => ({ now: () => time.now, monotonic: () => time.now })
const certificatesIn = (pem: string) =>
  pem.split(/(?<=-----END CERTIFICATE-----\n)/).map((each) => new X509Certificate(each))
const relations = (header: unknown): Record<string, string[]> => {
  const found: Record<string, string[]> = {}
  for (const [, url = '', rel = ''] of String(header).matchAll(/<([^>]+)>;rel="([^"]+)"/g))
    found[rel] = [...(found[rel] ?? []), url]
  return found
}

/** An authorization for a name, and its challenge of a type. */
async function challengeFor(client: AcmeClient, identifier: object, type: string) {
  const order = await client.post(client.url('new-order'), { identifiers: [identifier] })
  assert.equal(order.status, 201, order.text)
  const authorization = await client.post(order.json.authorizations[0], '')
  const challenge = authorization.json.challenges.find((each: { type: string }) => each.type === type)
  return { order, authorization, challenge }
}

async function csrFor(names: readonly string[]): Promise<string> {
  const { csr } = await outsider('', names)
  return Buffer.from(csr.replaceAll(/-----[A-Z ]+-----|\s/g, ''), 'base64').toString('base64url')
}

test('tls-alpn-01 is answered with a certificate about the challenge, of a name or of an address', async () => {
  await using host = await tlsHost()
  await using acme = await startAcme({ config: { acme_tls_port: host.port } })
  const client = await acme.account()
  for (const [identifier, name, asked] of [
    [{ type: 'dns', value: 'localhost' }, 'DNS:localhost', 'localhost'],
    [{ type: 'ip', value: '127.0.0.1' }, 'IP:127.0.0.1', '1.0.0.127.in-addr.arpa'],
  ] as const) {
    const attempt = async (answer: (keyAuthorization: string) => Promise<void>) => {
      const { order, challenge } = await challengeFor(client, identifier, 'tls-alpn-01')
      await answer(`${challenge.token}.${client.key.thumbprint}`)
      const { json } = await client.post(challenge.url, {})
      return { json, order }
    }
    const good = await attempt((text) => host.answer(name, text))
    assert.equal(good.json.status, 'valid', JSON.stringify(good.json))
    assert.equal(host.asked.at(-1), asked)
    const finalize = `${good.order.headers.location}/finalize`
    const issued = await client.post(finalize, { csr: await csrFor([name]) })
    const [leaf] = certificatesIn((await client.post(issued.json.certificate, '')).text)
    assert.equal(leaf?.subjectAltName, name === 'IP:127.0.0.1' ? 'IP Address:127.0.0.1' : name)
    for (const wrong of [
      (text: string) => host.answer('DNS:other.test', text),
      (text: string) => host.answer(name, `${text}x`),
      (text: string) => host.answer(name, text, { critical: false }),
    ]) {
      const { json } = await attempt(wrong)
      assert.equal(json.error.type, 'urn:ietf:params:acme:error:incorrectResponse')
    }
  }
})

test('challenges are those that can prove the identifier', async () => {
  await using acme = await startAcme({ settings: { challenges: ['http-01', 'dns-01'] } })
  const client = await acme.account()
  const offered = async (identifier: object) => {
    const order = await client.post(client.url('new-order'), { identifiers: [identifier] })
    if (order.status !== 201) return order.json.type.split(':').at(-1)
    const { json } = await client.post(order.json.authorizations[0], '')
    return json.challenges.map(({ type }: { type: string }) => type)
  }
  assert.deepEqual(await offered({ type: 'dns', value: 'a.test' }), ['http-01', 'dns-01'])
  assert.deepEqual(await offered({ type: 'dns', value: '*.a.test' }), ['dns-01'])
  assert.deepEqual(await offered({ type: 'ip', value: '::1' }), ['http-01'])
  const path = `/v1/pki/authorities/${acme.authorities.issuing.id}/acme`
  await acme.kms.user('alice').call('PUT', path, { json: { challenges: ['http-01'] } })
  assert.equal(await offered({ type: 'dns', value: '*.a.test' }), 'rejectedIdentifier')
})

test('every answer has a nonce, and links to the directory; HEAD and GET give one', async () => {
  await using acme = await startAcme()
  const anonymous = acme.kms.with({})
  const path = `/acme/${acme.authorities.issuing.id}`
  for (const [method, status] of [
    ['GET', 204],
    ['HEAD', 200],
  ] as const) {
    const answer = await anonymous.call(method, `${path}/new-nonce`)
    assert.equal(answer.status, status)
    assert.match(String(answer.headers['replay-nonce']), /^[\w-]{43}$/)
    assert.equal(answer.headers['cache-control'], 'no-store')
    assert.deepEqual(relations(answer.headers.link).index, [`https://localhost${path}/directory`])
  }
  for (const [method, url, status] of [
    ['GET', `${path}/new-order`, 405],
    ['GET', `${path}/nothing`, 404],
    ['GET', '/acme/none/directory', 404],
    ['POST', `${path}/directory`, 405],
  ] as const) {
    const answer = await anonymous.call(method, url)
    assert.equal(answer.status, status, url)
    assert.equal(answer.headers['content-type'], 'application/problem+json')
  }
})

test('orders of an account are listed in pages', async () => {
  await using acme = await startAcme()
  const client = await acme.account()
  const made: string[] = []
  for (let index = 0; index < 101; index++) {
    const identifiers = [{ type: 'dns', value: `a${index}.test` }]
    const order = await client.post(client.url('new-order'), { identifiers })
    made.push(String(order.headers.location))
  }
  const first = await client.post(`${client.kid}/orders`, '')
  const [next = ''] = relations(first.headers.link).next ?? []
  const second = await client.post(next, '')
  assert.deepEqual([...first.json.orders, ...second.json.orders], made)
  assert.equal(first.json.orders.length, 100)
  assert.equal(relations(second.headers.link).next, undefined)
})

test('a certificate comes with its chain, and with the root where that is asked for', async () => {
  await using acme = await startAcme()
  const client = await acme.account()
  const order = await acme.readyOrder(client)
  await acme.certificate(client, order)
  const { certificate } = (await client.post(order, '')).json
  const usual = await client.post(certificate, '')
  assert.equal(usual.headers['content-type'], 'application/pem-certificate-chain')
  const subjects = (pem: string) => certificatesIn(pem).map(({ subject }) => subject.split('\n').at(-1))
  assert.deepEqual(subjects(usual.text), ['CN=localhost', 'CN=Issuing'])
  const [alternate = ''] = relations(usual.headers.link).alternate ?? []
  const whole = await client.post(alternate, '')
  assert.deepEqual(subjects(whole.text), ['CN=localhost', 'CN=Issuing', 'CN=Root'])
  assert.deepEqual(relations(whole.headers.link).alternate, [certificate])
  assert.equal((await client.post(`${certificate}/2`, '')).status, 404)
})

async function renewalInfo(acme: StartedAcme, pem: string) {
  const der = certificatesIn(pem)[0]?.raw ?? Buffer.alloc(0)
  const issuer = readKeyIdentifier(
    readCertificateExtensions(new X509Certificate(acme.authorities.issuing.certificate).raw),
  )
  const serial = readCertificate(der).serialNumber
  const id = [issuer, serial].map((part) => Buffer.from(part ?? []).toString('base64url')).join('.')
  const answer = await acme.kms.with({}).get(`/acme/${acme.authorities.issuing.id}/renewal-info/${id}`)
  return { id, answer, der }
}

test('renewal information: from two thirds of the life on, at once after a revocation (RFC 9773)', async () => {
  const time = { now: Date.UTC(2026, 5, 1) }
  await using acme = await startAcme({ kms: { clock: clockAt(time) }, settings: { days: 30 } })
  const client = await acme.account()
  const pem = await acme.certificate(client, await acme.readyOrder(client))
  const { id, answer, der } = await renewalInfo(acme, pem)
  assert.equal(answer.status, 200)
  assert.equal(answer.headers['retry-after'], '21600')
  const { start, end } = answer.json.suggestedWindow
  const begin = new X509Certificate(der).validFromDate.getTime()
  assert.equal(Date.parse(start), begin + 20 * day)
  assert.equal(Date.parse(end), begin + 22.5 * day)
  await client.post(client.url('revoke-cert'), { certificate: der.toString('base64url') })
  const after = (await renewalInfo(acme, pem)).answer.json.suggestedWindow
  assert.ok(Date.parse(after.end) < time.now)
  const anonymous = acme.kms.with({})
  for (const wrong of ['x', `${id}.`, `.${id.split('.')[1]}`, `${id}A`, id.replace('.', '')]) {
    const refused = await anonymous.get(`/acme/${acme.authorities.issuing.id}/renewal-info/${wrong}`)
    assert.equal(refused.status, 404, wrong)
  }
})

test('an order replaces a certificate of its account, once', async () => {
  await using acme = await startAcme()
  const [client, other] = [await acme.account(), await acme.account()]
  const pem = await acme.certificate(client, await acme.readyOrder(client))
  const { id } = await renewalInfo(acme, pem)
  const order = (by: AcmeClient, replaces: unknown) =>
    by.post(by.url('new-order'), { identifiers: [{ type: 'dns', value: 'localhost' }], replaces })
  assert.equal((await order(other, id)).status, 400)
  assert.equal((await order(client, 'x.y')).status, 400)
  assert.equal((await order(client, 7)).status, 400)
  const accepted = await order(client, id)
  assert.equal(accepted.status, 201)
  const again = await order(client, id)
  assert.deepEqual([again.status, again.json.type], [409, 'urn:ietf:params:acme:error:alreadyReplaced'])
  const authorization = await client.post(accepted.json.authorizations[0], '')
  const challenge = authorization.json.challenges.find(({ type }: { type: string }) => type === 'http-01')
  acme.host.answers.set(challenge.token, `${challenge.token}.${client.key.thumbprint}`)
  assert.equal((await client.post(challenge.url, {})).json.status, 'valid')
  await acme.certificate(client, String(accepted.headers.location))
  const path = `/v1/pki/authorities/${acme.authorities.issuing.id}/certificates?subject=localhost`
  const listed = (await acme.kms.user('alice').get(path)).json as { id: string; replaced_by?: string }[]
  const replaced = listed.filter(({ replaced_by }) => replaced_by !== undefined)
  assert.equal(replaced.length, 1)
  assert.ok(listed.some(({ id: each }) => each === replaced[0]?.replaced_by))
})

test('CAA records of names are asked where the directory says what the authority is called', async () => {
  await using dns = await dnsHost()
  await using acme = await startAcme({
    settings: { caa_identities: ['CA.example'] },
    config: { acme_dns_servers: [`127.0.0.1:${dns.port}`] },
  })
  const client = await acme.account()
  const meta = (await acme.kms.with({}).get(client.url('directory'))).json.meta
  assert.deepEqual(meta.caaIdentities, ['ca.example'])
  dns.caas.set('acme.test', [['issue', 'other.example']])
  const order = await acme.readyOrder(client, 'www.acme.test')
  const { csr } = await outsider('', ['DNS:www.acme.test'])
  const finalize = () =>
    client.post(`${order}/finalize`, {
      csr: Buffer.from(csr.replaceAll(/-----[A-Z ]+-----|\s/g, ''), 'base64').toString('base64url'),
    })
  const refused = await finalize()
  assert.deepEqual([refused.status, refused.json.type], [403, 'urn:ietf:params:acme:error:caa'])
  assert.match(refused.json.detail, /CAA records of acme\.test do not permit this authority/)
  dns.caas.set('www.acme.test', [['issue', 'ca.example; validationmethods=http-01']])
  const issued = await finalize()
  assert.equal(issued.status, 200, issued.text)
})

test('certificates are valid as long as the directory, the order and the authority say', async () => {
  const time = { now: Date.UTC(2026, 5, 1) }
  await using acme = await startAcme({ kms: { clock: clockAt(time) }, settings: { days: 30 } })
  const client = await acme.account()
  const within = async (dates: object) => {
    const identifiers = [{ type: 'dns', value: 'localhost' }]
    const order = await client.post(client.url('new-order'), { identifiers, ...dates })
    const { challenges } = (await client.post(order.json.authorizations[0], '')).json
    const http = challenges.find((each: { type: string }) => each.type === 'http-01')
    acme.host.answers.set(http.token, `${http.token}.${client.key.thumbprint}`)
    await client.post(http.url, {})
    return client.post(`${order.headers.location}/finalize`, { csr: await csrFor(['DNS:localhost']) })
  }
  const short = await within({ notAfter: new Date(time.now + day).toISOString() })
  assert.equal(short.status, 200, short.text)
  const [leaf] = certificatesIn((await client.post(short.json.certificate, '')).text)
  assert.equal(leaf?.validToDate.getTime(), time.now + day)
  const long = await within({ notAfter: new Date(time.now + 31 * day).toISOString() })
  assert.deepEqual([long.status, long.json.type], [400, 'urn:ietf:params:acme:error:malformed'])
  const past = await within({ notBefore: new Date(time.now - day).toISOString() })
  assert.equal(past.status, 400)
})

test('an authorization that is given back ends its order', async () => {
  await using acme = await startAcme()
  const client = await acme.account()
  const order = await acme.readyOrder(client)
  const [authorization] = (await client.post(order, '')).json.authorizations
  assert.equal((await client.post(authorization, { status: 'deactivated' })).json.status, 'deactivated')
  assert.equal((await client.post(order, '')).json.status, 'invalid')
  assert.equal((await client.post(authorization, { status: 'deactivated' })).status, 400)
  assert.equal((await client.post(authorization, { status: 'valid' })).status, 400)
})

test('contacts and terms of service', async () => {
  const termsOfService = 'https://example.com/terms'
  await using acme = await startAcme({ settings: { terms_of_service: termsOfService } })
  const client = acme.client()
  const credential = await acme.credential()
  const refused = await client.register(credential)
  assert.equal(refused.json.type, 'urn:ietf:params:acme:error:userActionRequired')
  const agreed = { termsOfServiceAgreed: true }
  for (const [contact, type] of [
    [['tel:1'], 'unsupportedContact'],
    [['mailto:x'], 'invalidContact'],
    [['mailto:a@b,c@d'], 'invalidContact'],
    [['mailto:a@b?cc=c@d'], 'invalidContact'],
    ['mailto:a@b', 'malformed'],
  ] as const) {
    const answer = await client.register(credential, { ...agreed, contact })
    assert.equal(answer.json.type, `urn:ietf:params:acme:error:${type}`)
  }
  const contact = ['mailto:a@example.com']
  assert.equal((await client.register(credential, { ...agreed, contact })).status, 201)
  assert.deepEqual((await client.post(String(client.kid), '')).json.contact, contact)
  const directory = await acme.kms.with({}).get(`/acme/${acme.authorities.issuing.id}/directory`)
  assert.equal(directory.json.meta.termsOfService, termsOfService)
})

test('an account that orders too often waits', async () => {
  await using acme = await startAcme({ settings: { orders_per_hour: 2 } })
  const client = await acme.account()
  const order = () =>
    client.post(client.url('new-order'), { identifiers: [{ type: 'dns', value: 'localhost' }] })
  assert.deepEqual([(await order()).status, (await order()).status], [201, 201])
  const third = await order()
  assert.deepEqual([third.status, third.json.type], [429, 'urn:ietf:params:acme:error:rateLimited'])
  assert.equal(third.headers['retry-after'], '600')
})

test('a directory without credentials gives its accounts to who opened it; a closed one is not there', async () => {
  await using acme = await startAcme({ settings: { external_account_required: false } })
  const client = acme.client()
  assert.equal((await client.register()).status, 201)
  const path = `/v1/pki/authorities/${acme.authorities.issuing.id}/acme`
  const alice = acme.kms.user('alice')
  const { accounts } = (await alice.get(`${path}/accounts`)).json
  assert.deepEqual([accounts.length, accounts[0].owner], [1, 'alice'])
  assert.equal((await acme.kms.user('bob').del(path)).status, 404)
  const kid = String(client.kid)
  const body = signed(client.key, { nonce: await client.nonce(), url: kid, kid }, '')
  assert.equal((await alice.del(path)).status, 204)
  assert.equal((await client.send(kid, body)).status, 404)
  assert.equal((await alice.get(path)).status, 404)
  assert.equal((await alice.call('PUT', path, { json: { days: 0 } })).status, 400)
})

test('credentials are listed without their keys, taken back, and end', async () => {
  const time = { now: Date.UTC(2026, 5, 1) }
  await using acme = await startAcme({ kms: { clock: clockAt(time) } })
  const alice = acme.kms.user('alice')
  const path = `/v1/pki/authorities/${acme.authorities.issuing.id}/acme/credentials`
  const [first, second] = [await acme.credential(), await acme.credential()]
  const listed = await alice.get(path)
  assert.deepEqual(
    listed.json.credentials.map(({ kid }: { kid: string }) => kid),
    [first.kid, second.kid],
  )
  assert.ok(!listed.text.includes(first.hmac_key))
  assert.equal((await alice.del(`${path}/${first.kid}`)).status, 204)
  assert.equal((await alice.del(`${path}/${first.kid}`)).status, 404)
  assert.equal((await acme.client().register(first)).status, 403)
  time.now += 7 * day + 1
  assert.equal((await acme.client().register(second)).status, 403)
  assert.ok(!(await acme.kms.storedBytes()).includes(Buffer.from(second.hmac_key, 'base64url')))
})

test('what is over is forgotten', async () => {
  const time = { now: Date.UTC(2026, 5, 1) }
  await using acme = await startAcme({ kms: { clock: clockAt(time) }, settings: { days: 1 } })
  const client = await acme.account()
  await acme.certificate(client, await acme.readyOrder(client))
  await acme.credential()
  time.now += 9 * day
  const job = kmsService.periodic.find(({ name }) => name.includes('nobody fetched'))
  await job?.run(acme.kms.environment)
  const { db } = acme.kms.environment
  const { query } = await import('@warder/storage')
  for (const [table, rows] of [
    ['acme_used_nonce', 0],
    ['acme_order', 0],
    ['acme_authorization', 0],
    ['acme_certificate', 0],
    ['acme_credential', 1],
    ['acme_account', 1],
  ] as const) {
    const found = await db.get(query<[], { n: number }>(`SELECT COUNT(*) AS n FROM ${table}`), [])
    assert.equal(Number(found?.n), rows, table)
  }
})

test('the audit log tells which account did what, in whose name', async () => {
  await using acme = await startAcme()
  const client = await acme.account()
  await acme.certificate(client, await acme.readyOrder(client))
  await client.post(client.url('new-order'), { identifiers: [] })
  const told = (operation: string) => acme.kms.audit.filter((event) => event.operation === operation)
  const [finalize] = told('acme.finalize')
  assert.deepEqual(
    [finalize?.principal, finalize?.auth_method, finalize?.outcome, finalize?.object],
    ['alice', 'acme', 'success', acme.authorities.issuing.id],
  )
  const details = finalize?.details as Record<string, string>
  assert.equal(details.acme_account, String(client.kid).split('/').at(-1))
  assert.match(String(details.serial), /^[0-9a-f]+$/)
  assert.deepEqual(
    told('acme.new_order').map(({ outcome }) => outcome),
    ['success', 'failure'],
  )
  assert.deepEqual(
    told('pki.acme.open').map(({ principal }) => principal),
    ['alice'],
  )
  assert.equal(told('acme.new_nonce').length, 0)
})
