import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, test } from 'node:test'
import { countWrappedObjects, findObject, type ObjectId } from '@warder/keys'
import { createSofthsmToken, missingSofthsm } from '@warder/pkcs11/testing'
import { query } from '@warder/storage'
import { describeRules, isWrappingDue, rewrapMaterial } from '../service/hsm-wrapping.ts'
import type { KmsConfig } from '../service/settings.ts'
import { type Started, type StartOptions, startKms } from '../testing/start.ts'

const skip = missingSofthsm
const softhsm = missingSofthsm ? undefined : createSofthsmToken()
process.env.SOFTHSM2_CONF = softhsm?.env.SOFTHSM2_CONF ?? ''
after(() => softhsm?.[Symbol.dispose]())

const hsm = [
  JSON.stringify({
    ...{ name: 'main', library: softhsm?.library, token_label: softhsm?.label },
    ...{ pin_file: softhsm?.pinFile, admins: ['alice'], sessions: 2 },
  }),
]

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url')
const data = text(Buffer.from('attack at dawn'))

type Rule = { readonly key: string; readonly tags?: readonly string[]; readonly owners?: readonly string[] }

/** An installation whose token has the AES key `label`; without rules. */
async function startPlain(label: string, options: StartOptions = {}): Promise<Started> {
  const kms = await startKms({ config: { hsm, ...options.config }, ...options })
  const made = await kms
    .user('alice')
    .post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM', kid: `hsm::main::${label}` })
  assert.equal(made.status, 200, made.text)
  return kms
}

/** Another node on the same database, or the same one after a restart with other settings. */
async function restart(first: Started, config: Partial<KmsConfig>, node = 'again'): Promise<Started> {
  const { db, seal } = first.environment
  return startKms({ db, seal, node, config: { hsm, ...config } })
}

const rules = (...all: readonly Rule[]): Partial<KmsConfig> => ({
  hsm_wrapping: all.map((one) => JSON.stringify(one)),
})

const rawMaterial = query<[id: string], { readonly material: Uint8Array; readonly key: string | null }>(
  'SELECT material, wrapping_key_id AS key FROM managed_object WHERE id = ?',
)

async function readRow({ environment: { db } }: Started, id: string) {
  const row = await db.get(rawMaterial, [id])
  assert.ok(row)
  return row
}

async function encrypt(kms: Started, kid: string) {
  const sealed = await kms.user('alice').post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data })
  assert.equal(sealed.status, 200, sealed.text)
  return sealed.json
}

async function requireDecrypts(kms: Started, sealed: unknown): Promise<void> {
  const opened = await kms.user('alice').post('/v1/crypto/decrypt', sealed)
  assert.equal(opened.json.data, data, opened.text)
}

test('material of new keys is wrapped in the HSM, and the keys work after a restart', { skip }, async () => {
  await using plain = await startPlain('kek')
  await using kms = await restart(plain, rules({ key: 'hsm::main::kek', tags: ['secret'] }))
  const alice = kms.user('alice')
  const k = randomBytes(32)
  const imported = await alice.post('/v1/crypto/keys', {
    kty: 'oct',
    alg: 'A256GCM',
    k: text(k),
    tags: ['secret'],
  })
  assert.equal(imported.status, 200, imported.text)
  const { kid } = imported.json
  const sealed = await encrypt(kms, kid)
  const { material, key } = await readRow(kms, kid)
  const shown = (await alice.get(`/v1/crypto/keys/${kid}`)).json
  assert.deepEqual([shown.wrapping_key, shown.hsm], ['hsm::main::kek', undefined])
  assert.equal(key, 'hsm::main::kek')
  const { seal } = kms.environment
  const context = { table: 'managed_object', row: kid, column: 'wrapped_material' }
  const unsealed = Buffer.from(await seal.open(context, material))
  assert.ok(!unsealed.includes(k))
  assert.match(unsealed.toString('latin1'), /"label":"kek"/)
  assert.ok(!(await plain.storedBytes()).includes(k))
  const other = await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })
  assert.equal(other.status, 200, other.text)
  assert.equal((await readRow(kms, other.json.kid)).key, null)
  await using again = await restart(plain, {})
  await requireDecrypts(again, sealed)
  const pair = await alice.post('/v1/crypto/keys', {
    kty: 'EC',
    crv: 'P-256',
    alg: 'ES256',
    tags: ['secret'],
  })
  assert.equal(pair.status, 200, pair.text)
  assert.equal((await readRow(kms, pair.json.kid)).key, 'hsm::main::kek')
  assert.equal((await readRow(kms, pair.json.kid_public)).key, null)
  const signed = await again.user('alice').post('/v1/crypto/sign', { kid: pair.json.kid, alg: 'ES256', data })
  assert.equal(signed.status, 200, signed.text)
  const uses = kms.audit.filter(({ operation, object }) => operation === 'crypto.hsm.wrap' && object === kid)
  assert.deepEqual(
    uses.map(({ details, outcome }) => [details?.wrapping_key, outcome]),
    [['hsm::main::kek', 'success']],
  )
  assert.ok(uses[0]?.principal !== 'alice')
})

test('objects that exist are rewrapped when the settings, tags or the wrapping key change', {
  skip,
}, async () => {
  await using plain = await startPlain('kek2')
  const made: string[] = []
  for (let count = 0; count < 3; count += 1) {
    const { json } = await plain.user('alice').post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })
    made.push(json.kid)
  }
  const [first = ''] = made
  const sealed = await encrypt(plain, first)
  assert.equal(await isWrappingDue(plain.environment), false)
  await using kms = await restart(plain, { key_encryption_key: 'hsm::main::kek2' })
  const keyOf = async (id: string) => (await findObject(kms.environment.db, id as ObjectId))?.wrappingKey
  assert.equal(await isWrappingDue(kms.environment), true)
  await rewrapMaterial(kms.environment)
  assert.equal(await isWrappingDue(kms.environment), false)
  for (const id of made) assert.equal(await keyOf(id), 'hsm::main::kek2')
  await requireDecrypts(kms, sealed)
  const rotated = await kms.user('alice').post('/v1/crypto/keys/hsm::main::kek2/rotate', {})
  assert.equal(rotated.status, 200, rotated.text)
  await rewrapMaterial(kms.environment)
  for (const id of made) assert.equal(await keyOf(id), rotated.json.version_kid)
  await requireDecrypts(kms, sealed)
  await using tagged = await restart(plain, rules({ key: 'hsm::main::kek2', tags: ['t'] }))
  await rewrapMaterial(tagged.environment)
  assert.equal(await keyOf(first), undefined)
  await requireDecrypts(tagged, sealed)
  assert.equal(
    (await tagged.user('alice').post(`/v1/crypto/keys/${first}/tags`, { tags: ['t'] })).status,
    200,
  )
  assert.equal(await isWrappingDue(tagged.environment), true)
  await rewrapMaterial(tagged.environment)
  assert.equal(await keyOf(first), rotated.json.version_kid)
  const [wrapped] = await countWrappedObjects(tagged.environment.db, 10)
  assert.deepEqual({ ...wrapped }, { key: rotated.json.version_kid, objects: 1 })
  await requireDecrypts(tagged, sealed)
  assert.match(await describeRules(tagged.environment), /kek2/)
  const status = (await tagged.user('alice').get('/v1/crypto/hsms/main/wrapping')).json
  const [rule, counted] = [
    { key: 'hsm::main::kek2', tags: ['t'], owners: [] },
    { kid: rotated.json.version_kid, objects: 1 },
  ]
  assert.deepEqual([status.rules, status.keys, status.waiting], [[rule], [counted], 0])
  assert.deepEqual([status.check.state, status.check.failed], ['finished', 0])
  assert.equal((await tagged.user('bob').get('/v1/crypto/hsms/main/wrapping')).status, 403)
  const again = await tagged.user('alice').post('/v1/crypto/hsms/main/wrapping', {})
  assert.equal(again.json.check.state, 'running', again.text)
  await rewrapMaterial(tagged.environment)
  for (const [method, path] of [
    ['del', ''],
    ['post', '/disable'],
  ] as const) {
    const refused = await tagged.user('alice')[method](`/v1/crypto/keys/hsm::main::kek2${path}`, {})
    assert.equal(refused.status, 409, refused.text)
    assert.match(refused.json.description, /wraps the material of 1 object,/)
  }
})
