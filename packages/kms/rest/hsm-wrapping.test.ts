import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { countWrappedObjects, findObject, type ObjectId, removeDueHsmKeys } from '@warder/keys'
import { removalChanges } from '@warder/keys/testing'
import { Enumeration, encodeTtlv, enumeration, structure, Tag, type TtlvNode } from '@warder/kmip-codec'
import { aesAttributes, kmipClient, objectType, uid } from '@warder/kmip-server/testing'
import {
  buildFaulty,
  createProcessToken,
  missingFaulty,
  missingSofthsm,
  missingTools,
} from '@warder/pkcs11/testing'
import { createMetrics } from '@warder/runtime'
import { change, query } from '@warder/storage'
import { hsmSettings, readHsms, readWrapping } from '../service/hsm-settings.ts'
import { describeRules, isWrappingDue, rewrapMaterial } from '../service/hsm-wrapping.ts'
import { tryKeys } from '../service/restore-test.ts'
import { kmsService } from '../service/service.ts'
import type { KmsConfig } from '../service/settings.ts'
import { type Started, type StartOptions, startKms } from '../testing/start.ts'

const skip = missingSofthsm
const softhsm = missingSofthsm ? undefined : createProcessToken('warder wrapping')

const hsm = [
  JSON.stringify({
    ...{ name: 'main', library: softhsm?.library, token_label: softhsm?.label },
    ...{ pin_file: softhsm?.pinFile, admins: ['alice'], sessions: 2 },
  }),
]

const pkcs11Tool = (...words: readonly string[]): string => {
  const { library = '', pin = '', label = '', run } = softhsm ?? {}
  return (
    run?.('pkcs11-tool', '--module', library, '--token-label', label, '--login', '--pin', pin, ...words) ?? ''
  )
}

const noHsms = Object.fromEntries(
  Object.entries(hsmSettings).map(([key, setting]) => [key, setting.default]),
) as unknown as Parameters<typeof readHsms>[0]

const toBytes = (nodes: readonly TtlvNode[]): Buffer => Buffer.concat(nodes.map((node) => encodeTtlv(node)))
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

test('every use of wrapped keys passes the HSM once, then the cache', { skip }, async () => {
  await using plain = await startPlain('kek3')
  await using kms = await restart(plain, rules({ key: 'hsm::main::kek3', owners: ['alice'] }))
  const alice = kms.user('alice')
  const k = randomBytes(32)
  const { kid } = (await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM', k: text(k) })).json
  const countUses = (operation: string): number =>
    kms.audit.filter((event) => event.operation === operation && event.object === kid).length
  const sealed = await encrypt(kms, kid)
  for (let count = 0; count < 5; count += 1) await requireDecrypts(kms, sealed)
  assert.deepEqual([countUses('crypto.hsm.wrap'), countUses('crypto.hsm.unwrap')], [1, 1])
  const kmip = kmipClient(alice)
  const got = await kmip.do('Get', [uid(kid)])
  assert.ok(toBytes(got.nodes).includes(k))
  const rotated = await alice.post(`/v1/crypto/keys/${kid}/rotate`, {})
  assert.equal((await readRow(kms, rotated.json.version_kid)).key, 'hsm::main::kek3')
  await requireDecrypts(kms, sealed)
  const made = await kmip.do('Create', [objectType('SymmetricKey'), aesAttributes()])
  const ofKmip = String(made.get(Tag.UniqueIdentifier))
  assert.equal((await readRow(kms, ofKmip)).key, 'hsm::main::kek3')
  await kmip.fails('Destroy', [uid('hsm::main::kek3')], 'WrongKeyLifecycleState')
  const seen = await kmip.do('GetAttributes', [uid(ofKmip)])
  assert.match(toBytes(seen.nodes).toString('latin1'), /wrapping-key[\s\S]*hsm::main::kek3/)
  const { opened, wrapped, broken } = await tryKeys(kms.environment.db, kms.environment.seal, 1000)
  assert.deepEqual([opened > 0, wrapped, broken], [true, 3, []])
})

test('rows that are exchanged or marked differently are not opened', { skip }, async () => {
  await using plain = await startPlain('kek4')
  await using kms = await restart(plain, { key_encryption_key: 'hsm::main::kek4' })
  const alice = kms.user('alice')
  const create = async (): Promise<string> =>
    (await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json.kid
  const [one, other] = [await create(), await create()]
  const clear = (await plain.user('alice').post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json.kid
  const write = query<[Uint8Array, string | null, string], unknown>(
    'UPDATE managed_object SET material = ?, wrapping_key_id = ?, version = version + 1 WHERE id = ?',
  )
  const rows = new Map<string, Awaited<ReturnType<typeof readRow>>>()
  for (const id of [one, other, clear]) rows.set(id, await readRow(kms, id))
  const [first, second, plainRow] = [rows.get(one), rows.get(other), rows.get(clear)]
  assert.ok(first && second && plainRow)
  for (const [material, key, id] of [
    [second.material, second.key, one],
    [first.material, null, one],
    [first.material, 'hsm::main::other', one],
    [plainRow.material, first.key, clear],
  ] as const) {
    await kms.environment.db.commit([change(write, [material, key, id])])
    const used = await alice.post('/v1/crypto/encrypt', { kid: id, alg: 'dir', enc: 'A256GCM', data })
    assert.equal(used.status, 500, used.text)
    const before = rows.get(id)
    assert.ok(before)
    await kms.environment.db.commit([change(write, [before.material, before.key, id])])
    await encrypt(kms, id)
  }
})

test('another key of the same label and CKA_ID does not unwrap, and nothing is lost', {
  skip: skip || missingTools('pkcs11-tool'),
}, async () => {
  await using plain = await startPlain('kek5')
  await using kms = await restart(plain, { key_encryption_key: 'hsm::main::kek5' })
  const { kid } = (await kms.user('alice').post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json
  const sealed = await encrypt(kms, kid)
  const before = await readRow(kms, kid)
  const listed = pkcs11Tool('--list-objects', '--type', 'secrkey')
  const id = /label: +kek5\n(?:.*\n)*? +ID: +([0-9a-f]+)/.exec(listed)?.[1] ?? ''
  assert.match(id, /^[0-9a-f]{32}$/, listed)
  pkcs11Tool('--delete-object', '--type', 'secrkey', '--id', id)
  const alone = await restart(plain, {})
  const gone = await alone.user('alice').post('/v1/crypto/decrypt', sealed)
  assert.deepEqual([gone.status, gone.json.error], [422, 'crypto_failure'], gone.text)
  pkcs11Tool('--keygen', '--key-type', 'AES:32', '--label', 'kek5', '--id', id)
  const replaced = await alone.user('alice').post('/v1/crypto/decrypt', sealed)
  assert.deepEqual([replaced.status, replaced.json.error], [422, 'crypto_failure'], replaced.text)
  assert.match(replaced.json.description, /cannot unwrap this object: its key hsm::main::kek5 is not the one/)
  await rewrapMaterial(alone.environment)
  await alone[Symbol.asyncDispose]()
  assert.deepEqual((await readRow(kms, kid)).material, before.material)
  await requireDecrypts(kms, sealed)
})

test('an object that the HSM does not unwrap after wrapping it keeps its material, and is counted', {
  skip: skip || missingFaulty,
}, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'warder-faulty-'))
  const [library, pinFile, faultFile] = [buildFaulty(folder), join(folder, 'pin'), join(folder, 'fault')]
  writeFileSync(pinFile, 'good', { mode: 0o600 })
  Object.assign(process.env, { FAULT_FILE: faultFile, LOGIN_LOG: join(folder, 'logins') })
  t.after(() => {
    for (const name of ['FAULT_FILE', 'LOGIN_LOG']) delete process.env[name]
    rmSync(folder, { recursive: true, force: true })
  })
  const setFault = (fault: string): void => writeFileSync(faultFile, fault)
  const faulty = { name: 'faulty', library, token_label: 'faulty', pin_file: pinFile, admins: ['alice'] }
  const both = { hsm: [...hsm, JSON.stringify({ ...faulty, sessions: 1 })] }
  await using plain = await startPlain('kek11', { config: both })
  setFault('attributes')
  const registered = await plain
    .user('alice')
    .post('/v1/crypto/hsms/faulty/keys', { label: 'k', class: 'secret', alg: 'A256GCM' })
  assert.equal(registered.json?.kid, 'hsm::faulty::k', registered.text)
  setFault('')
  await using kms = await restart(plain, { ...both, key_encryption_key: 'hsm::main::kek11' })
  const { kid } = (await kms.user('alice').post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json
  const sealed = await encrypt(kms, kid)
  const before = await readRow(kms, kid)
  assert.equal(before.key, 'hsm::main::kek11')

  const metrics = createMetrics()
  await using moved = await startKms({
    ...{ db: plain.environment.db, seal: plain.environment.seal, node: 'moved', metrics },
    config: { ...both, key_encryption_key: 'hsm::faulty::k' },
  })
  const status = async () => (await moved.user('alice').get('/v1/crypto/hsms/faulty/wrapping')).json
  const again = () => moved.user('alice').post('/v1/crypto/hsms/faulty/wrapping', {})
  for (const [index, fault] of ['garbage data', 'short data'].entries()) {
    setFault(fault)
    if (index > 0) await again()
    await rewrapMaterial(moved.environment)
    assert.deepEqual((await status()).check.failed, 1)
    assert.deepEqual(await readRow(kms, kid), before)
  }
  assert.match(await metrics.exposition(), /^\w*objects_hsm_rewraps_failed_total 2$/m)
  const lines = moved.log.filter((line) => line.includes('could not be wrapped as the settings require'))
  assert.equal(lines.length, 2)
  assert.match(
    lines[0] ?? '',
    /The HSM did not unwrap what it wrapped with hsm::faulty::k: nothing was changed/,
  )
  await requireDecrypts(moved, sealed)
  setFault('garbage length')
  await again()
  await assert.rejects(rewrapMaterial(moved.environment), { kind: 'hsm_unavailable' })
  assert.deepEqual(await readRow(kms, kid), before)
  setFault('')
  await rewrapMaterial(moved.environment)
  assert.equal((await readRow(kms, kid)).key, 'hsm::faulty::k')
  await using last = await restart(plain, both, 'last')
  await requireDecrypts(last, sealed)
})

test('without the HSM the keys that it wraps answer 503 with its name, all others work, and it may come back', {
  skip,
}, async () => {
  await using plain = await startPlain('kek6')
  await using kms = await restart(plain, rules({ key: 'hsm::main::kek6', tags: ['t'] }))
  const create = (from: Started, tags: readonly string[]) =>
    from.user('alice').post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM', tags })
  const [wrapped, free] = [(await create(kms, ['t'])).json.kid, (await create(kms, [])).json.kid]
  const [sealed, open] = [await encrypt(kms, wrapped), await encrypt(kms, free)]
  await rewrapMaterial(kms.environment)
  const pinFile = join(plain.home, 'pin')
  writeFileSync(pinFile, 'wrong\n', { mode: 0o600 })
  const table = { ...JSON.parse(hsm[0] ?? ''), pin_file: pinFile }
  const config = { ...rules({ key: 'hsm::main::kek6', tags: ['t'] }), hsm: [JSON.stringify(table)] }
  await using away = await restart(plain, config)
  const refused = await away.user('alice').post('/v1/crypto/decrypt', sealed)
  assert.deepEqual([refused.status, refused.json.error], [503, 'hsm_unavailable'])
  assert.match(refused.json.description, /^The HSM main cannot be used: its PIN is refused/)
  await requireDecrypts(away, open)
  const notMade = await create(away, ['t'])
  assert.equal(notMade.status, 503, notMade.text)
  assert.equal((await create(away, [])).status, 200)
  assert.equal(
    (await away.user('alice').get(`/v1/crypto/keys/${wrapped}`)).json.wrapping_key,
    'hsm::main::kek6',
  )
  assert.equal((await away.user('alice').post(`/v1/crypto/keys/${free}/tags`, { tags: ['t'] })).status, 200)
  await assert.rejects(rewrapMaterial(away.environment), { kind: 'hsm_unavailable' })
  assert.equal((await away.user('alice').get('/v1/crypto/hsms/main/wrapping')).json.waiting, 1)
  writeFileSync(pinFile, `${softhsm?.pin}\n`, { mode: 0o600 })
  // The token is opened again after a delay.
  for (let tries = 0; tries < 100; tries += 1) {
    if ((await away.user('alice').post('/v1/crypto/decrypt', sealed)).status === 200) break
    await delay(100)
  }
  await requireDecrypts(away, sealed)
  await rewrapMaterial(away.environment)
  assert.equal((await readRow(kms, free)).key, 'hsm::main::kek6')
  await requireDecrypts(away, open)
})

test('a check that is interrupted at any commit is continued by another node', { skip }, async () => {
  await using plain = await startPlain('kek7')
  const made: unknown[] = []
  for (let count = 0; count < 6; count += 1) {
    const { kid } = (await plain.user('alice').post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json
    made.push(await encrypt(plain, kid))
  }
  const { db } = plain.environment
  for (let after = 0; after < 9; after += 1) {
    // In turn wrapped, and not wrapped any more.
    const config = after % 2 === 0 ? { key_encryption_key: 'hsm::main::kek7' } : {}
    let commits = 0
    const killed = {
      ...db,
      commit: (changes: Parameters<typeof db.commit>[0]) => {
        commits += 1
        if (commits > after) throw new Error('killed')
        return db.commit(changes)
      },
    }
    await using first = await restart({ ...plain, environment: { ...plain.environment, db: killed } }, config)
    commits = 0
    await rewrapMaterial(first.environment).catch((error: Error) => assert.equal(error.message, 'killed'))
    await using second = await restart(plain, config, 'second')
    await rewrapMaterial(second.environment)
    const [wrapped] = await countWrappedObjects(db, 10)
    assert.equal(wrapped?.objects ?? 0, after % 2 === 0 ? 6 : 0, `after ${after} commits`)
    for (const sealed of made) await requireDecrypts(second, sealed)
  }
})

test('two nodes rewrap, rotate and tag at the same time, and every key keeps its value', {
  skip,
}, async () => {
  await using plain = await startPlain('kek8')
  const config = rules({ key: 'hsm::main::kek8', tags: ['t'] })
  await using one = await restart(plain, config, 'one')
  await using other = await restart(plain, config, 'other')
  const made: { readonly kid: string; readonly sealed: unknown }[] = []
  for (let count = 0; count < 4; count += 1) {
    const { kid } = (await one.user('alice').post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json
    made.push({ kid, sealed: await encrypt(other, kid) })
  }
  await rewrapMaterial(one.environment)
  for (const [index, { kid }] of made.entries()) {
    const path = `/v1/crypto/keys/${kid}`
    const done = await Promise.all([
      one.user('alice').post(`${path}/tags`, { tags: ['t'] }),
      other.user('alice').post(`${path}/rotate`, {}),
      rewrapMaterial(one.environment),
      rewrapMaterial(other.environment),
    ])
    assert.deepEqual([done[0].status, done[1].status], [200, 200], `${index}`)
  }
  await rewrapMaterial(other.environment)
  for (const { kid, sealed } of made) {
    for (const node of [one, other]) await requireDecrypts(node, sealed)
    assert.equal((await readRow(one, kid)).key, 'hsm::main::kek8')
  }
  const [counted] = await countWrappedObjects(one.environment.db, 10)
  assert.equal(counted?.objects, 8)
})

test('settings of wrapping keys that cannot be meant are refused by name', { skip }, async () => {
  const hsms = readHsms({ ...noHsms, hsm })
  assert.ok(typeof hsms !== 'string')
  const read = (table: object | string) =>
    readWrapping({ hsm_wrapping: [JSON.stringify(table)], key_encryption_key: undefined }, hsms)
  for (const [table, sentence] of [
    [{}, /^hsm_wrapping: table 1: key: must be the identifier/],
    [
      { key: 'hsm::main::k', tag: 'x' },
      /^hsm_wrapping: table 1: tag: is unknown; the table may contain key, tags, owners$/,
    ],
    [{ key: 'hsm::main::k', tags: 'x' }, /^hsm_wrapping: table 1: tags: must be an array of texts$/],
    [{ key: 'hsm::main::k', owners: [''] }, /^hsm_wrapping: table 1: owners: must be an array of texts$/],
    [{ key: 'hsm::none::k' }, /^hsm_wrapping: table 1: key: hsm::none::k is in none of the HSMs/],
    [{ key: 'hsm::main::' }, /is in none of the HSMs/],
    ['x', /^hsm_wrapping: table 1: must be a table$/],
  ] as const)
    assert.match(String(read(table)), sentence)
  const wrong = { hsm_wrapping: [], key_encryption_key: 'some-key' }
  assert.match(String(readWrapping(wrong, hsms)), /^key_encryption_key: some-key is in none of the HSMs/)
  await using plain = await startPlain('kek9')
  const rsa = { kty: 'RSA', alg: 'RS256', kid: 'hsm::main::pair9' }
  assert.equal((await plain.user('alice').post('/v1/crypto/keys', rsa)).status, 200)
  const check = (key: string) =>
    kmsService.checkStored?.({
      config: { ...plain.environment.config, key_encryption_key: key },
      env: {},
      now: Date.now(),
      database: plain.environment,
    })
  await check('hsm::main::kek9')
  await assert.rejects(
    async () => check('hsm::main::missing'),
    /hsm::main::missing of hsm_wrapping .* does not exist/,
  )
  await assert.rejects(async () => check('hsm::main::pair9'), /is not an AES key in an HSM/)
})

test('a wrapping key that is deactivated still unwraps, and one that wraps stays in the HSM', {
  skip,
}, async () => {
  await using plain = await startPlain('kek10')
  await using kms = await restart(plain, { key_encryption_key: 'hsm::main::kek10' })
  const alice = kms.user('alice')
  const create = () => alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })
  const sealed = await encrypt(kms, (await create()).json.kid)
  const reason = structure(Tag.RevocationReason, [
    enumeration(Tag.RevocationReasonCode, Enumeration.RevocationReasonCode.CessationOfOperation),
  ])
  await kmipClient(alice).do('Revoke', [uid('hsm::main::kek10'), reason])
  const refused = await create()
  assert.deepEqual([refused.status, refused.json.error], [422, 'crypto_failure'])
  assert.match(refused.json.description, /^The wrapping key hsm::main::kek10 .* The key is Deactivated/)
  await using again = await restart(plain, {})
  await requireDecrypts(again, sealed)
  // As if an object had been wrapped while its wrapping key was destroyed.
  const { db, log } = kms.environment
  const wrapping = await findObject(db, 'hsm::main::kek10' as ObjectId)
  const { hsms } = kms.services.keys
  assert.ok(wrapping && hsms)
  await db.commit(removalChanges(db, [wrapping], Date.now()))
  await removeDueHsmKeys({ db, hsms, log }, Date.now() + 1)
  assert.match(kms.log.join('\n'), /could not be removed from its HSM.*it wraps the material of 1 objects/)
  await using last = await restart(plain, {}, 'last')
  await requireDecrypts(last, sealed)
})
