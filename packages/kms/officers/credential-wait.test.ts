import assert from 'node:assert/strict'
import { test } from 'node:test'
import { digestOfGovernance, policyToReset, resetPolicy, voteChange } from '@warder/keys'
import { boolean, Enumeration, enumeration, integer, Tag } from '@warder/kmip-codec'
import {
  aesAttributes,
  attributes,
  kmipClient,
  objectType,
  uid,
  vendorAttribute,
} from '@warder/kmip-server/testing'
import { change, query } from '@warder/storage'
import { endVotes } from '../service/follow-auth.ts'
import type { KmsConfig } from '../service/settings.ts'
import type { Answer } from '../testing/client.ts'
import { type StartOptions, startKms } from '../testing/start.ts'
import { formatSettings } from './settings-shape.ts'
import { approved, ask, done, keyOf, letCreate, type Node, officers, vote } from './testing/officers.ts'

const config = { 'roles.crypto_officer_users': officers, 'approvals.operations': ['destroy', 'export'] }
const hour = 3_600_000

/** A service whose clock the test sets, and the entry of the feed about a credential that was set at that time. */
async function startAt(more: StartOptions = {}) {
  let now = Math.floor(Date.now() / 1000) * 1000
  const clock = { now: () => now, monotonic: () => now }
  const kms = await startKms({ ...more, clock, config: { ...config, ...more.config } })
  return {
    kms,
    clock,
    after: (ms: number) => {
      now += ms
    },
    set: (name: string, at = now) => endVotes(kms.environment, [{ realm: '_', name, at: at / 1000 }]),
    [Symbol.asyncDispose]: () => kms[Symbol.asyncDispose](),
  }
}

const waits =
  /approvals\.credential_wait: an administrator set a credential of ann at .* from .* on, so that the other officers can notice/

/** Requires that a start is refused. A service that started all the same is stopped, so that the run of the tests ends. */
async function refusesStart(start: () => Promise<AsyncDisposable>, message?: string): Promise<void> {
  const started = async () => {
    await using _started = await start()
  }
  await assert.rejects(started, /requires the approval of 3/, message)
}

/** Requires that a decision is refused because the credential waits. */
async function requireWaitRefusal(answer: Promise<Answer>): Promise<void> {
  const { status, text } = await answer
  assert.equal(status, 403, text)
  assert.match(text, waits)
}

test('votes with a credential that an administrator set do not count during approvals.credential_wait', async () => {
  await using world = await startAt({ config: { 'approvals.operations': ['export'] } })
  const { kms, set, after } = world
  await letCreate(kms, 'alice')
  const key = await keyOf(kms, 'alice')
  await set('ann')
  const request = await done(ask(kms, 'alice', { operation: 'export', key }))
  for (const ms of [0, 61_000, 23 * hour - 61_000]) {
    after(ms)
    await requireWaitRefusal(vote(kms, 'ann', request))
    await requireWaitRefusal(vote(kms, 'ann', request, 'refuse'))
  }
  // Nor does it stop those who are to notice.
  await requireWaitRefusal(kms.user('ann').post('/access/block', { user_id: 'ben' }))
  await done(vote(kms, 'ben', request))
  after(hour - 1)
  await requireWaitRefusal(kms.user('ann').post('/access/block', { user_id: 'ben' }))
  const again = await done(ask(kms, 'alice', { operation: 'export', key }))
  await requireWaitRefusal(vote(kms, 'ann', again))
  after(1)
  assert.deepEqual((await done(vote(kms, 'ann', again))).approved_by, ['ann'])
  await done(kms.user('ann').post('/access/block', { user_id: 'zoe' }))
})

test('only credentials that were set before the settings first named crypto officers need not wait', async () => {
  const recorded = { 'approvals.operations': ['export' as const] }
  const none = { 'roles.crypto_officer_users': [], 'approvals.operations': [] }
  await using world = await startAt({ config: none })
  const { kms, after, clock } = world
  const { db, seal } = kms.environment
  const startWith = (more: Partial<KmsConfig> = {}) =>
    startKms({ config: { ...config, ...recorded, ...more }, db, seal, clock })
  const setAt = clock.now()
  after(1000)
  await using named = await startWith()
  const set = (name: string, at: number) => endVotes(named.environment, [{ realm: '_', name, at: at / 1000 }])
  // The feed tells the service of what was set before its start, too.
  for (const officer of ['ann', 'ben', 'cid']) await set(officer, setAt)
  const told = named.audit.filter(({ operation }) => operation === 'access.credential_set')
  assert.deepEqual(told[0]?.details, { votes: 0, requests: 0, activations: 0 })
  await letCreate(named, 'alice')
  const key = await keyOf(named, 'alice')
  const decided = await approved(named, 'alice', { operation: 'export', key })
  assert.deepEqual([decided.state, decided.approved_by], ['approved', ['ann', 'ben', 'cid']])

  after(60_000)
  await set('ann', clock.now())
  await using without = await startWith(none)
  await without[Symbol.asyncDispose]()
  after(1000)
  await using again = await startWith()
  const request = await done(ask(again, 'alice', { operation: 'export', key }))
  await requireWaitRefusal(vote(again, 'ann', request))
  await done(vote(again, 'ben', request))
  await resetPolicy({ db, seal }, { ...(await policyToReset({ db, seal })), at: clock.now(), by: 'root' })
  await using reset = await startWith()
  await requireWaitRefusal(vote(reset, 'ann', request))
})

test('officers recorded by an older version do not count as newly named: their credentials wait', async () => {
  await using world = await startAt()
  const { kms, set, after, clock } = world
  const { db, seal } = kms.environment
  await db.commit([change(query<[], unknown>("DELETE FROM officer_credential WHERE user_id = '.'"), [])])
  await letCreate(kms, 'alice')
  await set('ann')
  after(60_000)
  const settings = { ...config, 'roles.crypto_officer_users': [...officers, 'fay'] }
  await using node = await startKms({ config: settings, db, seal, clock })
  const request = await done(ask(node, 'alice', { operation: 'destroy', key: await keyOf(kms, 'alice') }))
  await requireWaitRefusal(vote(node, 'ann', request))
})

test('a vote cast before the service learned that the credential must wait does not count', async () => {
  await using world = await startAt({ config: { 'approvals.operations': ['export'] } })
  const { kms, set, after, clock } = world
  await letCreate(kms, 'alice')
  const key = await keyOf(kms, 'alice')
  const setAt = clock.now()
  after(2 * hour)
  const request = await approved(kms, 'alice', { operation: 'export', key })
  assert.deepEqual([request.state, request.approved_by], ['approved', ['ann', 'ben', 'cid']])
  await set('ann', setAt)
  const { approved_by } = await done(kms.user('alice').get(`/access/approvals/${request.id}`))
  assert.deepEqual(approved_by, ['ben', 'cid'])
  await kmipClient(kms.user('alice')).fails('Get', [uid(key)], 'PermissionDenied')
})

test('client certificates need not wait, and with approvals.credential_wait = 0 no credential must wait', async () => {
  const listed = [...officers, 'kmip-client']
  await using world = await startAt({
    clientCertificates: true,
    config: { 'roles.crypto_officer_users': listed },
  })
  const { kms, set, after } = world
  await letCreate(kms, 'alice')
  const request = await done(ask(kms, 'alice', { operation: 'destroy', key: await keyOf(kms, 'alice') }))
  await set('kmip-client')
  after(61_000)
  const { id, hash } = request
  const bySession = await vote(kms, 'kmip-client', request)
  assert.match(bySession.text, /approvals\.credential_wait/)
  const cast = await done(kms.certified().post(`/access/approvals/${id}/approve`, { hash }))
  assert.deepEqual(cast.approved_by, ['kmip-client'])

  await using other = await startAt({ config: { 'approvals.credential_wait': 0 } })
  await letCreate(other.kms, 'alice')
  await other.set('ann')
  const wish = { operation: 'destroy', key: await keyOf(other.kms, 'alice') }
  const open = await done(ask(other.kms, 'alice', wish))
  assert.deepEqual((await done(vote(other.kms, 'ann', open))).approved_by, ['ann'])
})

test('a vote without a method, as older versions stored it, must wait and does not satisfy approvals.vote_with', async () => {
  await using world = await startAt({ config: { 'approvals.operations': ['export'] } })
  const { kms, set, after, clock } = world
  const { db, seal } = kms.environment
  await letCreate(kms, 'alice')
  const key = await keyOf(kms, 'alice')
  const { id, hash } = await done(ask(kms, 'alice', { operation: 'export', key }))
  const setAt = clock.now()
  after(hour)
  for (const user of officers.slice(0, 3))
    await db.commit([voteChange(seal, id, { user, approves: true, hash, at: clock.now() })])
  const approvers = async (node: typeof kms) =>
    (await done(node.user('alice').get(`/access/approvals/${id}`))).approved_by
  assert.deepEqual(await approvers(kms), ['ann', 'ben', 'cid'])
  await using strict = await startKms({
    config: { ...config, 'approvals.operations': ['export'], 'approvals.vote_with': ['tls_auth'] },
    db,
    seal,
    clock,
  })
  assert.deepEqual(await approvers(strict), [])
  await set('ann', setAt)
  assert.deepEqual(await approvers(kms), ['ben', 'cid'])
})

/** A key whose shares activate officers. */
async function ceremonyKey(kms: Node, user: string): Promise<string> {
  const name = 'x-cosmian-crypto-officer-ceremony'
  const marked = vendorAttribute('cosmian', name, boolean(Tag.AttributeValue, true))
  const wish = [objectType('SymmetricKey'), aesAttributes(256, marked)]
  return (await kmipClient(kms.user(user)).do('Create', wish)).id
}

const splitFor = (key: string) => [
  objectType('SplitKey'),
  uid(key),
  integer(Tag.SplitKeyParts, 5),
  integer(Tag.SplitKeyThreshold, 5),
  enumeration(Tag.SplitKeyMethod, Enumeration.SplitKeyMethod.XOR),
  attributes(),
]

test('approvals.vote_with applies to the steps of a ceremony over KMIP', async () => {
  const ceremonies = {
    ...{ ...config, 'approvals.operations': [], 'roles.crypto_officer_require_ceremony': true },
    rate_limit_per_second: 1000,
  }
  await using kms = await startKms({ config: ceremonies })
  const { db, seal } = kms.environment
  await using strict = await startKms({
    config: { ...ceremonies, 'approvals.vote_with': ['tls_auth'] },
    db,
    seal,
  })
  const key = await ceremonyKey(kms, 'ann')
  const split = await kmipClient(strict.user('ann')).fails(
    'CreateSplitKey',
    splitFor(key),
    'PermissionDenied',
  )
  assert.match(split, /approvals\.vote_with/)
  await kmipClient(kms.user('ann')).do('CreateSplitKey', splitFor(key))
  for (const [index, owner] of officers.entries())
    if (owner !== 'ann')
      await done(
        kms.user(owner).post('/access/grant', {
          unique_identifier: `${key}#${index + 1}`,
          user_id: 'ann',
          operation_types: ['get'],
        }),
      )
  const shares = officers.map((_, index) => uid(`${key}#${index + 1}`))
  const joining = [objectType('SymmetricKey'), ...shares, aesAttributes()]
  const joined = await kmipClient(strict.user('ann')).fails('JoinSplitKey', joining, 'PermissionDenied')
  assert.match(joined, /approvals\.vote_with/)
  await kmipClient(kms.user('ann')).do('JoinSplitKey', joining)
})

test('officers with a new credential cannot take steps of a ceremony during the wait, over REST and KMIP', async () => {
  await using world = await startAt({
    config: {
      'roles.crypto_officer_require_ceremony': true,
      'approvals.operations': [],
      rate_limit_per_second: 1000,
    },
  })
  const { kms, set, after } = world
  const path = '/access/crypto_officer'
  const give = (id: string, number: number, to: string) =>
    kms.user(officers[number - 1] ?? '').post('/access/grant', {
      unique_identifier: `${id}#${number}`,
      user_id: to,
      operation_types: ['get'],
    })
  const activate = (user: string, id: string, numbers: readonly number[]) =>
    kms
      .user(user)
      .post(`${path}/ceremony/activate`, { share_ids: numbers.map((number) => `${id}#${number}`) })
  const begin = async (user: string) => (await done(kms.user(user).post(`${path}/ceremony`, {}))).id
  const before = await begin('ben')
  for (const number of [2, 3]) await done(give(before, number, 'ann'))
  for (const number of [1, 3]) await done(give(before, number, 'ben'))
  await done(give(before, 2, 'cid'))
  await done(give(before, 4, 'cid'))
  await done(activate('cid', before, [2, 3, 4]))
  after(61_000)
  await set('ann')

  await requireWaitRefusal(kms.user('ann').post(`${path}/ceremony`, {}))
  await requireWaitRefusal(give(before, 1, 'cid'))
  await requireWaitRefusal(activate('ann', before, [1, 2, 3]))
  await requireWaitRefusal(ask(kms, 'ann', { operation: 'activate' }))
  await requireWaitRefusal(kms.user('ann').post(`${path}/disable`, { target_user: 'cid' }))
  const client = kmipClient(kms.user('ann'))
  const splitting = splitFor(await ceremonyKey(kms, 'ann'))
  assert.match(await client.fails('CreateSplitKey', splitting, 'PermissionDenied'), waits)
  const joining = [1, 2, 3].map((number) => uid(`${before}#${number}`))
  const join = [objectType('SymmetricKey'), ...joining, aesAttributes()]
  assert.match(await client.fails('JoinSplitKey', join, 'PermissionDenied'), waits)
  assert.equal((await done(kms.user('ann').get(`${path}/status`))).is_crypto_officer, false)
  // Shares that were given before are of the person before, for the caller and for others.
  const shared = await activate('ben', before, [1, 2, 3])
  assert.match(shared.text, /An administrator set a credential of ann, .*begin a new one/)

  after(24 * hour)
  await kmipClient(kms.user('ann')).do('CreateSplitKey', splitting)
  const fresh = await begin('ann')
  for (const number of [2, 3]) await done(give(fresh, number, 'ann'))
  const pending = await done(ask(kms, 'ben', { operation: 'activate' }))
  assert.match((await vote(kms, 'ann', pending)).text, /you can decide again after a ceremony/)
  await done(activate('ann', fresh, [1, 2, 3]))
  assert.deepEqual((await done(vote(kms, 'ann', pending))).approved_by, ['ann'])
})

test('shares granted before an administrator set the credential do not count, even with approvals.credential_wait = 0', async () => {
  await using world = await startAt({
    config: { 'roles.crypto_officer_require_ceremony': true, 'approvals.credential_wait': 0 },
  })
  const { kms, set, after } = world
  const path = '/access/crypto_officer/ceremony'
  const { id } = await done(kms.user('ann').post(path, {}))
  for (const number of [2, 3])
    await done(
      kms.user(officers[number - 1] ?? '').post('/access/grant', {
        unique_identifier: `${id}#${number}`,
        user_id: 'ann',
        operation_types: ['get'],
      }),
    )
  after(1000)
  await set('ann')
  const share_ids = [1, 2, 3].map((number) => `${id}#${number}`)
  const { status, text } = await kms.user('ann').post(`${path}/activate`, { share_ids })
  assert.equal(status, 403)
  assert.match(text, /An administrator set a credential of ann, .*begin a new one/)
})

test('if a ceremony is required, officers with a new credential vote only after a ceremony, even if they were never activated', async () => {
  await using world = await startAt({
    config: { 'roles.crypto_officer_require_ceremony': true, 'approvals.credential_wait': 0 },
  })
  const { kms, set } = world
  const request = await done(ask(kms, 'ben', { operation: 'activate' }))
  await done(vote(kms, 'ann', request))
  for (const officer of ['ann', 'cid']) await set(officer)
  assert.match((await vote(kms, 'cid', request)).text, /you can decide again after a ceremony/)
  const { approved_by } = await done(vote(kms, 'dan', request))
  assert.deepEqual(approved_by, ['dan'])
})

test('approvals.vote_with and approvals.credential_wait change by approval, with votes that count under the previous settings', async () => {
  const recorded = { 'approvals.operations': ['settings' as const] }
  await using world = await startAt({ config: recorded })
  const { kms, set, after, clock } = world
  const { db, seal } = kms.environment
  const startWith = (more: object) =>
    startKms({ config: { ...config, ...recorded, ...more }, db, seal, clock })
  const asked = async (approvals: object) =>
    done(
      ask(kms, 'dan', {
        operation: 'settings',
        settings: formatSettings({
          officers: { users: officers, requireCeremony: false, quorum: null, validitySeconds: 28_800 },
          approvals: {
            ...{ operations: ['settings'], tags: [], algorithms: [], owners: [], validitySeconds: 86_400 },
            ...approvals,
          },
        }),
      }),
    )
  const off = { 'approvals.credential_wait': 0 }
  await refusesStart(() => startWith(off))
  const strict = { 'approvals.vote_with': ['tls_auth'] }
  const request = await asked({ voteWith: ['tls_auth'] })
  assert.deepEqual(request.settings.vote_with, ['tls_auth'])
  for (const officer of ['ann', 'ben']) await done(vote(kms, officer, request))
  await refusesStart(() => startWith(strict))

  const setAt = clock.now()
  after(hour)
  assert.equal((await done(vote(kms, 'cid', request))).state, 'approved')
  await set('cid', setAt)
  await refusesStart(() => startWith(strict), 'the vote of cid waits')
  after(23 * hour)

  const later = await asked({ voteWith: ['tls_auth'] })
  for (const officer of ['ann', 'ben', 'cid']) await done(vote(kms, officer, later))
  await refusesStart(() => startWith({ ...strict, ...off }), 'exactly these')
  await using node = await startWith(strict)
  const more = await done(ask(node, 'ben', { operation: 'settings', settings: later.settings }))
  assert.equal((await vote(node, 'ann', more)).status, 403)
  await refusesStart(() => startWith({}), 'nor back')
})

test('settings in older records have the default of approvals.credential_wait', () => {
  const officerSettings = { users: officers, requireCeremony: false, quorum: null, validitySeconds: 28_800 }
  const about = { operations: [], tags: [], algorithms: [], owners: [], validitySeconds: 86_400 }
  const digest = (more: object) =>
    digestOfGovernance({ officers: officerSettings, approvals: { ...about, ...more } })
  assert.equal(digest({ credentialWaitSeconds: 86_400 }), digest({}))
  assert.notEqual(digest({ credentialWaitSeconds: 0 }), digest({}))
})
