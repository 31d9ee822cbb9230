import assert from 'node:assert/strict'
import { createPublicKey, createVerify, randomBytes, X509Certificate } from 'node:crypto'
import { after, test } from 'node:test'
import { listDueHsmKeys, removeDueHsmKeys } from '@warder/keys'
import { kmipClient, uid } from '@warder/kmip-server/testing'
import { createProcessToken, missingSofthsm, missingTools } from '@warder/pkcs11/testing'
import { missingOpenssl, opensslFolder } from '@warder/pki/testing'
import { toPem } from '../pki/pem.ts'
import { runSigning } from '../pki/testing/pki-scene.ts'
import { hsmSettings, readHsms } from '../service/hsm-settings.ts'
import { tryKeys } from '../service/restore-test.ts'
import { grant } from '../testing/client.ts'
import { type Started, startKms } from '../testing/start.ts'

const skip = missingSofthsm
const softhsm = missingSofthsm ? undefined : createProcessToken('warder keys')

const hsmTable = (more: object = {}): string =>
  JSON.stringify({
    name: 'main',
    library: softhsm?.library,
    token_label: softhsm?.label,
    pin_file: softhsm?.pinFile,
    admins: ['alice'],
    sessions: 2,
    ...more,
  })

let started: Started | undefined
async function getKms(): Promise<Started> {
  started ??= await startKms({ config: { hsm: [hsmTable()], transit_enabled: true } })
  return started
}
after(() => started?.[Symbol.asyncDispose]())

const pkcs11Tool = (...words: readonly string[]): string => {
  const { library = '', pin = '', label = '', run } = softhsm ?? {}
  return (
    run?.('pkcs11-tool', '--module', library, '--token-label', label, '--login', '--pin', pin, ...words) ?? ''
  )
}

/** Removes the keys of destroyed objects from the token, as the primary does. */
async function removeDue({ services, environment }: Started): Promise<void> {
  const { hsms } = services.keys
  assert.ok(hsms)
  await removeDueHsmKeys({ db: environment.db, hsms, log: environment.log }, Date.now() + 1)
}

const noHsms = Object.fromEntries(
  Object.entries(hsmSettings).map(([key, setting]) => [key, setting.default]),
) as unknown as Parameters<typeof readHsms>[0]

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url')
const data = text(Buffer.from('attack at dawn'))

test('an AES key is created in the HSM, encrypts and decrypts there, and nobody gets its value', {
  skip,
}, async () => {
  const kms = await getKms()
  const alice = kms.user('alice')
  const made = await alice.post('/v1/crypto/keys', {
    kty: 'oct',
    alg: 'A256GCM',
    kid: 'hsm::main::first',
    tags: ['t'],
  })
  assert.equal(made.status, 200, made.text)
  assert.equal(made.json.kid, 'hsm::main::first')
  const sealed = await alice.post('/v1/crypto/encrypt', {
    kid: made.json.kid,
    alg: 'dir',
    enc: 'A256GCM',
    data,
  })
  assert.equal(sealed.status, 200, sealed.text)
  const opened = await alice.post('/v1/crypto/decrypt', sealed.json)
  assert.equal(opened.json.data, data, opened.text)
  const changed = await alice.post('/v1/crypto/decrypt', { ...sealed.json, tag: text(randomBytes(16)) })
  assert.deepEqual([changed.status, changed.json.error], [422, 'decryption_failed'])
  const shown = await alice.get('/v1/crypto/keys/hsm::main::first')
  assert.deepEqual(
    [shown.json.hsm, shown.json.hardware, shown.json.ext, shown.json.tags, shown.json.state],
    ['main', true, false, ['t'], 'Active'],
  )
  const record = kms.audit.find(
    ({ operation, object }) => operation === 'crypto.keys.create' && object === made.json.kid,
  )
  assert.equal(record?.details?.hsm, 'main')
})

test('only administrators of the HSM create keys in it, rights on them are those of all keys, and labels are taken once', {
  skip,
}, async () => {
  const kms = await getKms()
  const [alice, bob] = [kms.user('alice'), kms.user('bob')]
  const body = { kty: 'oct', alg: 'A256GCM', kid: 'hsm::main::taken' }
  const refused = await bob.post('/v1/crypto/keys', body)
  assert.deepEqual(
    [refused.status, refused.json.description],
    [403, 'Only the administrators of the HSM main may create or register keys in it.'],
  )
  assert.equal((await alice.post('/v1/crypto/keys', body)).status, 200)
  assert.equal((await alice.post('/v1/crypto/keys', body)).status, 409)
  const use = { kid: body.kid, alg: 'dir', enc: 'A256GCM', data }
  assert.equal((await bob.post('/v1/crypto/encrypt', use)).status, 404)
  await grant(alice, body.kid, 'bob', 'encrypt')
  assert.equal((await bob.post('/v1/crypto/encrypt', use)).status, 200)
  for (const [wrong, sentence] of [
    [
      { ...body, kid: 'hsm::other::x' },
      /No HSM is configured for this identifier: the settings contain main/,
    ],
    [{ ...body, kid: 'hsm::main::' }, /label of a key in an HSM has 1 to 128 bytes/],
    [{ kty: 'oct', alg: 'A256GCM', hsm: 'other' }, /hsm: no HSM is configured under this name/],
    [{ ...body, kid: 'hsm::main::y', k: text(randomBytes(32)) }, /k: a key in an HSM is generated there/],
    [{ ...body, kid: 'hsm::main::y', ext: true }, /ext: a key in an HSM cannot be exported/],
  ] as const) {
    const answer = await alice.post('/v1/crypto/keys', wrong)
    assert.equal(answer.status, 400, answer.text)
    assert.match(answer.json.description, sentence)
  }
  const tooNew = await alice.post('/v1/crypto/keys', { kty: 'AKP', alg: 'ML-DSA-65', hsm: 'main' })
  assert.deepEqual([tooNew.status, tooNew.json.error], [422, 'unsupported_algorithm'])
})

test('pairs of RSA, P-256, P-384 and Ed25519 sign in the HSM, RSA unwraps content keys, and HMAC keys compute MACs', {
  skip,
}, async () => {
  const alice = (await getKms()).user('alice')
  for (const [kty, alg, crv] of [
    ['RSA', 'RS256', undefined],
    ['RSA', 'PS384', undefined],
    ['EC', 'ES256', 'P-256'],
    ['EC', 'ES384', 'P-384'],
    ['OKP', 'EdDSA', undefined],
  ] as const) {
    const made = await alice.post('/v1/crypto/keys', {
      kty,
      alg,
      hsm: 'main',
      ...(crv !== undefined && { crv }),
    })
    assert.equal(made.status, 200, `${alg} ${made.text}`)
    assert.match(made.json.kid, /^hsm::main::[0-9a-f-]{36}$/)
    assert.equal(made.json.kid_public, `${made.json.kid}_pk`)
    const signed = await alice.post('/v1/crypto/sign', { kid: made.json.kid, alg, data })
    assert.equal(signed.status, 200, `${alg} ${signed.text}`)
    const verified = await alice.post('/v1/crypto/verify', { ...signed.json, data })
    assert.equal(verified.json.valid, true, alg)
  }
  for (const alg of ['RSA-OAEP', 'RSA-OAEP-256']) {
    const { kid } = (await alice.post('/v1/crypto/keys', { kty: 'RSA', alg, hsm: 'main' })).json
    const sealed = await alice.post('/v1/crypto/encrypt', { kid, alg, enc: 'A256GCM', data })
    assert.equal(sealed.status, 200, sealed.text)
    assert.equal((await alice.post('/v1/crypto/decrypt', sealed.json)).json.data, data)
    const wrong = await alice.post('/v1/crypto/decrypt', {
      ...sealed.json,
      encrypted_key: text(randomBytes(256)),
    })
    assert.deepEqual([wrong.status, wrong.json.error], [422, 'decryption_failed'])
  }
  const mac = {
    kid: (await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'HS256', hsm: 'main' })).json.kid,
    alg: 'HS256',
    data,
  }
  const tag = await alice.post('/v1/crypto/mac', mac)
  assert.equal(tag.status, 200, tag.text)
  assert.equal((await alice.post('/v1/crypto/mac', { ...mac, mac: tag.json.mac })).json.valid, true)
})

test('AES keys of the HSM wrap content keys, and refuse more data than a request to a token may have', {
  skip,
}, async () => {
  const alice = (await getKms()).user('alice')
  for (const alg of ['A256KW', 'A256GCMKW']) {
    const { kid } = (await alice.post('/v1/crypto/keys', { kty: 'oct', alg, hsm: 'main' })).json
    const large = text(randomBytes(300_000))
    const sealed = await alice.post('/v1/crypto/encrypt', { kid, alg, enc: 'A256GCM', data: large })
    assert.equal(sealed.status, 200, `${alg} ${sealed.text.slice(0, 300)}`)
    assert.equal((await alice.post('/v1/crypto/decrypt', sealed.json)).json.data === large, true)
    const wrong = await alice.post('/v1/crypto/decrypt', {
      ...sealed.json,
      encrypted_key: text(randomBytes(40)),
    })
    assert.equal(wrong.json.error, 'decryption_failed', alg)
  }
  const { kid } = (await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM', hsm: 'main' })).json
  for (const bytes of [100_000, 2_000_000]) {
    const large = text(randomBytes(bytes))
    const refused = await alice.post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data: large })
    assert.equal(refused.status, 400, refused.text.slice(0, 200))
    assert.match(
      refused.json.description,
      /at most 61440 bytes at once: use an algorithm that wraps a content key/,
    )
  }
})

test('a rotation creates the next version in the HSM, and older data can be decrypted', {
  skip,
}, async () => {
  const kms = await getKms()
  const alice = kms.user('alice')
  const { kid } = (
    await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM', kid: 'hsm::main::turning' })
  ).json
  const use = { kid, alg: 'dir', enc: 'A256GCM', data }
  const before = await alice.post('/v1/crypto/encrypt', use)
  const rotated = await alice.post(`/v1/crypto/keys/${kid}/rotate`, {})
  assert.equal(rotated.status, 200, rotated.text)
  const shown = await alice.get(`/v1/crypto/keys/${rotated.json.version_kid}`)
  assert.deepEqual([shown.json.hsm, shown.json.hardware, shown.json.version], ['main', true, 2])
  const sealed = await alice.post('/v1/crypto/encrypt', use)
  for (const jwe of [before.json, sealed.json])
    assert.equal((await alice.post('/v1/crypto/decrypt', jwe)).json.data, data)
  const pair = (
    await alice.post('/v1/crypto/keys', { kty: 'EC', alg: 'ES256', crv: 'P-256', kid: 'hsm::main::pair' })
  ).json
  const again = await alice.post(`/v1/crypto/keys/${pair.kid}/rotate`, {})
  assert.equal(again.status, 200, again.text)
  const signed = await alice.post('/v1/crypto/sign', { kid: pair.kid, alg: 'ES256', data })
  assert.equal((await alice.post('/v1/crypto/verify', { ...signed.json, data })).json.valid, true)
})

test('a version gets the next label that no key of the HSM has, as after a restore of an earlier database', {
  skip: skip || missingTools('pkcs11-tool'),
}, async () => {
  const alice = (await getKms()).user('alice')
  for (const body of [
    { kty: 'oct', alg: 'A256GCM', kid: 'hsm::main::later' },
    { kty: 'EC', alg: 'ES256', crv: 'P-256', kid: 'hsm::main::later-pair' },
  ]) {
    const { kid } = (await alice.post('/v1/crypto/keys', body)).json
    const label = kid.slice('hsm::main::'.length)
    const type = body.kty === 'oct' ? ['--keygen', '--key-type', 'AES:32'] : []
    const kind = type.length > 0 ? type : ['--keypairgen', '--key-type', 'EC:prime256v1']
    for (const number of [1, 2]) pkcs11Tool(...kind, '--label', `${label}#${number}`, '--id', `ab0${number}`)
    for (const version of [2, 3]) {
      const rotated = await alice.post(`/v1/crypto/keys/${kid}/rotate`, {})
      assert.deepEqual([rotated.status, rotated.json.version], [200, version], rotated.text)
    }
    const listed = pkcs11Tool('--list-objects')
    for (const number of [3, 4]) assert.ok(listed.includes(`${label}#${number}\n`), listed)
  }
  const { environment } = await getKms()
  const due = await listDueHsmKeys(environment.db, Number.MAX_SAFE_INTEGER, 100)
  assert.deepEqual(
    due.filter(({ label }) => label.startsWith('later')),
    [],
  )
})

test('pkcs11-tool sees keys of this service as sensitive and not extractable, and none of a deleted or refused one', {
  skip: skip || missingTools('pkcs11-tool'),
}, async () => {
  const kms = await getKms()
  const alice = kms.user('alice')
  await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM', kid: 'hsm::main::seen' })
  await alice.post('/v1/crypto/keys', { kty: 'RSA', alg: 'RS256', kid: 'hsm::main::seen pair' })
  const listed = pkcs11Tool('--list-objects')
  const part = listed.slice(listed.search(/label: +seen\n/), listed.length)
  assert.match(part, /Access: +sensitive, always sensitive, never extractable, local/)
  await alice.post('/v1/crypto/keys/hsm::main::seen/rotate', {})
  for (const kid of ['hsm::main::seen', 'hsm::main::seen pair']) {
    const deleted = await alice.del(`/v1/crypto/keys/${encodeURIComponent(kid)}`)
    assert.equal(deleted.status, 204, deleted.text)
  }
  await removeDue(kms)
  assert.doesNotMatch(pkcs11Tool('--list-objects'), /label: +seen/)
  // Another program uses the label: neither the HSM nor the database keeps a part of the new key.
  pkcs11Tool('--keygen', '--key-type', 'AES:32', '--label', 'theirs', '--id', 'beef')
  const taken = await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM', kid: 'hsm::main::theirs' })
  assert.deepEqual(
    [taken.status, taken.json.description],
    [409, 'The HSM main has a key with this label: register it, or choose another label.'],
  )
  assert.equal((await alice.get('/v1/crypto/keys/hsm::main::theirs')).status, 404)
  assert.match(pkcs11Tool('--list-objects'), /label: +theirs/)
})

test('a key that was deleted in the HSM is refused by name, and other keys are used', {
  skip: skip || missingTools('pkcs11-tool'),
}, async () => {
  const alice = (await getKms()).user('alice')
  const { kid } = (
    await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM', kid: 'hsm::main::lost' })
  ).json
  const use = { kid, alg: 'dir', enc: 'A256GCM', data }
  assert.equal((await alice.post('/v1/crypto/encrypt', use)).status, 200)
  pkcs11Tool('--delete-object', '--type', 'secrkey', '--label', 'lost')
  const lost = await alice.post('/v1/crypto/encrypt', use)
  assert.equal(lost.status, 422, lost.text)
  assert.match(lost.json.description, /The HSM main does not have the key: it was deleted there/)
})

test('the signature of an RSA key in the HSM is verified by OpenSSL with the public JWK', {
  skip,
}, async () => {
  const alice = (await getKms()).user('alice')
  const { kid } = (await alice.post('/v1/crypto/keys', { kty: 'RSA', alg: 'RS256', hsm: 'main' })).json
  const { public_jwk: jwk } = (await alice.get(`/v1/crypto/keys/${kid}`)).json
  const signed = await alice.post('/v1/crypto/sign', { kid, alg: 'RS256', data })
  const verifier = createVerify('sha256').update(`${signed.json.protected}.${data}`)
  const key = createPublicKey({ key: jwk, format: 'jwk' })
  assert.ok(verifier.verify(key, Buffer.from(signed.json.signature, 'base64url')))
})

test('server-info shows the HSM in the words of the deployed servers', { skip }, async () => {
  const alice = (await getKms()).user('alice')
  const { hsm_instances: instances } = (await alice.get('/server-info')).json
  assert.equal(instances.length, 1)
  assert.deepEqual((await alice.get('/hsm/status')).json, instances)
  assert.deepEqual([instances[0].prefix, instances[0].slots[0].accessible], ['hsm::main', true])
  assert.ok(Number.isInteger(instances[0].slots[0].slot_id))
})

test('a key that pkcs11-tool made is listed, registered and used, and an extractable one is not shown as hardware', {
  skip: skip || missingTools('pkcs11-tool'),
}, async () => {
  const kms = await getKms()
  const [alice, bob] = [kms.user('alice'), kms.user('bob')]
  pkcs11Tool('--keygen', '--key-type', 'AES:32', '--label', 'adopted', '--id', 'aa01', '--extractable')
  pkcs11Tool('--keypairgen', '--key-type', 'rsa:2048', '--label', 'adopted pair', '--id', 'aa02')
  pkcs11Tool('--keypairgen', '--key-type', 'EC:secp384r1', '--label', 'twice', '--id', 'aa03')
  pkcs11Tool('--keypairgen', '--key-type', 'EC:secp384r1', '--label', 'twice', '--id', 'aa04')
  const path = '/v1/crypto/hsms/main/keys'
  assert.equal((await bob.get(path)).status, 403)
  assert.equal((await bob.post(path, { label: 'adopted' })).status, 403)
  const listed = (await alice.get(path)).json.keys.find(({ label }: { label: string }) => label === 'adopted')
  assert.deepEqual(listed, {
    ...{ label: 'adopted', key_id: 'aa01', class: 'secret', type: 'AES', bits: 256 },
    ...{ sensitive: listed.sensitive, extractable: true, never_extractable: false, local: true },
  })
  const wrongAlg = await alice.post(path, { label: 'adopted', alg: 'A128GCM' })
  assert.deepEqual([wrongAlg.status, wrongAlg.json.error], [400, 'bad_request'])
  assert.equal((await alice.post(path, { label: 'nothing' })).status, 422)
  assert.match((await alice.post(path, { label: 'twice' })).json.description, /several keys with this label/)
  const made = await alice.post(path, { label: 'adopted', alg: 'A256GCM', tags: ['old'] })
  assert.deepEqual(
    [made.status, made.json],
    [200, { kid: 'hsm::main::adopted', kty: 'oct', hardware: false }],
    made.text,
  )
  assert.equal((await alice.post(path, { label: 'adopted' })).status, 409)
  const shown = (await alice.get('/v1/crypto/keys/hsm::main::adopted')).json
  assert.deepEqual([shown.hsm, shown.hardware, shown.tags, shown.owner], ['main', false, ['old'], 'alice'])
  const sealed = await alice.post('/v1/crypto/encrypt', { kid: shown.kid, alg: 'dir', enc: 'A256GCM', data })
  assert.equal((await alice.post('/v1/crypto/decrypt', sealed.json)).json.data, data, sealed.text)
  const kmip = kmipClient(alice)
  for (const operation of ['Get', 'Export'] as const)
    await kmip.fails(operation, [uid(shown.kid)], 'KeyValueNotPresent')
  const [first, pair] = [
    await alice.post(path, { label: 'twice', key_id: 'aa04' }),
    await alice.post(path, { label: 'adopted pair' }),
  ]
  assert.deepEqual([first.status, pair.status], [200, 200], first.text + pair.text)
  for (const [kid, alg] of [
    [first.json.kid, 'ES384'],
    [pair.json.kid, 'PS256'],
  ]) {
    const signed = await alice.post('/v1/crypto/sign', { kid, alg, data })
    assert.equal(
      (await alice.post('/v1/crypto/verify', { ...signed.json, data })).json.valid,
      true,
      signed.text,
    )
  }
  const after = (await alice.get(path)).json.keys as { readonly key_id: string; readonly kid?: string }[]
  assert.equal(after.find(({ key_id }) => key_id === 'aa04')?.kid, 'hsm::main::twice')
  assert.equal(after.find(({ key_id }) => key_id === 'aa03')?.kid, undefined)
  assert.equal((await alice.del('/v1/crypto/keys/hsm::main::adopted')).status, 204)
  await removeDue(kms)
  assert.doesNotMatch(pkcs11Tool('--list-objects'), /label: +adopted\n/)
})

test('an authority signs certificates and its CRL with a key in the HSM', {
  skip,
}, async () => {
  const alice = (await getKms()).user('alice')
  for (const [kty, alg, crv] of [
    ['RSA', 'RS256', undefined],
    ['EC', 'ES384', 'P-384'],
  ] as const) {
    const { kid } = (
      await alice.post('/v1/crypto/keys', { kty, alg, hsm: 'main', ...(crv !== undefined && { crv }) })
    ).json
    const authority = await alice.post('/v1/pki/authorities', { subject: `CN=HSM ${alg}`, kid })
    assert.equal(authority.status, 200, authority.text)
    const root = new X509Certificate(authority.json.certificate)
    const issued = await alice.post(`/v1/pki/authorities/${authority.json.id}/certificates`, {
      alg: 'ES256',
      names: ['a.example'],
    })
    assert.equal(issued.status, 200, issued.text)
    assert.ok(new X509Certificate(issued.json.certificate).verify(root.publicKey))
    const crl = await alice.get(`/public/certificates/${authority.json.id}/crl`)
    assert.equal(crl.status, 200, crl.text)
  }
})

test('OpenSSL accepts the CRL and the OCSP responses of an authority whose key is in the HSM', {
  skip: skip || missingOpenssl,
}, async () => {
  const kms = await getKms()
  const alice = kms.user('alice')
  for (const [kty, alg, crv] of [
    ['RSA', 'RS256', undefined],
    ['RSA', 'PS256', undefined],
    ['EC', 'ES256', 'P-256'],
    ['EC', 'ES384', 'P-384'],
  ] as const) {
    const { kid } = (
      await alice.post('/v1/crypto/keys', { kty, alg, hsm: 'main', ...(crv !== undefined && { crv }) })
    ).json
    const root = (await alice.post('/v1/pki/authorities', { subject: `CN=Checked ${alg}`, kid })).json
    const issue = async (name: string) =>
      (await alice.post(`/v1/pki/authorities/${root.id}/certificates`, { alg: 'ES256', names: [name] })).json
    const [good, bad] = [await issue('good.example'), await issue('bad.example')]
    await alice.post(`/v1/pki/certificates/${bad.id}/revoke`, { reason: 'keyCompromise' })
    await runSigning(kms)
    using folder = opensslFolder()
    for (const [name, { certificate }] of Object.entries({ root, good, bad }))
      folder.write(`${name}.pem`, certificate)
    const crl = await alice.get(`/public/certificates/${root.id}/crl`)
    folder.write('crl.pem', toPem('X509 CRL', crl.bytes))
    const words = ['verify', '-x509_strict', '-crl_check', '-CAfile', 'root.pem', '-CRLfile', 'crl.pem']
    assert.match(folder.run(...words, 'good.pem').text, /good\.pem: OK/, alg)
    assert.match(folder.run(...words, 'bad.pem').text, /certificate revoked/, alg)
    for (const [name, state] of [
      ['good', /good\.pem: good/],
      ['bad', /bad\.pem: revoked/],
    ] as const) {
      const files = ['-issuer', 'root.pem', '-cert', `${name}.pem`]
      const made = folder.run('ocsp', '-sha256', ...files, '-reqout', 'request.der')
      const headers = { 'content-type': 'application/ocsp-request' }
      const answer = await kms.with({}).call('POST', '/ocsp', { bytes: made.file('request.der'), headers })
      folder.write('response.der', answer.bytes)
      const files2 = ['-respin', 'response.der', '-CAfile', 'root.pem']
      const checked = folder.run('ocsp', '-sha256', '-no_nonce', ...files, ...files2)
      assert.match(checked.text, /Response verify OK/, `${alg} ${checked.text}`)
      assert.match(checked.text, state)
    }
  }
})

test('transit uses a key of the HSM by an alias', { skip }, async () => {
  const alice = (await getKms()).user('alice')
  const { kid } = (await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM', hsm: 'main' })).json
  assert.equal((await alice.post('/v1/crypto/aliases', { alias: 'alias/transit/vaulted', kid })).status, 200)
  const plaintext = Buffer.from('attack at dawn').toString('base64')
  const sealed = await alice.post('/v1/transit/encrypt/vaulted', { plaintext })
  assert.equal(sealed.status, 200, sealed.text)
  const opened = await alice.post('/v1/transit/decrypt/vaulted', { ciphertext: sealed.json.data.ciphertext })
  assert.equal(opened.json.data.plaintext, plaintext, opened.text)
})

test('two nodes of one database use the same token, and one of two creations of a label wins', {
  skip,
}, async () => {
  const kms = await getKms()
  const { environment } = kms
  const other = await startKms({
    config: { hsm: [hsmTable()] },
    ...{ db: environment.db, seal: environment.seal, node: 'other', tokens: true },
  })
  try {
    const [alice, elsewhere] = [kms.user('alice'), other.user('alice')]
    const body = { kty: 'oct', alg: 'A256GCM', kid: 'hsm::main::shared' }
    const made = await Promise.all([
      alice.post('/v1/crypto/keys', body),
      elsewhere.post('/v1/crypto/keys', body),
    ])
    assert.deepEqual(made.map(({ status }) => status).toSorted(), [200, 409])
    const sealed = await alice.post('/v1/crypto/encrypt', { kid: body.kid, alg: 'dir', enc: 'A256GCM', data })
    assert.equal(sealed.status, 200, sealed.text)
    assert.equal((await elsewhere.post('/v1/crypto/decrypt', sealed.json)).json.data, data)
  } finally {
    await other[Symbol.asyncDispose]()
  }
})

test('a creation that is not committed leaves no key in the HSM', {
  skip: skip || missingTools('pkcs11-tool'),
}, async () => {
  const kms = await startKms({ config: { hsm: [hsmTable()] }, auditMode: 'reject' })
  try {
    const alice = kms.user('alice')
    kms.breakAudit()
    const body = { kty: 'oct', alg: 'A256GCM', kid: 'hsm::main::abandoned' }
    assert.equal((await alice.post('/v1/crypto/keys', body)).status, 503)
    assert.match(pkcs11Tool('--list-objects'), /label: +abandoned/)
    const { hsms } = kms.services.keys
    assert.ok(hsms)
    const parts = { db: kms.environment.db, hsms, log: kms.environment.log }
    await removeDueHsmKeys(parts, Date.now() + 60_000)
    assert.match(pkcs11Tool('--list-objects'), /label: +abandoned/)
    await removeDueHsmKeys(parts, Date.now() + 3_600_000)
    assert.doesNotMatch(pkcs11Tool('--list-objects'), /label: +abandoned/)
  } finally {
    await kms[Symbol.asyncDispose]()
  }
})

test('keys of an HSM that the settings do not have are shown and counted as intact, and their use is 503', {
  skip,
}, async () => {
  const kms = await getKms()
  const { environment } = kms
  await kms.user('alice').post('/v1/crypto/keys', { kty: 'RSA', alg: 'RS256', kid: 'hsm::main::elsewhere' })
  const other = await startKms({ db: environment.db, seal: environment.seal, node: 'without' })
  try {
    const alice = other.user('alice')
    const shown = await alice.get('/v1/crypto/keys/hsm::main::elsewhere')
    assert.deepEqual([shown.json.hsm, shown.json.public_jwk?.kty], ['main', 'RSA'], shown.text)
    const refused = await alice.post('/v1/crypto/sign', { kid: 'hsm::main::elsewhere', alg: 'RS256', data })
    assert.deepEqual(
      [refused.status, refused.json.description],
      [503, 'The settings of this server contain no HSM main, which has the key.'],
    )
    const { broken } = await tryKeys(environment.db, environment.seal, 1000)
    assert.deepEqual(broken, [])
  } finally {
    await other[Symbol.asyncDispose]()
  }
})

test('settings that contradict each other are refused by name', () => {
  const read = (more: object): unknown => readHsms({ ...noHsms, ...more })
  const own = { name: 'main', library: '/x.so', token_label: 't', pin_file: '/pin' }
  const table = (more: object): object => ({ hsm: [JSON.stringify({ ...own, ...more })] })
  for (const [more, sentence] of [
    [table({ name: 'a b' }), /^hsm: name: must have/],
    [table({ library: '' }), /^hsm: library: must be the path/],
    [table({ slot: 1 }), /^hsm: requires either token_label/],
    [table({ pin: '1' }), /^hsm: requires either pin_file or pin$/],
    [table({ sessions: 33 }), /^hsm: sessions: must be an integer from 1 to 32$/],
    [table({ admins: [{}] }), /^hsm: admins: must be an array/],
    [table({ other: 1 }), /^hsm: other: is unknown/],
    [{ hsm: ['x'] }, /^hsm: must be a table$/],
    [{ hsm: [JSON.stringify(own), JSON.stringify(own)] }, /^two HSMs have the name main$/],
    [
      { hsm_slot: ['1', '2'], hsm_password: ['x'] },
      /^hsm_slot and hsm_password must have the same length \(2 and 1\)$/,
    ],
    [{ hsm_instances: ['{"hsm_model":"none"}'] }, /^hsm_instances: HSM 1: hsm_model must be proteccio/],
  ] as const)
    assert.match(String(read(more)), sentence)
  const instance = JSON.stringify({ hsm_model: 'softhsm2', hsm_slot: [7], hsm_password: ['x'] })
  const found = readHsms({
    ...noHsms,
    hsm_slot: ['3'],
    hsm_password: ['x'],
    hsm_instances: [instance, instance],
  })
  assert.ok(typeof found !== 'string')
  assert.deepEqual(
    found.map(({ name, admins }) => [name, admins]),
    [
      ['3', ['admin']],
      ['softhsm2::7', ['admin']],
      ['softhsm2_1::7', ['admin']],
    ],
  )
})
