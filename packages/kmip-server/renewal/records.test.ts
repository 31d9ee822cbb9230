import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AuditEvent } from '@warder/audit'
import type { PreparedCommits } from '@warder/audit/testing'
import type { Metrics } from '@warder/base'
import {
  findLinkTarget,
  findObject,
  findWithMaterial,
  type ManagedObject,
  readStoredWithTag,
} from '@warder/keys'
import {
  boolean,
  dateTime,
  Enumeration,
  enumeration,
  integer,
  interval,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import { kmsService } from '@warder/kms'
import { makeAuthorities, type StartOptions, startKms } from '@warder/kms/testing'
import { GuardFailed } from '@warder/storage'
import { digestAttributes } from '../key-blocks/digest.ts'
import { readShape } from '../key-blocks/object-shape.ts'
import { mask } from '../testing/keys.ts'
import { kmipClient } from '../testing/kmip-client.ts'
import { uid } from '../testing/nodes.ts'

type Environment = Awaited<ReturnType<typeof startKms>>['environment']

const day = 86_400_000
const begin = Date.UTC(2026, 5, 1)
const renewedAt = begin + 21 * day

async function world(options: Partial<StartOptions> = {}) {
  const time = { now: begin }
  const kms = await startKms({ clock: { now: () => time.now, monotonic: () => time.now }, ...options })
  const authorities = await makeAuthorities(kms.user('alice'))
  const counted: unknown[][] = []
  const metrics: Metrics = {
    ...kms.environment.metrics,
    operation: (...all) => counted.push(all),
    count: (...all) => counted.push(all),
  }
  return {
    kms,
    time,
    authorities,
    counted,
    /** Runs the job of the primary, at two thirds of the certificates' life. */
    async renew(changes: Partial<Environment> = {}): Promise<void> {
      time.now = renewedAt
      kms.audit.length = 0
      kms.log.length = 0
      counted.length = 0
      const job = kmsService.periodic.find(({ name }) => name.includes('renew themselves'))
      await job?.run({ ...kms.environment, metrics, ...changes })
    },
    /** A certificate and its new pair. */
    async issue(user: string, alg = 'ES256'): Promise<{ readonly id: string; readonly kid: string }> {
      const path = `/v1/pki/authorities/${authorities.issuing.id}/certificates`
      const made = await kms.user(user).post(path, { alg, names: ['www.example'], days: 30 })
      assert.equal(made.status, 200, made.text)
      return made.json
    },
    async add(user: string, id: string, ...attributes: readonly TtlvNode[]): Promise<void> {
      for (const one of attributes)
        await kmipClient(kms.user(user)).do('AddAttribute', [uid(id), structure(Tag.NewAttribute, [one])])
    },
    async change(what: 'grant' | 'revoke', id: string, user: string, right: string): Promise<void> {
      const json = { unique_identifier: id, user_id: user, operation_types: [right] }
      const { status, text } = await kms.user('alice').post(`/access/${what}`, json)
      assert.equal(status, 200, text)
    },
    async read(id: string | undefined): Promise<ManagedObject> {
      const object = await findObject(kms.environment.db, id as never)
      assert.ok(object, kms.log.join('\n'))
      return object
    },
    /** The records of renewals, without members that differ from run to run. */
    records: () => kms.audit.filter(({ auth_method }) => auth_method === 'renewal').map(withoutTimes),
    lines: () => kms.log.filter((line) => /renewed|KMIP operation/.test(line)),
  }
}

function withoutTimes({ time, request_id, duration_ms, ...rest }: AuditEvent) {
  assert.match(request_id, /^[0-9a-f-]{36}$/)
  assert.deepEqual([typeof time, typeof duration_ms], ['number', 'number'])
  return rest
}

const success = {
  principal: 'alice',
  auth_method: 'renewal',
  client_ip: '-',
  outcome: 'success',
  status: 200,
  algorithm: 'EC',
}
const automatic = boolean(Tag.RotateAutomatic, true)
const comment = textString(Tag.Comment, 'kept')
const nameOf = (text: string) =>
  structure(Tag.Name, [
    textString(Tag.NameValue, text),
    enumeration(Tag.NameType, Enumeration.NameType.UninterpretedTextString),
  ])
const vendorAttribute = (vendor: string, value: number) =>
  structure(Tag.Attribute, [
    textString(Tag.VendorIdentification, vendor),
    textString(Tag.AttributeName, 'own'),
    integer(Tag.AttributeValue, value),
  ])

test('a renewed certificate has one record with its owner as principal, and the attributes of the previous one', async () => {
  const { kms, authorities, counted, renew, issue, add, read, records, lines } = await world()
  await using _ = kms
  const { id } = await issue('alice')
  const stop = begin + 20 * day
  await add('alice', id, automatic, nameOf('web'), dateTime(Tag.ProtectStopDate, stop / 1000), comment)
  await add('alice', id, interval(Tag.RotateOffset, 5), vendorAttribute('x', 7))
  await kmipClient(kms.user('alice')).do('SetAttribute', [
    uid(id),
    structure(Tag.NewAttribute, [boolean(Tag.Extractable, false)]),
  ])
  const before = await read(id)
  await renew()
  const old = await read(id)
  const next = findLinkTarget(old, 'ReplacementObjectLink')
  assert.ok(next, kms.log.join('\n'))
  assert.deepEqual(records(), [
    { ...success, operation: 'kmip.ReCertify', object: id, details: { replacement: next } },
  ])
  assert.deepEqual(counted, [
    ['kmip.ReCertify', 200, 0],
    ['certificate_renewals_total', { outcome: 'renewed' }],
  ])
  assert.deepEqual(lines(), [
    `a certificate was renewed ${JSON.stringify({ object: id, replacement: next })}`,
  ])
  assert.deepEqual(
    [old.names, old.links.slice(0, -1), old.attributes.values.slice(0, -1)],
    [[], before.links, before.attributes.values],
  )
  assert.deepEqual(old.attributes.values.at(-1), { tag: 'RotateLatest', type: 'Boolean', value: false })
  const made = await read(next)
  const settled = { id, links: before.links, attributes: before.attributes, version: before.version }
  assert.deepEqual(
    { ...made, ...settled },
    {
      ...before,
      createdAt: renewedAt,
      changedAt: renewedAt,
      activationAt: renewedAt,
      deactivationAt: renewedAt + 30 * day + 60_000,
      neverExtractable: true,
    },
  )
  assert.deepEqual(made.links, [...before.links, { kind: 'ReplacedObjectLink', id }])
  assert.equal(findLinkTarget(made, 'CertificateLink'), authorities.issuing.id)
  const facts = before.attributes.values.findIndex(({ tag }) => tag === 'RotateAutomatic')
  const tags = before.attributes.values.map(({ tag }) => tag)
  assert.deepEqual(
    made.attributes.values.map(({ tag }) => tag),
    [...tags.slice(facts), ...tags.slice(0, facts), 'RotateDate', 'RotateGeneration', 'RotateLatest'],
  )
  const { attributes } = made
  assert.deepEqual(attributes.values.slice(0, 4), before.attributes.values.slice(facts))
  assert.deepEqual(
    [attributes.get('RotateDate'), attributes.get('RotateGeneration'), attributes.get('RotateLatest')],
    [renewedAt, 1, true],
  )
})

test('a renewed pair has one record, which names the new pair and its certificate', async () => {
  const { kms, counted, renew, issue, add, read, records, lines } = await world()
  await using _ = kms
  const { id, kid } = await issue('alice')
  const before = await read(kid)
  await add('alice', kid, automatic, nameOf('key'), comment, vendorAttribute('x', 7))
  await renew()
  const old = await read(kid)
  const next = findLinkTarget(old, 'ReplacementObjectLink')
  assert.ok(next, kms.log.join('\n'))
  const made = await read(next)
  const certificate = findLinkTarget(made, 'CertificateLink')
  assert.equal(certificate, findLinkTarget(await read(id), 'ReplacementObjectLink'))
  assert.deepEqual(records(), [
    {
      ...success,
      operation: 'kmip.ReKeyKeyPair',
      object: certificate,
      details: { replacement: next, linked: made.linkedId, certificate },
    },
  ])
  assert.deepEqual(counted, [
    ['kmip.ReKeyKeyPair', 200, 0],
    ['certificate_renewals_total', { outcome: 'renewed' }],
  ])
  assert.deepEqual(lines(), [
    `a certificate was renewed ${JSON.stringify({ object: kid, replacement: next })}`,
  ])
  assert.deepEqual([old.names, old.newestId, old.supersededAt], [[], next, renewedAt])
  const { algorithm, boundAlg, usageMask, owner } = before
  const whole = { algorithm, boundAlg, owner, generation: 1, activationAt: renewedAt, createdAt: renewedAt }
  for (const [half, first, mask] of [
    [made, kid, usageMask],
    [await read(made.linkedId), String(before.linkedId), 2],
  ] as const) {
    assert.deepEqual(half, { ...half, ...whole, chainId: first, usageMask: mask })
    assert.deepEqual(half.links, [
      { kind: 'ReplacedObjectLink', id: first },
      { kind: 'CertificateLink', id: certificate },
    ])
  }
  assert.deepEqual(made.names, [{ name: 'key', type: 'UninterpretedTextString' }])
  assert.deepEqual(
    made.attributes.values.map(({ tag }) => tag),
    [
      'RotateAutomatic',
      'Comment',
      'Attribute',
      'Digest',
      'KeyFormatType',
      'CryptographicDomainParameters',
      'OriginalCreationDate',
      'RandomNumberGenerator',
    ],
  )
})

test('a refused renewal has a record with the reason, and a line in the log', async () => {
  const { kms, authorities, counted, renew, issue, add, change, records, lines } = await world()
  await using _ = kms
  const { issuing } = authorities
  await change('grant', issuing.id, 'bob', 'certify')
  const [one, two] = [await issue('bob'), await issue('bob')]
  await add('bob', one.id, automatic)
  await add('bob', two.kid, automatic)
  const until = begin + 30 * day
  const refused = (status: number, reason: string, detail: string) => {
    const failure = { ...success, principal: 'bob', outcome: 'failure', status, reason }
    assert.deepEqual(records(), [
      { ...failure, operation: 'kmip.ReCertify', object: one.id },
      { ...failure, operation: 'kmip.ReKeyKeyPair', object: two.kid },
    ])
    const failed = ['certificate_renewals_total', { outcome: 'failed' }]
    assert.deepEqual(counted, [
      ['kmip.ReCertify', status, 0],
      failed,
      ['kmip.ReKeyKeyPair', status, 0],
      failed,
    ])
    const line = 'a certificate cannot be renewed; the renewal will be repeated'
    assert.deepEqual(lines(), [
      `${line} ${JSON.stringify({ object: one.id, detail: `${reason} ${detail}`, until })}`,
      `${line} ${JSON.stringify({ object: two.kid, detail: `${reason} ${detail}` })}`,
    ])
  }
  await change('revoke', issuing.id, 'bob', 'certify')
  await renew()
  refused(404, 'ObjectNotFound', 'DENIED')
  await change('grant', issuing.id, 'bob', 'getattributes')
  await renew()
  refused(403, 'PermissionDenied', 'The caller has rights on the object, but not the required one.')
  await change('grant', issuing.id, 'bob', 'certify')
  const revoked = await kms.user('alice').post(`/v1/pki/certificates/${issuing.id}/revoke`, {})
  assert.equal(revoked.status, 200, revoked.text)
  await renew()
  refused(422, 'WrongKeyLifecycleState', 'The issuer is not Active.')
})

test("the owner's rules for new certificates apply to renewals", async () => {
  const { kms, renew, issue, add, read, records } = await world()
  await using _ = kms
  const { id } = await issue('alice')
  await add('alice', id, automatic)
  const alice = () => kmipClient(kms.user('alice'))
  const rule = (list: number, one: number, comment: string) => [
    structure(list, [
      structure(one, [
        enumeration(Tag.ObjectType, Enumeration.ObjectType.Certificate),
        structure(Tag.Attributes, [textString(Tag.Comment, comment)]),
      ]),
    ]),
  ]
  await alice().do('SetConstraints', rule(Tag.Constraints, Tag.Constraint, 'needed'))
  await renew()
  assert.deepEqual(
    records().map(({ outcome, status, reason }) => [outcome, status, reason]),
    [['failure', 422, 'ConstraintViolation']],
  )
  assert.ok(
    kms.log.some((line) => line.includes('ConstraintViolation Comment is not within the constraints.')),
  )
  // Its replacement has exactly the same attributes: a default adds none.
  await alice().do('SetDefaults', rule(Tag.DefaultsInformation, Tag.ObjectDefaults, 'needed'))
  await renew()
  assert.equal(records()[0]?.reason, 'ConstraintViolation')
  await add('alice', id, textString(Tag.Comment, 'needed'))
  await renew()
  const next = await read(findLinkTarget(await read(id), 'ReplacementObjectLink'))
  assert.equal(next.attributes.get('Comment'), 'needed')
  assert.ok((next.deactivationAt ?? 0) > renewedAt + 29 * day)
})

test("an attribute with a date before the new certificate's beginning prevents the renewal", async () => {
  const { kms, renew, issue, add, records } = await world()
  await using _ = kms
  const { id } = await issue('alice')
  await add('alice', id, automatic, dateTime(Tag.ProcessStartDate, (begin + day) / 1000))
  await renew()
  assert.deepEqual(
    records().map(({ status, reason }) => [status, reason]),
    [[400, 'InvalidAttributeValue']],
  )
  assert.ok(kms.log.some((line) => line.includes('ProcessStartDate is before ActivationDate.')))
})

test('in audit mode reject the record is on disk before the renewal, and without it no certificate is renewed', async () => {
  const { kms, renew, issue, add, read, records } = await world({ auditMode: 'reject' })
  await using _ = kms
  const { id } = await issue('alice')
  await add('alice', id, automatic)
  kms.breakAudit()
  await renew()
  assert.equal(findLinkTarget(await read(id), 'ReplacementObjectLink'), undefined)
  assert.deepEqual(records(), [])
  assert.ok(
    kms.log.some((line) => line.includes('GeneralFailure') && line.includes('cannot be renewed')),
    kms.log.join('\n'),
  )
})

test('in audit mode reject a record precedes each commit, and another record follows a failed commit', async () => {
  const { kms, renew, issue, add, read } = await world({ auditMode: 'reject' })
  await using _ = kms
  const { id } = await issue('alice')
  await add('alice', id, automatic)
  const { audit, db } = kms.environment
  const problems: Error[] = [new GuardFailed(0), new Error('lost')]
  const steps: string[] = []
  const commits: PreparedCommits = {
    begin: async () => ({
      id: 'source-1',
      commit: (commit, changes) => {
        steps.push('commit')
        const problem = problems.shift()
        return problem === undefined ? commit(changes) : Promise.reject(problem)
      },
      markPrepared: () => steps.push('announced'),
      markResolved: () => steps.push('settled'),
      markInDoubt: () => steps.push('abandoned'),
    }),
  }
  await renew({ audit: { ...audit, commits }, db: Object.create(db) })
  assert.deepEqual(steps, ['announced', 'commit', 'announced', 'commit', 'settled'])
  const details = kms.audit.map((event) => ({ ...withoutTimes(event).details, replacement: '' }))
  const announced = { replacement: '', commit: 'source-1' }
  assert.deepEqual(details, [
    announced,
    { ...announced, attempt: 2 },
    { ...announced, follows: 'uncommitted' },
  ])
  const { outcome, status, reason } = kms.audit.at(-1) ?? {}
  assert.deepEqual([outcome, status, reason], ['failure', 500, 'GeneralFailure'])
  assert.ok(kms.log.some((line) => line.startsWith('a KMIP operation failed') && line.includes('lost')))
  assert.equal(findLinkTarget(await read(id), 'ReplacementObjectLink'), undefined)
  steps.length = 0
  await renew({ audit: { ...audit, commits }, db: Object.create(db) })
  assert.deepEqual(steps, ['announced', 'commit'])
  assert.ok(findLinkTarget(await read(id), 'ReplacementObjectLink'))
})

const common = (...attributes: readonly TtlvNode[]) => structure(Tag.CommonAttributes, attributes)
const { ECDSA, RSA } = Enumeration.CryptographicAlgorithm
const { PKCS_1, PKCS_8, ECPrivateKey, TransparentRSAPrivateKey } = Enumeration.KeyFormatType
const madeOverKmip: Readonly<Record<string, readonly TtlvNode[]>> = {
  'ECDSA as ECPrivateKey': [
    enumeration(Tag.CryptographicAlgorithm, ECDSA),
    integer(Tag.CryptographicLength, 384),
    enumeration(Tag.KeyFormatType, ECPrivateKey),
  ],
  'ECDSA as PKCS#8': [enumeration(Tag.CryptographicAlgorithm, ECDSA), enumeration(Tag.KeyFormatType, PKCS_8)],
  'RSA as PKCS#1': [
    enumeration(Tag.CryptographicAlgorithm, RSA),
    integer(Tag.CryptographicLength, 2048),
    enumeration(Tag.KeyFormatType, PKCS_1),
  ],
  'RSA with its numbers': [
    enumeration(Tag.CryptographicAlgorithm, RSA),
    integer(Tag.CryptographicLength, 2048),
    enumeration(Tag.KeyFormatType, TransparentRSAPrivateKey),
  ],
}
const madeOverRest = ['ES384', 'RS256', 'PS256', 'EdDSA', 'ML-DSA-44', 'ML-KEM-768', 'SLH-DSA-SHA2-128s']

for (const kind of [...Object.keys(madeOverKmip), ...madeOverRest])
  test(`a renewed pair has the attributes of a pair from ReKeyKeyPair: ${kind}`, async () => {
    const { kms, time, authorities, renew, issue, add, read } = await world()
    await using _ = kms
    const pair = async () => {
      const described = madeOverKmip[kind]
      if (described === undefined) return issue('alice', kind)
      const made = await kmipClient(kms.user('alice')).do('CreateKeyPair', [
        common(...described, dateTime(Tag.ActivationDate, begin / 1000)),
        structure(Tag.PrivateKeyAttributes, [mask('Sign'), interval(Tag.RotateInterval, (20 * day) / 1000)]),
        structure(Tag.PublicKeyAttributes, [mask('Verify')]),
      ])
      const kid = String(made.get(Tag.PrivateKeyUniqueIdentifier))
      const path = `/v1/pki/authorities/${authorities.issuing.id}/certificates`
      const issued = await kms.user('alice').post(path, { kid, names: ['www.example'], days: 30 })
      assert.equal(issued.status, 200, issued.text)
      return { kid, id: String(issued.json.id) }
    }
    const [renewed, rekeyed] = [await pair(), await pair()]
    for (const { kid } of [renewed, rekeyed]) {
      const { linkedId, attributes } = await read(kid)
      if (attributes.get('RotateAutomatic') === undefined) await add('alice', kid, automatic)
      await add(
        'alice',
        kid,
        nameOf(`key of ${kind}`),
        dateTime(Tag.DeactivationDate, begin / 1000 + 10_000_000),
      )
      await add('alice', kid, dateTime(Tag.ProtectStopDate, begin / 1000 + 9_000_000), comment)
      await add('alice', String(linkedId), textString(Tag.Description, 'open'), vendorAttribute('x', 3))
    }
    time.now = renewedAt
    const members = [textString(Tag.PrivateKeyUniqueIdentifier, rekeyed.kid), interval(Tag.Offset, 0)]
    await kmipClient(kms.user('alice')).do('ReKeyKeyPair', members)
    await renew()
    const [one, other] = await Promise.all(
      [renewed, rekeyed].map(async ({ kid }) => {
        const old = await read(kid)
        const made = await read(findLinkTarget(old, 'ReplacementObjectLink'))
        return Promise.all(
          [old, made, read(old.linkedId), read(made.linkedId)].map(async (each) => await each),
        )
      }),
    )
    assert.ok(one !== undefined && other !== undefined)
    const known = (object: ManagedObject) => ({
      ...object,
      ...{
        id: '',
        linkedId: '',
        chainId: '',
        newestId: object.newestId && '',
        version: object.version % 1000,
      },
      links: object.links.map(({ kind: link }) => link).filter((link) => link !== 'CertificateLink'),
      attributes: object.attributes.values.map(({ tag, type, value }) =>
        tag === 'Digest' && Array.isArray(value) ? [tag, value.toSpliced(1, 1)] : [tag, type, value],
      ),
    })
    assert.deepEqual(one.map(known), other.map(known))
    for (const half of [one[1], one[3]]) {
      assert.ok(half)
      const stored = await findWithMaterial(kms.environment.db, kms.environment.seal, half.id, undefined)
      const digests = digestAttributes(readShape(half), stored?.material ?? new Uint8Array())
      assert.deepEqual(readStoredWithTag(half, Tag.Digest), digests)
    }
  })
