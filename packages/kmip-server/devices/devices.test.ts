import assert from 'node:assert/strict'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { systemClock } from '@warder/base'
import { Enumeration, enumeration, Tag } from '@warder/kmip-codec'
import { kmsService } from '@warder/kms'
import {
  type Authorities,
  bothEngines,
  type Caller,
  kmsMigrations,
  makeAuthorities,
  type Started,
  startKms,
} from '@warder/kms/testing'
import {
  issueCertificate,
  listClientCertificates,
  recordClientCertificate,
  revokeClientCertificates,
} from '@warder/server'
import { change, type Database, insertInto, migrate, query } from '@warder/storage'
import { kmipClient } from '../testing/index.ts'
import { createClientIssuers } from './client-issuers.ts'
import { certificateChanges, listDevices } from './device-store.ts'
import { importLocalCertificates } from './local-certificates.ts'
import { createDeviceSightings, type DeviceSightings } from './sightings.ts'

const day = 86_400_000

interface Identity {
  readonly cert: string
  readonly key: string
}

/** What `warder kmip certificate NAME` does. */
async function issueLocally(kms: Started, name: string, days = 30): Promise<Identity> {
  const folder = join(kms.home, 'tls')
  const now = kms.environment.clock.now()
  const { certificatePem: cert, keyPem: key } = await issueCertificate(
    {
      commonName: name,
      purpose: 'client',
      keyType: 'ec',
      hostnames: [],
      addresses: [],
      notBefore: new Date(now - 3_600_000),
      notAfter: new Date(now + days * day),
    },
    {
      certificatePem: readFileSync(join(folder, 'ca.crt'), 'utf8'),
      privateKey: createPrivateKey(readFileSync(join(folder, 'ca.key'))),
    },
  )
  recordClientCertificate(folder, cert)
  return { cert, key }
}

/** The periodic job, as the primary runs it. */
async function importLocal(kms: Started): Promise<void> {
  const job = kmsService.periodic.find(({ name }) => name === 'kms certificates of the local authority')
  assert.ok(job?.due)
  if (await job.due(kms.environment)) await job.run(kms.environment)
}

const path = '/v1/kmip/devices'
const get = async (caller: Caller, query = '') => {
  const { status, json, text } = await caller.get(`${path}${query}`)
  assert.equal(status, 200, text)
  return json
}
const names = async (caller: Caller, query = '') =>
  (await get(caller, query)).map(({ name }: { name: string }) => name)

for (const engine of await bothEngines())
  describe(`devices on ${engine.name}`, { skip: engine.skip }, () => {
    let now = Date.UTC(2026, 10, 1)
    let ticks = 0
    const clock = { ...systemClock, now: () => now, monotonic: () => ticks }
    let db: Database
    let kms: Started
    let olga: Caller
    before(async () => {
      now = systemClock.now()
      db = await engine.open(await engine.url())
      kms = await startKms({
        ...{ db, clock, clientCertificates: true },
        config: { 'roles.crypto_officer_users': ['olga'] },
      })
      olga = kms.user('olga')
    })
    after(() => kms[Symbol.asyncDispose]())

    test('certificates of the local authority are listed with their revocations', async () => {
      await issueLocally(kms, 'disk-1')
      await issueLocally(kms, 'disk-2', 3)
      await importLocal(kms)
      const [first, second, ...others] = await get(olga, '?search=DISK')
      assert.deepEqual(others, [])
      assert.deepEqual([first.name, second.name], ['disk-1', 'disk-2'])
      const { serial, fingerprint, issuer, not_after: end, ...rest } = first.certificates[0]
      assert.match(`${serial} ${fingerprint}`, /^[0-9a-f]+ [0-9a-f]{64}$/)
      assert.match(issuer, /^CN=/)
      assert.equal(end, first.ends_at)
      assert.deepEqual({ state: rest.state, source: rest.source }, { state: 'valid', source: 'local' })
      assert.deepEqual(
        { keys: first.keys, blocked: first.blocked, last_seen: first.last_seen },
        { keys: 0, blocked: false, last_seen: undefined },
      )
      const folder = join(kms.home, 'tls')
      const ofSecond = listClientCertificates(folder).filter(({ name }) => name === 'disk-2')
      await revokeClientCertificates(folder, ofSecond, 'keyCompromise', systemClock)
      await importLocal(kms)
      const revoked = await get(olga, '/disk-2')
      assert.deepEqual(
        [revoked.certificates[0].state, revoked.certificates[0].reason, revoked.ends_at],
        ['revoked', 'keyCompromise', undefined],
      )
    })

    test('a device that connects is listed with the version that it speaks, its keys, and whether it is blocked', async () => {
      const { cert, key } = await issueLocally(kms, 'array-1')
      const array = kms.presenting(cert, key)
      await letCreate('array-1')
      assert.equal((await array.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).status, 200)
      const kmip = kmipClient(array, { version: '1.4', encoding: 'xml' })
      await kmip.do('Query', [enumeration(Tag.QueryFunction, Enumeration.QueryFunction.QueryOperations)])
      await kmipClient(array, { version: '1.1', encoding: 'xml' }).do('DiscoverVersions', [])
      await kms.services.sightings.flush()
      const device = await get(olga, '/array-1')
      assert.equal(device.last_seen, new Date(now).toISOString())
      assert.deepEqual([device.kmip_version, device.encoding, device.keys], ['1.4', 'xml', 1])
      assert.deepEqual(
        device.certificates.map(({ source, state }: { source: string; state: string }) => [source, state]),
        [['presented', 'valid']],
      )
      await importLocal(kms)
      assert.equal((await get(olga, '/array-1')).certificates[0].source, 'local')
      assert.equal((await olga.post('/access/block', { user_id: 'array-1' })).status, 200)
      assert.equal((await get(olga, '/array-1')).blocked, true)
      assert.equal((await olga.del('/access/block', { user_id: 'array-1' })).status, 200)
    })

    test('a device is written once a minute over all workers, and the last version of the moment counts', async () => {
      const seen = query<[], { readonly seen_at: number; readonly version: string }>(
        "SELECT seen_at, version FROM kmip_device WHERE name = 'busy'",
      )
      const stored = async () => (await db.all(seen, [])).map((row) => ({ ...row }))
      const [one, other] = [1, 2].map(() => createDeviceSightings({ db, log: kms.environment.log }))
      assert.ok(one && other)
      const note = async (to: DeviceSightings, at: number, version: string | undefined) => {
        to.note({ name: 'busy', at, version, encoding: 'ttlv' }, undefined)
        await to.flush()
      }
      one.note({ name: 'busy', at: 1, version: '1.0', encoding: 'ttlv' }, undefined)
      one.note({ name: 'busy', at: 2, version: '1.4', encoding: 'ttlv' }, undefined)
      await note(one, 3, undefined)
      assert.deepEqual(await stored(), [{ seen_at: 3, version: '1.4' }])
      await note(one, 60_002, '2.1')
      await note(other, 60_002, '2.1')
      assert.deepEqual(await stored(), [{ seen_at: 3, version: '1.4' }])
      await note(other, 60_003, undefined)
      assert.deepEqual(await stored(), [{ seen_at: 60_003, version: '1.4' }])
      await note(one, 60_004, '2.1')
      assert.deepEqual(await stored(), [{ seen_at: 60_003, version: '1.4' }])
      await note(one, 120_003, '2.1')
      assert.deepEqual(await stored(), [{ seen_at: 120_003, version: '2.1' }])
      // The clock was set back.
      await note(one, 20_000, '2.0')
      assert.deepEqual(await stored(), [{ seen_at: 20_000, version: '2.0' }])
    })

    test('a certificate that cannot be read keeps no device from being recorded', async () => {
      const { cert } = await issueLocally(kms, 'odd-1')
      const der = new X509Certificate(cert).raw
      // Version 4, which OpenSSL reads.
      der[der.indexOf(Buffer.from('a003020102', 'hex')) + 4] = 3
      const sightings = createDeviceSightings({ db, log: kms.environment.log })
      const at = now
      sightings.note({ name: 'odd-1', at, version: '2.1', encoding: 'ttlv' }, new X509Certificate(der))
      sightings.note({ name: 'odd-2', at, version: '2.1', encoding: 'ttlv' }, undefined)
      await sightings.flush()
      assert.deepEqual(await names(olga, '?search=odd'), ['odd-1', 'odd-2'])
    })

    test('of the certificates that a device presented, those that end last stay', async () => {
      const ends = [...Array.from({ length: 120 }, (_, index) => now + index), now + 119, now + 119]
      for (const [index, notAfter] of ends.entries()) {
        const fingerprint = String(index).padStart(64, '0')
        const certificate = { fingerprint, serial: '01', issuer: 'CN=x', notBefore: 0, notAfter }
        await db.commit(certificateChanges('many', certificate, { isLocal: index === 0 }))
      }
      const stored = query<[], { readonly fingerprint: string }>(
        "SELECT fingerprint FROM kmip_device_certificate WHERE name = 'many' ORDER BY not_after, fingerprint",
      )
      const kept = (await db.all(stored, [])).map(({ fingerprint }) => Number(fingerprint))
      assert.deepEqual(kept, [0, ...Array.from({ length: 100 }, (_, index) => 22 + index)])
    })

    test('callers see their own entry, and nothing of others', async () => {
      const { cert, key } = await issueLocally(kms, 'tape-1')
      await importLocal(kms)
      const tape = kms.presenting(cert, key)
      assert.deepEqual(await names(tape), ['tape-1'])
      assert.deepEqual(await names(tape, '?search=disk'), [])
      assert.equal((await get(tape, '/tape-1')).name, 'tape-1')
      for (const name of ['disk-1', 'no-such'])
        assert.equal((await tape.get(`${path}/${name}`)).status, 403, name)
      const mallory = kms.user('mallory')
      assert.deepEqual(await names(mallory), [])
      assert.equal((await mallory.get(`${path}/mallory`)).status, 404)
      assert.equal((await kms.with({}).get(path)).status, 401)
      assert.equal((await olga.get(`${path}/no-such`)).status, 404)
      const marked = kms.audit.filter(({ operation }) => operation === 'kmip.devices.get')
      assert.deepEqual(marked.find(({ object }) => object === 'no-such')?.outcome, 'failure')
    })

    test('pages, the search and the filter by expiry agree with the whole list', async () => {
      for (const [index, days] of [1, 9, 30, 40].entries()) await issueLocally(kms, `page-${index}`, days)
      // Renewed: its first certificate does not matter.
      await issueLocally(kms, 'page-0', 300)
      for (const name of ['näme/1', '=cmd|calc', 'a/..', 'ﬀ', '𝒟evice']) await issueLocally(kms, name)
      await importLocal(kms)
      const all = await names(olga, '?limit=1000')
      assert.deepEqual(
        all,
        [...all].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
      )
      for (const limit of [1, 3]) {
        const paged: string[] = []
        for (let after: string | undefined = ''; after !== undefined; ) {
          const { json, headers } = await olga.get(`${path}?limit=${limit}${after && `&after=${after}`}`)
          assert.ok(json.length <= limit)
          paged.push(...json.map(({ name }: { name: string }) => name))
          after = headers['x-next-after'] as string | undefined
        }
        assert.deepEqual(paged, all)
      }
      assert.deepEqual(await names(olga, '?expiring_days=10&search=page'), ['page-1'])
      assert.deepEqual(await names(olga, '?expiring_days=31&search=PAGE'), ['page-1', 'page-2'])
      for (const name of ['näme/1', '=cmd|calc', 'a/..'])
        assert.equal((await get(olga, `/${encodeURIComponent(name)}`)).name, name)
      for (const query of [
        'limit=0',
        'limit=1001',
        'expiring_days=0',
        'expiring_days=x',
        'search=',
        'after=%00',
      ])
        assert.equal((await olga.get(`${path}?${query}`)).status, 400, query)
    })

    test('client certificates of an authority count if the service accepts that authority', async () => {
      const made = async (user: string) => {
        await letCreate(user)
        return makeAuthorities(kms.user(user), { subject: `CN=Of ${user}` })
      }
      const [trusted, other] = [await made('alice'), await made('mallory')]
      const subject = 'CN=robot-1, O=Acme'
      for (const { issue } of [trusted, other])
        assert.equal((await issue({ alg: 'ES256', profile: 'client', subject })).status, 200)
      assert.equal((await issueServer(trusted)).status, 200)
      assert.deepEqual(await names(olga, '?search=robot'), [])
      const file = join(kms.home, 'clients.pem')
      writeFileSync(file, `${readFileSync(join(kms.home, 'tls', 'ca.crt'))}${trusted.issuing.certificate}`)
      const restarted = createClientIssuers({ db, clock, log: kms.environment.log, file })
      Object.assign(kms.services, { clientIssuers: restarted })
      const [robot, ...more] = await get(olga, '?search=robot')
      assert.deepEqual(more, [])
      assert.equal(robot.certificates.length, 1)
      const [certificate] = robot.certificates
      assert.deepEqual(
        [certificate.source, certificate.issuer, certificate.authority],
        ['authority', 'CN=Of alice', trusted.issuing.id],
      )
      const revoked = await kms.user('alice').post(`/v1/pki/certificates/${certificate.id}/revoke`, {})
      assert.equal(revoked.status, 200)
      const after = await get(olga, '/robot-1')
      assert.deepEqual([after.certificates[0].state, after.ends_at], ['revoked', undefined])
      writeFileSync(file, 'no certificate')
      ticks += 20_000
      assert.deepEqual(await names(olga, '?search=robot'), [])
    })

    test('devices that are gone for long are forgotten', async () => {
      now += 900 * day
      const job = kmsService.periodic.find(({ name }) => /answers that nobody fetched/.test(name))
      assert.ok((await listDevices(db, [], '', 10)).length > 5)
      await job?.run(kms.environment)
      assert.deepEqual(await listDevices(db, [], '', 10), [])
      await importLocalCertificates(kms.environment, join(kms.home, 'tls'), new Set(), now)
      assert.deepEqual(await listDevices(db, [], '', 10), [])
    })

    async function letCreate(user: string): Promise<void> {
      const body = { unique_identifier: '*', user_id: user, operation_types: ['create'] }
      const { status, text } = await olga.post('/access/grant', body)
      assert.equal(status, 200, text)
    }

    test('a database made before lists the client certificates in its registers', async () => {
      const old = await engine.open(await engine.url())
      const before = kmsMigrations.filter(({ number }) => number < 39)
      await migrate(old, 'kms', before)
      const columns = [
        ...['id', 'issuer', 'authority_id', 'owner', 'profile', 'subject', 'fingerprint', 'not_before'],
        ...['not_after', 'issued_at', 'changed_at', 'version'],
      ]
      const rows = [
        ['client', 'CN=robot-1,O=Acme'],
        ['client', 'CN=one,CN=two'],
        ['client', 'O=Acme'],
        ['server', 'CN=www.example.com'],
      ] as const
      await old.commit(
        rows.map(([profile, subject], index) =>
          change(insertInto('pki_issued', columns), [
            ...[`i.0${index}`, 'i', 'a', 'alice', profile, subject, `${index}`],
            ...[1, 2, 1, 1, 1],
          ]),
        ),
      )
      await migrate(old, 'kms', kmsMigrations)
      const job = kmsService.periodic.find(({ name }) => name === 'kms certificates of the local authority')
      await job?.run({ ...kms.environment, db: old })
      const found = await old.all(
        query<[], { readonly id: string; readonly client_name: string }>(
          'SELECT id, client_name FROM pki_issued WHERE client_name IS NOT NULL',
        ),
        [],
      )
      assert.deepEqual(
        found.map((row) => ({ ...row })),
        [{ id: 'i.00', client_name: 'robot-1' }],
      )
      assert.deepEqual(
        (await listDevices(old, ['i'], 'robot', 10)).map(({ name, endsAt }) => [name, endsAt]),
        [['robot-1', 2]],
      )
    })
  })

function issueServer({ issue }: Authorities) {
  return issue({ alg: 'ES256', profile: 'server', subject: 'CN=robot-2', names: ['a.example'] })
}
