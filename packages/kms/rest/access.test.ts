import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { failure } from '@warder/base'
import { grantChanges } from '@warder/keys'
import { rights } from '@warder/keys/testing'
import { query } from '@warder/storage'
import type { Answer, Caller } from '../testing/client.ts'
import { startKms, startSharedKms } from '../testing/start.ts'

const kms = await startSharedKms()
const alice = kms.user('alice')
const bob = kms.user('bob')

const data = Buffer.from('attack at dawn').toString('base64url')
const make = async (body: object): Promise<Record<string, string>> => {
  const made = await alice.post('/v1/crypto/keys', body)
  assert.equal(made.status, 200, made.text)
  return made.json
}
const grant = (
  kid: string | undefined,
  user: string,
  operations: readonly string[],
  by = alice,
): Promise<Answer> =>
  by.post('/access/grant', { unique_identifier: kid, user_id: user, operation_types: operations })
const revoke = (
  kid: string | undefined,
  user: string,
  operations: readonly string[],
  by = alice,
): Promise<Answer> =>
  by.post('/access/revoke', { unique_identifier: kid, user_id: user, operation_types: operations })

test('each operation requires exactly its right: 404 without any, 403 with another', async () => {
  const aes = await make({ kty: 'oct', alg: 'A256GCM' })
  const hmac = await make({ kty: 'oct', alg: 'HS256' })
  const pair = await make({ kty: 'EC', crv: 'P-256', alg: 'ES256' })
  const rsa = await make({ kty: 'RSA' })
  const sealed = (await alice.post('/v1/crypto/encrypt', { kid: aes.kid, alg: 'dir', enc: 'A256GCM', data }))
    .json
  const wrapped = (
    await alice.post('/v1/crypto/encrypt', { kid: rsa.kid, alg: 'RSA-OAEP', enc: 'A256GCM', data })
  ).json
  const signed = (await alice.post('/v1/crypto/sign', { kid: pair.kid, alg: 'ES256', data })).json
  const crypto = (verb: string, body: object) => (who: Caller) => who.post(`/v1/crypto/${verb}`, body)
  const tags = `/v1/crypto/keys/${aes.kid}/tags`
  const rows: [string, string | undefined, (who: Caller) => Promise<Answer>][] = [
    ['encrypt', aes.kid, crypto('encrypt', { kid: aes.kid, alg: 'dir', enc: 'A256GCM', data })],
    ['decrypt', aes.kid, crypto('decrypt', sealed)],
    ['decrypt', rsa.kid, crypto('decrypt', wrapped)],
    [
      'decrypt',
      rsa.kid,
      crypto('keys/unwrap', { protected: wrapped.protected, encrypted_key: wrapped.encrypted_key }),
    ],
    ['mac', hmac.kid, crypto('mac', { kid: hmac.kid, alg: 'HS256', data })],
    ['sign', pair.kid, crypto('sign', { kid: pair.kid, alg: 'ES256', data })],
    ['signatureverify', pair.kid_public, crypto('verify', { ...signed, data })],
    ['getattributes', aes.kid, (who) => who.get(`/v1/crypto/keys/${aes.kid}`)],
    ['getattributes', aes.kid, (who) => who.get(tags)],
    ['addattribute', aes.kid, (who) => who.post(tags, { tags: ['x'] })],
    ['deleteattribute', aes.kid, (who) => who.del(tags, { tags: ['x'] })],
    ['authorize', aes.kid, (who) => who.get(`/access/list/${aes.kid}`)],
  ]
  for (const [index, [right, kid, run]] of rows.entries()) {
    const user = `user ${index}`
    const who = kms.user(user)
    assert.equal((await run(who)).status, 404, `${right}: nothing granted`)
    const others = rights.filter((one) => one !== right)
    assert.equal((await grant(kid, user, others)).status, 200)
    assert.equal((await run(who)).status, 403, `${right}: everything else granted`)
    assert.equal((await grant(kid, user, [right])).status, 200)
    assert.equal((await run(who)).status, 200, `${right}: granted`)
    await revoke(kid, user, [right])
    assert.equal((await run(who)).status, 403, `${right}: revoked, on the next request`)
    await revoke(kid, user, others)
    assert.equal((await run(who)).status, 404, `${right}: nothing left`)
  }
})

test('DELETE requires both revoke and destroy, and with one of them changes nothing', async () => {
  const { kid } = await make({ kty: 'oct', alg: 'A256GCM' })
  await grant(kid, 'bob', ['revoke'])
  assert.equal((await bob.del(`/v1/crypto/keys/${kid}`)).status, 403)
  await revoke(kid, 'bob', ['revoke'])
  await grant(kid, 'bob', ['destroy'])
  assert.equal((await bob.del(`/v1/crypto/keys/${kid}`)).status, 403)
  const use = await alice.post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data })
  assert.equal(use.status, 200)
  await grant(kid, 'bob', ['Destroy'])
  assert.equal((await bob.del(`/v1/crypto/keys/${kid}`)).status, 204)
})

test('grants accept groups of rights, snake case and all users', async () => {
  const { kid } = await make({ kty: 'oct', alg: 'A256GCM' })
  const encrypt = (who: Caller) => who.post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data })
  await grant(kid, '*', ['UseKey'])
  assert.equal((await encrypt(bob)).status, 200)
  assert.equal((await bob.get(`/v1/crypto/keys/${kid}`)).status, 403)
  await grant(kid, 'bob', ['get_attributes'])
  assert.equal((await bob.get(`/v1/crypto/keys/${kid}`)).status, 200)
  await revoke(kid, '*', ['UseKey'])
  assert.equal((await encrypt(bob)).status, 403)
  assert.deepEqual((await alice.get(`/access/list/${kid}`)).json, [
    { user_id: 'bob', operations: ['getattributes'] },
  ])
})

test('invalid grants are refused and change nothing', async () => {
  const { kid } = await make({ kty: 'oct', alg: 'A256GCM' })
  const cases: [string | undefined, string, string[], number][] = [
    [kid, 'alice', ['encrypt'], 400],
    [kid, '', ['encrypt'], 400],
    [kid, ' bob', ['encrypt'], 400],
    [kid, 'b\u0000b', ['encrypt'], 400],
    [kid, 'bob', ['fly'], 400],
    [kid, 'bob', [], 400],
    [undefined, 'bob', ['encrypt'], 400],
    ['nothing', 'bob', ['encrypt'], 404],
    ['a\u0000b', 'bob', ['encrypt'], 400],
  ]
  for (const [id, user, operations, status] of cases) {
    const answer = await grant(id, user, operations)
    assert.equal(answer.status, status, `${id} ${user} ${operations}`)
  }
  assert.equal((await grant(kid, 'carol', ['encrypt'], bob)).status, 404)
  await grant(kid, 'bob', ['encrypt'])
  assert.equal((await grant(kid, 'carol', ['encrypt'], bob)).status, 403)
  assert.deepEqual((await alice.get(`/access/list/${kid}`)).json, [
    { user_id: 'bob', operations: ['encrypt'] },
  ])
})

test('a holder of Authorize can grant only their own rights', async () => {
  const { kid } = await make({ kty: 'oct', alg: 'A256GCM' })
  await grant(kid, 'bob', ['Authorize', 'encrypt'])
  assert.equal((await grant(kid, 'carol', ['encrypt'], bob)).status, 200)
  assert.equal((await grant(kid, 'carol', ['decrypt'], bob)).status, 403)
  assert.equal((await grant(kid, 'bob', ['decrypt'], bob)).status, 400)
  assert.equal((await revoke(kid, 'alice', ['encrypt'], bob)).status, 400)
  assert.deepEqual((await alice.get(`/access/list/${kid}`)).json, [
    { user_id: 'bob', operations: ['authorize', 'encrypt'] },
    { user_id: 'carol', operations: ['encrypt'] },
  ])
})

test('owned and obtained list in pages', async () => {
  const dora = kms.user('dora')
  const kids: string[] = []
  for (let count = 0; count < 5; count++) {
    kids.push((await dora.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json.kid)
  }
  const owned = (await dora.get('/access/owned')).json.map((one: { object_id: string }) => one.object_id)
  assert.deepEqual(owned, kids)
  const page = (await dora.get(`/access/owned?limit=2&after=${kids[1]}`)).json
  assert.deepEqual(
    page.map((one: { object_id: string }) => one.object_id),
    kids.slice(2, 4),
  )
  assert.equal((await dora.get('/access/owned?limit=0')).status, 400)
  await grant(kids[3], 'erik', ['encrypt', 'decrypt'], dora)
  assert.deepEqual((await kms.user('erik').get('/access/obtained')).json, [
    { object_id: kids[3], owner_id: 'dora', state: 'Active', operations: ['decrypt', 'encrypt'] },
  ])
})

test('tags: sorted, idempotent, system tags refused; gone with the key', async () => {
  const { kid } = await make({ kty: 'oct', alg: 'A256GCM', tags: ['b', 'a', 'a'] })
  const path = `/v1/crypto/keys/${kid}/tags`
  assert.deepEqual((await alice.get(path)).json, { kid, tags: ['a', 'b'] })
  assert.deepEqual((await alice.post(path, { tags: ['c', 'a'] })).json.tags, ['a', 'b', 'c'])
  assert.deepEqual((await alice.del(path, { tags: ['b', 'nothing'] })).json.tags, ['a', 'c'])
  for (const tags of [[''], ['_kk'], ['a\u0000'], ['x'.repeat(257)], 'a']) {
    assert.equal((await alice.post(path, { tags })).status, 400)
  }
  await alice.del(`/v1/crypto/keys/${kid}`)
  assert.equal((await alice.get(path)).status, 404)
})

test('a user who may change but not read tags sees only the tags that the request names', async () => {
  const { kid } = await make({ kty: 'oct', alg: 'A256GCM', tags: ['payroll', 'x'] })
  const path = `/v1/crypto/keys/${kid}/tags`
  await grant(kid, 'bob', ['addattribute', 'deleteattribute'])
  assert.equal((await bob.get(path)).status, 403)
  assert.deepEqual((await bob.post(path, { tags: ['mine'] })).json, { kid, tags: ['mine'] })
  assert.deepEqual((await bob.post(path, { tags: [] })).json, { kid, tags: [] })
  assert.deepEqual((await bob.del(path, { tags: ['x'] })).json, { kid, tags: [] })
  await grant(kid, 'bob', ['getattributes'])
  assert.deepEqual((await bob.post(path, { tags: [] })).json, { kid, tags: ['mine', 'payroll'] })
})

test('a pair is not created if its public key would exceed the limit of tags', async () => {
  const tags = Array.from({ length: 64 }, (_, index) => `t${index}`)
  const pair = { kty: 'EC', crv: 'P-256', alg: 'ES256' }
  const refused = await alice.post('/v1/crypto/keys', { ...pair, tags })
  assert.deepEqual([refused.status, refused.json.error], [400, 'bad_request'])
  await make({ ...pair, tags: tags.slice(1) })
  await make({ kty: 'oct', alg: 'A256GCM', tags })
})

test('an imported key that is tagged jwks is in the key set by the name that its signatures carry', async () => {
  const { d, x, y } = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' })
  const { kid } = await make({ kty: 'EC', crv: 'P-256', alg: 'ES256', d, x, y, tags: ['jwks'] })
  const signed = (await alice.post('/v1/crypto/sign', { kid, alg: 'ES256', data })).json
  assert.equal(JSON.parse(Buffer.from(signed.protected, 'base64url').toString()).kid, kid)
  const { keys } = (await kms.with({}).get('/.well-known/jwks.json')).json
  const shown = keys.find((jwk: { kid: string }) => jwk.kid === kid)
  assert.deepEqual(shown, { kid, kty: 'EC', crv: 'P-256', x, y, use: 'sig', alg: 'ES256' })
})

test('the JWKS shows tagged public keys and nothing secret, with an entity tag', async () => {
  const pair = await make({ kty: 'EC', crv: 'P-256', alg: 'ES256' })
  const secret = await make({ kty: 'oct', alg: 'A256GCM', tags: ['jwks'] })
  const path = '/.well-known/jwks.json'
  const first = await kms.with({}).get(path)
  assert.equal(first.status, 200)
  assert.match(String(first.headers['content-type']), /^application\/jwk-set\+json/)
  const kids = first.json.keys.map((jwk: { kid: string }) => jwk.kid)
  assert.ok(kids.includes(pair.kid_public) && !kids.includes(pair.kid) && !kids.includes(secret.kid))
  for (const jwk of first.json.keys) {
    for (const member of ['d', 'k', 'p', 'q', 'priv']) assert.equal(member in jwk, false)
  }
  const etag = String(first.headers.etag)
  const again = await kms.with({ 'if-none-match': etag }).get(path)
  assert.deepEqual([again.status, again.text], [304, ''])
  await alice.del(`/v1/crypto/keys/${pair.kid_public}/tags`, { tags: ['jwks'] })
  const without = await kms.with({ 'if-none-match': etag }).get(path)
  assert.equal(without.status, 200)
  assert.ok(!without.json.keys.some((jwk: { kid: string }) => jwk.kid === pair.kid_public))
})

test('every path except the documented public ones requires a credential', async () => {
  const open = new Set([
    '/health',
    '/unseal',
    '/version',
    '/.well-known/jwks.json',
    '/openapi.yaml',
    '/openapi.json',
    '/swagger',
    '/swagger.js',
    '/swagger.css',
    '/',
    '/ui',
    '/ui/',
    '/ui/{room}',
    '/ui/assets/{file}',
    '/ui/info',
    '/ui/login',
    '/ui/login_flow',
    '/ui/login_saml',
    '/ui/saml_callback',
    '/ui/authority.crt',
    '/ui/login_handover',
    '/ui/handover_callback',
    '/ui/callback',
    '/ui/logout',
    '/public/certificates/{issuer_id}/crl',
    '/public/certificates/{issuer_id}/certificate',
    '/ocsp',
    '/ocsp/',
    '/ocsp/{request}',
  ])
  // Signed messages of accounts; unsigned ones get 400 with the errors of RFC 8555: see api/acme.
  const isAcme = (path: string) => path.startsWith('/acme/')
  const anonymous = kms.with({})
  const { paths } = (await anonymous.get('/openapi.json')).json
  const described = Object.entries<Record<string, unknown>>(paths)
  assert.ok(described.length > 15)
  for (const [path, methods] of described) {
    for (const method of Object.keys(methods)) {
      const { status } = await anonymous.call(
        method.toUpperCase(),
        path.replaceAll(/\{.*?\}/g, 'x'),
        method === 'post' ? { json: {} } : {},
      )
      const isOpen = open.has(path) || isAcme(path)
      assert.equal(status === 401, !isOpen, `${method} ${path} answered ${status}`)
      assert.ok(!isAcme(path) || status >= 400, `${method} ${path} answered ${status}`)
    }
  }
})

test('200 concurrent changes of rights, tags and state of one key cause no error and end in one consistent state', async () => {
  const { kid = '' } = await make({ kty: 'oct', alg: 'A256GCM' })
  const statuses = new Set<number>()
  const work = Array.from({ length: 200 }, async (_, index) => {
    const answer =
      index === 150
        ? await alice.del(`/v1/crypto/keys/${kid}`)
        : index % 3 === 0
          ? await grant(kid, `user ${index}`, ['encrypt'])
          : index % 3 === 1
            ? await alice.post(`/v1/crypto/keys/${kid}/tags`, { tags: [`t${index % 20}`] })
            : await alice.post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data })
    statuses.add(answer.status)
  })
  await Promise.all(work)
  for (const status of statuses) assert.ok([200, 204, 404, 409].includes(status), String(status))
  await alice.del(`/v1/crypto/keys/${kid}`)
  assert.equal((await alice.get(`/v1/crypto/keys/${kid}`)).status, 404)
  // Rows left behind by a deleted key would come alive with a key of the same id.
  const left = await kms.environment.db.all(
    query<[], { readonly object_id: string }>(
      'SELECT object_id FROM object_grant UNION ALL SELECT object_id FROM object_tag',
    ),
    [],
  )
  assert.ok(!left.some((row) => row.object_id === kid))
})

test('with crypto officers only they and their grantees create keys; officers manage keys and cannot use them', async () => {
  await using guarded = await startKms({ config: { 'roles.crypto_officer_users': ['olga'] } })
  const olga = guarded.user('olga')
  const carl = guarded.user('carl')
  const create = (who: Caller) => who.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })
  assert.equal((await create(carl)).status, 403)
  assert.equal((await carl.get('/access/create')).json.has_create_permission, false)
  assert.equal((await grant(undefined, 'dirk', ['create'], carl)).status, 403)
  assert.equal((await grant(undefined, 'carl', ['create'], olga)).status, 200)
  const { kid } = (await create(carl)).json
  assert.equal((await olga.get('/access/privileged')).json.has_privileged_access, true)
  assert.equal((await olga.get(`/v1/crypto/keys/${kid}`)).status, 200)
  const use = await olga.post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data })
  assert.equal(use.status, 403)
  assert.equal((await olga.del(`/v1/crypto/keys/${kid}`)).status, 204)
  assert.equal((await revoke(undefined, 'carl', ['create'], olga)).status, 200)
  assert.equal((await create(carl)).status, 403)
})

test("an officer cannot gain the use of another user's key, neither by a grant to all users nor by another officer", async () => {
  await using guarded = await startKms({ config: { 'roles.crypto_officer_users': ['olga', 'oleg'] } })
  const [olga, oleg, carl, emma] = ['olga', 'oleg', 'carl', 'emma'].map((name) => guarded.user(name)) as [
    Caller,
    Caller,
    Caller,
    Caller,
  ]
  await grant(undefined, 'carl', ['create'], olga)
  const { kid } = (await carl.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json
  const encrypt = (who: Caller) => who.post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data })
  for (const rights of [
    ['encrypt'],
    ['get'],
    ['export'],
    ['rekey'],
    ['Read'],
    ['UseKey'],
    ['Modify'],
    ['revoke', 'mac'],
  ]) {
    for (const user of ['*', 'oleg'])
      assert.equal((await grant(kid, user, rights, olga)).status, 403, `${user} ${rights}`)
    assert.equal((await grant(kid, 'olga', rights, olga)).status, 400)
  }
  assert.equal((await grant(kid, '*', ['create', 'encrypt'], olga)).status, 403)
  assert.deepEqual((await carl.get(`/access/list/${kid}`)).json, [])
  assert.equal((await encrypt(olga)).status, 403)

  // An officer may grant the rights of officers to all users, and the use of a key to users; owners grant what they like.
  assert.equal((await grant(kid, '*', ['getattributes', 'Destroy'], olga)).status, 200)
  assert.equal((await grant(kid, 'emma', ['UseKey'], olga)).status, 200)
  assert.equal((await encrypt(emma)).status, 200)
  assert.equal((await grant(kid, '*', ['UseKey'], carl)).status, 200)
  assert.equal((await encrypt(oleg)).status, 200)
  assert.equal((await grant(kid, 'oleg', ['encrypt'], olga)).status, 200)
  for (const user of ['*', 'oleg'])
    assert.equal((await revoke(kid, user, ['UseKey', 'Read'], olga)).status, 200)
  for (const officer of [olga, oleg]) assert.equal((await encrypt(officer)).status, 403)

  const own = (await olga.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json
  assert.equal((await grant(own.kid, '*', ['encrypt'], olga)).status, 200)
})

test('in audit mode reject an operation whose record fails changes nothing', async () => {
  await using strict = await startKms({ auditMode: 'reject' })
  const anna = strict.user('anna')
  const { kid } = (await anna.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json
  strict.breakAudit()
  const made = await anna.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })
  assert.deepEqual([made.status, made.json.error], [503, 'audit_unavailable'])
  const gone = await anna.del(`/v1/crypto/keys/${kid}`)
  assert.equal(gone.status, 503)
  const rows = await strict.environment.db.all(
    query<[], { readonly id: string }>('SELECT id FROM managed_object'),
    [],
  )
  assert.deepEqual(
    rows.map(({ id }) => id),
    [kid],
  )
})

test('FIPS mode refuses algorithms that are not approved', async () => {
  await using fips = await startKms({ config: { fips: true } })
  const anna = fips.user('anna')
  for (const body of [{ kty: 'OKP', alg: 'EdDSA' }, { kty: 'OKP' }, { kty: 'OKP', alg: 'MLDSA44' }]) {
    const answer = await anna.post('/v1/crypto/keys', body)
    assert.deepEqual([answer.status, answer.json.error], [422, 'unsupported_algorithm'])
  }
  assert.equal((await anna.post('/v1/crypto/keys', { kty: 'EC', crv: 'P-256' })).status, 200)
})

test('a grant to an unknown name succeeds with a warning, with `known` it is refused, and machines need no prefix', async () => {
  const asked: string[] = []
  await using known = await startKms()
  const registered = { user: new Set(['dora']), machine: new Set(['ci', 'dora']) }
  let away = false
  Object.assign(known.services, {
    directory: {
      async find(name: string) {
        asked.push(name)
        if (away) throw failure('overloaded')
        const machine = name.includes('/') ? undefined : registered.machine.has(name)
        return { user: registered.user.has(name), machine }
      },
    },
  })
  const owner = known.user('alice')
  const { kid } = (await owner.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json
  const give = (user_id: string, more: object = {}, by = owner, way = 'grant') =>
    by.post(`/access/${way}`, { unique_identifier: kid, user_id, operation_types: ['encrypt'], ...more })
  const told = async (...parts: Parameters<typeof give>) => {
    const { status, json } = await give(...parts)
    return [status, json.user_id, json.known]
  }
  const strict = { known: true }
  // Without `known` in the request: granted to any name, and the reply tells whether it is known.
  assert.deepEqual(await told('nobody'), [200, 'nobody', false])
  assert.deepEqual(await told('ci'), [200, 'ci', false])
  assert.deepEqual(await told('dora'), [200, 'dora', true])
  assert.deepEqual(await told('app:ci'), [200, 'app:ci', true])
  assert.deepEqual(await told('app:cd'), [200, 'app:cd', false])
  assert.deepEqual(await told('app:namespace/account'), [200, 'app:namespace/account', undefined])
  const list = async () =>
    (await owner.get(`/access/list/${kid}`)).json.map(({ user_id }: { user_id: string }) => user_id)
  for (const user of await list()) assert.equal((await give(user, {}, owner, 'revoke')).status, 200)
  asked.length = 0
  // For callers who may not grant, no name is looked up.
  assert.equal((await give('nobody', strict, known.user('mallory'))).status, 404)
  assert.deepEqual(asked, [])
  assert.match((await give('nobody', strict)).json.description, /The user nobody is not known/)
  assert.equal((await give('app:cd', strict)).status, 400)
  assert.deepEqual(await list(), [])
  assert.deepEqual(await told('ci', strict), [200, 'app:ci', true])
  assert.deepEqual(await told('dora', strict), [200, 'dora', true], 'the user, though a machine has the name')
  assert.deepEqual(await told('ci', strict, owner, 'revoke'), [200, 'app:ci', undefined])
  assert.deepEqual(await list(), ['dora'])
  // Auth is unavailable: an unknown result is neither reported nor assumed.
  away = true
  assert.deepEqual(await told('erik'), [200, 'erik', undefined])
  assert.equal((await give('fred', strict)).status, 503)
  assert.deepEqual(await list(), ['dora', 'erik'])
  // Owners are known without asking.
  const bobs = await known.user('bob').post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })
  assert.equal(bobs.status, 200)
  assert.deepEqual(await told('bob', strict), [200, 'bob', true])
})

test('holders of authorize can grant rights to a bounded number of users; the owner can grant more', async () => {
  await using kms = await startKms()
  const [alice, bob] = [kms.user('alice'), kms.user('bob')]
  const { kid } = (await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json
  const grant = (who: typeof alice, user_id: string) =>
    who.post('/access/grant', { unique_identifier: kid, user_id, operation_types: ['encrypt'] })
  const first = { unique_identifier: kid, user_id: 'bob', operation_types: ['authorize', 'encrypt'] }
  assert.equal((await alice.post('/access/grant', first)).status, 200)
  for (let begin = 0; begin < 998; begin += 200) {
    const users = Array.from({ length: Math.min(200, 998 - begin) }, (_, at) => `user-${begin + at}`)
    await kms.environment.db.commit(users.flatMap((user) => grantChanges(kid, user, ['encrypt'])))
  }
  assert.equal((await grant(bob, 'the-last')).status, 200)
  const refused = await grant(bob, 'one-more')
  assert.equal(refused.status, 403)
  assert.match(refused.json.detail ?? refused.text, /only the owner can grant more/)
  assert.equal((await grant(bob, 'user-5')).status, 200, 'of those that have rights')
  assert.equal((await grant(alice, 'one-more')).status, 200)
})
