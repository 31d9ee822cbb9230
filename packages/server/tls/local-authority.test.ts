import assert from 'node:assert/strict'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { type Clock, StartupError } from '@warder/base'
import { derTag } from '@warder/pki'
import { der } from '@warder/pki/testing'
import { createHeldClock, day, issue, newFolder, rsaPair, withCommonNames } from './fixtures/certificates.ts'
import { serve, shake } from './fixtures/handshake.ts'
import { ensureLocalAuthority, type LocalCertificate } from './local-authority.ts'
import { tlsProfile } from './profile.ts'

const home = newFolder()
let homes = 0
after(() => rmSync(home, { recursive: true }))

interface TestFolder {
  readonly folder: string
  ensure(clock?: Clock): Promise<void>
  path(file: string): string
  read(file: string): string
  certificate(name: string): X509Certificate
  /** Fingerprints of all five certificates. */
  fingerprints(): Record<string, string>
}

const certificates: readonly LocalCertificate[] = [
  { name: 'auth', commonName: 'Warder auth' },
  { name: 'kms', commonName: 'Warder kms' },
  { name: 'kms-rsa', commonName: 'Warder kms', keyType: 'rsa', optional: true },
  { name: 'client', commonName: 'kmip-client', purpose: 'client' },
]
const names = ['ca', 'auth', 'kms', 'kms-rsa', 'client'] as const

/** A folder that does not exist yet. */
function empty(): TestFolder {
  homes += 1
  const folder = join(home, String(homes), 'tls')
  const path = (file: string): string => join(folder, file)
  const read = (file: string): string => readFileSync(path(file), 'utf8')
  const certificate = (name: string): X509Certificate => new X509Certificate(read(`${name}.crt`))
  return {
    folder,
    path,
    read,
    certificate,
    ensure: (clock = createHeldClock()) => ensureLocalAuthority({ folder, clock, certificates }),
    fingerprints: () => Object.fromEntries(names.map((name) => [name, certificate(name).fingerprint256])),
  }
}

async function createAuthority(): Promise<TestFolder> {
  const place = empty()
  await place.ensure()
  return place
}

/** Every certificate belongs to its key and, but for the authority, was issued by the authority. */
function assertWhole(place: TestFolder): void {
  const authority = place.certificate('ca')
  for (const name of names) {
    const certificate = place.certificate(name)
    assert.ok(certificate.checkPrivateKey(createPrivateKey(place.read(`${name}.key`))), name)
    assert.ok(certificate.checkIssued(authority) && certificate.verify(authority.publicKey), name)
  }
}

const listChanged = (before: Record<string, string>, place: TestFolder): string[] => {
  const now = place.fingerprints()
  return names.filter((name) => now[name] !== before[name])
}

async function stops(run: Promise<void>, reason: RegExp): Promise<void> {
  await assert.rejects(run, (error: unknown) => {
    assert.ok(error instanceof StartupError, String(error))
    assert.match(error.message, reason)
    assert.ok(!error.message.includes('\n'), error.message)
    return true
  })
}

test('the first run makes an authority, three server certificates and a client certificate', async () => {
  const place = await createAuthority()
  assertWhole(place)
  const [authority, auth, client] = [
    place.certificate('ca'),
    place.certificate('auth'),
    place.certificate('client'),
  ]
  assert.equal(authority.ca, true)
  assert.equal(auth.ca, false)
  assert.equal(client.subject, 'CN=kmip-client')
  assert.deepEqual(auth.keyUsage, ['1.3.6.1.5.5.7.3.1'])
  assert.deepEqual(client.keyUsage, ['1.3.6.1.5.5.7.3.2'])
  for (const name of ['localhost', '127.0.0.1', '::1'])
    assert.ok(auth.checkHost(name) ?? auth.checkIP(name), name)
  assert.equal(auth.checkHost('example.org'), undefined)
  assert.ok(auth.validToDate.getTime() < Date.now() + 398 * day, 'browsers take no longer ones')
  assert.equal(new Set(names.map((name) => place.certificate(name).serialNumber)).size, 5)
})

test('only the owner reads the files, and nothing else is left in the folder', async () => {
  const place = await createAuthority()
  const files = readdirSync(place.folder).toSorted()
  assert.deepEqual(files, names.flatMap((name) => [`${name}.crt`, `${name}.key`]).toSorted())
  assert.equal(statSync(place.folder).mode & 0o777, 0o700)
  for (const file of files) assert.equal(statSync(place.path(file)).mode & 0o777, 0o600, file)
})

test('clients that trust the authority accept the servers, and the servers the client', async () => {
  const place = await createAuthority()
  const clientsCaFile = place.path('ca.crt')
  const profile = tlsProfile({
    certFile: place.path('kms.crt'),
    keyFile: place.path('kms.key'),
    clientsCaFile,
  })
  const live = await serve(profile)
  const { seen } = await shake(live, {
    ca: place.read('ca.crt'),
    cert: place.read('client.crt'),
    key: place.read('client.key'),
  })
  assert.equal(seen.commonName, 'kmip-client')
  await assert.rejects(shake(live), /self-signed|unable to verify/)
  live.close()
})

test('the next start keeps everything as it is', async () => {
  const place = await createAuthority()
  const before = readdirSync(place.folder).map((file) => place.read(file))
  await place.ensure()
  assert.deepEqual(
    readdirSync(place.folder).map((file) => place.read(file)),
    before,
  )
})

test('a certificate with a third of its life left is replaced, with a new key, under the same authority', async () => {
  const place = await createAuthority()
  const before = place.fingerprints()
  const key = place.read('auth.key')
  const clock = createHeldClock()
  clock.advance(264 * day)
  await place.ensure(clock)
  assert.deepEqual(listChanged(before, place), [])
  clock.advance(2 * day)
  await place.ensure(clock)
  assert.deepEqual(listChanged(before, place), ['auth', 'kms', 'kms-rsa', 'client'])
  assert.notEqual(place.read('auth.key'), key)
  assertWhole(place)
})

test('a start while the clock is ahead leaves nothing that later starts do not repair', async () => {
  const place = await createAuthority()
  const before = place.fingerprints()
  const ahead = createHeldClock()
  ahead.advance(390 * day)
  await place.ensure(ahead)
  const fromAhead = place.fingerprints()
  assert.deepEqual(listChanged(before, place), ['auth', 'kms', 'kms-rsa', 'client'])
  await place.ensure()
  assert.deepEqual(listChanged(fromAhead, place), ['auth', 'kms', 'kms-rsa', 'client'])
  for (const name of names) assert.ok(place.certificate(name).validFromDate.getTime() <= Date.now(), name)
  assertWhole(place)
  // Hours are within what certificates are backdated by: clients that are right accept them.
  const other = empty()
  const byHours = createHeldClock()
  byHours.advance(day / 2)
  await other.ensure(byHours)
  for (const name of names) assert.ok(other.certificate(name).validFromDate.getTime() <= Date.now(), name)
  // An authority that was made by years too early is valid: clients have it.
  const third = empty()
  await third.ensure(ahead)
  const authority = third.fingerprints().ca
  await third.ensure()
  assert.equal(third.fingerprints().ca, authority)
  assertWhole(third)
})

test('an authority that runs out is replaced, and all that it issued with it', async () => {
  const place = await createAuthority()
  const before = place.fingerprints()
  const clock = createHeldClock()
  clock.advance(3625 * day)
  await place.ensure(clock)
  assert.deepEqual(listChanged(before, place), [...names])
  assertWhole(place)
})

test('what is missing of a pair is made anew as a pair', async () => {
  for (const file of ['auth.crt', 'auth.key']) {
    const place = await createAuthority()
    const before = place.fingerprints()
    rmSync(place.path(file))
    await place.ensure()
    assert.deepEqual(listChanged(before, place), ['auth'])
    assertWhole(place)
  }
})

test('a certificate whose key is another, or that another local authority issued, is replaced', async () => {
  const [place, other] = [await createAuthority(), await createAuthority()]
  const before = place.fingerprints()
  writeFileSync(place.path('auth.key'), other.read('auth.key'))
  for (const file of ['kms.crt', 'kms.key']) writeFileSync(place.path(file), other.read(file))
  await place.ensure()
  assert.deepEqual(listChanged(before, place), ['auth', 'kms'])
  assertWhole(place)
})

test('a certificate that only claims to be of the authority is replaced', async () => {
  const place = await createAuthority()
  const forged = withCommonNames(place.read('auth.crt'), [der(derTag.utf8String, Buffer.from('Warder kms'))])
  writeFileSync(place.path('auth.crt'), forged) // issuer and key are right, the signature is of another subject
  const before = place.fingerprints()
  await place.ensure()
  assert.deepEqual(listChanged(before, place), ['auth'])
  assertWhole(place)
})

test('after the authority was removed a new one is made, and all that the old one issued is replaced', async () => {
  const place = await createAuthority()
  const before = place.fingerprints()
  rmSync(place.path('ca.crt'))
  await place.ensure()
  assert.deepEqual(listChanged(before, place), [...names])
  assertWhole(place)
})

test('a certificate of another authority is not overwritten: the start stops with advice', async () => {
  const place = await createAuthority()
  const { certificatePem, keyPem } = await issue(
    {},
    await issue({ commonName: 'Our CA', purpose: 'authority' }),
  )
  writeFileSync(place.path('auth.crt'), certificatePem)
  writeFileSync(place.path('auth.key'), keyPem)
  await stops(
    place.ensure(),
    /auth\.crt was not issued by .*ca\.crt; configure your own certificate with tls_cert_file/,
  )
  assert.equal(place.read('auth.crt'), certificatePem)
  assert.equal(place.read('auth.key'), keyPem)
  assert.ok(!existsSync(place.path('.lock')), 'the lock is let go of')
  rmSync(place.path('ca.crt'))
  await stops(place.ensure(), /auth\.crt was not issued by/)
  assert.equal(place.read('auth.crt'), certificatePem, 'nor when the authority is made anew')
})

test('a broken file stops the start, names itself and is not overwritten; removing as told helps', async () => {
  for (const [file, removed] of [
    ['auth.crt', 'auth.crt'],
    ['auth.key', 'auth.crt'],
    ['ca.crt', 'ca.crt'],
    ['ca.key', 'ca.crt'],
  ] as const) {
    const place = await createAuthority()
    writeFileSync(place.path(file), 'hunter2')
    await stops(place.ensure(), new RegExp(`${file} cannot be read .*remove \\S*${removed} and start again`))
    assert.equal(place.read(file), 'hunter2')
    rmSync(place.path(removed))
    await place.ensure()
    assertWhole(place)
  }
})

test('an authority whose key is another, or that is none, stops the start', async () => {
  const [place, other] = [await createAuthority(), await createAuthority()]
  writeFileSync(place.path('ca.key'), other.read('ca.key'))
  await stops(place.ensure(), /ca\.key is not the key of .*ca\.crt/)
  for (const file of ['crt', 'key']) writeFileSync(place.path(`ca.${file}`), place.read(`auth.${file}`))
  await stops(place.ensure(), /ca\.crt is not the certificate of an authority/)
})

test('the key of the authority may be kept elsewhere until something is to be issued', async () => {
  const place = await createAuthority()
  const before = place.fingerprints()
  rmSync(place.path('ca.key'))
  await place.ensure()
  rmSync(place.path('kms.crt'))
  await stops(place.ensure(), /ca\.key is missing/)
  assert.equal(place.certificate('ca').fingerprint256, before.ca)
})

test('an authority of your own issues the certificates when its key is of the right kind', async () => {
  const own = await issue({
    commonName: 'Our CA',
    purpose: 'authority',
    notAfter: new Date(Date.now() + 500 * day),
  })
  const place = empty()
  mkdirSync(place.folder, { recursive: true })
  writeFileSync(place.path('ca.crt'), own.certificatePem)
  writeFileSync(place.path('ca.key'), own.keyPem)
  await place.ensure()
  assert.equal(place.read('ca.crt'), own.certificatePem)
  assertWhole(place)
  const clock = createHeldClock()
  clock.advance(480 * day)
  await stops(place.ensure(clock), /ca\.crt expires on/)
  assert.equal(place.read('ca.crt'), own.certificatePem)
})

test('an authority with a key of another kind stops the start', async () => {
  const own = await rsaPair(1000)
  const place = empty()
  mkdirSync(place.folder, { recursive: true })
  writeFileSync(place.path('ca.crt'), own.certificatePem)
  writeFileSync(place.path('ca.key'), own.keyPem)
  await stops(place.ensure(), /ca\.key is not a P-256 key/)
})

test('two processes that start at once make one set of certificates', async () => {
  const place = empty()
  await Promise.all([place.ensure(), place.ensure(), place.ensure(), place.ensure()])
  assertWhole(place)
  assert.ok(!existsSync(place.path('.lock')))
})

test('a lock that is not let go of ends the start with advice, after a bounded wait', async () => {
  const place = empty()
  mkdirSync(place.folder, { recursive: true })
  writeFileSync(place.path('.lock'), '')
  const clock = createHeldClock()
  let looks = 0
  const hurried: Clock = {
    now: clock.now,
    monotonic: () => {
      looks += 1
      return looks * 20_000
    },
  }
  await stops(place.ensure(hurried), /\.lock is locked by another process .* remove it and start again/)
  assert.equal(looks, 4)
  assert.ok(existsSync(place.path('.lock')), 'the lock of another is left alone')
  assert.deepEqual(readdirSync(place.folder), ['.lock'])
})

test('a lock that a killed process left behind is broken', async () => {
  const place = empty()
  mkdirSync(place.folder, { recursive: true })
  writeFileSync(place.path('.lock'), '')
  const aMinuteAgo = Date.now() / 1000 - 60
  utimesSync(place.path('.lock'), aMinuteAgo, aMinuteAgo)
  await place.ensure()
  assertWhole(place)
  assert.ok(!existsSync(place.path('.lock')))
})

test('a folder that cannot be used stops the start with one line', async () => {
  const place = empty()
  mkdirSync(join(place.folder, '..'), { recursive: true })
  writeFileSync(place.folder, 'a file')
  await stops(place.ensure(), /the certificates in .* cannot be created: /)
})

test('a home whose authority has its key elsewhere does without the RSA certificate', async () => {
  const place = await createAuthority()
  for (const file of ['ca.key', 'kms-rsa.crt', 'kms-rsa.key']) rmSync(place.path(file))
  await place.ensure()
  assert.equal(existsSync(place.path('kms-rsa.crt')), false)
})
