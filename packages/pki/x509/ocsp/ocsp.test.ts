import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { contextTag, der, derMembers, derNumber, derOctets, derSequence } from '../../der.ts'
import { PkiError } from '../../error.ts'
import { issue, now, type Party, party, toIssuer, year } from '../../testing/authorities.ts'
import { missingOpenssl, opensslFolder, pem } from '../../testing/openssl.ts'
import { type ParsedCertificate, parseCertificate } from '../certificate.ts'
import {
  basicConstraints,
  createExtendedKeyUsage,
  encodeExtension,
  keyPurposes,
  keyUsage,
} from '../extensions.ts'
import { createCertId, findIssuerKey, isFromIssuer, listIssuerKeys } from './cert-id.ts'
import { maxCertIds, ocspRequest, ocspRequestFromPath, readOcspRequest } from './request.ts'
import {
  issueOcspResponse,
  type NewOcspResponse,
  type OcspResponse,
  type OcspStatus,
  ocspErrorResponse,
  ocspResponder,
  readOcspResponse,
} from './response.ts'
import { ocspVerdict } from './verdict.ts'

const day = 86_400_000
const hour = 3_600_000
const hashes = ['sha1', 'sha256', 'sha384', 'sha512'] as const
const authorityExtensions = [basicConstraints(true), keyUsage(['keyCertSign', 'cRLSign'])]
const responderExtensions = [
  keyUsage(['digitalSignature']),
  createExtendedKeyUsage([keyPurposes.OCSPSigning]),
]
const root = party('root')
const rootCertificate = parseCertificate(await issue(root, root, authorityExtensions))
const leaf = parseCertificate(await issue(party('leaf'), root, [basicConstraints(false)]))
const malformed = { name: 'PkiError', code: 'malformed' }

const answerFor = (
  status: OcspStatus,
  { serial }: ParsedCertificate = leaf,
  hash: (typeof hashes)[number] = 'sha1',
) => ({
  certId: createCertId(hash, root, serial),
  status,
  thisUpdate: now,
  nextUpdate: now + day,
})

async function response(
  { certificates = [], ...wanted }: Partial<NewOcspResponse> & { certificates?: readonly Uint8Array[] } = {},
  by: Party = root,
): Promise<OcspResponse> {
  const answers = [answerFor({ kind: 'good' })]
  const read = readOcspResponse(
    await issueOcspResponse(
      { answers, producedAt: now, ...wanted },
      ocspResponder(toIssuer(by), certificates),
    ),
  )
  assert.ok(read.error === undefined)
  return read
}

const question = { certificate: leaf, issuer: rootCertificate, at: now + hour }

test('an encoded request is decoded again, for every hash', () => {
  for (const hash of hashes) {
    const ids = [createCertId(hash, root, Uint8Array.of(1)), createCertId(hash, root, Uint8Array.of(0, 0xff))]
    const read = readOcspRequest(ocspRequest(ids, Buffer.alloc(32, 7)))
    assert.equal(read.certIds.length, 2)
    assert.deepEqual(Buffer.from(read.nonce ?? []), Buffer.alloc(32, 7))
    assert.equal(read.signed, false)
    for (const [index, certId] of read.certIds.entries()) {
      assert.equal(certId.hash, hash)
      assert.deepEqual(Buffer.from(certId.der), ids[index]?.der)
      assert.ok(isFromIssuer(certId, root))
      assert.ok(!isFromIssuer(certId, party('root')))
      assert.ok(!isFromIssuer(certId, { ...root, name: party('other').name }))
      assert.ok(listIssuerKeys(root).includes(findIssuerKey(certId) ?? ''))
    }
  }
  assert.equal(readOcspRequest(ocspRequest([createCertId('sha1', root, leaf.serial)])).nonce, undefined)
})

test('RFC 8954: a nonce must have 1 to 32 bytes', () => {
  const certId = createCertId('sha1', root, leaf.serial)
  for (const length of [1, 16, 32])
    assert.equal(readOcspRequest(ocspRequest([certId], Buffer.alloc(length))).nonce?.length, length)
  const list = derSequence(derSequence(certId.der))
  const withNonce = (value: Buffer) => {
    const extension = encodeExtension({ identifier: '1.3.6.1.5.5.7.48.1.2', critical: false, value })
    return derSequence(derSequence(list, der(contextTag(2), derSequence(extension))))
  }
  for (const value of [
    derOctets(Buffer.alloc(0)),
    derOctets(Buffer.alloc(33)),
    Buffer.alloc(16, 0x55),
    derNumber(1),
  ])
    assert.throws(() => readOcspRequest(withNonce(value)), malformed)
})

test('requests that violate RFC 6960 §4.1.1 are refused', () => {
  const { der: certId } = createCertId('sha256', root, leaf.serial)
  const list = derSequence(derSequence(certId))
  const version = (number: number) => der(contextTag(0), derNumber(number))
  assert.equal(readOcspRequest(derSequence(derSequence(version(0), list))).certIds.length, 1)
  const named = der(contextTag(1), der(contextTag(4), root.name))
  const signed = derSequence(derSequence(named, list), der(contextTag(0), derSequence()))
  assert.equal(readOcspRequest(signed).signed, true)
  const critical = derSequence(
    encodeExtension({ identifier: '1.2.3.4', critical: true, value: derNumber(1) }),
  )
  const [algorithm, name, key] = derMembers(certId, 'it').map(({ whole }) => whole)
  assert.ok(algorithm && name && key)
  for (const wrong of [
    Buffer.concat([derSequence(derSequence(list)), Buffer.of(0)]),
    derSequence(derSequence(version(1), list)),
    derSequence(derSequence(derSequence())),
    derSequence(
      derSequence(derSequence(...Array.from({ length: maxCertIds + 1 }, () => derSequence(certId)))),
    ),
    derSequence(derSequence(list, der(contextTag(2), critical))),
    derSequence(derSequence(derSequence(derSequence(certId, der(contextTag(0), critical))))),
    // The hash does not have the length of SHA-256.
    derSequence(
      derSequence(
        derSequence(derSequence(derSequence(algorithm, derOctets(Buffer.alloc(20)), key, derNumber(1)))),
      ),
    ),
    derSequence(derSequence(derSequence(derSequence(derSequence(algorithm, name, key))))),
    Buffer.alloc(70_000, 0x30),
    Buffer.alloc(0),
  ])
    assert.throws(() => readOcspRequest(wrong), malformed)
  // An unknown hash is not an error: it matches no issuer.
  const md5 = Buffer.from('300c06082a864886f70d02050500', 'hex')
  const [strange] = readOcspRequest(
    derSequence(derSequence(derSequence(derSequence(derSequence(md5, name, key, derNumber(1)))))),
  ).certIds
  assert.ok(
    strange &&
      strange.hash === undefined &&
      findIssuerKey(strange) === undefined &&
      !isFromIssuer(strange, root),
  )
})

test('RFC 6960 §A.1: the path of a GET is read in every form that clients send', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 80 }), (given) => {
      const bytes = Buffer.from(given)
      const text = bytes.toString('base64')
      for (const path of [
        text,
        encodeURIComponent(text),
        text.replaceAll('/', '%2f').replaceAll('+', '%2b').replaceAll('=', '%3d'),
        text.replaceAll('+', ' '),
        text.replace(/=+$/, ''),
        bytes.toString('base64url'),
      ])
        assert.deepEqual(ocspRequestFromPath(path), bytes)
    }),
  )
  for (const wrong of ['', 'A', '%', 'AAAA%00', 'AA=A', 'AAAA\n', 'A'.repeat(300_000)])
    assert.throws(() => ocspRequestFromPath(wrong), malformed)
})

test('an encoded response is decoded again and yields its status', async () => {
  const statuses: readonly OcspStatus[] = [
    { kind: 'good' },
    { kind: 'unknown' },
    { kind: 'revoked', revokedAt: now - day, reason: 'keyCompromise' },
    { kind: 'revoked', revokedAt: now - day, reason: undefined },
  ]
  for (const status of statuses)
    for (const hash of hashes) {
      const nonce = Buffer.alloc(16, 3)
      const read = await response({ answers: [answerFor(status, leaf, hash)], nonce })
      assert.deepEqual(read.answers[0]?.status, status)
      assert.equal(read.answers[0]?.nextUpdate, now + day)
      assert.equal(read.producedAt, now)
      assert.ok('keyHash' in read.responder)
      assert.deepEqual(ocspVerdict(read, { ...question, nonce }), {
        status,
        thisUpdate: now,
        problem: undefined,
      })
    }
  for (const error of [
    'malformedRequest',
    'internalError',
    'tryLater',
    'sigRequired',
    'unauthorized',
  ] as const)
    assert.deepEqual(readOcspResponse(ocspErrorResponse(error)), { error })
  assert.deepEqual(ocspErrorResponse('unauthorized').toString('hex'), '30030a0106')
  await assert.rejects(response({ answers: [] }), { code: 'invalid_value' })
})

test('a response is not used for other certificates, times and nonces', async () => {
  const good = await response({ nonce: Buffer.alloc(16, 1) })
  const problem = (changed: object, read = good) => ocspVerdict(read, { ...question, ...changed }).problem
  assert.match(problem({ nonce: Buffer.alloc(16, 2) }) ?? '', /nonce/)
  assert.match(problem({ at: now - hour }) ?? '', /future/)
  assert.match(problem({ at: now + 2 * day }) ?? '', /out of date/)
  assert.match(problem({ certificate: rootCertificate }) ?? '', /other certificates/)
  const other = party('root')
  const otherCertificate = parseCertificate(await issue(other, other, authorityExtensions))
  assert.match(problem({ issuer: otherCertificate }) ?? '', /other certificates/)
  assert.match(problem({ mayVerify: () => false }) ?? '', /too many/)
  // Without nextUpdate it is accepted for the tolerated clock difference.
  const open = await response({ answers: [{ ...answerFor({ kind: 'good' }), nextUpdate: undefined }] })
  assert.match(problem({}, open) ?? '', /out of date/)
  assert.equal(problem({ at: now + 60_000 }, open), undefined)
})

test('RFC 6960 §4.2.2.2: the issuer or its authorized responder signs', async () => {
  const responder = party('responder')
  const delegated = await issue(responder, root, responderExtensions)
  assert.equal(
    ocspVerdict(await response({ certificates: [delegated] }, responder), question).problem,
    undefined,
  )
  const strangers = party('root')
  for (const certificates of [
    [],
    [await issue(responder, root, [createExtendedKeyUsage([keyPurposes.serverAuth])])],
    [await issue(responder, root, [])],
    [
      await issue(responder, root, [
        keyUsage(['keyAgreement']),
        createExtendedKeyUsage([keyPurposes.OCSPSigning]),
      ]),
    ],
    [await issue(responder, strangers, responderExtensions)],
    [await issue(responder, root, responderExtensions, [now - 2 * day, now - day])],
    [await issue(party('responder'), root, responderExtensions)],
  ])
    assert.match(
      ocspVerdict(await response({ certificates }, responder), question).problem ?? '',
      /signer of the OCSP response is not authorized/,
    )
  const forged = await response({}, { ...strangers, spki: root.spki })
  assert.match(ocspVerdict(forged, question).problem ?? '', /signature .* wrong/)
})

test('property: a damaged response is refused with a PkiError, or yields the same status', async () => {
  const responder = party('responder')
  const certificates = [await issue(responder, root, responderExtensions)]
  const status = { kind: 'revoked', revokedAt: now, reason: 'superseded' } as const
  const wanted = { answers: [answerFor(status)], producedAt: now, nonce: Buffer.alloc(8, 1) }
  const good = await issueOcspResponse(wanted, ocspResponder(toIssuer(responder), certificates))
  fc.assert(
    fc.property(fc.nat(good.length - 1), fc.integer({ min: 1, max: 255 }), fc.boolean(), (at, flip, cut) => {
      const changed = Buffer.from(cut ? good.subarray(0, at) : good)
      if (!cut) changed[at] = (changed[at] ?? 0) ^ flip
      try {
        const read = readOcspResponse(changed)
        if (read.error !== undefined) return
        const verdict = ocspVerdict(read, question)
        if (verdict.problem === undefined) assert.deepEqual(verdict.status, status)
      } catch (error) {
        assert.ok(error instanceof PkiError, String(error))
      }
    }),
    { numRuns: 600 },
  )
})

test('requests of OpenSSL are read, and it takes the responses', { skip: missingOpenssl }, async () => {
  using folder = opensslFolder()
  const today = Math.floor(Date.now() / 1000) * 1000
  const dates = [today - day, today + year] as const
  const authority = await issue(root, root, authorityExtensions, dates)
  const names = ['good', 'revoked', 'unknown'] as const
  for (const name of names)
    folder.write(`${name}.pem`, pem('CERTIFICATE', await issue(party(name), root, [], dates)))
  folder.write('root.pem', pem('CERTIFICATE', authority))
  folder.write('root.key', root.privateKey.export({ format: 'pem', type: 'pkcs8' }))
  const certificates = names.flatMap((name) => ['-cert', `${name}.pem`])
  const statuses: readonly OcspStatus[] = [
    { kind: 'good' },
    { kind: 'revoked', revokedAt: today - hour, reason: 'keyCompromise' },
    { kind: 'unknown' },
  ]
  const responder = party('responder')
  const delegated = await issue(responder, root, responderExtensions, dates)
  for (const hash of hashes)
    for (const [signer, chain] of [
      [root, []],
      [responder, [delegated]],
    ] as const) {
      const asked = ['ocsp', `-${hash}`, '-issuer', 'root.pem', ...certificates, '-reqout', 'request.der']
      const signing = signer === root ? [] : ['-signer', 'root.pem', '-signkey', 'root.key']
      const request = readOcspRequest(folder.run(...asked, ...signing).file('request.der'))
      assert.equal(request.certIds.length, 3)
      assert.equal(request.signed, signer !== root)
      assert.ok(request.nonce)
      const answers = request.certIds.map((certId, index) => {
        assert.ok(certId.hash === hash && isFromIssuer(certId, root))
        const status = statuses[index] as OcspStatus
        return { certId, status, thisUpdate: today, nextUpdate: today + day }
      })
      const wanted = { answers, producedAt: today, nonce: request.nonce }
      folder.write('response.der', await issueOcspResponse(wanted, ocspResponder(toIssuer(signer), chain)))
      const checked = folder.run(
        ...['ocsp', '-reqin', 'request.der', '-respin', 'response.der', '-CAfile', 'root.pem', '-no_nonce'],
        ...[`-${hash}`, '-issuer', 'root.pem', ...certificates, '-verify_other', 'root.pem'],
      )
      assert.match(checked.text, /Response verify OK/)
      assert.match(checked.text, /good\.pem: good/)
      assert.match(checked.text, /revoked\.pem: revoked[\s\S]*Reason: keyCompromise/)
      assert.match(checked.text, /unknown\.pem: unknown/)
      assert.doesNotMatch(checked.text, /WARNING|ERROR/)
    }
  folder.write('response.der', ocspErrorResponse('unauthorized'))
  assert.match(folder.run('ocsp', '-respin', 'response.der', '-noverify').text, /unauthorized \(6\)/)
})

test('responses of OpenSSL are read and verified', { skip: missingOpenssl }, async () => {
  using folder = opensslFolder()
  const today = Math.floor(Date.now() / 1000) * 1000
  const dates = [today - day, today + year] as const
  const authority = await issue(root, root, authorityExtensions, dates)
  const certificate = await issue(party('a'), root, [], dates)
  const parsed = parseCertificate(certificate)
  folder.write('root.pem', pem('CERTIFICATE', authority))
  folder.write('root.key', root.privateKey.export({ format: 'pem', type: 'pkcs8' }))
  const serial = Buffer.from(parsed.serial).toString('hex').toUpperCase()
  folder.write('index', `R\t491231235959Z\t260101000000Z,superseded\t${serial}\tunknown\t/CN=a\n`)
  for (const hash of hashes) {
    folder.write('request.der', ocspRequest([createCertId(hash, root, parsed.serial)], Buffer.alloc(32, 9)))
    const made = folder.run(
      ...[
        'ocsp',
        '-index',
        'index',
        '-CA',
        'root.pem',
        '-rsigner',
        'root.pem',
        '-rkey',
        'root.key',
        '-ndays',
        '1',
      ],
      ...['-reqin', 'request.der', '-respout', 'response.der', '-noverify'],
    )
    const read = readOcspResponse(made.file('response.der'))
    assert.ok(read.error === undefined)
    const asked = {
      certificate: parsed,
      issuer: parseCertificate(authority),
      at: Date.now(),
      nonce: Buffer.alloc(32, 9),
    }
    const status = { kind: 'revoked', revokedAt: Date.UTC(2026, 0, 1), reason: 'superseded' } as const
    assert.deepEqual(ocspVerdict(read, asked).status, status)
  }
})
