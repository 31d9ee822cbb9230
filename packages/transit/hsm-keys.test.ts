import assert from 'node:assert/strict'
import { createPublicKey, verify } from 'node:crypto'
import { test } from 'node:test'
import { listDueHsmKeys, removeDueHsmKeys } from '@warder/keys'
import { bothEngines, type Caller, grant, startKms } from '@warder/kms/testing'
import { openToken } from '@warder/pkcs11'
import { createProcessToken, missingSofthsm } from '@warder/pkcs11/testing'
import { readVersioned } from './text.ts'

const softhsm = missingSofthsm ? undefined : createProcessToken('warder transit')
const engines = await bothEngines()
const plaintext = Buffer.from('attack at dawn').toString('base64')
const input = plaintext

async function start(engine: (typeof engines)[number]) {
  const { library, label, pinFile } = softhsm ?? assert.fail()
  const hsm = { name: 'main', library, token_label: label, pin_file: pinFile, admins: ['alice'], sessions: 2 }
  const db = await engine.open(await engine.url())
  const kms = await startKms({ db, config: { hsm: [JSON.stringify(hsm)], transit_enabled: true } })
  const alice = kms.user('alice')
  const at = (path: string) => `/v1/transit/${path}`
  return {
    ...{ kms, db, alice, bob: kms.user('bob'), at },
    async ok(path: string, body: object = {}, who: Caller = alice) {
      const answer = await who.post(at(path), body)
      assert.equal(answer.status, 200, `${path}: ${answer.text}`)
      return answer.json.data
    },
    async refused(path: string, body: object, status: number, sentence: RegExp, who: Caller = alice) {
      const answer = await who.post(at(path), body)
      assert.equal(answer.status, status, `${path}: ${answer.text}`)
      assert.deepEqual(Object.keys(answer.json), ['errors'])
      assert.match(answer.json.errors.join(), sentence)
    },
    /** The key of a name, over REST. */
    async find(name: string) {
      const { kid } = (await alice.get(`/v1/crypto/aliases/transit%2F${name}`)).json
      return (await alice.get(`/v1/crypto/keys/${encodeURIComponent(kid)}`)).json
    },
    async [Symbol.asyncDispose]() {
      await kms[Symbol.asyncDispose]()
    },
  }
}

async function listLabels(): Promise<readonly (string | undefined)[]> {
  const { library, label, pinFile } = softhsm ?? assert.fail()
  const token = await openToken({ library, token: { label }, pinFile, sessions: 1 })
  try {
    return [...(await token.listKeys('secret')), ...(await token.listKeys('private'))].map((key) => key.label)
  } finally {
    await token.close()
  }
}

for (const engine of engines) {
  const skip = missingSofthsm || engine.skip
  const name = (sentence: string): string => `${engine.name}: ${sentence}`

  test(name('a key that is created in an HSM is used, rotated, rewrapped and deleted'), {
    skip,
  }, async () => {
    await using scene = await start(engine)
    const { alice, at, kms, db, ok, refused, find } = scene
    const made = await ok('keys/invoices', { type: 'aes256-gcm96', hsm: 'main' })
    assert.deepEqual(
      [made.type, made.hsm, made.hardware, made.exportable, made.latest_version],
      ['aes256-gcm96', 'main', true, false, 1],
    )
    const { kid, hsm, ext } = await find('invoices')
    assert.match(kid, /^hsm::main::[0-9a-f-]{36}$/)
    assert.deepEqual([hsm, ext], ['main', false])
    const associated_data = Buffer.from('row 7').toString('base64')
    const first = await ok('encrypt/invoices', { plaintext, associated_data })
    await refused('decrypt/invoices', first, 400, /authentication failed/)
    assert.equal((await ok('decrypt/invoices', { ...first, associated_data })).plaintext, plaintext)
    const { batch_results: batch } = await ok('encrypt/invoices', {
      batch_input: [{ plaintext }, { plaintext }],
    })
    assert.equal((await ok('decrypt/invoices', { batch_input: batch })).batch_results[1].plaintext, plaintext)
    const dataKey = await ok('datakey/plaintext/invoices', {})
    const { ciphertext } = dataKey
    assert.equal((await ok('decrypt/invoices', { ciphertext })).plaintext, dataKey.plaintext)
    // An operation of a key in an HSM is one request to it.
    await refused(
      'encrypt/invoices',
      { plaintext: Buffer.alloc(61_441).toString('base64') },
      400,
      /at most 61440 bytes/,
    )

    assert.equal((await ok('keys/invoices/rotate')).latest_version, 2)
    const label = kid.slice('hsm::main::'.length)
    assert.deepEqual((await listLabels()).filter((one) => one?.startsWith(label)).sort(), [
      label,
      `${label}#1`,
    ])
    const rewrapped = await ok('rewrap/invoices', { ciphertext: first.ciphertext, associated_data })
    assert.equal(rewrapped.key_version, 2)
    assert.equal((await ok('decrypt/invoices', { ...rewrapped, associated_data })).plaintext, plaintext)
    await ok('keys/invoices/config', { min_decryption_version: 2 })
    await refused('decrypt/invoices', { ...first, associated_data }, 400, /older than min_decrypt_version/)

    assert.equal((await alice.del(at('keys/invoices'))).status, 400)
    await ok('keys/invoices/config', { deletion_allowed: true })
    assert.equal((await alice.del(at('keys/invoices'))).status, 204)
    const { hsms } = kms.services.keys
    assert.ok(hsms)
    await removeDueHsmKeys({ db, hsms, log: kms.environment.log }, Date.now() + 1)
    assert.deepEqual(
      (await listLabels()).filter((one) => one?.startsWith(label)),
      [],
    )
  })

  test(name('every type of key is created in an HSM and does what it is for'), { skip }, async () => {
    await using scene = await start(engine)
    const { ok, refused } = scene
    for (const type of ['ecdsa-p256', 'ecdsa-p384', 'ecdsa-p521', 'ed25519', 'rsa-2048']) {
      const { keys, hsm } = await ok(`keys/${type}`, { type, hsm: 'main' })
      assert.equal(hsm, 'main')
      const { signature } = await ok(`sign/${type}`, { input })
      assert.deepEqual(await ok(`verify/${type}`, { input, signature }), { valid: true })
      assert.deepEqual(await ok(`verify/${type}`, { input: 'AAAA', signature }), { valid: false })
      if (!type.startsWith('ecdsa')) continue
      const raw = Buffer.from(readVersioned(signature, 'signature').text, 'base64')
      const key = createPublicKey(keys['1'].public_key)
      assert.ok(verify('sha256', Buffer.from(input, 'base64'), key, raw), type)
      await ok(`keys/${type}/rotate`)
      assert.equal((await ok(`sign/${type}`, { input, marshaling_algorithm: 'jws' })).key_version, 2)
      assert.deepEqual(await ok(`verify/${type}`, { input, signature }), { valid: true })
    }
    for (const more of [{ signature_algorithm: 'pkcs1v15' }, { salt_length: 'hash' }]) {
      const { signature } = await ok('sign/rsa-2048', { input, ...more })
      assert.deepEqual(await ok('verify/rsa-2048', { input, signature, ...more }), { valid: true })
    }
    assert.equal(
      (await ok('decrypt/rsa-2048', await ok('encrypt/rsa-2048', { plaintext }))).plaintext,
      plaintext,
    )
    await ok('keys/small', { type: 'aes128-gcm96', hsm: 'main' })
    assert.equal((await ok('decrypt/small', await ok('encrypt/small', { plaintext }))).plaintext, plaintext)
    await ok('keys/mac', { type: 'hmac', key_size: 64, hsm: 'main' })
    const { hmac } = await ok('hmac/mac', { input })
    assert.deepEqual(await ok('verify/mac/sha2-512', { input, hmac }), { valid: true })
    await refused('hmac/small', { input }, 400, /in an HSM hmac requires a key of type hmac/)
    await refused('sign/rsa-2048/sha3-256', { input }, 400, /SHA3_256 is not supported for keys in an HSM/)
  })

  test(name('only administrators of the HSM create keys in it, and what it cannot do is refused by name'), {
    skip,
  }, async () => {
    await using scene = await start(engine)
    const { alice, bob, db, ok, refused } = scene
    const before = (await listLabels()).length
    await refused('keys/mine', { hsm: 'main' }, 403, /permission denied/, bob)
    await refused('keys/mine', { hsm: 'other' }, 400, /no HSM is configured under this name: .* contain main/)
    for (const [body, sentence] of [
      [{ exportable: true }, /exportable: key material can be exported only over KMIP/],
      [{ allow_plaintext_backup: true }, /allow_plaintext_backup: key material/],
      [{ derived: true }, /derived: .* not supported/],
      [{ convergent_encryption: true }, /convergent_encryption: .* not supported/],
      [{ auto_rotate_period: '24h' }, /auto_rotate_period: use \/v1\/crypto/],
      [{ type: 'chacha20-poly1305' }, /unknown key type chacha20-poly1305: .*managed_key/],
      [{ key_size: 32 }, /key_size .* only for keys of type hmac/],
      [{ managed_key_name: 'x' }, /managed_key_name: is only for keys of type managed_key/],
      [{ managed_key_id: 'x' }, /managed_key_id: is only for keys of type managed_key/],
    ] as const)
      await refused('keys/none', { hsm: 'main', ...body }, 400, sentence)
    assert.equal((await listLabels()).length, before)
    assert.deepEqual(await listDueHsmKeys(db, Number.MAX_SAFE_INTEGER, 10), [])
    for (const [path, sentence] of [
      ['keys/any/trim', /trim: destroy versions one by one/],
      ['export/encryption-key/any', /export: key material/],
      ['backup/any', /backup: key material/],
      ['restore', /restore: keys are restored with the database/],
      ['restore/any', /restore: keys are restored with the database/],
      ['keys/any/import', /import: .* register keys of an HSM/],
      ['keys/any/import_version', /import_version: .* rotate the key/],
    ] as const)
      await refused(path, {}, 400, sentence)
    assert.match((await alice.get('/v1/transit/wrapping_key')).json.errors.join(), /import: import keys with/)
    // A name that exists: an HSM that does not have its key is not ignored.
    await ok('keys/soft', {})
    await refused('keys/soft', { hsm: 'main' }, 400, /the key soft exists and is not in the HSM main/)
    await ok('keys/hard', { hsm: 'main' })
    assert.equal((await ok('keys/hard', { hsm: 'main' })).latest_version, 1)
    assert.equal((await ok('keys/hard', {})).hsm, 'main')
    const made = await Promise.all([1, 2].map(() => alice.post('/v1/transit/keys/raced', { hsm: 'main' })))
    assert.deepEqual(
      made.map(({ status, json }) => [status, json.data?.hsm]),
      [
        [200, 'main'],
        [200, 'main'],
      ],
    )
  })

  test(name('managed_key makes a name an alias of a key in an HSM, which is used with the rights on it'), {
    skip,
  }, async () => {
    await using scene = await start(engine)
    const { alice, bob, at, ok, refused } = scene
    const create = async (body: object): Promise<string> =>
      (await alice.post('/v1/crypto/keys', { hsm: 'main', ...body })).json.kid
    const kid = await create({ kty: 'oct', alg: 'A256GCM' })
    const type = 'managed_key'
    const named = await ok('keys/vaulted', { type, managed_key_name: kid })
    assert.deepEqual([named.name, named.type, named.hsm], ['vaulted', 'aes256-gcm96', 'main'])
    assert.deepEqual(await ok('keys/vaulted', { type, managed_key_id: kid }), named)
    const sealed = await ok('encrypt/vaulted', { plaintext })
    assert.equal((await ok('keys/vaulted/rotate')).latest_version, 2)
    assert.equal((await ok('decrypt/vaulted', sealed)).plaintext, plaintext)
    const signing = await create({ kty: 'EC', crv: 'P-256' })
    await alice.post('/v1/crypto/aliases', { alias: 'alias/release', kid: signing })
    await ok('keys/signing', { type, managed_key_name: 'alias/release' })
    const { signature } = await ok('sign/signing', { input })
    assert.deepEqual(await ok('verify/signing', { input, signature }), { valid: true })

    const request = { type, managed_key_name: kid }
    await refused('keys/theirs', request, 400, /key not found/, bob)
    await grant(alice, kid, 'bob', 'encrypt')
    await refused('keys/theirs', request, 403, /permission denied/, bob)
    await grant(alice, kid, 'bob', 'getattributes')
    await ok('keys/theirs', request, bob)
    const { ciphertext } = await ok('encrypt/theirs', { plaintext }, bob)
    await refused('decrypt/theirs', { ciphertext }, 403, /permission denied/, bob)
    assert.equal((await ok('decrypt/vaulted', { ciphertext })).plaintext, plaintext)
    assert.deepEqual((await bob.get(at('keys?list=true'))).json.data.keys, ['theirs'])

    const soft = (await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json.kid
    const bound = await create({ kty: 'RSA', alg: 'RS256' })
    const versions = (await alice.get(`/v1/crypto/keys/${encodeURIComponent(kid)}/versions`)).json
    const version = versions.versions.find((one: { kid: string }) => one.kid !== kid).kid
    for (const [body, sentence] of [
      [{}, /requires either managed_key_name, .*, or managed_key_id/],
      [{ managed_key_name: kid, managed_key_id: kid }, /requires either managed_key_name/],
      [{ managed_key_name: kid, hsm: 'main' }, /hsm: a name of type managed_key creates no key/],
      [{ managed_key_name: kid, key_size: 32 }, /key_size: a name of type managed_key creates no key/],
      [{ managed_key_name: kid, exportable: true }, /exportable: key material/],
      [{ managed_key_id: 'alias/release' }, /managed_key_id: must be an identifier/],
      [{ managed_key_name: 'hsm::main::none' }, /key not found/],
      [{ managed_key_name: soft }, /managed_key_name: this object is not a secret or private key in an HSM/],
      [{ managed_key_id: `${signing}_pk` }, /managed_key_id: this object is not a secret or private key/],
      [{ managed_key_name: bound }, /bound to RS256, which this interface does not use/],
      [{ managed_key_name: version }, /this is a version of a key: name the key, hsm::main::/],
    ] as const)
      await refused('keys/other', { type, ...body }, 400, sentence)
    await refused(
      'keys/signing',
      request,
      400,
      /signing is the name of another key: .*alias\/transit\/signing/,
    )
    await refused('keys/vaulted/rotate', { managed_key_name: signing }, 400, /managed_key_name/)
    assert.equal((await alice.get(at('keys/other'))).status, 404)
  })
}
