import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { StartupError } from '@warder/base'
import { issueCrl, readCertificate, readCertificateExtensions, readKeyIdentifier } from '@warder/pki'
import { missingOpenssl, type NewCrl } from '@warder/pki/testing'
import { createClientRevocation, listPresentedChain, readClientCrls } from './client-revocation.ts'
import { createHeldClock, day, issue, newFolder } from './fixtures/certificates.ts'
import type { IssuedCertificate } from './local-authority.ts'

const folder = newFolder()
after(() => rmSync(folder, { recursive: true }))
const clock = createHeldClock()
const client = { purpose: 'client', hostnames: [], addresses: [] } as const
const file = (name: string): string => join(folder, name)

let authority: IssuedCertificate
let other: IssuedCertificate
let impostor: IssuedCertificate
let alice: IssuedCertificate
let bob: IssuedCertificate
let carol: IssuedCertificate
before(async () => {
  const plan = { purpose: 'authority', hostnames: [], addresses: [] } as const
  authority = await issue({ ...plan, commonName: 'clients' })
  other = await issue({ ...plan, commonName: 'more clients' })
  impostor = await issue({ ...plan, commonName: 'clients' })
  alice = await issue({ ...client, commonName: 'alice' }, authority)
  bob = await issue({ ...client, commonName: 'bob' }, authority)
  carol = await issue({ ...client, commonName: 'carol' }, other)
  writeFileSync(file('ca.pem'), authority.certificatePem + other.certificatePem)
})

const readDer = ({ certificatePem }: IssuedCertificate) => new X509Certificate(certificatePem).raw
const createChain = ({ certificatePem }: IssuedCertificate) =>
  listPresentedChain(new X509Certificate(certificatePem))

async function crl(
  by: IssuedCertificate,
  revoked: readonly IssuedCertificate[],
  wanted: Partial<NewCrl> = {},
): Promise<Buffer> {
  const der = readDer(by)
  const key = createPrivateKey(by.keyPem)
  return issueCrl(
    {
      number: 1n,
      thisUpdate: clock.now() - day,
      nextUpdate: clock.now() + day,
      entries: revoked.map((each) => ({
        serial: readCertificate(readDer(each)).serialNumber,
        revokedAt: clock.now(),
      })),
      ...wanted,
    },
    {
      name: readCertificate(der).subject,
      key,
      spki: createPublicKey(key).export({ format: 'der', type: 'spki' }),
      keyIdentifier: readKeyIdentifier(readCertificateExtensions(der)),
    },
  )
}

const toPem = (der: Buffer) => `-----BEGIN X509 CRL-----\n${der.toString('base64')}\n-----END X509 CRL-----\n`

function read(bytes: string | Buffer, strict = false) {
  writeFileSync(file('clients.crl'), bytes)
  return readClientCrls({
    authoritiesFile: file('ca.pem'),
    files: [file('clients.crl')],
    strict,
    crlsOptional: false,
  })
}

test('only certificates on the CRL of a client authority are refused', async () => {
  for (const bytes of [await crl(authority, [alice]), toPem(await crl(authority, [alice]))]) {
    const revocation = createClientRevocation(clock, read(bytes).revoked)
    assert.match(String(revocation.problem(createChain(alice))), /revoked/)
    for (const good of [bob, carol]) assert.equal(revocation.problem(createChain(good)), undefined)
  }
})

test('one file holds CRLs of several authorities, and every entry counts', async () => {
  const both = toPem(await crl(authority, [alice, bob])) + toPem(await crl(other, [carol]))
  const revocation = createClientRevocation(clock, read(both).revoked)
  for (const each of [alice, bob, carol])
    assert.match(String(revocation.problem(createChain(each))), /revoked/)
})

test('a thousand entries are all found, and what is not among them is not', async () => {
  const serial = (index: number) => Buffer.from([0x40, index >> 8, index & 0xff])
  const entries = Array.from({ length: 1000 }, (_, index) => ({
    serial: serial(index),
    revokedAt: clock.now(),
  }))
  const [first] = createChain(alice)
  assert.ok(first)
  const { revoked } = read(await crl(authority, [], { entries }))
  assert.equal(new BigUint64Array(revoked.revoked).length, 1000)
  const revocation = createClientRevocation(clock, revoked)
  assert.equal(revocation.problem([first]), undefined)
  for (const digest of new BigUint64Array(revoked.revoked))
    assert.match(String(revocation.problem([{ ...first, digest }])), /revoked/)
})

test('a CRL that expires still lists who it listed; others are refused where that is asked for', async () => {
  const bytes = await crl(authority, [alice], { nextUpdate: clock.now() + 1000 })
  const [soft, strict] = [false, true].map((each) => createClientRevocation(clock, read(bytes, each).revoked))
  assert.ok(soft && strict)
  assert.equal(strict.problem(createChain(bob)), undefined)
  assert.match(String(strict.problem(createChain(carol))), /no CRL in force/, 'its authority has none')
  clock.advance(5000)
  assert.equal(soft.problem(createChain(bob)), undefined)
  assert.match(String(soft.problem(createChain(alice))), /revoked/)
  assert.match(String(strict.problem(createChain(bob))), /no CRL in force/)
})

test('an authority may be one that needs no CRL', () => {
  const { revoked } = readClientCrls({
    authoritiesFile: file('ca.pem'),
    files: [],
    strict: true,
    crlsOptional: true,
  })
  assert.equal(createClientRevocation(clock, revoked).problem(createChain(alice)), undefined)
})

test('what is set later counts from then on', async () => {
  const revocation = createClientRevocation(clock, undefined)
  assert.equal(revocation.problem(createChain(alice)), undefined)
  const { revoked } = read(await crl(authority, [alice]))
  revocation.set(revoked)
  assert.match(String(revocation.problem(createChain(alice))), /revoked/)
  revocation.set(undefined)
  assert.equal(revocation.problem(createChain(alice)), undefined)
})

test('a file that is no CRL of a client authority is refused with what is wrong', async () => {
  const good = await crl(authority, [alice])
  const forged = Buffer.from(good)
  forged[forged.length - 1] = (forged.at(-1) ?? 0) ^ 1
  const refused: readonly (readonly [RegExp, Buffer | string])[] = [
    [/is not signed by its authority/, await crl(impostor, [alice])],
    [/is not signed by its authority/, forged],
    [/is from an authority that is not in clients_ca_cert_file/, await crl(bob, [alice])],
    [/is a delta CRL/, await crl(authority, [], { number: 2n, baseNumber: 1n })],
    [/contains no CRL/, 'nonsense'],
    [/contains no CRL/, authority.certificatePem],
    [/clients\.crl/, good.subarray(0, good.length - 3)],
    [/clients\.crl/, toPem(good.subarray(0, 40))],
  ]
  for (const [sentence, bytes] of refused)
    assert.throws(
      () => read(bytes),
      (error) => error instanceof StartupError && sentence.test(error.message),
      String(sentence),
    )
  assert.throws(
    () =>
      readClientCrls({
        authoritiesFile: file('ca.pem'),
        files: [file('none.crl')],
        strict: false,
        crlsOptional: false,
      }),
    /cannot read .*none\.crl/,
  )
})

test('a CRL that OpenSSL made is read', { skip: missingOpenssl }, () => {
  const run = (...words: string[]) => execFileSync('openssl', words, { cwd: folder, stdio: 'ignore' })
  writeFileSync(file('index.txt'), '')
  writeFileSync(file('crlnumber'), '01\n')
  writeFileSync(
    file('ca.cnf'),
    '[ca]\ndefault_ca=d\n[d]\ndatabase=index.txt\ncrlnumber=crlnumber\ndefault_md=sha256\ndefault_crl_days=1\n',
  )
  writeFileSync(file('a.crt'), authority.certificatePem)
  writeFileSync(file('a.key'), authority.keyPem)
  writeFileSync(file('alice.crt'), alice.certificatePem)
  const ca = ['ca', '-config', 'ca.cnf', '-cert', 'a.crt', '-keyfile', 'a.key']
  run(...ca, '-revoke', 'alice.crt')
  run(...ca, '-gencrl', '-out', 'clients.crl')
  const { revoked } = readClientCrls({
    authoritiesFile: file('ca.pem'),
    files: [file('clients.crl')],
    strict: false,
    crlsOptional: false,
  })
  const revocation = createClientRevocation(clock, revoked)
  assert.match(String(revocation.problem(createChain(alice))), /revoked/)
  assert.equal(revocation.problem(createChain(bob)), undefined)
})
