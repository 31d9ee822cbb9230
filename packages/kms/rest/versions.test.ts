import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { versionsToTry } from '@warder/keys'
import type { Caller } from '../testing/client.ts'
import { grant } from '../testing/client.ts'
import { startSharedKms } from '../testing/start.ts'

const kms = await startSharedKms()

const data = Buffer.from('attack at dawn').toString('base64url')
const readHeader = (text: string) => JSON.parse(Buffer.from(text, 'base64url').toString())

const es256 = { kty: 'EC', alg: 'ES256', crv: 'P-256' }

async function make(who: Caller, body: object = { kty: 'oct', alg: 'A256GCM' }) {
  const made = await who.post('/v1/crypto/keys', body)
  assert.equal(made.status, 200, made.text)
  return made.json
}
async function rotate(who: Caller, kid: string) {
  const made = await who.post(`/v1/crypto/keys/${kid}/rotate`, {})
  assert.equal(made.status, 200, made.text)
  return made.json
}
const seal = async (who: Caller, kid: string) => {
  const sealed = await who.post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data })
  assert.equal(sealed.status, 200, sealed.text)
  return sealed.json
}
const open = (who: Caller, jwe: object) => who.post('/v1/crypto/decrypt', jwe)

test('a rotated key encrypts with its newest version and decrypts with all versions', async () => {
  const alice = kms.user('alice')
  const { kid } = await make(alice)
  const tokens = [await seal(alice, kid)]
  assert.equal(readHeader(tokens[0].protected).kid, kid)
  for (const version of [2, 3]) {
    const rotated = await rotate(alice, kid)
    assert.deepEqual([rotated.kid, rotated.version], [kid, version])
    const jwe = await seal(alice, kid)
    assert.equal(readHeader(jwe.protected).kid, rotated.version_kid)
    tokens.push(jwe)
  }
  for (const jwe of tokens) assert.equal((await open(alice, jwe)).json.data, data)
  const { json } = await alice.get(`/v1/crypto/keys/${kid}/versions`)
  assert.deepEqual(
    json.versions.map(({ version, newest, state }: { version: number; newest: boolean; state: string }) => [
      version,
      newest,
      state,
    ]),
    [
      [3, true, 'Active'],
      [2, false, 'Active'],
      [1, false, 'Active'],
    ],
  )
  const described = (await alice.get(`/v1/crypto/keys/${kid}`)).json
  assert.deepEqual([described.kid, described.version], [kid, 3])
  const page = await alice.get(`/v1/crypto/keys/${kid}/versions?before=3&limit=1`)
  assert.deepEqual(
    page.json.versions.map(({ version }: { version: number }) => version),
    [2],
  )
})

test('the kid of a version means only this version: a replaced one does not encrypt, the newest does', async () => {
  const alice = kms.user('alice')
  const { kid } = await make(alice)
  const second = await rotate(alice, kid)
  assert.equal(readHeader((await seal(alice, second.version_kid)).protected).kid, second.version_kid)
  await rotate(alice, kid)
  const body = { kid: second.version_kid, alg: 'dir', enc: 'A256GCM', data }
  const refused = await alice.post('/v1/crypto/encrypt', body)
  assert.equal(refused.status, 422)
  assert.match(refused.text, new RegExp(kid))
  const again = await alice.post(`/v1/crypto/keys/${second.version_kid}/rotate`, {})
  assert.equal(again.status, 422)
})

test('a pair is rotated as a pair: signatures of all versions verify, and the key set shows them', async () => {
  const alice = kms.user('alice')
  const { kid, kid_public } = await make(alice, { kty: 'EC', crv: 'P-256', alg: 'ES256' })
  const sign = async () => (await alice.post('/v1/crypto/sign', { kid, alg: 'ES256', data })).json
  const signed = [await sign()]
  const rotated = await rotate(alice, kid)
  signed.push(await sign())
  assert.deepEqual(
    signed.map((jws) => readHeader(jws.protected).kid),
    [kid_public, rotated.version_kid_public],
  )
  for (const jws of signed)
    assert.equal((await alice.post('/v1/crypto/verify', { ...jws, data })).json.valid, true)
  const swapped = { ...signed[0], protected: signed[1].protected, data }
  assert.equal((await alice.post('/v1/crypto/verify', swapped)).json.valid, false)
  const shown = async () =>
    (await kms.user('alice').get('/.well-known/jwks.json')).json.keys.map((key: { kid: string }) => key.kid)
  const listed = await shown()
  assert.ok(listed.includes(kid_public) && listed.includes(rotated.version_kid_public))
  assert.equal((await alice.post(`/v1/crypto/keys/${kid}/versions/1/revoke`, {})).json.state, 'Deactivated')
  assert.ok((await shown()).includes(kid_public), 'what it signed still verifies')
  const revoked = await alice.post(`/v1/crypto/keys/${kid}/versions/1/revoke`, { compromised: true })
  assert.equal(revoked.json.state, 'Compromised')
  assert.ok(!(await shown()).includes(kid_public))
  assert.ok((await shown()).includes(rotated.version_kid_public))
  assert.equal((await alice.post(`/v1/crypto/keys/${kid_public}/rotate`, {})).status, 422)
})

test('a ciphertext for either key of an RSA pair names the private version that decrypts it', async () => {
  const alice = kms.user('alice')
  const { kid, kid_public } = await make(alice, { kty: 'RSA', alg: 'RSA-OAEP-256' })
  const body = { alg: 'RSA-OAEP-256', enc: 'A256GCM', data }
  const old = (await alice.post('/v1/crypto/encrypt', { ...body, kid })).json
  const { version_kid } = await rotate(alice, kid)
  for (const half of [kid, kid_public]) {
    const jwe = (await alice.post('/v1/crypto/encrypt', { ...body, kid: half })).json
    assert.equal(readHeader(jwe.protected).kid, version_kid)
    assert.equal((await open(alice, jwe)).json.data, data)
  }
  assert.equal((await open(alice, old)).json.data, data)
  assert.equal((await alice.del(`/v1/crypto/keys/${kid}`)).status, 204)
  for (const id of [kid, kid_public, version_kid])
    assert.equal((await alice.get(`/v1/crypto/keys/${id}`)).status, 404)
})

test('a MAC of every version verifies under the name of the key, or under its own', async () => {
  const alice = kms.user('alice')
  const { kid } = await make(alice, { kty: 'oct', alg: 'HS256' })
  const mac = async (id: string, given?: string) =>
    (await alice.post('/v1/crypto/mac', { kid: id, alg: 'HS256', data, ...(given && { mac: given }) })).json
  const first = await mac(kid)
  assert.equal(first.version_kid, undefined)
  const { version_kid } = await rotate(alice, kid)
  const second = await mac(kid)
  assert.deepEqual([second.kid, second.version_kid], [kid, version_kid])
  assert.notEqual(first.mac, second.mac)
  assert.equal((await mac(kid, first.mac)).valid, true)
  assert.equal((await mac(kid, second.mac)).valid, true)
  assert.equal((await mac(version_kid, second.mac)).valid, true)
  assert.equal((await mac(version_kid, first.mac)).valid, false)
  assert.equal((await mac(kid, randomBytes(32).toString('base64url'))).valid, false)
})

test('versions below min_decrypt_version do not decrypt, however they are named, until it is lowered', async () => {
  const alice = kms.user('alice')
  const { kid } = await make(alice)
  const old = await seal(alice, kid)
  await rotate(alice, kid)
  const second = await seal(alice, kid)
  await rotate(alice, kid)
  const put = (body: object) => alice.call('PUT', `/v1/crypto/keys/${kid}/rotation`, { json: body })
  assert.equal((await put({ min_decrypt_version: 4 })).status, 400)
  assert.equal((await put({ min_decrypt_version: 0 })).status, 400)
  assert.equal((await put({ min_decrypt_version: 3 })).json.min_decrypt_version, 3)
  for (const jwe of [old, second]) {
    const refused = await open(alice, jwe)
    assert.equal(refused.status, 422)
    assert.match(refused.text, /min_decrypt_version/)
  }
  assert.equal((await open(alice, await seal(alice, kid))).json.data, data)
  assert.equal((await put({ min_decrypt_version: 2 })).json.min_decrypt_version, 2)
  assert.equal((await open(alice, second)).json.data, data)
  assert.equal((await open(alice, old)).status, 422)
})

test('versions below min_decrypt_version verify no signatures and MACs, however they are named, and are not in the key set', async () => {
  const alice = kms.user('alice')
  const pair = await make(alice, { kty: 'EC', alg: 'ES256', crv: 'P-256', tags: ['jwks'] })
  const secret = await make(alice, { kty: 'oct', alg: 'HS256' })
  const put = (kid: string, version: number) =>
    alice.call('PUT', `/v1/crypto/keys/${kid}/rotation`, { json: { min_decrypt_version: version } })
  const { json: signed } = await alice.post('/v1/crypto/sign', { kid: pair.kid, alg: 'ES256', data })
  const verify = () => alice.post('/v1/crypto/verify', { ...signed, data })
  const mac = (kid: string, given?: string) =>
    alice.post('/v1/crypto/mac', { kid, alg: 'HS256', data, ...(given !== undefined && { mac: given }) })
  const shown = async () =>
    (await kms.with({}).get('/.well-known/jwks.json')).json.keys.map(({ kid }: { kid: string }) => kid)
  const first = (await mac(secret.kid)).json.mac
  for (const { kid } of [pair, secret]) await rotate(alice, kid)
  const { json: second } = await mac(secret.kid)
  await rotate(alice, secret.kid)
  assert.equal((await verify()).json.valid, true)
  assert.equal((await mac(secret.kid, first)).json.valid, true)
  assert.equal((await mac(second.version_kid, second.mac)).json.valid, true)
  assert.ok((await shown()).includes(readHeader(signed.protected).kid))
  for (const { kid } of [pair, secret]) assert.equal((await put(kid, kid === pair.kid ? 2 : 3)).status, 200)
  const refused = await verify()
  assert.equal(refused.status, 422)
  assert.match(refused.text, /min_decrypt_version/)
  assert.ok(!(await shown()).includes(readHeader(signed.protected).kid))
  for (const given of [first, second.mac]) assert.equal((await mac(secret.kid, given)).json.valid, false)
  const named = await kms.services.keys.get(second.version_kid)
  assert.ok(named)
  await assert.rejects(versionsToTry(kms.services, named).next(), { kind: 'crypto_failure' })
  assert.match((await mac(second.version_kid, second.mac)).text, /min_decrypt_version/)
  for (const { kid } of [pair, secret]) await put(kid, 1)
  assert.equal((await verify()).json.valid, true)
  assert.equal((await mac(secret.kid, first)).json.valid, true)
})

test('the key set shows no version that is disabled, and none of a key that is', async () => {
  const alice = kms.user('alice')
  const { kid, kid_public } = await make(alice, { kty: 'EC', alg: 'ES256', crv: 'P-256', tags: ['jwks'] })
  await rotate(alice, kid)
  const { versions } = (await alice.get(`/v1/crypto/keys/${kid_public}/versions`)).json
  const ids: readonly string[] = versions.map((version: { kid: string }) => version.kid)
  const shown = async () => {
    const { keys } = (await kms.with({}).get('/.well-known/jwks.json')).json
    return ids.map((id) => keys.some((one: { kid: string }) => one.kid === id))
  }
  const to = async (where: string) =>
    assert.equal((await alice.post(`/v1/crypto/keys/${kid}/${where}`, {})).status, 200)
  assert.deepEqual(await shown(), [true, true])
  await to('versions/1/disable')
  assert.deepEqual(await shown(), [true, false])
  await to('versions/1/enable')
  await to('disable')
  assert.deepEqual(await shown(), [false, false])
  await to('enable')
  assert.deepEqual(await shown(), [true, true])
})

test('a grant on a key applies to its versions, and a grant on a version to its key', async () => {
  const [alice, bob, mallory] = [kms.user('alice'), kms.user('bob'), kms.user('mallory')]
  const { kid } = await make(alice)
  const first = await seal(alice, kid)
  const { version_kid } = await rotate(alice, kid)
  const second = await seal(alice, kid)
  for (const jwe of [first, second]) assert.equal((await open(bob, jwe)).status, 404)
  await grant(alice, version_kid, 'bob', 'decrypt')
  const { version_kid: third } = await rotate(alice, kid)
  const jwe = await seal(alice, kid)
  assert.equal(readHeader(jwe.protected).kid, third)
  for (const one of [first, second, jwe]) assert.equal((await open(bob, one)).json.data, data)
  assert.equal((await bob.post(`/v1/crypto/keys/${kid}/rotate`, {})).status, 403)
  assert.equal((await mallory.post(`/v1/crypto/keys/${kid}/rotate`, {})).status, 404)
  assert.equal((await mallory.get(`/v1/crypto/keys/${kid}/versions`)).status, 404)
  const list = await alice.get(`/access/list/${third}`)
  assert.deepEqual(list.json, [{ user_id: 'bob', operations: ['decrypt'] }])
  // A user with the right to rotate makes versions of the owner's key.
  await alice.post('/access/grant', { unique_identifier: kid, user_id: 'bob', operation_types: ['rekey'] })
  const byBob = await rotate(bob, kid)
  assert.equal((await alice.get(`/v1/crypto/keys/${byBob.version_kid}`)).json.owner, 'alice')
})

test("a message with a changed header does not decrypt: another version, another key, another user's key", async () => {
  const [alice, bob] = [kms.user('alice'), kms.user('bob')]
  const { kid } = await make(alice)
  const other = await make(alice)
  const bobs = await make(bob)
  const { version_kid } = await rotate(alice, kid)
  const jwe = await seal(alice, kid)
  const naming = (id: string) => ({
    ...jwe,
    protected: Buffer.from(JSON.stringify({ alg: 'dir', enc: 'A256GCM', kid: id })).toString('base64url'),
  })
  for (const id of [kid, other.kid]) assert.equal((await open(alice, naming(id))).status, 422)
  assert.equal((await open(alice, naming(bobs.kid))).status, 404)
  const [signer, another] = [await make(alice, es256), await make(alice, es256)]
  const { json: signed } = await alice.post('/v1/crypto/sign', { kid: signer.kid, alg: 'ES256', data })
  const later = await rotate(alice, signer.kid)
  const header = readHeader(signed.protected)
  for (const id of [another.kid_public, later.version_kid_public]) {
    const protectedBy = Buffer.from(JSON.stringify({ ...header, kid: id })).toString('base64url')
    const answer = await alice.post('/v1/crypto/verify', { ...signed, protected: protectedBy, data })
    assert.deepEqual([answer.status, answer.json.valid], [200, false])
  }
  assert.equal((await open(alice, naming(version_kid))).json.data, data)
})

test("all versions share the key's tags, are one entry of lists, and are removed together", async () => {
  const carol = kms.user('carol')
  const { kid } = await make(carol, { kty: 'oct', alg: 'A256GCM', tags: ['invoices'] })
  const { version_kid } = await rotate(carol, kid)
  await rotate(carol, kid)
  assert.equal((await carol.post(`/v1/crypto/keys/${version_kid}/tags`, { tags: ['more'] })).status, 200)
  assert.deepEqual((await carol.get(`/v1/crypto/keys/${kid}/tags`)).json.tags, ['invoices', 'more'])
  const owned = (await carol.get('/access/owned')).json.map(
    ({ object_id }: { object_id: string }) => object_id,
  )
  assert.deepEqual(owned, [kid])
  const { version_kid: newest } = await rotate(carol, kid)
  assert.equal((await carol.del(`/v1/crypto/keys/${newest}`)).status, 422)
  assert.equal((await carol.del(`/v1/crypto/keys/${version_kid}`)).status, 204)
  const left = (await carol.get(`/v1/crypto/keys/${kid}/versions`)).json.versions
  assert.deepEqual(
    left.map(({ version }: { version: number }) => version),
    [4, 3, 1],
  )
  assert.equal((await carol.del(`/v1/crypto/keys/${kid}`)).status, 204)
  for (const { kid: id } of left) assert.equal((await carol.get(`/v1/crypto/keys/${id}`)).status, 404)
})

test('one version is destroyed without the others', async () => {
  const alice = kms.user('alice')
  const { kid } = await make(alice)
  const old = await seal(alice, kid)
  await rotate(alice, kid)
  const at = (version: number | string, what: string, body: object = {}) =>
    alice.post(`/v1/crypto/keys/${kid}/versions/${version}/${what}`, body)
  assert.equal((await at(1, 'revoke')).json.state, 'Deactivated')
  assert.equal((await open(alice, old)).json.data, data)
  assert.equal((await at(1, 'activate')).status, 422)
  assert.equal((await at(1, 'destroy')).json.state, 'Destroyed')
  assert.equal((await open(alice, old)).status, 422)
  assert.equal((await open(alice, await seal(alice, kid))).json.data, data)
  assert.equal((await at(2, 'revoke', { compromised: true })).json.state, 'Compromised')
  assert.equal(
    (await alice.post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data })).status,
    422,
  )
  // Rotation serves keys that others may know.
  assert.equal((await rotate(alice, kid)).version, 3)
  assert.equal((await open(alice, await seal(alice, kid))).json.data, data)
  assert.equal((await at(9, 'revoke')).status, 404)
  assert.equal((await at('x', 'revoke')).status, 400)
  assert.equal((await kms.user('bob').post(`/v1/crypto/keys/${kid}/versions/3/destroy`, {})).status, 404)
  await at(3, 'destroy')
  assert.equal((await alice.post(`/v1/crypto/keys/${kid}/rotate`, {})).status, 422)
})

test('each concurrent rotation creates one version or gets a conflict', async () => {
  const alice = kms.user('alice')
  const { kid } = await make(alice)
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => alice.post(`/v1/crypto/keys/${kid}/rotate`, {})),
  )
  const made = answers.filter(({ status }) => status === 200)
  assert.ok(made.length >= 1)
  assert.ok(answers.every(({ status }) => status === 200 || status === 409))
  const { versions } = (await alice.get(`/v1/crypto/keys/${kid}/versions`)).json
  assert.equal(versions.length, made.length + 1)
  assert.equal(versions.filter(({ newest }: { newest: boolean }) => newest).length, 1)
  const record = kms.audit.find(
    ({ operation, object }) => operation === 'crypto.keys.rotate' && object === kid,
  )
  assert.ok(record)
})

test('a concurrent rotation and destruction leave a complete key or none', async () => {
  const alice = kms.user('alice')
  for (let round = 0; round < 5; round += 1) {
    const { kid } = await make(alice)
    await rotate(alice, kid)
    const [rotated, gone] = await Promise.all([
      alice.post(`/v1/crypto/keys/${kid}/rotate`, {}),
      alice.del(`/v1/crypto/keys/${kid}`),
    ])
    assert.equal(gone.status, 204, gone.text)
    assert.ok([200, 404, 409].includes(rotated.status), rotated.text)
    assert.equal((await alice.get(`/v1/crypto/keys/${kid}`)).status, 404)
    if (rotated.status === 200)
      assert.equal((await alice.get(`/v1/crypto/keys/${rotated.json.version_kid}`)).status, 404)
  }
})
