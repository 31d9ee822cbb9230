import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startAcme } from '@warder/authority/testing'
import { findLinkTarget, findObject } from '@warder/keys'
import { byteString, enumeration, integer, structure, Tag, textString } from '@warder/kmip-codec'
import { attributes, kmipClient, link, uid, vendorAttribute } from '@warder/kmip-server/testing'
import {
  keyPurposes,
  readBasicConstraints,
  readCertificateExtensions,
  readExtendedKeyUsage,
  readKeyUsage,
} from '@warder/pki'
import { query } from '@warder/storage'
import fc from 'fast-check'
import { makeAuthorities, outsider, toDer } from './testing/pki-scene.ts'

const users = ['alice', 'bob', 'carol'] as const
const granted = ['certify', 'rekey', 'revoke', 'getattributes'] as const
/** The profiles that each authority of alice issues; undefined: all. */
const limits = [['server'], ['client', 'spiffe'], ['code_signing', 'authority'], undefined] as const
const listPurposes: Readonly<Record<string, readonly string[]>> = {
  server: [keyPurposes.serverAuth],
  client: [keyPurposes.clientAuth],
  spiffe: [keyPurposes.serverAuth, keyPurposes.clientAuth],
  code_signing: [keyPurposes.codeSigning],
}

const who = fc.constantFrom(...users)
const place = fc.nat(limits.length - 1)
const lines = fc.subarray([
  'basicConstraints=critical,CA:TRUE',
  'keyUsage=critical,keyCertSign,cRLSign',
  'keyUsage=digitalSignature,cRLSign',
  'extendedKeyUsage=serverAuth',
  'extendedKeyUsage=clientAuth,serverAuth',
  'extendedKeyUsage=codeSigning',
  'extendedKeyUsage=OCSPSigning',
  'extendedKeyUsage=2.5.29.37.0',
  'subjectAltName=DNS:localhost',
  'subjectAltName=URI:spiffe://acme/x',
  'crlDistributionPoints=URI:http://elsewhere.example/crl',
])
const request = fc.oneof(
  fc.record({
    verb: fc.constant('grant' as const),
    to: fc.constantFrom('bob' as const, 'carol' as const),
    at: place,
    certificate: fc.boolean(),
    operations: fc.subarray([...granted]),
  }),
  fc.record({
    verb: fc.constantFrom('issue' as const, 'certify' as const),
    by: who,
    at: place,
    profile: fc.constantFrom('server', 'client', 'code_signing', 'spiffe'),
    lines,
  }),
  fc.record({
    verb: fc.constantFrom('renew' as const, 're-certify' as const, 're-certify elsewhere' as const),
    by: who,
    at: place,
    to: place,
    lines,
  }),
  fc.record({
    verb: fc.constantFrom('hold' as const, 'release' as const, 'release over KMIP' as const),
    by: who,
    at: place,
  }),
  fc.record({ verb: fc.constant('order' as const) }),
)

type Step = typeof request extends fc.Arbitrary<infer One> ? One : never

const registered = query<
  [],
  { id: string; authority_id: string; certificate_id: string; reason: string | null }
>('SELECT id, authority_id, certificate_id, reason FROM pki_issued WHERE certificate_id IS NOT NULL')
const rights = query<[object: string, user: string], { operation: string }>(
  'SELECT operation FROM object_grant WHERE object_id = ? AND user_id = ?',
)

test("property: issued certificates obey their authority's limits, and only callers with the right replace or release them", async () => {
  await using acme = await startAcme()
  const { kms } = acme
  const { db } = kms.environment
  const authorities = await Promise.all(
    limits.map((profiles, index) =>
      makeAuthorities(kms.user('alice'), {
        subject: `CN=Issuing ${index}, O=Acme`,
        ...(profiles && { profiles }),
        path_length: 2,
      }),
    ),
  )
  const issuers = authorities.map(({ issuing }) => issuing.id)
  const everyone = [...issuers, acme.authorities.issuing.id]
  const account = await acme.account()
  /** The newest certificate of each authority. */
  const newest: string[] = []
  for (const [index, id] of issuers.entries()) {
    const { csr } = await outsider('', index === 1 ? ['URI:spiffe://acme/x'] : ['DNS:localhost'])
    const profile = ['server', 'spiffe', 'code_signing', 'server'][index]
    const body = { unique_identifier: id, user_id: 'bob', operation_types: ['certify'] }
    await kms.user('alice').post('/access/grant', body)
    const subject = index === 2 ? { subject: 'CN=code' } : {}
    const made = await kms
      .user('bob')
      .post(`/v1/pki/authorities/${id}/certificates`, { csr, profile, ...subject })
    assert.equal(made.status, 200, made.text)
    newest.push(made.json.id)
  }
  const may = async (user: string, id: string, right: string): Promise<boolean> => {
    const object = await findObject(db, id as never)
    if (object?.owner === user) return true
    return (await db.all(rights, [id, user])).some(({ operation }) => operation === right)
  }
  const readState = async () => {
    const entries = await db.all(registered, [])
    const all = entries.map(async (entry) => {
      const object = await findObject(db, entry.certificate_id as never)
      return { ...entry, successor: object && findLinkTarget(object, 'ReplacementObjectLink') }
    })
    return new Map((await Promise.all(all)).map((entry) => [entry.id, entry]))
  }
  const text = (wanted: readonly string[]) =>
    vendorAttribute('example', 'x509-extension', textString(Tag.AttributeValue, wanted.join('\n')))
  const days = vendorAttribute('example', 'requested_validity_days', integer(Tag.AttributeValue, 5))
  let made = 0

  async function run(step: Step): Promise<void> {
    switch (step.verb) {
      case 'grant': {
        const id = (step.certificate ? newest : issuers)[step.at] ?? ''
        const owner = (await findObject(db, id as never))?.owner ?? 'alice'
        const about = { unique_identifier: id, user_id: step.to }
        await kms.user(owner).post('/access/revoke', { ...about, operation_types: [...granted] })
        if (step.operations.length > 0)
          await kms.user(owner).post('/access/grant', { ...about, operation_types: step.operations })
        return
      }
      case 'issue':
      case 'certify': {
        const name = step.profile === 'spiffe' ? 'URI:spiffe://acme/x' : 'DNS:localhost'
        const { csr } = await outsider('CN=localhost', [name])
        const id = issuers[step.at] ?? ''
        if (step.verb === 'issue')
          await kms
            .user(step.by)
            .post(`/v1/pki/authorities/${id}/certificates`, { csr, profile: step.profile })
        else
          await kmipClient(kms.user(step.by)).ask('Certify', [
            byteString(Tag.CertificateRequestValue, Buffer.from(csr)),
            attributes(
              link('CertificateLink', id),
              days,
              ...(step.lines.length > 0 ? [text(step.lines)] : []),
            ),
          ])
        return
      }
      case 'renew':
        await kms.user(step.by).post(`/v1/pki/certificates/${newest[step.at]}/renew`, {})
        return
      case 're-certify':
      case 're-certify elsewhere': {
        const wishes = [
          ...(step.verb === 're-certify' ? [] : [link('CertificateLink', issuers[step.to] ?? '')]),
          ...(step.lines.length > 2 ? [text(step.lines)] : []),
        ]
        await kmipClient(kms.user(step.by)).ask('ReCertify', [
          uid(newest[step.at] ?? ''),
          ...(wishes.length > 0 ? [attributes(...wishes)] : []),
        ])
        return
      }
      case 'hold':
        await kms
          .user(step.by)
          .post(`/v1/pki/certificates/${newest[step.at]}/revoke`, { reason: 'certificateHold' })
        return
      case 'release':
        await kms.user(step.by).post(`/v1/pki/certificates/${newest[step.at]}/release`, {})
        return
      case 'release over KMIP': {
        const removed = structure(Tag.RevocationReason, [enumeration(Tag.RevocationReasonCode, 0x80000002)])
        await kmipClient(kms.user(step.by)).ask('Revoke', [uid(newest[step.at] ?? ''), removed])
        return
      }
      case 'order':
        await acme.certificate(account, await acme.readyOrder(account))
    }
  }

  async function requireFitting(entry: { authority_id: string; certificate_id: string }): Promise<void> {
    const object = await findObject(db, entry.certificate_id as never)
    const pem = await kms
      .user(object?.owner ?? '')
      .call('GET', `/v1/pki/certificates/${entry.certificate_id}`, {
        headers: { accept: 'application/x-pem-file' },
      })
    const extensions = readCertificateExtensions(toDer(pem.text))
    const uses = readKeyUsage(extensions) ?? []
    const purposes = readExtendedKeyUsage(extensions)
    const { authority } = readBasicConstraints(extensions)
    assert.ok(!purposes?.some((each) => each === keyPurposes.OCSPSigning || each === '2.5.29.37.0'))
    assert.ok(authority || !(uses.includes('cRLSign') || uses.includes('keyCertSign')))
    const permitted = limits[issuers.indexOf(entry.authority_id)] as readonly string[] | undefined
    if (permitted === undefined) return
    if (authority) assert.ok(permitted.includes('authority'))
    else
      assert.ok(
        permitted.some((profile) => purposes?.every((each) => listPurposes[profile]?.includes(each))),
        `${permitted}: ${purposes}`,
      )
  }

  await fc.assert(
    fc.asyncProperty(fc.array(request, { minLength: 4, maxLength: 12 }), async (steps) => {
      for (const step of steps) {
        const before = await readState()
        const allowed = new Map<string, boolean>()
        const by = 'by' in step ? step.by : 'alice'
        for (const id of everyone) {
          allowed.set(`certify ${id}`, await may(by, id, 'certify'))
          allowed.set(`revoke ${id}`, await may(by, id, 'revoke'))
        }
        for (const id of newest) allowed.set(`rekey ${id}`, await may(by, id, 'rekey'))
        await run(step)
        const now = await readState()
        for (const [id, entry] of now) {
          const old = before.get(id)
          if (old === undefined) {
            made += 1
            assert.ok(everyone.includes(entry.authority_id))
            assert.ok(allowed.get(`certify ${entry.authority_id}`), `${by}: ${step.verb}`)
            await requireFitting(entry)
          } else {
            if (old.successor !== entry.successor) {
              assert.ok(allowed.get(`rekey ${entry.certificate_id}`), `${by}: ${step.verb}`)
              const place = newest.indexOf(entry.certificate_id)
              const next = [...now.values()].find(({ certificate_id }) => certificate_id === entry.successor)
              const owner = (await findObject(db, entry.certificate_id as never))?.owner
              assert.ok(
                owner === by || next?.authority_id === entry.authority_id,
                'a grantee keeps the issuer',
              )
              assert.equal((await findObject(db, entry.successor as never))?.owner, owner)
              assert.equal(old.reason, null, 'on hold')
              if (entry.successor !== undefined && next?.authority_id === entry.authority_id)
                newest[place] = entry.successor
            }
            if (old.reason === 'certificateHold' && entry.reason === null)
              assert.ok(allowed.get(`revoke ${entry.authority_id}`), `${by}: ${step.verb}`)
          }
        }
      }
    }),
    { numRuns: 20 },
  )
  assert.ok(made > 20, `only ${made} certificates were issued`)
})
