import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { findObject, type ObjectId, runningTime } from '@warder/keys'
import { Enumeration, enumeration, structure, Tag, type TtlvNode } from '@warder/kmip-codec'
import { type KmipClient, kmipClient, uid } from '@warder/kmip-server/testing'
import { change, query } from '@warder/storage'
import { carryOutDestructions } from '../service/destructions.ts'
import { kmsService } from '../service/service.ts'
import type { Caller } from '../testing/client.ts'
import { startKms, startSharedKms } from '../testing/start.ts'

const dayMs = 86_400_000
const minuteMs = 60_000
let now = 1_800_000_000_000
let alice: Caller
let kmip: KmipClient
const kms = await startSharedKms({
  clock: { now: () => now, monotonic: () => performance.now() },
  config: { pending_destruction_days_by: ['tag:payments=30', 'alg:RSA=7', 'tag:short=7'] },
})
// Tokens end after ten minutes, and these tests move the clock by weeks.
beforeEach(() => renew())

function renew(): void {
  alice = kms.user('alice')
  kmip = kmipClient(alice)
}

const data = Buffer.from('attack at dawn').toString('base64url')
const path = (kid: string, verb = ''): string => `/v1/crypto/keys/${kid}${verb}`
const make = async (body: object = {}): Promise<Record<string, string>> => {
  const made = await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM', ...body })
  assert.equal(made.status, 200, made.text)
  return made.json
}
const encrypt = (kid = '', by = alice) =>
  by.post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data })
const grant = (kid: string | undefined, user: string, operations: readonly string[]) =>
  alice.post('/access/grant', { unique_identifier: kid, user_id: user, operation_types: operations })

/** Time passes with the service running: a look each minute would take long, so it is told of more. */
async function looks(count: number): Promise<void> {
  for (let each = 0; each < count; each++) {
    now += minuteMs
    await carryOutDestructions(kms.environment)
  }
}

const setRan = query<[ran: number, now: number], unknown>('UPDATE running_time SET ran_ms = ?, seen_at = ?')

/** As if the service had run for so long. */
async function ran(ms: number): Promise<void> {
  now += ms
  const { db } = kms.environment
  const ranMs = (await runningTime(db)) + ms
  await db.commit([change(setRan, [ranMs, now])])
  renew()
}

function vendorAttributes(payload: readonly TtlvNode[] | undefined): string {
  return JSON.stringify(payload, (_name, value) => (typeof value === 'bigint' ? `${value}` : value))
}

test('REST and KMIP refuse a disabled key with this reason until it is enabled', async () => {
  const { kid = '' } = await make()
  const sealed = (await encrypt(kid)).json
  const disabled = await alice.post(path(kid, '/disable'), {})
  assert.deepEqual(disabled.json, {
    kid,
    state: 'Active',
    activation_at: disabled.json.activation_at,
    disabled_at: new Date(now).toISOString(),
  })
  for (const [verb, body] of [
    ['encrypt', { kid, alg: 'dir', enc: 'A256GCM', data }],
    ['decrypt', sealed],
  ] as const) {
    const refused = await alice.post(`/v1/crypto/${verb}`, body)
    assert.deepEqual([refused.status, refused.json.error], [422, 'crypto_failure'])
    assert.match(refused.json.description, /disabled/)
  }
  await kmip.fails('Encrypt', [uid(kid)], 'WrongKeyLifecycleState')
  await kmip.fails('Get', [uid(kid)], 'WrongKeyLifecycleState')
  const told = vendorAttributes((await kmip.ask('GetAttributes', [uid(kid)])).payload)
  assert.match(told, /disabled-date/)
  // Again: it is so already, and the date stays.
  now += 1000
  assert.equal((await alice.post(path(kid, '/disable'), {})).json.disabled_at, disabled.json.disabled_at)
  // An event in the life of the key does not enable it.
  await kmip.do('Archive', [uid(kid)])
  await kmip.do('Recover', [uid(kid)])
  assert.equal((await encrypt(kid)).status, 422)
  const enabled = await alice.post(path(kid, '/enable'), {})
  assert.deepEqual([enabled.status, enabled.json.disabled_at], [200, undefined])
  assert.equal((await encrypt(kid)).status, 200)
  assert.equal((await alice.post('/v1/crypto/decrypt', sealed)).json.data, data)
  const records = kms.audit.filter(({ object }) => object === kid).map(({ operation }) => operation)
  assert.ok(records.includes('crypto.keys.disable') && records.includes('crypto.keys.enable'))
})

test('the keys of a pair are disabled and enabled together, and are not in the key set meanwhile', async () => {
  const pair = await make({ kty: 'EC', crv: 'P-256', alg: 'ES256' })
  const { kid = '', kid_public: half = '' } = pair
  const signed = (await alice.post('/v1/crypto/sign', { kid, alg: 'ES256', data })).json
  const isPublished = async (): Promise<boolean> =>
    (await kms.with({}).get('/.well-known/jwks.json')).text.includes(half)
  assert.equal(await isPublished(), true)
  assert.equal((await alice.post(path(half, '/disable'), {})).status, 200)
  assert.equal((await alice.post('/v1/crypto/sign', { kid, alg: 'ES256', data })).status, 422)
  assert.equal((await alice.post('/v1/crypto/verify', { ...signed, data })).status, 422)
  assert.equal(await isPublished(), false)
  assert.equal((await alice.post(path(kid, '/enable'), {})).status, 200)
  assert.equal((await alice.post('/v1/crypto/verify', { ...signed, data })).json.valid, true)
  assert.equal(await isPublished(), true)
})

test('disabling requires the right revoke, enabling and restoring the right activate', async () => {
  const { kid = '' } = await make({ tags: ['payments'] })
  const bob = kms.user('bob')
  for (const verb of ['/disable', '/enable', '/restore'])
    assert.equal((await bob.post(path(kid, verb), {})).status, 404)
  await grant(kid, 'bob', ['revoke', 'destroy'])
  assert.equal((await bob.post(path(kid, '/enable'), {})).status, 403)
  assert.equal((await bob.post(path(kid, '/disable'), {})).status, 200)
  assert.equal((await bob.del(path(kid))).status, 202)
  assert.equal((await bob.post(path(kid, '/restore'), {})).status, 403)
  await grant(kid, 'bob', ['activate'])
  assert.equal((await bob.post(path(kid, '/restore'), {})).status, 200)
  assert.equal((await encrypt(kid)).status, 422, 'it is disabled still')
  assert.equal((await bob.post(path(kid, '/restore'), {})).status, 422, 'nothing waits')
  assert.equal((await bob.post(path(kid, '/enable'), {})).status, 200)
  assert.equal((await encrypt(kid)).status, 200)
})

test('without a rule a destruction is immediate; with one it waits, and the key is unusable and can be restored', async () => {
  const plain = await make()
  assert.equal((await alice.get(path(plain.kid ?? ''))).json.destruction_days, undefined)
  assert.equal((await alice.del(path(plain.kid ?? ''))).status, 204)
  const { kid = '', kid_public: half = '' } = await make({ kty: 'RSA', alg: 'RSA-OAEP-256' })
  assert.equal((await alice.get(path(kid))).json.destruction_days, 7)
  const asked = await alice.del(path(kid))
  const destruction_at = new Date(now + 7 * dayMs).toISOString()
  assert.deepEqual([asked.status, asked.json], [202, { kid, destruction_at }])
  now += 5000
  // Again: the date stays.
  assert.equal((await alice.del(path(half))).json.destruction_at, destruction_at)
  for (const one of [kid, half]) {
    const shown = (await alice.get(path(one))).json
    assert.deepEqual(
      [shown.state, shown.destruction_at, shown.destruction_by],
      ['Active', destruction_at, 'alice'],
    )
    const refused = await alice.post('/v1/crypto/encrypt', {
      kid: one,
      alg: 'RSA-OAEP-256',
      enc: 'A256GCM',
      data,
    })
    assert.equal(refused.status, 422)
    assert.match(refused.json.description, /destruction of the key is pending/)
    await kmip.fails('Get', [uid(one)], 'WrongKeyLifecycleState')
  }
  assert.equal((await alice.post(path(half, '/restore'), {})).json.destruction_at, undefined)
  const works = await alice.post('/v1/crypto/encrypt', { kid, alg: 'RSA-OAEP-256', enc: 'A256GCM', data })
  assert.equal(works.status, 200)
  await looks(1)
  await ran(8 * dayMs)
  await looks(1)
  assert.equal((await alice.get(path(kid))).status, 200, 'what was restored stays')
})

test('the tag that delays a destruction cannot be removed first', async () => {
  const { kid = '' } = await make({ tags: ['payments'] })
  assert.equal((await alice.del(path(kid, '/tags'), { tags: ['payments'] })).status, 403)
  const asked = await alice.del(path(kid))
  assert.equal(asked.json.destruction_at, new Date(now + 30 * dayMs).toISOString())
})

test('a pair is destroyed at its date and not before, even if the clock jumps', async () => {
  const { kid = '', kid_public: half = '' } = await make({
    kty: 'EC',
    crv: 'P-256',
    alg: 'ES256',
    tags: ['short'],
  })
  assert.equal((await alice.del(path(kid))).status, 202)
  const asked = now
  await looks(2)
  // The clock jumps ahead by a year, and back: nothing happens.
  now += 365 * dayMs
  await looks(3)
  renew()
  assert.equal((await alice.get(path(kid))).status, 200)
  now = asked + 10 * minuteMs
  await looks(1)
  renew()
  assert.equal((await alice.get(path(half))).status, 200)
  // The service has run for as long, and the clock says another thing.
  await ran(6 * dayMs)
  await ran(dayMs)
  now -= 2 * dayMs
  await looks(5)
  renew()
  assert.equal((await alice.get(path(kid))).status, 200)
  now += 2 * dayMs
  await looks(5)
  renew()
  assert.equal((await alice.get(path(kid))).status, 404)
  assert.equal((await alice.get(path(half))).status, 404)
  const record = kms.audit.find(
    ({ operation, object }) => operation === 'crypto.keys.destruction' && [kid, half].includes(object ?? ''),
  )
  assert.deepEqual(
    [record?.outcome, record?.principal, record?.details?.asked_by],
    ['success', 'warder', 'alice'],
  )
})

test('a destruction that was requested under a slow clock waits for the full period', async () => {
  const { kid = '' } = await make({ tags: ['short'] })
  const right = now
  now -= 300 * dayMs
  renew()
  assert.equal((await alice.del(path(kid))).status, 202)
  now = right
  renew()
  await looks(3)
  assert.equal((await alice.get(path(kid))).status, 200)
})

test('KMIP Destroy also waits: it succeeds, and the object keeps its state and shows the destruction date', async () => {
  const { kid = '' } = await make({ tags: ['short'] })
  const { kid: compromised = '' } = await make({ tags: ['short'] })
  await kmip.fails('Destroy', [uid(kid)], 'WrongKeyLifecycleState')
  await kmip.do('Revoke', [uid(kid), revocation('Superseded')])
  await kmip.do('Revoke', [uid(compromised), revocation('KeyCompromise')])
  for (const one of [kid, compromised]) {
    await kmip.do('Destroy', [uid(one)])
    await kmip.do('Destroy', [uid(one)])
    const told = vendorAttributes((await kmip.ask('GetAttributes', [uid(one)])).payload)
    assert.match(told, /destruction-date/)
    await kmip.fails('Get', [uid(one)], 'WrongKeyLifecycleState')
  }
  assert.equal((await alice.get(path(kid))).json.state, 'Deactivated')
  await looks(1)
  await ran(7 * dayMs)
  await looks(5)
  renew()
  assert.equal((await alice.get(path(kid))).json.state, 'Destroyed')
  assert.equal((await alice.get(path(compromised))).json.state, 'Destroyed_Compromised')
  await kmip.fails('Get', [uid(kid)], 'ObjectDestroyed')
  assert.equal((await alice.post(path(kid, '/restore'), {})).status, 422)
  assert.equal((await alice.post(path(kid, '/disable'), {})).status, 422)
  // The remaining half has nothing to wait for.
  assert.equal((await alice.del(path(kid))).status, 204)
})

test('the recent users of a key are recorded, and listed while its destruction waits', async () => {
  const { kid = '' } = await make({ tags: ['short'] })
  await grant(kid, 'bob', ['encrypt'])
  assert.equal((await encrypt(kid)).status, 200)
  for (let each = 0; each < 3; each++) assert.equal((await encrypt(kid, kms.user('bob'))).status, 200)
  await kms.services.uses.flush()
  const last_used = new Date(now).toISOString().slice(0, 10)
  assert.deepEqual((await alice.get(path(kid, '/uses'))).json, {
    kid,
    uses: ['alice', 'bob'].map((user) => ({ user, last_used })),
  })
  assert.equal((await kms.user('bob').get(path(kid, '/uses'))).status, 403)
  await alice.del(path(kid))
  await looks(2)
  const lines = kms.log.filter(
    (line) => line.includes(kid) && line.includes('destruction of a key is pending'),
  )
  assert.equal(lines.length, 1, 'told once')
  assert.match(lines[0] ?? '', /"used_by":\["alice","bob"\]/)
  await ran(6 * dayMs)
  await looks(2)
  assert.equal(
    kms.log.filter((line) => line.includes(kid) && line.includes('will be destroyed soon')).length,
    1,
  )
  assert.notEqual(await findObject(kms.environment.db, kid as ObjectId), undefined)
})

test('the destruction of one version also waits, and affects neither the key nor other versions', async () => {
  const { kid = '' } = await make({ tags: ['short'] })
  const first = (await encrypt(kid)).json
  const { version_kid } = (await alice.post(path(kid, '/rotate'), {})).json
  const second = (await encrypt(kid)).json
  const at = (version: number, verb: string) => alice.post(path(kid, `/versions/${version}/${verb}`), {})
  const opens = async (jwe: object) => (await alice.post('/v1/crypto/decrypt', jwe)).status
  const waits = await at(1, 'destroy')
  assert.equal(waits.status, 200, waits.text)
  assert.equal(waits.json.destruction_at, new Date(now + 7 * dayMs).toISOString())
  assert.deepEqual([await opens(first), await opens(second)], [422, 200])
  assert.equal((await encrypt(kid)).status, 200)
  assert.equal(
    (await at(1, 'destroy')).json.destruction_at,
    waits.json.destruction_at,
    'the first date stays',
  )
  assert.equal((await at(1, 'restore')).json.destruction_at, undefined)
  assert.deepEqual([(await at(1, 'restore')).status, await opens(first)], [422, 200])
  await at(1, 'destroy')
  await looks(1)
  await ran(7 * dayMs)
  await looks(3)
  renew()
  const { versions } = (await alice.get(path(kid, '/versions'))).json
  assert.deepEqual(
    versions.map(({ state }: { state: string }) => state),
    ['Active', 'Destroyed'],
  )
  assert.deepEqual([await opens(first), await opens(second)], [422, 200])
  // A destroyed part of a key does not shorten the wait of the rest.
  assert.equal((await alice.del(path(kid))).status, 202)
  assert.equal((await encrypt(version_kid)).status, 422)
  assert.equal((await at(2, 'restore')).json.destruction_at, undefined, 'the newest version is the key')
})

test('KMIP Destroy of the first version leaves the key usable, and a later DELETE delays all versions', async () => {
  const { kid = '' } = await make({ tags: ['short'] })
  const first = (await encrypt(kid)).json
  const { id: second } = await kmip.do('ReKey', [uid(kid)])
  await kmip.do('Revoke', [uid(kid), revocation('Superseded')])
  await kmip.do('Destroy', [uid(kid)])
  for (const id of [kid, second]) assert.equal((await encrypt(id)).status, 200)
  assert.equal((await alice.post(path(kid, '/rotate'), {})).status, 200)
  assert.equal((await alice.post('/v1/crypto/decrypt', first)).status, 422)
  assert.equal(
    (await alice.get('/v1/crypto/keys?awaits_destruction=true&tag=short')).text.includes(kid),
    false,
  )
  const gone = await alice.del(path(kid))
  assert.equal(gone.status, 202)
  assert.ok(Date.parse(gone.json.destruction_at) >= now + 7 * dayMs)
  assert.equal((await encrypt(kid)).status, 422)
  assert.ok((await alice.get('/v1/crypto/keys?awaits_destruction=true&tag=short')).text.includes(kid))
  await looks(1)
  await ran(7 * dayMs)
  await looks(5)
  renew()
  for (const id of [kid, second]) assert.equal((await alice.get(path(id))).status, 404)
})

test('each version, also the first, is disabled and enabled independently of the key', async () => {
  const { kid = '' } = await make()
  const first = (await encrypt(kid)).json
  await alice.post(path(kid, '/rotate'), {})
  const second = (await encrypt(kid)).json
  const at = (version: number, verb: string) => alice.post(path(kid, `/versions/${version}/${verb}`), {})
  const opens = async (...jwes: readonly object[]) =>
    Promise.all(jwes.map(async (jwe) => (await alice.post('/v1/crypto/decrypt', jwe)).status))
  const disabled = await at(1, 'disable')
  assert.equal(disabled.json.disabled_at, new Date(now).toISOString(), disabled.text)
  assert.deepEqual(await opens(first, second), [422, 200])
  assert.equal((await encrypt(kid)).status, 200)
  now += 1000
  assert.equal((await alice.post(path(kid, '/disable'), {})).status, 200)
  assert.deepEqual(await opens(first, second), [422, 422])
  const enabled = await alice.post(path(kid, '/enable'), {})
  assert.equal(enabled.json.disabled_at, undefined, 'the key is enabled')
  assert.deepEqual(await opens(first, second), [422, 200], 'the version stays disabled')
  assert.equal((await at(1, 'enable')).status, 200)
  assert.deepEqual(await opens(first, second), [200, 200])
  assert.equal((await at(2, 'disable')).status, 200)
  assert.deepEqual([(await encrypt(kid)).status, ...(await opens(first, second))], [422, 200, 422])
  assert.equal((await alice.post(path(kid, '/rotate'), {})).status, 422, 'nothing goes on from it')
  await grant(kid, 'bob', ['encrypt'])
  assert.equal((await kms.user('bob').post(path(kid, '/versions/1/disable'), {})).status, 403)
})

test('without waiting destructions the job scans nothing', async () => {
  await using quiet = await startKms()
  const job = kmsService.periodic.find(({ name }) => name === 'kms destructions that wait')
  assert.equal(await job?.due?.(quiet.environment), false)
})

function revocation(code: 'Superseded' | 'KeyCompromise'): TtlvNode {
  const value = Enumeration.RevocationReasonCode[code]
  return structure(Tag.RevocationReason, [enumeration(Tag.RevocationReasonCode, value)])
}
