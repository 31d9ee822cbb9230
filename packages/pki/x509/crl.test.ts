import assert from 'node:assert/strict'
import { sign } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { der, derBitString, derInteger, derMembers, derSequence, derTag } from '../der.ts'
import { PkiError } from '../error.ts'
import { issue, now, party, toIssuer } from '../testing/authorities.ts'
import { missingOpenssl, opensslFolder, pem } from '../testing/openssl.ts'
import { readCertificate } from './certificate.ts'
import { crlIsSignedWith, issueCrl, type NewCrl, readCrl } from './crl.ts'
import { type CrlEntry, revocationReasons } from './crl-entries.ts'
import { basicConstraints, keyUsage } from './extensions.ts'
import { crlDistributionPoints } from './revocation-access.ts'
import { certificateSigner } from './signing.ts'

const day = 86_400_000
const root = party('root')
const times = { number: 1n, thisUpdate: now, nextUpdate: now + 7 * day }
const createCrl = (entries: Iterable<CrlEntry>, more: Partial<NewCrl> = {}) =>
  issueCrl({ ...times, entries, ...more }, toIssuer(root))
const toSerial = (...bytes: number[]) => Uint8Array.from(bytes)
/** The content of the INTEGER of a random serial number. */
const random = (number: number) => {
  const bytes = Buffer.alloc(16, 0x55)
  bytes.writeUInt32BE(Math.imul(number, 2_654_435_761) >>> 0, 4)
  bytes.writeUInt32BE(number, 8)
  return bytes
}

test('an encoded CRL is decoded again', async () => {
  const entries: CrlEntry[] = [
    { serial: toSerial(5), revokedAt: now - day },
    {
      serial: toSerial(0, 0x80),
      revokedAt: now - 2 * day,
      reason: 'keyCompromise',
      invalidityDate: now - 9 * day,
    },
    { serial: random(7), revokedAt: Date.UTC(2051, 0, 1), reason: 'certificateHold' },
    { serial: toSerial(6), revokedAt: now, invalidityDate: now - day },
  ]
  const scope = { urls: ['http://pki.example/crl'], only: 'users' } as const
  const crl = readCrl(await createCrl(entries, { number: (1n << 159n) - 1n, scope }))
  const whole = entries.map((entry) => ({ reason: undefined, invalidityDate: undefined, ...entry }))
  assert.deepEqual(
    [...crl.entries()].map((entry) => ({ ...entry, serial: Buffer.from(entry.serial).toString('hex') })),
    whole.map((entry) => ({ ...entry, serial: Buffer.from(entry.serial).toString('hex') })),
  )
  assert.equal(crl.count, 4)
  assert.equal(crl.number, (1n << 159n) - 1n)
  assert.equal(crl.baseNumber, undefined)
  assert.equal(crl.unknownCritical, false)
  assert.deepEqual([crl.thisUpdate, crl.nextUpdate], [times.thisUpdate, times.nextUpdate])
  assert.deepEqual(Buffer.from(crl.issuer), root.name)
  assert.equal(crl.scope?.onlyUsers, true)
  assert.equal(crl.scope?.onlyAuthorities, false)
  assert.equal(crl.scope?.names?.length, 1)
  assert.equal(crl.find(random(7))?.reason, 'certificateHold')
  assert.equal(crl.find(toSerial(0, 0x80))?.invalidityDate, now - 9 * day)
  assert.equal(crl.find(toSerial(7)), undefined)
  assert.ok(crlIsSignedWith(crl, root.publicKey))
  assert.ok(!crlIsSignedWith(crl, party('root').publicKey))
})

test('RFC 5280 §5.1.2.6: an empty CRL has no list', async () => {
  const crl = readCrl(await createCrl([]))
  assert.equal(crl.count, 0)
  assert.equal(crl.find(toSerial(1)), undefined)
  assert.equal(derMembers(crl.signed.data, 'The CRL').length, 6)
})

test('RFC 5280 §5.3.1: only a delta CRL removes a certificate from the list', async () => {
  const removed: CrlEntry = { serial: toSerial(1), revokedAt: now, reason: 'removeFromCRL' }
  await assert.rejects(createCrl([removed]), { code: 'invalid_value' })
  const delta = readCrl(await createCrl([removed], { number: 8n, baseNumber: 7n }))
  assert.equal(delta.baseNumber, 7n)
  assert.equal(delta.find(toSerial(1))?.reason, 'removeFromCRL')
  assert.equal(delta.unknownCritical, false)
})

test('values that a CRL cannot contain are refused', async () => {
  const entry = { serial: toSerial(1), revokedAt: now }
  for (const [entries, more] of [
    [[{ ...entry, serial: toSerial() }]],
    [[{ ...entry, serial: toSerial(0, 1) }]],
    [[{ ...entry, serial: new Uint8Array(65).fill(1) }]],
    [[{ ...entry, revokedAt: Number.NaN }]],
    [[], { number: -1n }],
    [[], { number: 1n << 159n }],
    [[], { nextUpdate: now - 1 }],
    [[], { number: 7n, baseNumber: 7n }],
    [[], { scope: { urls: [] } }],
  ] as const)
    await assert.rejects(createCrl(entries, more), { code: 'invalid_value' })
})

test('keys of every algorithm sign a CRL, also through a signer for an external key', async () => {
  for (const [type, options] of [
    ['rsa', { modulusLength: 2048 }],
    ['ec', { namedCurve: 'P-384' }],
    ['ed25519', {}],
    ['ml-dsa-65', {}],
    ['slh-dsa-sha2-128f', {}],
  ] as const) {
    const issuer = party('root', type, options)
    const crl = readCrl(await issueCrl({ ...times, entries: [] }, toIssuer(issuer)))
    assert.ok(crlIsSignedWith(crl, issuer.publicKey), type)
  }
  const { algorithm } = certificateSigner(root.privateKey, root.spki)
  const asked: Uint8Array[] = []
  const elsewhere = {
    algorithm,
    async sign(data: Uint8Array) {
      asked.push(data)
      return sign('sha256', data, root.privateKey)
    },
  }
  const crl = readCrl(await issueCrl({ ...times, entries: [] }, { ...toIssuer(root), key: elsewhere }))
  assert.ok(crlIsSignedWith(crl, root.publicKey))
  assert.equal(asked.length, 1)
})

test('a list of 100,000 entries is encoded from a stream, decoded and searched', async () => {
  const count = 100_000
  const reasons = Object.keys(revocationReasons).filter((name) => name !== 'removeFromCRL')
  function* entries(): Generator<CrlEntry> {
    for (let number = 0; number < count; number += 1)
      yield {
        serial: random(number),
        revokedAt: now - number * 1000,
        reason: reasons[number % reasons.length] as CrlEntry['reason'],
      }
  }
  const crl = readCrl(await createCrl(entries()))
  assert.equal(crl.count, count)
  for (const number of [0, 1, 1800, 1801, count - 1])
    assert.equal(crl.find(random(number))?.revokedAt, now - number * 1000)
  assert.equal(crl.find(random(count)), undefined)
  assert.ok(crlIsSignedWith(crl, root.publicKey))
})

test('a CRL reports an unknown critical extension', async () => {
  const { signed, ...good } = readCrl(await createCrl([{ serial: toSerial(1), revokedAt: now }]))
  assert.equal(good.unknownCritical, false)
  const strange = Buffer.from('300d06032a03040101ff0403020100', 'hex')
  const members = derMembers(signed.data, 'The CRL').map(({ whole }) => Buffer.from(whole))
  const rebuilt = (index: number, changed: Buffer) => {
    const data = derSequence(...members.map((member, at) => (at === index ? changed : member)))
    return readCrl(derSequence(data, signed.algorithm, derBitString(signed.signature)))
  }
  const entry = derSequence(
    derInteger(toSerial(1)),
    der(derTag.utcTime, Buffer.from('260101000000Z')),
    derSequence(strange),
  )
  assert.equal(rebuilt(5, derSequence(entry)).unknownCritical, true)
  assert.equal(rebuilt(6, der(0xa0, derSequence(strange))).unknownCritical, true)
})

test('property: a damaged CRL is refused with a PkiError, or its signature is invalid', async () => {
  const good = await createCrl(
    [
      { serial: toSerial(1), revokedAt: now, reason: 'superseded' },
      { serial: random(1), revokedAt: now, reason: 'keyCompromise', invalidityDate: now },
    ],
    { scope: { urls: ['http://a.example/'] } },
  )
  fc.assert(
    fc.property(fc.nat(good.length - 1), fc.integer({ min: 1, max: 255 }), fc.boolean(), (at, flip, cut) => {
      const changed = Buffer.from(cut ? good.subarray(0, at) : good)
      if (!cut) changed[at] = (changed[at] ?? 0) ^ flip
      try {
        const crl = readCrl(changed)
        // A CRL that was read can be iterated and searched.
        for (const entry of crl.entries()) crl.find(entry.serial)
        assert.ok(!crlIsSignedWith(crl, root.publicKey))
      } catch (error) {
        assert.ok(error instanceof PkiError, String(error))
      }
    }),
    { numRuns: 1000 },
  )
})

test('OpenSSL verifies a CRL and checks certificates against it', { skip: missingOpenssl }, async () => {
  using folder = opensslFolder()
  const urls = ['http://pki.example/root.crl']
  const authority = await issue(root, root, [basicConstraints(true), keyUsage(['keyCertSign', 'cRLSign'])])
  const end = [basicConstraints(false), crlDistributionPoints(urls)]
  const [good, revoked] = [await issue(party('good'), root, end), await issue(party('revoked'), root, end)]
  const { serialNumber } = readCertificate(revoked)
  const entries: CrlEntry[] = [
    { serial: serialNumber, revokedAt: now, reason: 'keyCompromise', invalidityDate: now - day },
    { serial: random(3), revokedAt: now },
  ]
  folder.write('root.pem', pem('CERTIFICATE', authority))
  folder.write('good.pem', pem('CERTIFICATE', good))
  folder.write('revoked.pem', pem('CERTIFICATE', revoked))
  for (const more of [{}, { scope: { urls, only: 'users' } as const }, { scope: { urls } }]) {
    folder.write('crl.der', await createCrl(entries, { number: 258n, ...more }))
    const shown = folder.run(
      'crl',
      '-inform',
      'DER',
      '-in',
      'crl.der',
      '-CAfile',
      'root.pem',
      '-text',
      '-out',
      'crl.pem',
    )
    assert.match(shown.text, /verify OK/)
    const text = shown.file('crl.pem').toString()
    assert.match(text, /Version 2 /)
    assert.match(text, /X509v3 CRL Number: \n\s+258/)
    assert.match(text, /Key Compromise/)
    assert.match(text, /Invalidity Date: \n\s+May 31/)
    const check = (name: string) =>
      folder.run(
        'verify',
        '-attime',
        String(now / 1000),
        '-crl_check',
        '-CAfile',
        'root.pem',
        '-CRLfile',
        'crl.pem',
        name,
      )
    assert.match(check('good.pem').text, /good\.pem: OK/)
    assert.match(check('revoked.pem').text, /certificate revoked/)
  }
})
