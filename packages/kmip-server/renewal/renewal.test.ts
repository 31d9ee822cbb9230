import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findLinkTarget, findObject } from '@warder/keys'
import {
  boolean,
  Enumeration,
  enumeration,
  interval,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import { kmsService } from '@warder/kms'
import {
  bothEngines,
  makeAuthorities,
  outsider,
  type Started,
  startKms,
  startTwoNodes,
  toDer,
} from '@warder/kms/testing'
import { parseCertificate } from '@warder/pki'
import { kmipClient } from '../testing/kmip-client.ts'

const day = 86_400_000
const begin = Date.UTC(2026, 5, 1)

/** Runs the job that the primary runs every five minutes. */
async function runRenewal(kms: Started): Promise<void> {
  const job = kmsService.periodic.find(({ name }) => name.includes('renew themselves'))
  if (await job?.due?.(kms.environment)) await job?.run(kms.environment)
}

async function world() {
  const time = { now: begin }
  const kms = await startKms({ clock: { now: () => time.now, monotonic: () => time.now } })
  return { kms, time, authorities: await makeAuthorities(kms.user('alice')) }
}

const set = (kms: Started, user: string, id: string, attribute: TtlvNode) =>
  kmipClient(kms.user(user)).do('SetAttribute', [
    textString(Tag.UniqueIdentifier, id),
    structure(Tag.NewAttribute, [attribute]),
  ])

async function issued(kms: Started, user: string, authority: string, days = 30): Promise<string> {
  const { csr } = await outsider('', ['DNS:www.example'])
  const path = `/v1/pki/authorities/${authority}/certificates`
  const made = await kms.user(user).post(path, { csr, days })
  assert.equal(made.status, 200, made.text)
  return made.json.id
}

async function findReplacement({ environment }: Started, id: string): Promise<string | undefined> {
  const object = await findObject(environment.db, id as never)
  assert.ok(object)
  return findLinkTarget(object, 'ReplacementObjectLink')
}

async function certificateOf(kms: Started, user: string, id: string) {
  const { text } = await kms.user(user).call('GET', `/v1/pki/certificates/${id}`, {
    headers: { accept: 'application/x-pem-file' },
  })
  return parseCertificate(toDer(text.startsWith('{') ? JSON.parse(text).certificate : text))
}

test('a certificate is renewed once at two thirds of its life by the same authority, and later its successor', async () => {
  const { kms, time, authorities } = await world()
  await using _ = kms
  const id = await issued(kms, 'alice', authorities.issuing.id)
  const other = await issued(kms, 'alice', authorities.issuing.id)
  await set(kms, 'alice', id, boolean(Tag.RotateAutomatic, true))
  const old = await certificateOf(kms, 'alice', id)
  time.now = old.notBefore + 20 * day - 60_000
  await runRenewal(kms)
  assert.equal(await findReplacement(kms, id), undefined)
  time.now = old.notBefore + Math.ceil(((old.notAfter - old.notBefore) * 2) / 3) + 1000
  await runRenewal(kms)
  await runRenewal(kms)
  const next = await findReplacement(kms, id)
  assert.ok(next)
  assert.equal(await findReplacement(kms, next), undefined, 'the new one is not due')
  assert.equal(await findReplacement(kms, other), undefined, 'nobody asked for that one')
  const made = await certificateOf(kms, 'alice', next)
  assert.deepEqual([made.issuer, made.subject, made.spki], [old.issuer, old.subject, old.spki])
  assert.ok(made.notAfter > old.notAfter + 19 * day)
  const object = await findObject(kms.environment.db, next as never)
  assert.ok(object)
  assert.deepEqual(
    ['ReplacedObjectLink', 'CertificateLink'].map((kind) => findLinkTarget(object, kind)),
    [id, authorities.issuing.id],
  )
  const listed = await kms.user('alice').get(`/v1/pki/authorities/${authorities.issuing.id}/certificates`)
  assert.ok(
    listed.json.some((each: { id: string }) => each.id === next),
    'it is in the register',
  )
  assert.ok(kms.log.some((line) => line.startsWith('a certificate was renewed') && line.includes(next)))
  const told = kms.audit.filter(({ auth_method }) => auth_method === 'renewal')
  assert.deepEqual(
    told.map(({ principal, outcome, object: about }) => [principal, outcome, about]),
    [['alice', 'success', id]],
  )
  time.now = made.notBefore + 21 * day
  await runRenewal(kms)
  assert.ok(await findReplacement(kms, next), 'the successor renews itself as well')
})

test('RotateInterval counts from the creation or the last renewal', async () => {
  const { kms, time, authorities } = await world()
  await using _ = kms
  const id = await issued(kms, 'alice', authorities.issuing.id)
  // RotateInterval sets RotateAutomatic.
  await set(kms, 'alice', id, interval(Tag.RotateInterval, (5 * day) / 1000))
  time.now = begin + 5 * day - 1000
  await runRenewal(kms)
  assert.equal(await findReplacement(kms, id), undefined)
  time.now = begin + 5 * day
  await runRenewal(kms)
  const next = await findReplacement(kms, id)
  assert.ok(next)
  time.now += 5 * day - 1000
  await runRenewal(kms)
  assert.equal(await findReplacement(kms, next), undefined)
  time.now += 1000
  await runRenewal(kms)
  assert.ok(await findReplacement(kms, next))
})

test('a failed renewal is logged and does not prevent others; certificates on hold and revoked ones are skipped', async () => {
  const { kms, time, authorities } = await world()
  await using _ = kms
  const alice = kms.user('alice')
  // The right on the certificate of the authority is enough.
  const { id: authority } = authorities.issuing
  const change = async (what: 'grant' | 'revoke') => {
    const grant = { unique_identifier: authority, user_id: 'bob', operation_types: ['certify'] }
    assert.equal((await kms.user('alice').post(`/access/${what}`, grant)).status, 200)
  }
  await change('grant')
  const bobs = await issued(kms, 'bob', authorities.issuing.id)
  const [good, held, revoked] = [
    await issued(kms, 'alice', authorities.issuing.id),
    await issued(kms, 'alice', authorities.issuing.id),
    await issued(kms, 'alice', authorities.issuing.id),
  ]
  await set(kms, 'bob', bobs, boolean(Tag.RotateAutomatic, true))
  for (const id of [good, held, revoked]) await set(kms, 'alice', id, boolean(Tag.RotateAutomatic, true))
  const revoke = (id: string, reason: string) => alice.post(`/v1/pki/certificates/${id}/revoke`, { reason })
  assert.equal((await revoke(held, 'certificateHold')).status, 200)
  assert.equal((await revoke(revoked, 'superseded')).status, 200)
  await change('revoke')
  time.now = begin + 25 * day
  await runRenewal(kms)
  const replaced = await Promise.all([bobs, good, held, revoked].map((id) => findReplacement(kms, id)))
  assert.deepEqual(
    replaced.map((id) => id !== undefined),
    [false, true, false, false],
  )
  assert.ok(kms.log.some((line) => line.includes('cannot be renewed') && line.includes(bobs)))
  await change('grant')
  await runRenewal(kms)
  assert.ok(await findReplacement(kms, bobs), 'it is tried again')
})

test('a certificate that Certify issued is also renewed, and Locate finds it by RotateAutomatic', async () => {
  const { kms, time } = await world()
  await using _ = kms
  const alice = kmipClient(kms.user('alice'))
  const { id } = await alice.do('Certify', [
    structure(Tag.Attributes, [
      enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.EC),
      textString(Tag.CertificateSubjectCN, 'self'),
      boolean(Tag.RotateAutomatic, true),
    ]),
  ])
  const found = await alice.do('Locate', [structure(Tag.Attributes, [boolean(Tag.RotateAutomatic, true)])])
  assert.ok(found.nodes.some(({ value }) => value === id))
  time.now = begin + 300 * day
  await runRenewal(kms)
  assert.ok(await findReplacement(kms, id))
})

test('a pair with a certificate gets a new pair and a new certificate together', async () => {
  const { kms, time, authorities } = await world()
  await using _ = kms
  const alice = kms.user('alice')
  const path = `/v1/pki/authorities/${authorities.issuing.id}/certificates`
  const made = await alice.post(path, { alg: 'ES256', subject: 'CN=www', names: ['www.example'], days: 30 })
  assert.equal(made.status, 200, made.text)
  const { id, kid } = made.json
  await set(kms, 'alice', kid, boolean(Tag.RotateAutomatic, true))
  await set(kms, 'alice', id, boolean(Tag.RotateAutomatic, true))
  const old = await certificateOf(kms, 'alice', id)
  time.now = begin + 15 * day
  await runRenewal(kms)
  assert.equal(await findReplacement(kms, kid), undefined)
  time.now = begin + 21 * day
  await runRenewal(kms)
  await runRenewal(kms)
  const [nextKey, next] = [await findReplacement(kms, kid), await findReplacement(kms, id)]
  assert.ok(nextKey && next, kms.log.join('\n'))
  assert.equal(await findReplacement(kms, next), undefined)
  const certificate = await certificateOf(kms, 'alice', next)
  assert.deepEqual([certificate.issuer, certificate.subject], [old.issuer, old.subject])
  assert.notDeepEqual(certificate.spki, old.spki)
  assert.deepEqual(
    certificate.extensions.map(({ identifier }) => identifier).toSorted(),
    old.extensions.map(({ identifier }) => identifier).toSorted(),
  )
  const key = await findObject(kms.environment.db, nextKey as never)
  const object = await findObject(kms.environment.db, next as never)
  assert.ok(key && object)
  assert.equal(findLinkTarget(key, 'CertificateLink'), next)
  assert.equal(findLinkTarget(object, 'PrivateKeyLink'), nextKey)
  const signed = await kms.user('alice').post('/v1/crypto/sign', {
    kid: nextKey,
    alg: 'ES256',
    data: Buffer.from('x').toString('base64url'),
  })
  assert.equal(signed.status, 200, signed.text)
})

test('REST shows whether a certificate or its pair is renewed automatically, and the list has its replacement', async () => {
  const { kms, time, authorities } = await world()
  await using _ = kms
  const [alice, bob] = [kms.user('alice'), kms.user('bob')]
  const path = `/v1/pki/authorities/${authorities.issuing.id}/certificates`
  const id = await issued(kms, 'alice', authorities.issuing.id)
  const pair = (await alice.post(path, { alg: 'ES256', names: ['pair.example'], days: 30 })).json
  const renewal = (of: string, json?: object, who = alice) =>
    who.call(json === undefined ? 'GET' : 'PUT', `/v1/pki/certificates/${of}/renewal`, json ? { json } : {})
  assert.deepEqual((await renewal(id)).json, { automatic: false, new_key: false })
  const on = await renewal(id, { automatic: true, interval_days: 10 })
  assert.equal(on.status, 200, on.text)
  assert.deepEqual(on.json, {
    automatic: true,
    new_key: false,
    interval_days: 10,
    due_at: new Date(begin + 10 * day).toISOString().replace('.000Z', 'Z'),
  })
  assert.equal((await renewal(id, { automatic: true, new_key: true })).status, 400, 'the key is elsewhere')
  assert.equal((await renewal(authorities.root.id, { automatic: true })).status, 400, 'nobody issued it')
  assert.equal((await renewal(id, { automatic: true, interval_days: 0 })).status, 400)
  assert.equal((await renewal(id, { automatic: true }, bob)).status, 404)
  assert.equal((await renewal('none', { automatic: true })).status, 404)
  const both = await renewal(pair.id, { automatic: true, new_key: true, interval_days: 10 })
  assert.deepEqual([both.json.automatic, both.json.new_key], [true, true])

  time.now = begin + 10 * day
  await runRenewal(kms)
  const later = kms.user('alice')
  const [next, nextOfPair] = [await findReplacement(kms, id), await findReplacement(kms, pair.id)]
  assert.ok(next && nextOfPair)
  const [before, after] = [
    await certificateOf(kms, 'alice', pair.id),
    await certificateOf(kms, 'alice', nextOfPair),
  ]
  assert.notDeepEqual(before.spki, after.spki)
  assert.equal((await renewal(id, { automatic: true }, later)).status, 409, 'it was replaced')
  assert.equal(
    (await renewal(next, undefined, later)).json.automatic,
    true,
    'the successor renews itself as well',
  )
  const off = await renewal(nextOfPair, { automatic: false }, later)
  assert.deepEqual([off.json.automatic, off.json.new_key], [false, false])
  const listed = (await later.get(path)).json as { id: string; replaced_by?: string }[]
  const findSuccessor = (of: string) => listed.find((each) => each.id === of)?.replaced_by
  assert.deepEqual([id, pair.id, next].map(findSuccessor), [next, nextOfPair, undefined])
  assert.equal((await later.post(`/v1/pki/certificates/${next}/revoke`, {})).status, 200)
  const again = (await later.get(path)).json as { id: string; replaced_by?: string }[]
  assert.equal(
    again.find((each) => each.id === id)?.replaced_by,
    undefined,
    'what was taken back is no successor',
  )
})

for (const engine of await bothEngines()) {
  test(`two nodes on ${engine.name} renew a certificate once`, { skip: engine.skip }, async () => {
    await using nodes = await startTwoNodes(engine)
    const { near, far } = nodes
    const { issuing } = await makeAuthorities(near.user('alice'))
    const id = await issued(near, 'alice', issuing.id)
    // Due at once.
    await set(near, 'alice', id, interval(Tag.RotateInterval, 1))
    await new Promise((resolve) => setTimeout(resolve, 1100))
    const job = kmsService.periodic.find(({ name }) => name.includes('renew themselves'))
    await Promise.all([near, far].map(({ environment }) => job?.run(environment)))
    const listed = await near.user('alice').get(`/v1/pki/authorities/${issuing.id}/certificates`)
    const servers = listed.json.filter(({ profile }: { profile: string }) => profile !== 'ocsp_responder')
    assert.equal(servers.length, 2, listed.text)
    assert.ok(await findReplacement(near, id))
  })
}

test('certificates and keys of a suspended owner are neither renewed nor rotated until the suspension ends', async () => {
  const { kms, time, authorities } = await world()
  await using _ = kms
  const id = await issued(kms, 'alice', authorities.issuing.id)
  await set(kms, 'alice', id, boolean(Tag.RotateAutomatic, true))
  const { kid } = (await kms.user('alice').post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json
  const schedule = { json: { rotate_every: 86_400 } }
  assert.equal((await kms.user('alice').call('PUT', `/v1/crypto/keys/${kid}/rotation`, schedule)).status, 200)
  const rotate = async () => {
    const job = kmsService.periodic.find(({ name }) => name === 'kms rotations of keys')
    if (await job?.due?.(kms.environment)) await job?.run(kms.environment)
    return (await findObject(kms.environment.db, kid))?.newestId
  }
  assert.equal((await kms.user('admin').post('/access/block', { user_id: 'alice' })).status, 200)
  time.now = begin + 25 * day
  await runRenewal(kms)
  assert.equal(await findReplacement(kms, id), undefined)
  assert.equal(await rotate(), undefined)
  assert.ok(kms.log.some((line) => line.includes('cannot be renewed') && line.includes('blocked')))
  assert.equal((await kms.user('admin').del('/access/block', { user_id: 'alice' })).status, 200)
  await runRenewal(kms)
  assert.ok(await findReplacement(kms, id))
  time.now += day
  assert.ok(await rotate())
})
