import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { before, test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { Failure, systemClock } from '@warder/base'
import { readCertificate } from '@warder/pki'
import { createLogger } from '@warder/runtime'
import { defineOperation, get } from '../operations/define.ts'
import type { IncomingRequest } from '../operations/types.ts'
import { createClientRevocation, digestCertificate } from '../tls/client-revocation.ts'
import { day, issue } from '../tls/fixtures/certificates.ts'
import type { IssuedCertificate } from '../tls/local-authority.ts'
import { readPeerCommonName } from '../tls/peer.ts'
import { certificate, live, privateKey, testAudit } from './fixtures/live.ts'
import { whoami } from './fixtures/whoami.ts'
import { plainWire, secureWire } from './fixtures/wire.ts'

const define = defineOperation<undefined>()
const open = define({
  name: 'test.open',
  route: get('/open'),
  summary: 'Public',
  tag: 'test',
  access: { name: 'public', public: true },
  reach: [],
  act: () => ({ ok: true }),
})
const client = { purpose: 'client', hostnames: [], addresses: [] } as const

let authority: IssuedCertificate
let foreignAuthority: IssuedCertificate
let alice: IssuedCertificate
let mallory: IssuedCertificate
let expired: IssuedCertificate
let early: IssuedCertificate
before(async () => {
  authority = await issue({ commonName: 'clients', purpose: 'authority', hostnames: [], addresses: [] })
  foreignAuthority = await issue({
    commonName: 'clients',
    purpose: 'authority',
    hostnames: [],
    addresses: [],
  })
  const now = Date.now()
  const past = { notBefore: new Date(now - 3 * day), notAfter: new Date(now - 2 * day) }
  const future = { notBefore: new Date(now + 2 * day), notAfter: new Date(now + 3 * day) }
  alice = await issue({ ...client, commonName: 'alice' }, authority)
  mallory = await issue({ ...client, commonName: 'alice' }, foreignAuthority)
  expired = await issue({ ...client, ...past, commonName: 'alice' }, authority)
  early = await issue({ ...client, ...future, commonName: 'alice' }, authority)
})

/** Requests client certificates, uses their Common Name, and admits callers without one as the default user. */
const served = (seen: (X509Certificate | undefined)[] = []) => ({
  services: undefined,
  operations: [whoami, open],
  tls: {
    cert: certificate,
    key: privateKey,
    ca: authority.certificatePem,
    requestCert: true,
    rejectUnauthorized: false,
  },
  authenticate({ peerCertificate }: IncomingRequest) {
    const presented = peerCertificate()
    seen.push(presented)
    if (presented === undefined) return { name: 'default', method: 'default_username' }
    return { name: readPeerCommonName(presented) ?? 'unnamed', method: 'tls_auth' }
  },
})
const asClient = ({ certificatePem, keyPem }: IssuedCertificate) => ({ cert: certificatePem, key: keyPem })
const ask = 'GET /whoami HTTP/1.1\r\nHost: localhost\r\n\r\n'
const nameIn = (body: Buffer): string => JSON.parse(body.toString()).name

test('a verified client certificate reaches the authenticator, the same one for each request of a connection', async () => {
  const seen: (X509Certificate | undefined)[] = []
  await using server = await live(served(seen))
  for (const maxVersion of ['TLSv1.3', 'TLSv1.2'] as const) {
    using wire = await secureWire(server.port, { ...asClient(alice), maxVersion })
    for (let round = 0; round < 2; round++) {
      wire.send(ask)
      const answer = await wire.reply()
      assert.equal(answer.status, 200)
      assert.equal(nameIn(answer.body), 'alice')
    }
  }
  assert.equal(seen.length, 4)
  assert.equal(seen[0], seen[1])
  assert.match(String(seen[0]?.subject), /CN=alice/)
})

test('a caller without a certificate is the default user', async () => {
  const seen: (X509Certificate | undefined)[] = []
  await using server = await live(served(seen))
  using wire = await secureWire(server.port)
  wire.send(ask)
  assert.equal(nameIn((await wire.reply()).body), 'default')
  assert.deepEqual(seen, [undefined])
})

test('a certificate of a foreign authority, expired or not yet valid is 401 on every request, never the default user', async () => {
  await using server = await live(served())
  const lone = await issue({ ...client, commonName: 'alice' })
  for (const [why, presented] of Object.entries({ mallory, expired, early, lone })) {
    for (const maxVersion of ['TLSv1.3', 'TLSv1.2'] as const) {
      using wire = await secureWire(server.port, { ...asClient(presented), maxVersion })
      for (let round = 0; round < 2; round++) {
        wire.send(ask)
        const answer = await wire.reply()
        assert.equal(answer.status, 401, why)
        assert.deepEqual(JSON.parse(answer.body.toString()), {
          error: 'unauthorized',
          description: 'Authentication is required or did not succeed.',
        })
      }
      wire.send(ask.replace('/whoami', '/open'))
      assert.equal((await wire.reply()).status, 200, 'what is public needs no certificate')
    }
  }
})

test('a refused client certificate leaves a line for its connection and a record for each request', async () => {
  const audit = testAudit('continue')
  const lines: string[] = []
  const log = createLogger({ service: 'test', level: 'warn', write: (line) => void lines.push(line) })
  await using server = await live({ ...served(), audit, log })
  for (const presented of [mallory, expired]) {
    using wire = await secureWire(server.port, asClient(presented))
    for (let round = 0; round < 3; round++) {
      wire.send(ask)
      assert.equal((await wire.reply()).status, 401)
    }
  }
  const found = audit.events.map(({ client_ip, status, reason, details }) => ({
    ...{ client_ip, status, reason },
    problem: String(details?.problem).replace(/.*: /, ''),
  }))
  const expectProblem = (problem: string) =>
    Array.from({ length: 3 }, () => ({
      ...{ client_ip: '127.0.0.1', status: 401, reason: 'client_certificate_refused' },
      problem,
    }))
  assert.deepEqual(found, [
    ...expectProblem('UNABLE_TO_VERIFY_LEAF_SIGNATURE'),
    ...expectProblem('CERT_HAS_EXPIRED'),
  ])
  assert.equal(lines.length, 2, lines.join(''))
  assert.match(lines[0] ?? '', /127\.0\.0\.1.*LEAF_SIGNATURE|LEAF_SIGNATURE.*127\.0\.0\.1/)
})

test('a certificate that was made for servers does not make a client', async () => {
  await using server = await live(served())
  const misused = await issue({ commonName: 'alice', purpose: 'server' }, authority)
  using wire = await secureWire(server.port, asClient(misused))
  wire.send(ask)
  assert.equal((await wire.reply()).status, 401)
})

test('a server that asks for no certificate does not see the one that a client would have', async () => {
  const seen: (X509Certificate | undefined)[] = []
  await using server = await live({ ...served(seen), tls: { cert: certificate, key: privateKey } })
  using wire = await secureWire(server.port, asClient(alice))
  wire.send(ask)
  assert.equal(nameIn((await wire.reply()).body), 'default')
})

test('a plain HTTP server has no client certificates', async () => {
  const seen: (X509Certificate | undefined)[] = []
  await using server = await live({ ...served(seen), tls: undefined })
  using wire = await plainWire(server.port)
  wire.send(ask)
  assert.equal(nameIn((await wire.reply()).body), 'default')
  assert.deepEqual(seen, [undefined])
})

test('setTls serves the new certificate to new connections while an open one goes on', async () => {
  await using server = await live(served())
  using before = await secureWire(server.port)
  before.send(ask)
  await before.reply()
  const renewed = await issue({ commonName: 'localhost' })
  server.service.setTls({ cert: renewed.certificatePem, key: renewed.keyPem, ca: authority.certificatePem })
  using after = await secureWire(server.port, { ...asClient(alice), ca: renewed.certificatePem })
  const served509 = (after.socket as TLSSocket).getPeerX509Certificate()
  assert.equal(served509?.toString(), renewed.certificatePem)
  after.send(ask)
  assert.equal(nameIn((await after.reply()).body), 'alice', 'client certificates are still asked for')
  await assert.rejects(secureWire(server.port), /self-signed certificate/)
  before.send(ask)
  assert.equal((await before.reply()).status, 200)
})

test('setTls replaces the authority whose client certificates are believed', async () => {
  await using server = await live(served())
  server.service.setTls({ cert: certificate, key: privateKey, ca: foreignAuthority.certificatePem })
  for (const [presented, status] of [
    [alice, 401],
    [mallory, 200],
  ] as const) {
    using wire = await secureWire(server.port, asClient(presented))
    wire.send(ask)
    assert.equal((await wire.reply()).status, status)
  }
})

test('setTls refuses files that do not belong together, and the certificate that was there stays', async () => {
  await using server = await live(served())
  const other = await issue({})
  assert.throws(() => server.service.setTls({ cert: certificate, key: other.keyPem }))
  assert.throws(() => server.service.setTls({ cert: 'nonsense', key: privateKey }))
  using wire = await secureWire(server.port)
  wire.send(ask)
  assert.equal((await wire.reply()).status, 200)
})

test('a plain HTTP server refuses setTls', async () => {
  await using server = await live({ ...served(), tls: undefined })
  assert.throws(
    () => server.service.setTls({ cert: certificate, key: privateKey }),
    (thrown) =>
      thrown instanceof Failure && thrown.kind === 'internal_error' && /no TLS/.test(String(thrown.detail)),
  )
})

test('a client certificate that is revoked is 401 on the next request of its connection, and on new ones', async () => {
  const revocation = createClientRevocation(systemClock, undefined)
  await using server = await live({ ...served(), clientRevocation: revocation })
  const bob = await issue({ ...client, commonName: 'bob' }, authority)
  using open = await secureWire(server.port, asClient(alice))
  using other = await secureWire(server.port, asClient(bob))
  for (const wire of [open, other]) {
    wire.send(ask)
    assert.equal((await wire.reply()).status, 200)
  }
  const { issuer, serialNumber } = readCertificate(new X509Certificate(alice.certificatePem).raw)
  const revoked = new SharedArrayBuffer(8)
  new BigUint64Array(revoked)[0] = digestCertificate(issuer, serialNumber)
  revocation.set({ revoked, authorities: [], strict: false, version: '1' })
  open.send(ask)
  assert.equal((await open.reply()).status, 401)
  open.send(ask.replace('/whoami', '/open'))
  assert.equal((await open.reply()).status, 200, 'what is public needs no certificate')
  using anew = await secureWire(server.port, asClient(alice))
  anew.send(ask)
  assert.equal((await anew.reply()).status, 401)
  other.send(ask)
  assert.equal(nameIn((await other.reply()).body), 'bob')
  revocation.set(undefined)
  open.send(ask)
  assert.equal((await open.reply()).status, 200)
})

test('a client is refused whose issuer, that it sent along, was revoked', async () => {
  const revocation = createClientRevocation(systemClock, undefined)
  await using server = await live({ ...served(), clientRevocation: revocation })
  const below = await issue(
    { commonName: 'below', purpose: 'authority', hostnames: [], addresses: [] },
    { ...authority, privateKey: authority.privateKey },
  )
  const dave = await issue({ ...client, commonName: 'dave' }, below)
  const { issuer, serialNumber } = readCertificate(new X509Certificate(below.certificatePem).raw)
  const revoked = new SharedArrayBuffer(8)
  new BigUint64Array(revoked)[0] = digestCertificate(issuer, serialNumber)
  revocation.set({ revoked, authorities: [], strict: false, version: '1' })
  const identity = { cert: dave.certificatePem + below.certificatePem, key: dave.keyPem }
  using wire = await secureWire(server.port, identity)
  wire.send(ask)
  assert.equal((await wire.reply()).status, 401)
})
