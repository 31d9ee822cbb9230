import assert from 'node:assert/strict'
import { createHash, createPublicKey, verify } from 'node:crypto'
import { test } from 'node:test'
import { Enumeration, enumeration, interval, structure, Tag } from '@warder/kmip-codec'
import { kmipClient, uid } from '@warder/kmip-server/testing'
import { type Caller, grant, startKms, startSharedKms } from '@warder/kms/testing'
import fc from 'fast-check'
import { readVersioned, withVersion } from './text.ts'

const kms = await startSharedKms({ config: { transit_enabled: true } })
const alice = kms.user('alice')
const bob = kms.user('bob')

const plaintext = Buffer.from('attack at dawn').toString('base64')
const at = (path: string) => `/v1/transit/${path}`
async function ok(path: string, body: object = {}, who: Caller = alice) {
  const answer = await who.post(at(path), body)
  assert.equal(answer.status, 200, `${path}: ${answer.text}`)
  return answer.json.data
}
async function refused(path: string, body: object, status: number, told: RegExp, who: Caller = alice) {
  const answer = await who.post(at(path), body)
  assert.equal(answer.status, status, `${path}: ${answer.text}`)
  assert.deepEqual(Object.keys(answer.json), ['errors'])
  assert.match(answer.json.errors.join(), told)
}

test('a key is made, read, listed, configured, rotated and deleted', async () => {
  const made = await ok('keys/life', { type: 'aes256-gcm96' })
  assert.deepEqual([made.name, made.type, made.latest_version], ['life', 'aes256-gcm96', 1])
  assert.deepEqual((await ok('keys/life')).keys, made.keys, 'one that is there stays')
  assert.deepEqual((await alice.get(at('keys?list=true'))).json.data.keys, ['life'])
  assert.deepEqual((await alice.call('LIST', at('keys'))).json.data.keys, ['life'])
  assert.deepEqual((await bob.call('LIST', at('keys'))).json, { errors: [] })
  for (const [path, allow] of [
    [at('keys/life'), 'DELETE, GET, HEAD, POST, PUT'],
    ['/v1/crypto/keys', 'GET, HEAD, POST'],
  ] as const) {
    const { status, headers } = await alice.call('LIST', path)
    assert.deepEqual([status, headers.allow], [405, allow])
  }
  assert.deepEqual((await bob.get(at('keys?list=true'))).json, { errors: [] })
  const first = await ok('encrypt/life', { plaintext })
  assert.match(first.ciphertext, /^vault:v1:/)
  assert.equal((await ok('keys/life/rotate')).latest_version, 2)
  const second = await ok('encrypt/life', { plaintext })
  assert.deepEqual([second.key_version, second.ciphertext.slice(0, 9)], [2, 'vault:v2:'])
  for (const { ciphertext } of [first, second])
    assert.equal((await ok('decrypt/life', { ciphertext })).plaintext, plaintext)
  const rewrapped = await ok('rewrap/life', { ciphertext: first.ciphertext })
  assert.equal(rewrapped.key_version, 2)
  assert.equal((await ok('decrypt/life', { ciphertext: rewrapped.ciphertext })).plaintext, plaintext)
  assert.equal((await ok('keys/life/config', { min_decryption_version: 2 })).min_decryption_version, 2)
  await refused('decrypt/life', { ciphertext: first.ciphertext }, 400, /older than min_decrypt_version/)
  await ok('keys/life/config', { min_decryption_version: 1, min_encryption_version: 2 })
  await refused('rewrap/life', { ciphertext: second.ciphertext, key_version: 1 }, 400, /not the newest/)
  await ok('encrypt/life', { plaintext, key_version: 2 })
  await refused('encrypt/life', { plaintext, key_version: 1 }, 400, /not the newest/)
  // Clients in Go send the number as a text.
  for (const key_version of ['', '0', '2']) await ok('encrypt/life', { plaintext, key_version })
  await refused('encrypt/life', { plaintext, key_version: '1' }, 400, /not the newest/)
  for (const key_version of ['-1', '2x', '0x2', 1.5])
    await refused('encrypt/life', { plaintext, key_version }, 400, /key_version/)
  const undeletable = await alice.del(at('keys/life'))
  assert.deepEqual([undeletable.status, Object.keys(undeletable.json)], [400, ['errors']])
  assert.equal((await ok('keys/life/config', { deletion_allowed: true })).deletion_allowed, true)
  const { kid } = (await alice.get('/v1/crypto/aliases/transit%2Flife')).json
  assert.equal(
    (await alice.get(`/v1/crypto/keys/${kid}`)).json.tags.length,
    0,
    'settings are tags of the system',
  )
  assert.equal((await alice.del(at('keys/life'))).status, 204)
  const gone = await alice.get(at('keys/life'))
  assert.deepEqual([gone.status, gone.json], [404, { errors: [] }])
  await refused('encrypt/life', { plaintext }, 400, /encryption key not found/)
})

test('until the newest version begins the one before it goes on, unless it is too old', async () => {
  await ok('keys/begins', { type: 'aes256-gcm96' })
  const { ciphertext } = await ok('encrypt/begins', { plaintext })
  const { kid } = (await alice.get('/v1/crypto/aliases/transit%2Fbegins')).json
  await kmipClient(alice).do('ReKey', [uid(kid), interval(Tag.Offset, 3600)])
  assert.equal((await ok('encrypt/begins', { plaintext })).key_version, 1)
  await ok('keys/begins/config', { min_decryption_version: 2 })
  await refused('decrypt/begins', { ciphertext }, 400, /older than min_decrypt_version/)
  await refused('encrypt/begins', { plaintext }, 400, /older than min_decrypt_version/)
  await ok('keys/begins/config', { min_decryption_version: 1 })
  assert.equal((await ok('decrypt/begins', { ciphertext })).plaintext, plaintext)
})

test('ciphertexts: associated data, versions that are not there, foreign keys and changes are refused', async () => {
  for (const name of ['one', 'two']) await ok(`keys/${name}`, { type: 'aes128-gcm96' })
  const associated_data = Buffer.from('row 7').toString('base64')
  const { ciphertext } = await ok('encrypt/one', { plaintext, associated_data })
  assert.equal((await ok('decrypt/one', { ciphertext, associated_data })).plaintext, plaintext)
  await refused('decrypt/one', { ciphertext }, 400, /authentication failed/)
  await refused('decrypt/two', { ciphertext, associated_data }, 400, /authentication failed/)
  for (const [wrong, told] of [
    ['', /no prefix/],
    ['vault:v0:AAAA', /no prefix/],
    ['vault:v01:AAAA', /no prefix/],
    ['vault:v9999999:AAAA', /no prefix/],
    [`vault:v2:${ciphertext.slice(9)}`, /no such version/],
    ['vault:v1:', /too short/],
    ['vault:v1:AAAA', /too short/],
    ['vault:v1:a b', /base64/],
    [ciphertext.slice(0, -4), /authentication failed/],
  ] as const)
    await refused('decrypt/one', { ciphertext: wrong }, 400, told)
  await refused('encrypt/one', { plaintext: 'a b' }, 400, /base64/)
  await refused('encrypt/one', {}, 400, /missing plaintext/)
  await refused('encrypt/one', { plaintext, context: 'YQ==' }, 400, /not supported/)
  await refused('encrypt/one', { plaintext, key_version: 7 }, 400, /not the newest/)
  await refused('encrypt/one', { plaintext, key_version: -1 }, 400, /./)
  await refused('encrypt/../one', { plaintext }, 404, /./)
  await refused('encrypt/a%2Fb', { plaintext }, 400, /slash/)
})

test('batches answer each item in its place, and 400 when every one failed', async () => {
  await ok('keys/batch')
  const { batch_results: sealed } = await ok('encrypt/batch', {
    partial_failure_response_code: 200,
    batch_input: [{ plaintext, reference: 'a' }, { plaintext: '!' }, { plaintext: '' }],
  })
  assert.equal(sealed[0].reference, 'a')
  assert.match(sealed[1].error, /base64/)
  const batch_input = sealed.flatMap(({ ciphertext }: { ciphertext?: string }) =>
    ciphertext ? [{ ciphertext }] : [],
  )
  const { batch_results: opened } = await ok('decrypt/batch', { batch_input })
  assert.deepEqual(
    opened.map((one: { plaintext: string }) => one.plaintext),
    [plaintext, ''],
  )
  const all = await alice.post(at('decrypt/batch'), { batch_input: [{ ciphertext: 'x' }, {}] })
  assert.deepEqual([all.status, all.json.data.batch_results.length], [400, 2])
  await refused('encrypt/batch', { batch_input: [] }, 400, /missing batch input/)
  const many = Array.from({ length: 1001 }, () => ({ plaintext }))
  await refused('encrypt/batch', { batch_input: many }, 400, /./)
})

test('every type of key does what it is for, as a client verifies it for itself', async () => {
  const input = plaintext
  for (const type of ['ecdsa-p256', 'ecdsa-p384', 'ecdsa-p521', 'ed25519', 'rsa-2048', 'rsa-3072']) {
    const { keys, supports_signing } = await ok(`keys/${type}`, { type })
    assert.equal(supports_signing, true)
    const { signature } = await ok(`sign/${type}`, { input })
    assert.deepEqual(await ok(`verify/${type}`, { input, signature }), { valid: true })
    assert.deepEqual(await ok(`verify/${type}`, { input: 'AAAA', signature }), { valid: false })
    const raw = readVersioned(signature, 'signature').text
    if (type !== 'ed25519' && !type.startsWith('rsa')) {
      const key = createPublicKey(keys['1'].public_key)
      assert.ok(verify('sha256', Buffer.from(input, 'base64'), key, Buffer.from(raw, 'base64')), type)
      const digest = createHash('sha512').update(Buffer.from(input, 'base64')).digest('base64')
      const hashed = await ok(`sign/${type}/sha2-512`, { input: digest, prehashed: true })
      assert.deepEqual(await ok(`verify/${type}/sha2-512`, { input, signature: hashed.signature }), {
        valid: true,
      })
      const jws = await ok(`sign/${type}`, { input, marshaling_algorithm: 'jws' })
      assert.match(jws.signature, /^vault:v1:[\w-]+$/)
      const right = { input, signature: jws.signature, marshaling_algorithm: 'jws' }
      assert.deepEqual(await ok(`verify/${type}`, right), { valid: true })
    }
  }
  const digest = createHash('sha256').update(Buffer.from(input, 'base64')).digest('base64')
  for (const more of [
    { signature_algorithm: 'pkcs1v15' },
    { signature_algorithm: 'pss' },
    { salt_length: 'hash' },
  ]) {
    const { signature } = await ok('sign/rsa-2048/sha2-256', { input: digest, prehashed: true, ...more })
    assert.deepEqual(await ok('verify/rsa-2048', { input, signature, ...more }), { valid: true })
  }
  const sealed = await ok('encrypt/rsa-2048', { plaintext })
  assert.equal((await ok('decrypt/rsa-2048', sealed)).plaintext, plaintext)
  await ok('keys/mac', { type: 'hmac' })
  const { hmac } = await ok('hmac/mac', { input })
  assert.deepEqual(await ok('verify/mac/sha2-256', { input, hmac }), { valid: true })
  assert.deepEqual(await ok('verify/mac', { input: 'AAAA', hmac }), { valid: false })
  await ok('keys/mac/rotate')
  assert.deepEqual(await ok('verify/mac', { input, hmac }), { valid: true }, 'of the version before')
  await ok('keys/mac64', { type: 'hmac', key_size: 64 })
  await ok('hmac/mac64/sha2-512', { input })
  await refused('hmac/mac64', { input, algorithm: 'sha2-256' }, 400, /sha2-512/)
  await refused('encrypt/ecdsa-p256', { plaintext }, 400, /./)
  await refused('sign/mac', { input }, 400, /./)
  await refused('sign/ed25519', { input, prehashed: true }, 400, /not its digest/)
  await refused('sign/ecdsa-p256/sha9', { input }, 400, /unsupported hash/)
  await refused('sign/rsa-2048', { input, signature_algorithm: 'x' }, 400, /pss or pkcs1v15/)
  await refused('verify/ecdsa-p256', { input }, 400, /signature or hmac is required/)
  for (const signature of ['', 'vault:v1:AAAA', 'vault:v1:!!'])
    await alice
      .post(at('verify/ecdsa-p256'), { input, signature })
      .then(({ status, json }) => assert.ok(status === 400 || json.data.valid === false, signature))
})

const hmacHashes = ['sha2', 'sha3'].flatMap((family) =>
  [224, 256, 384, 512].map((bits) => `${family}-${bits}`),
)
const versionOf = async (name: string) => (await ok(`keys/${name}`)).latest_version

test('keys of every type compute HMACs with every hash of Vault, each version with a key of its own', async () => {
  const input = plaintext
  for (const type of [
    'aes128-gcm96',
    'aes256-gcm96',
    'ecdsa-p256',
    'ecdsa-p384',
    'ecdsa-p521',
    'ed25519',
    'rsa-2048',
  ]) {
    const name = `hmac-${type}`
    await ok(`keys/${name}`, { type })
    const made = new Map<string, string>()
    for (const algorithm of hmacHashes) {
      const { hmac } = await ok(`hmac/${name}/${algorithm}`, { input })
      const { text } = readVersioned(hmac, 'signature')
      assert.equal(Buffer.from(text, 'base64').length * 8, Number(algorithm.slice(5)))
      assert.deepEqual(await ok(`hmac/${name}`, { input, algorithm }), { hmac })
      for (const [path, body] of [
        [`verify/${name}/${algorithm}`, { input, hmac }],
        [`verify/${name}`, { input, hmac, algorithm }],
        [`verify/${name}`, { input, hmac, hash_algorithm: algorithm }],
      ] as const)
        assert.deepEqual(await ok(path, body), { valid: true })
      assert.deepEqual(await ok(`verify/${name}/${algorithm}`, { input: 'AAAA', hmac }), { valid: false })
      made.set(algorithm, hmac)
    }
    const first = made.get('sha2-256')
    assert.deepEqual(await ok(`hmac/${name}`, { input }), { hmac: first }, 'the hash where none is named')
    assert.deepEqual(await ok(`verify/${name}/sha3-256`, { input, hmac: first }), { valid: false })
    await ok(`keys/${name}/rotate`)
    const { hmac: second } = await ok(`hmac/${name}`, { input })
    assert.equal(await versionOf(name), 2)
    assert.match(second, /^vault:v2:/)
    const asFirst = second.replace('vault:v2:', 'vault:v1:')
    for (const [hmac, valid] of [
      [first, true],
      [second, true],
      [asFirst, false],
    ] as const)
      assert.deepEqual(await ok(`verify/${name}`, { input, hmac }), { valid })
    await refused(`hmac/${name}`, { input, key_version: 1 }, 400, /not the newest/)
    for (const hash of ['sha1', 'md5', 'none', '__proto__'])
      await refused(`hmac/${name}/${hash}`, { input }, 400, /unsupported hash algorithm.*sha2-224/)
  }
  await ok('keys/bound', { type: 'hmac' })
  await refused('hmac/bound/sha3-256', { input }, 400, /type hmac computes HMACs only with sha2-256/)
})

test('the path names the key, as in Vault, whatever name the body repeats', async () => {
  for (const name of ['path', 'body']) await ok(`keys/${name}`, { type: 'ecdsa-p256' })
  const input = plaintext
  const { hmac } = await ok('hmac/path', { input, name: 'body' })
  assert.deepEqual(await ok('verify/path', { input, hmac, name: 'body' }), { valid: true })
  assert.deepEqual(await ok('verify/body', { input, hmac, name: 'path' }), { valid: false })
  const { signature } = await ok('sign/path', { input, name: 'body' })
  assert.deepEqual(await ok('verify/path', { input, signature }), { valid: true })
})

test('the HMAC of a key is refused in the states in which it protects or processes nothing', async () => {
  const input = plaintext
  const { kid } = await ok('keys/ends')
    .then(() => alice.get('/v1/crypto/aliases/transit%2Fends'))
    .then((read) => read.json)
  const { hmac } = await ok('hmac/ends', { input })
  const kmip = kmipClient(alice)
  const { CessationOfOperation } = Enumeration.RevocationReasonCode
  const reason = structure(Tag.RevocationReason, [
    enumeration(Tag.RevocationReasonCode, CessationOfOperation),
  ])
  await kmip.do('Revoke', [uid(kid), reason])
  await refused('hmac/ends', { input }, 400, /Deactivated/)
  assert.deepEqual(
    await ok('verify/ends', { input, hmac }),
    { valid: true },
    'what it protected is still checked',
  )
  await kmip.do('Destroy', [uid(kid)])
  await refused('hmac/ends', { input }, 400, /./)
  await refused('verify/ends', { input, hmac }, 400, /./)
})

test('names are of the caller, rights are ours, and refusals tell nothing of other people’s keys', async () => {
  await ok('keys/shared')
  await refused('encrypt/shared', { plaintext }, 400, /not found/, bob)
  await refused('encrypt/shared@alice', { plaintext }, 400, /not found/, bob)
  await grant(alice, 'alias/transit/shared', 'bob', 'encrypt')
  const sealed = await ok('encrypt/shared@alice', { plaintext }, bob)
  await refused('decrypt/shared@alice', sealed, 403, /permission denied/, bob)
  assert.equal((await ok('decrypt/shared', sealed)).plaintext, plaintext)
  await ok('keys/shared', {}, bob)
  await refused('decrypt/shared', sealed, 400, /authentication failed/, bob)
  await refused('keys/shared@alice/config', { deletion_allowed: true }, 403, /permission denied/, bob)
  await refused('keys/shared@alice/rotate', {}, 403, /permission denied/, bob)
  await refused('keys/x@alice', {}, 400, /./, bob)
  const anonymous = await kms.with({}).post(at('encrypt/shared'), { plaintext })
  assert.deepEqual([anonymous.status, anonymous.json], [403, { errors: ['permission denied'] }])
  const record = kms.audit.findLast(({ operation }) => operation === 'transit.encrypt')
  assert.equal(record?.outcome, 'failure')
  assert.doesNotMatch(JSON.stringify([kms.audit, kms.log]), new RegExp(plaintext))
})

test('what gives material away, derives keys or is not there is refused in one sentence', async () => {
  for (const [body, told] of [
    [{ exportable: true }, /can be exported only over KMIP/],
    [{ derived: true }, /not supported/],
    [{ derived: true, convergent_encryption: true }, /not supported/],
    [{ allow_plaintext_backup: true }, /exported only over KMIP/],
    [{ type: 'chacha20-poly1305' }, /unknown key type/],
    [{ type: '__proto__' }, /unknown key type/],
    [{ auto_rotate_period: '24h' }, /set the rotation/],
    [{ type: 'hmac', key_size: 20 }, /key_size/],
  ] as const)
    await refused('keys/no', body, 400, told)
  await ok('keys/there')
  await refused('keys/there/trim', { min_available_version: 1 }, 400, /trim/)
  assert.equal((await alice.get(at('export/encryption-key/there'))).status, 400)
  await refused('datakey/other/there', {}, 400, /plaintext/)
  await refused('datakey/plaintext/there', { bits: 100 }, 400, /bit length/)
  const both = await ok('datakey/plaintext/there')
  assert.equal((await ok('decrypt/there', { ciphertext: both.ciphertext })).plaintext, both.plaintext)
  assert.equal((await ok('datakey/wrapped/there', { bits: 512 })).plaintext, undefined)
  assert.equal(Buffer.from((await ok('random/40')).random_bytes, 'base64').length, 40)
  assert.match((await ok('random', { bytes: 4, format: 'hex' })).random_bytes, /^[0-9a-f]{8}$/)
  await refused('random/999999999', {}, 400, /131072/)
  const { sum } = await ok('hash/sha2-256', { input: plaintext })
  assert.equal(sum, createHash('sha256').update('attack at dawn').digest('hex'))
})

test('health has Vault’s statuses and needs no token; without the setting nothing is there', async () => {
  const { status, json } = await kms.with({}).get('/v1/sys/health')
  assert.deepEqual([status, json.initialized, json.sealed, json.standby], [200, true, false, false])
  assert.equal((await kms.with({}).get('/v1/sys/health?standbyok=true&perfstandbyok=true')).status, 200)
  const refused = await kms.with({}).get('/v1/sys/health?activecode=204')
  assert.match(refused.text, /activecode: is not a known parameter/)
  await using plain = await startKms()
  for (const path of ['/v1/sys/health', '/v1/transit/keys?list=true'])
    assert.equal((await plain.user('alice').get(path)).status, 404)
})

test('any text behind a version comes back, and nothing else is read', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 999_999 }), fc.string(), (version, text) => {
      assert.deepEqual(readVersioned(withVersion(version, text), 'ciphertext'), { version, text })
    }),
  )
  fc.assert(
    fc.property(fc.string(), (text) => {
      fc.pre(!text.startsWith('vault:v'))
      assert.throws(() => readVersioned(text, 'ciphertext'), { kind: 'bad_request' })
    }),
  )
})
