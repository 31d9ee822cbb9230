import assert from 'node:assert/strict'
import { constants, createPublicKey, generateKeyPairSync, publicEncrypt, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { openAuditLog } from '@warder/audit'
import { systemClock } from '@warder/base'
import { findObject, lifeCycleChanges, type ObjectId } from '@warder/keys'
import { createMetrics } from '@warder/runtime'
import { kmsService } from '../service/service.ts'
import type { Answer } from '../testing/client.ts'
import { type Started, startKms } from '../testing/start.ts'

const data = Buffer.from('attack at dawn').toString('base64url')

/** Everything in which the bytes of a key could be written down. */
function spellings(secret: Buffer): readonly Buffer[] {
  const texts = [
    ...[secret.toString('hex'), secret.toString('hex').toUpperCase()],
    ...[secret.toString('base64'), secret.toString('base64url')],
    JSON.stringify([...secret]).slice(1, -1),
    [...secret].join(', '),
    BigInt(`0x${secret.toString('hex')}`).toString(),
  ]
  // base64 of it within a longer value: only the characters that do not depend on neighbouring bytes.
  for (const shift of [1, 2]) texts.push(secret.subarray(shift).toString('base64').slice(0, 30))
  return [secret, ...texts.map((text) => Buffer.from(text))]
}

/** The secret numbers of a key, as they are in memory now. */
async function listSecrets(kms: Started, kid: string): Promise<readonly Buffer[]> {
  const key = await kms.services.keys.get(kid as ObjectId)
  assert.ok(key !== undefined)
  const { kind, held } = key.described
  assert.ok(held.local !== undefined)
  if (kind === 'secret') return [held.local.export()]
  if (kind === 'public') return []
  const jwk = held.local.export({ format: 'jwk' }) as Readonly<Record<string, unknown>>
  const members = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'priv'].map((name) => jwk[name])
  return members.filter((one) => typeof one === 'string').map((one) => Buffer.from(one, 'base64url'))
}

test('key bytes are never in clear in database, WAL, log, audit, metrics, errors, responses or inspection (K04, K18)', async () => {
  await using home = await startKms()
  const folder = join(home.home, 'audit')
  const metrics = createMetrics()
  const audit = await openAuditLog({
    folder,
    service: 'kms',
    node: 'test',
    mode: 'reject',
    rotateBytes: 65_536,
    clock: systemClock,
    log: home.environment.log,
    metrics,
  })
  await using kms = await startKms({ audit: audit.trail })
  const replies: Answer[] = []
  const alice = kms.user('alice')
  const bob = kms.user('bob')
  const ask = async (who: typeof alice, method: string, path: string, json?: unknown) => {
    const answer = await who.call(method, path, json === undefined ? {} : { json })
    replies.push(answer)
    return answer
  }
  const post = async (path: string, json: unknown) => (await ask(alice, 'POST', path, json)).json
  const secrets: Buffer[] = []
  const make = async (body: object) => {
    const made = await post('/v1/crypto/keys', body)
    assert.ok(made.kid, JSON.stringify(made))
    for (const kid of [made.kid, made.kid_public]) if (kid) secrets.push(...(await listSecrets(kms, kid)))
    return made
  }

  const aes = await make({ kty: 'oct', alg: 'A256GCM', tags: ['t'] })
  const hmac = await make({ kty: 'oct', alg: 'HS512', k: randomBytes(64).toString('base64url') })
  const rsa = await make({ kty: 'RSA' })
  const ec = await make({ kty: 'EC', crv: 'P-521' })
  const ed = await make({ kty: 'OKP' })
  const lattice = await make({ kty: 'AKP', alg: 'ML-DSA-44' })
  const imported = [
    generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey,
    generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
    generateKeyPairSync('ed25519').privateKey,
  ].map((key) => key.export({ format: 'jwk' }))
  for (const jwk of imported) await make(jwk)
  // A refused key is not stored either.
  for (const jwk of imported) await post('/v1/crypto/keys', { ...jwk, bits: 1 })
  await ask(kms.with({}), 'POST', '/v1/crypto/keys', imported[0])
  await ask(alice, 'PUT', '/v1/crypto/keys', imported[0])
  await ask(kms.with({ authorization: 'Bearer a.b.c' }), 'POST', '/v1/crypto/keys', imported[0])
  secrets.push(Buffer.from(String(imported[0]?.d), 'base64url'))

  const sealed = await post('/v1/crypto/encrypt', { kid: aes.kid, alg: 'dir', enc: 'A256GCM', data })
  await post('/v1/crypto/decrypt', sealed)
  await post('/v1/crypto/decrypt', { ...sealed, tag: randomBytes(16).toString('base64url') })
  await post('/v1/crypto/mac', { kid: hmac.kid, alg: 'HS512', data })
  await post('/v1/crypto/mac', { kid: hmac.kid, alg: 'HS256', data })
  for (const [kid, alg] of [
    [rsa.kid, 'PS256'],
    [ec.kid, 'ES512'],
    [ed.kid, 'EdDSA'],
    [lattice.kid, 'MLDSA44'],
  ]) {
    const signed = await post('/v1/crypto/sign', { kid, alg, data })
    assert.ok(signed.signature)
    await post('/v1/crypto/verify', { ...signed, data })
  }
  const wrapped = await post('/v1/crypto/encrypt', { kid: rsa.kid, alg: 'RSA-OAEP', enc: 'A256GCM', data })
  await post('/v1/crypto/decrypt', wrapped)
  const cek = randomBytes(32)
  secrets.push(cek)
  const { public_jwk } = (await alice.get(`/v1/crypto/keys/${rsa.kid_public}`)).json
  const to = { key: createPublicKey({ key: public_jwk, format: 'jwk' }), oaepHash: 'sha256' }
  const taken = await post('/v1/crypto/keys/unwrap', {
    protected: Buffer.from(JSON.stringify({ alg: 'RSA-OAEP-256', enc: 'A256GCM', kid: rsa.kid })).toString(
      'base64url',
    ),
    encrypted_key: publicEncrypt({ ...to, padding: constants.RSA_PKCS1_OAEP_PADDING }, cek).toString(
      'base64url',
    ),
  })
  assert.ok(taken.kid)
  await post('/v1/crypto/batch', {
    operations: [
      { op: 'encrypt', kid: taken.kid, alg: 'dir', enc: 'A256GCM', data },
      { op: 'decrypt', ...sealed },
      { op: 'mac', kid: hmac.kid, alg: 'HS512', data },
    ],
  })
  await ask(alice, 'POST', `/v1/crypto/keys/${aes.kid}/tags`, { tags: ['u'] })
  await ask(alice, 'DELETE', `/v1/crypto/keys/${aes.kid}/tags`, { tags: ['t'] })
  const grant = { unique_identifier: aes.kid, user_id: 'bob', operation_types: ['UseKey', 'Read'] }
  await post('/access/grant', grant)
  await ask(bob, 'POST', '/v1/crypto/encrypt', { kid: aes.kid, alg: 'dir', enc: 'A256GCM', data })
  await post('/access/revoke', grant)
  for (const { kid } of [aes, hmac, rsa, ec, ed, lattice]) await ask(alice, 'GET', `/v1/crypto/keys/${kid}`)
  for (const path of [
    '/access/owned',
    '/access/obtained',
    '/.well-known/jwks.json',
    '/openapi.json',
    '/server-info',
  ])
    await ask(alice, 'GET', path)
  // A change of state, as KMIP makes it, and one that time makes.
  const { db } = kms.environment
  const object = await findObject(db, hmac.kid)
  assert.ok(object)
  const now = Date.now()
  await db.commit(lifeCycleChanges(db, object, { ...object, deactivationAt: now }, now))
  for (const work of kmsService.periodic) await work.run(kms.environment)
  const key = await kms.services.keys.get(aes.kid)
  const shown = [
    inspect(key, { depth: 10, showHidden: true }),
    JSON.stringify(key),
    String(key),
    inspect(kms.services),
  ]
  await ask(alice, 'DELETE', `/v1/crypto/keys/${ec.kid}`)

  await audit.close()
  const records = readdirSync(folder).map((name) => readFileSync(join(folder, name)))
  const places: Readonly<Record<string, Buffer>> = {
    'database and WAL': await kms.storedBytes(),
    'audit log': Buffer.concat(records),
    log: Buffer.from([...kms.log, ...home.log].join('\n')),
    metrics: Buffer.from(await metrics.exposition()),
    replies: Buffer.from(replies.map(({ text, headers }) => text + JSON.stringify(headers)).join('\n')),
    inspection: Buffer.from(shown.join('\n')),
  }
  assert.ok(secrets.length >= 20)
  for (const [place, bytes] of Object.entries(places)) {
    assert.ok(bytes.length > 0, place)
    for (const secret of secrets) {
      for (const spelling of spellings(secret))
        assert.equal(bytes.indexOf(spelling), -1, `a key is in the ${place}`)
    }
  }
  // The search finds existing bytes.
  assert.notEqual(places['audit log']?.indexOf(aes.kid), -1)
  assert.notEqual(places['database and WAL']?.indexOf(aes.kid), -1)
})
