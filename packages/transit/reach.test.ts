import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rights } from '@warder/keys/testing'
import { dateTime, Enumeration, enumeration, integer, Tag } from '@warder/kmip-codec'
import { attributes, kmipClient } from '@warder/kmip-server/testing'
import { startKms, startSharedKms } from '@warder/kms/testing'
import fc from 'fast-check'

const kms = await startSharedKms({ config: { transit_enabled: true } })

const at = (path: string) => `/v1/transit/${path}`
const plaintext = Buffer.from('attack at dawn').toString('base64')
const grant = (verb: 'grant' | 'revoke', kid: string, user_id: string, operation_types: readonly string[]) =>
  kms.user('alice').post(`/access/${verb}`, { unique_identifier: kid, user_id, operation_types })

async function sharedKey(name: string, user: string): Promise<string> {
  const { status, json, text } = await kms.user('alice').post('/v1/crypto/keys', { kty: 'RSA' })
  assert.equal(status, 200, text)
  assert.equal((await grant('grant', json.kid, user, ['encrypt'])).status, 200)
  const made = await kms
    .user(user)
    .post('/v1/crypto/aliases', { alias: `alias/transit/${name}`, kid: json.kid })
  assert.equal(made.status, 200, made.text)
  return json.kid
}

test('metadata of a key are shown to who may read them, by no request that does something else', async () => {
  const kid = await sharedKey('shared', 'bob')
  const bob = kms.user('bob')
  for (const [revoked, status] of [
    [false, 403],
    [true, 400],
  ] as const) {
    if (revoked) assert.equal((await grant('revoke', kid, 'bob', ['encrypt'])).status, 200)
    const answer = await bob.post(at('keys/shared'), {})
    assert.equal(answer.status, status, answer.text)
    assert.doesNotMatch(answer.text, /latest_version|BEGIN/)
  }
  assert.equal((await grant('grant', kid, 'bob', ['rekey', 'setattribute'])).status, 200)
  for (const [path, body] of [
    ['keys/shared/rotate', {}],
    ['keys/shared/config', { deletion_allowed: true }],
  ] as const) {
    const { status, json } = await bob.post(at(path), body)
    assert.deepEqual([status, json.data], [200, null], path)
  }
  assert.equal((await grant('grant', kid, 'bob', ['getattributes'])).status, 200)
  assert.equal((await bob.post(at('keys/shared'), {})).json.data.latest_version, 2)
})

test('what a request reveals of a key of another owner is what the rights of its caller say', async () => {
  const kid = await sharedKey('model', 'carol')
  const carol = kms.user('carol')
  const read = { kid: 'alias/transit/model' }
  await fc.assert(
    fc.asyncProperty(fc.subarray([...rights], { minLength: 0, maxLength: 4 }), async (given) => {
      await grant('revoke', kid, 'carol', [...rights])
      if (given.length > 0) assert.equal((await grant('grant', kid, 'carol', given)).status, 200)
      const mayRead = given.includes('getattributes')
      for (const answer of [
        await carol.get(at('keys/model')),
        await carol.post(at('keys/model'), {}),
        await carol.post(at('keys/model/config'), { min_encryption_version: 0 }),
        await carol.get(`/v1/crypto/keys/${encodeURIComponent(read.kid)}`),
      ])
        assert.ok(mayRead || !/BEGIN|latest_version|key_ops/.test(answer.text), `${given}: ${answer.text}`)
      const { status } = await carol.post(at('encrypt/model'), { plaintext })
      assert.equal(status === 200, given.includes('encrypt'))
    }),
    { numRuns: 12 },
  )
})

test('an HMAC is verified with the right that computes it', async () => {
  const alice = kms.user('alice')
  const bob = kms.user('bob')
  assert.equal((await alice.post(at('keys/tag'), { type: 'hmac' })).status, 200)
  const { json } = await alice.post(at('hmac/tag'), { input: plaintext })
  const give = (right: string) => grant('grant', 'alias/transit/tag', 'bob', [right])
  assert.equal((await give('signatureverify')).status, 200)
  const body = { input: plaintext, hmac: json.data.hmac }
  for (const asked of [body, { batch_input: [body] }])
    assert.equal((await bob.post(at('verify/tag@alice'), asked)).status, 403)
  assert.equal((await give('mac')).status, 200)
  assert.equal((await bob.post(at('verify/tag@alice'), body)).json.data.valid, true)
})

test('the right to compute HMACs with a key of another type reaches nothing else of it, and no other right reaches that', async () => {
  const alice = kms.user('alice')
  const erin = kms.user('erin')
  const input = plaintext
  for (const type of ['aes256-gcm96', 'ecdsa-p256', 'rsa-2048']) {
    const own = `beside-${type}`
    const alias = `alias/transit/${own}`
    assert.equal((await alice.post(at(`keys/${own}`), { type })).status, 200)
    const { hmac } = (await alice.post(at(`hmac/${own}`), { input })).json.data
    assert.equal(
      (
        await grant(
          'grant',
          alias,
          'erin',
          rights.filter((right) => right !== 'mac'),
        )
      ).status,
      200,
    )
    assert.equal((await erin.post(at(`hmac/${own}@alice`), { input })).status, 403)
    assert.equal((await erin.post(at(`verify/${own}@alice`), { input, hmac })).status, 403)
    await grant('revoke', alias, 'erin', [...rights])
    assert.equal((await grant('grant', alias, 'erin', ['mac'])).status, 200)
    assert.equal((await erin.post(at(`hmac/${own}@alice`), { input })).json.data.hmac, hmac)
    for (const [path, body] of [
      ['encrypt', { plaintext }],
      ['decrypt', { ciphertext: 'vault:v1:AAAA' }],
      ['sign', { input }],
    ] as const)
      assert.equal((await erin.post(at(`${path}/${own}@alice`), body)).status, 403, path)
    const { kid } = (await alice.get(`/v1/crypto/aliases/transit%2F${own}`)).json
    const raw = await erin.post('/v1/crypto/mac', { kid, alg: 'HS256', data: 'AAAA' })
    assert.equal(raw.status, 422, 'the key itself makes no MACs')
  }
})

test('a key whose mask permits neither encryption nor signatures has no HMAC key, nor has a public one', async () => {
  const alice = kms.user('alice')
  const made = async (mask: number) => {
    const create = await kmipClient(alice).do('Create', [
      enumeration(Tag.ObjectType, Enumeration.ObjectType.SymmetricKey),
      attributes(
        enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.AES),
        integer(Tag.CryptographicLength, 256),
        integer(Tag.CryptographicUsageMask, mask),
        dateTime(Tag.ActivationDate, Math.floor(Date.now() / 1000) - 60),
      ),
    ])
    return create.id
  }
  const { json: pair } = await alice.post('/v1/crypto/keys', { kty: 'EC', crv: 'P-256' })
  assert.equal(typeof pair.kid_public, 'string', JSON.stringify(pair))
  for (const [name, kid, told] of [
    ['wrapper', await made(0x30), /does not permit this use/],
    ['public', pair.kid_public, /secret and private keys/],
  ] as const) {
    const alias = await alice.post('/v1/crypto/aliases', { alias: `alias/transit/${name}`, kid })
    assert.equal(alias.status, 200, alias.text)
    for (const [path, more] of [
      ['hmac', {}],
      ['verify', { hmac: 'vault:v1:AAAA' }],
    ] as const) {
      const answer = await alice.post(at(`${path}/${name}`), { input: plaintext, ...more })
      assert.deepEqual([answer.status, told.test(answer.text)], [400, true], answer.text)
    }
  }
})

test('in FIPS mode keys of type hmac alone compute HMACs', async () => {
  await using fips = await startKms({ config: { transit_enabled: true, fips: true } })
  const alice = fips.user('alice')
  for (const [type, status] of [
    ['hmac', 200],
    ['aes256-gcm96', 400],
    ['ecdsa-p256', 400],
  ] as const) {
    assert.equal((await alice.post(at(`keys/${type}`), { type })).status, 200)
    const answer = await alice.post(at(`hmac/${type}`), { input: plaintext })
    assert.equal(answer.status, status, answer.text)
    if (status === 400) assert.match(answer.text, /in FIPS mode hmac requires a key of type hmac/)
  }
})

test('each HMAC of a batch has its audit record', async () => {
  const alice = kms.user('alice')
  await alice.post(at('keys/tags'), {})
  const made = await alice.post(at('hmac/tags'), { batch_input: [{ input: plaintext }, { input: '!' }] })
  const [{ hmac }, { error }] = made.json.data.batch_results
  assert.match(error, /base64/)
  const verified = await alice.post(at('verify/tags'), {
    batch_input: [
      { input: plaintext, hmac },
      { input: 'AAAA', hmac },
    ],
  })
  assert.deepEqual(verified.json.data.batch_results, [{ valid: true }, { valid: false }])
  const { kid } = (await alice.get('/v1/crypto/aliases/transit%2Ftags')).json
  assert.deepEqual(
    kms.audit
      .filter(({ object, details }) => object === kid && details?.item !== undefined)
      .map(({ operation, outcome, details }) => [operation, outcome, details?.item]),
    [
      ['transit.hmac', 'success', 0],
      ['transit.hmac', 'failure', 1],
      ['transit.verify', 'success', 0],
      ['transit.verify', 'success', 1],
    ],
  )
})

for (const mode of ['continue', 'reject'] as const)
  test(`each item of a batch has its audit record in mode ${mode}`, async () => {
    await using own = await startKms({ auditMode: mode, config: { transit_enabled: true } })
    const alice = own.user('alice')
    await alice.post(at('keys/batch'), {})
    const sealed = await alice.post(at('encrypt/batch'), {
      batch_input: Array.from({ length: 20 }, () => ({ plaintext })),
    })
    const [one] = sealed.json.data.batch_results
    const bad = { ciphertext: `${one.ciphertext.slice(0, -4)}AAA=` }
    const opened = await alice.post(at('decrypt/batch'), { batch_input: [one, bad, bad] })
    assert.equal(opened.status, 400)
    const kid = (await alice.get('/access/owned')).json[0].object_id ?? ''
    const records = own.audit
    const of = (operation: string) =>
      records.filter((record) => record.operation === operation && record.details?.item !== undefined)
    assert.equal(of('transit.encrypt').length, 20)
    assert.deepEqual(
      of('transit.decrypt').map(({ outcome, reason, object }) => [
        outcome,
        reason,
        object === kid || kid === '',
      ]),
      [
        ['success', undefined, true],
        ['failure', 'decryption_failed', true],
        ['failure', 'decryption_failed', true],
      ],
    )
    const whole = records.filter(({ details }) => details?.items === 3)
    assert.deepEqual(
      whole.map(({ operation, details }) => [operation, details?.failed]),
      [['transit.decrypt', 2]],
    )
  })

test('partial_failure_response_code is the status where some items of a batch failed', async () => {
  const alice = kms.user('alice')
  await alice.post(at('keys/partial'), {})
  const good = { plaintext }
  const bad = { plaintext: '!' }
  const encrypt = (batch_input: readonly object[], partial_failure_response_code?: number) =>
    alice.post(at('encrypt/partial'), {
      batch_input,
      ...(partial_failure_response_code !== undefined && { partial_failure_response_code }),
    })
  assert.equal((await encrypt([good, bad])).status, 400)
  const partial = await encrypt([good, bad], 207)
  assert.deepEqual([partial.status, partial.json.data.batch_results.length], [207, 2])
  assert.equal((await encrypt([good, bad], 200)).status, 200)
  assert.equal((await encrypt([bad, bad], 207)).status, 400, 'every one failed')
  assert.equal((await encrypt([good, good], 207)).status, 200, 'none failed')
  for (const code of [99, 600, 0]) assert.equal((await encrypt([good, bad], code)).status, 400)
})
