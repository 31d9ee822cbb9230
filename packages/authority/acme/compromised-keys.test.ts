import assert from 'node:assert/strict'
import { createPublicKey, ECDH, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { after, before, test } from 'node:test'
import { byteString, dateTime, Enumeration, enumeration, integer, structure, Tag } from '@warder/kmip-codec'
import { attributes, kmipClient, link, uid } from '@warder/kmip-server/testing'
import { type Answer, grant, toDer, toPem } from '@warder/kms/testing'
import {
  certificateSigner,
  derBitString,
  derMembers,
  derSequence,
  generalName,
  issueRequest,
  nameFromText,
  subjectAltName,
} from '@warder/pki'
import { thumbprint } from '@warder/server'
import type { AcmeClient } from './testing/client.ts'
import type { AccountKey } from './testing/signer.ts'
import { type StartedAcme, startAcme } from './testing/start.ts'

let acme: StartedAcme
let client: AcmeClient
let issuing: string
before(async () => {
  acme = await startAcme()
  client = await acme.account()
  issuing = acme.authorities.issuing.id
})
after(() => acme[Symbol.asyncDispose]())

interface Pair {
  readonly privateKey: KeyObject
  readonly spki: Buffer
  readonly csr: Buffer
}

async function pair(): Promise<Pair> {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const spki = publicKey.export({ format: 'der', type: 'spki' })
  return { privateKey, spki, csr: await requestFor(privateKey, spki) }
}

const requestFor = (privateKey: KeyObject, spki: Buffer) =>
  issueRequest(
    {
      subject: nameFromText('CN=localhost'),
      spki,
      extensions: [subjectAltName([generalName('DNS:localhost')])],
    },
    certificateSigner(privateKey, spki),
  )

/** The same key with its point compressed (SEC 1 §2.3.3). */
function compressed(spki: Buffer): Buffer {
  const [algorithm, key] = derMembers(spki, 'spki')
  assert.ok(algorithm && key)
  const point = ECDH.convertKey(
    key.content.subarray(1),
    'prime256v1',
    undefined,
    undefined,
    'compressed',
  ) as Buffer
  return derSequence(Buffer.from(algorithm.whole), derBitString(point))
}

const byAcme = async (csr: Buffer): Promise<Answer> => {
  const order = await acme.readyOrder(client)
  return client.post(`${order}/finalize`, { csr: csr.toString('base64url') })
}
const byRest = (json: object, user = 'alice'): Promise<Answer> =>
  acme.kms.user(user).post(`/v1/pki/authorities/${issuing}/certificates`, { names: ['localhost'], ...json })
const requestPem = (csr: Buffer) => ({ csr: toPem('CERTIFICATE REQUEST', csr) })
const alice = () => kmipClient(acme.kms.user('alice'))
const kmipRequest = (csr: Buffer) => [
  byteString(Tag.CertificateRequestValue, csr),
  attributes(link('CertificateLink', issuing)),
]
const compromise = structure(Tag.RevocationReason, [
  enumeration(Tag.RevocationReasonCode, Enumeration.RevocationReasonCode.KeyCompromise),
])
const revoked = async (id: string) =>
  acme.kms.user('alice').post(`/v1/pki/certificates/${id}/revoke`, { reason: 'keyCompromise' })

/** No interface certifies the key, in whatever encoding. */
async function refusedEverywhere({ privateKey, spki, csr }: Pair): Promise<void> {
  const byOrder = await byAcme(csr)
  assert.deepEqual(
    [byOrder.status, byOrder.json.type],
    [400, 'urn:ietf:params:acme:error:badPublicKey'],
    byOrder.text,
  )
  const other = compressed(spki)
  for (const json of [
    requestPem(csr),
    { public_key: toPem('PUBLIC KEY', spki) },
    requestPem(await requestFor(privateKey, other)),
  ]) {
    const answer = await byRest(json)
    assert.equal(answer.status, 400, answer.text)
    assert.match(answer.json.description, /compromised/)
  }
  assert.match(await alice().fails('Certify', kmipRequest(csr), 'InvalidField'), /compromised/)
}

test('a key whose certificate was revoked for keyCompromise is certified by no interface again', async () => {
  const [first, second, third] = [await pair(), await pair(), await pair()]
  const made = await byRest(requestPem(first.csr))
  assert.equal((await revoked(made.json.id)).status, 200)
  await refusedEverywhere(first)

  const done = await byAcme(second.csr)
  assert.equal(done.status, 200, done.text)
  const certificate = toDer((await client.post(done.json.certificate, '')).text).toString('base64url')
  assert.equal((await client.post(client.url('revoke-cert'), { certificate, reason: 1 })).status, 200)
  await refusedEverywhere(second)

  const { id } = await alice().do('Certify', kmipRequest(third.csr))
  await alice().do('Revoke', [uid(id), compromise])
  await refusedEverywhere(third)
  // Other reasons say nothing about the key.
  const fine = await pair()
  const superseded = await byRest(requestPem(fine.csr))
  await acme.kms
    .user('alice')
    .post(`/v1/pki/certificates/${superseded.json.id}/revoke`, { reason: 'superseded' })
  assert.equal((await byRest(requestPem(fine.csr))).status, 200)
})

test('a private key that is here and was compromised is certified by no interface', async () => {
  const kid = (
    await acme.kms.user('alice').post('/v1/crypto/keys', { kty: 'EC', crv: 'P-256', alg: 'ES256' })
  ).json.kid
  const before = await byRest({ kid })
  assert.equal(before.status, 200, before.text)
  const open = createPublicKey(before.json.certificate).export({ format: 'der', type: 'spki' })
  await alice().do('Revoke', [uid(kid), compromise])
  assert.equal((await byRest({ kid })).status, 400)
  assert.equal((await byRest({ public_key: toPem('PUBLIC KEY', open) })).status, 400)
  assert.equal(
    (await acme.kms.user('alice').post(`/v1/pki/certificates/${before.json.id}/renew`, {})).status,
    400,
  )
  await alice().fails('ReCertify', [uid(before.json.id)], 'InvalidField')
})

test('who only knows a public key does not keep its owner from a certificate by reporting it', async () => {
  const { spki, csr } = await pair()
  await grant(acme.kms.user('alice'), issuing, 'bob', 'certify')
  const bob = acme.kms.user('bob')
  const made = await byRest({ public_key: toPem('PUBLIC KEY', spki) }, 'bob')
  assert.equal(made.status, 200, made.text)
  const report = await bob.post(`/v1/pki/certificates/${made.json.id}/revoke`, { reason: 'keyCompromise' })
  assert.equal(report.status, 200)
  assert.equal((await byRest({ public_key: toPem('PUBLIC KEY', spki) }, 'bob')).status, 400)
  const { id } = await kmipClient(bob).do('Register', [
    enumeration(Tag.ObjectType, Enumeration.ObjectType.PublicKey),
    attributes(integer(Tag.CryptographicUsageMask, 2), dateTime(Tag.ActivationDate, 1)),
    structure(Tag.PublicKey, [
      structure(Tag.KeyBlock, [
        enumeration(Tag.KeyFormatType, Enumeration.KeyFormatType.X_509),
        structure(Tag.KeyValue, [byteString(Tag.KeyMaterial, spki)]),
        enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.ECDSA),
        integer(Tag.CryptographicLength, 256),
      ]),
    ]),
  ])
  await kmipClient(bob).do('Revoke', [uid(id), compromise])
  assert.equal((await byRest(requestPem(csr))).status, 200)
})

test('a blocked user revokes nothing with the key of a certificate', async () => {
  const { privateKey, csr } = await pair()
  const made = await byRest(requestPem(csr))
  const jwk = createPublicKey(privateKey).export({ format: 'jwk' }) as Record<string, unknown>
  const key: AccountKey = { privateKey, jwk, alg: 'ES256', thumbprint: thumbprint(jwk) }
  const holder = acme.client(key)
  const certificate = toDer(made.json.certificate).toString('base64url')
  const revoke = () => holder.post(holder.url('revoke-cert'), { certificate })
  const admin = acme.kms.user('admin')
  assert.equal((await admin.post('/access/block', { user_id: 'alice' })).status, 200)
  const refused = await revoke()
  assert.equal(refused.status, 403, refused.text)
  assert.equal((await admin.del('/access/block', { user_id: 'alice' })).status, 200)
  const state = async () =>
    (await acme.kms.user('alice').get(`/v1/pki/certificates/${made.json.id}`)).json.state
  assert.equal(await state(), 'valid')
  assert.equal((await revoke()).status, 200)
  assert.equal(await state(), 'revoked')
})

test('an order begins no later than its certificate would end', async () => {
  const day = 86_400_000
  const at = (ms: number) => new Date(Date.now() + ms).toISOString()
  const finalized = async (dates: object) => {
    const order = await client.post(client.url('new-order'), {
      identifiers: [{ type: 'dns', value: 'localhost' }],
      ...dates,
    })
    if (order.status !== 201) return order
    const authorization = await client.post(order.json.authorizations[0], '')
    const challenge = authorization.json.challenges.find((each: { type: string }) => each.type === 'http-01')
    acme.host.answers.set(challenge.token, `${challenge.token}.${client.key.thumbprint}`)
    await client.post(challenge.url, {})
    return client.post(`${order.headers.location}/finalize`, {
      csr: (await pair()).csr.toString('base64url'),
    })
  }
  for (const dates of [
    { notBefore: at(3 * 365 * day) },
    { notBefore: at(91 * day) },
    { notBefore: at(3 * 365 * day), notAfter: at(3 * 365 * day + day) },
    { notBefore: at(60 * day), notAfter: at(149 * day) },
  ]) {
    const refused = await finalized(dates)
    assert.deepEqual(
      [refused.status, refused.json.type],
      [400, 'urn:ietf:params:acme:error:malformed'],
      refused.text,
    )
  }
  const later = await finalized({ notBefore: at(10 * day) })
  assert.equal(later.status, 200, later.text)
})
