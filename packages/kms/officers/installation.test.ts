import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { type Governance, rootKeyApproval } from '@warder/keys'
import { change, type Database, query } from '@warder/storage'
import { bothEngines, startTwoNodes } from '../testing/engines.ts'
import { type Started, startKms } from '../testing/start.ts'
import { formatSettings } from './settings-shape.ts'

const officers = ['ann', 'ben', 'cid', 'dan', 'eva']
const config = {
  'roles.crypto_officer_users': officers,
  'approvals.operations': ['stop_store', 'start_store', 'settings', 'root_key'],
}
type Node = Pick<Started, 'user'>

async function asked(kms: Node, body: object, user = 'eva') {
  const answer = await kms.user(user).post('/access/approvals', body)
  assert.equal(answer.status, 200, answer.text)
  return answer.json
}
const approve = async (kms: Node, request: { id: string; hash: string }, users: readonly string[]) => {
  let state: string = 'open'
  for (const user of users) {
    const answer = await kms
      .user(user)
      .post(`/access/approvals/${request.id}/approve`, { hash: request.hash })
    assert.equal(answer.status, 200, answer.text)
    state = answer.json.state
  }
  return state
}
const store = async (kms: Node, way: string) =>
  (await kms.user('ann').post(`/v1/external-stores/aws/${way}`, {})).status
const isStopped = async (kms: Node) =>
  (await kms.user('ann').get('/v1/external-stores')).json.find(({ name }: { name: string }) => name === 'aws')
    .stopped !== null

test('a cloud is disabled and enabled after three of five officers approve', async () => {
  await using kms = await startKms({ config })
  assert.equal(await store(kms, 'stop'), 403)
  const stop = await asked(kms, { operation: 'stop_store', store: 'aws' })
  assert.deepEqual([stop.key, stop.needed], ['aws', 3])
  const late = await asked(kms, { operation: 'stop_store', store: 'aws' }, 'dan')
  assert.equal(await approve(kms, stop, ['ann', 'ben']), 'open')
  assert.equal(await isStopped(kms), false)
  assert.equal(await approve(kms, stop, ['cid']), 'done')
  assert.equal(await isStopped(kms), true)
  // Another request for the same: the switch was moved meanwhile.
  assert.equal(await approve(kms, late, ['ann', 'ben', 'cid']), 'void')
  assert.equal(await store(kms, 'start'), 403)
  const start = await asked(kms, { operation: 'start_store', store: 'aws' })
  assert.equal(await approve(kms, start, ['ann', 'ben', 'cid']), 'done')
  assert.equal(await isStopped(kms), false)
})

test('a caller without the right cannot request the operation, and malformed requests are refused', async () => {
  await using kms = await startKms({ config })
  const status = async (user: string, body: object) =>
    (await kms.user(user).post('/access/approvals', body)).status
  assert.equal(await status('mallory', { operation: 'stop_store', store: 'aws' }), 403)
  assert.equal(await status('mallory', { operation: 'root_key' }), 403)
  assert.equal(await status('mallory', { operation: 'settings', settings: governance(officers) }), 403)
  assert.equal(await status('ann', { operation: 'stop_store', store: 'other' }), 404)
  assert.equal(await status('ann', { operation: 'stop_store' }), 404)
  assert.equal(await status('ann', { operation: 'settings' }), 400)
  assert.equal(await status('ann', { operation: 'settings', settings: { operations: [] } }), 400)
  assert.equal(await status('ann', { operation: 'destroy' }), 400)
  await using free = await startKms({ config: { ...config, 'approvals.operations': ['destroy'] } })
  for (const body of [
    { operation: 'stop_store', store: 'aws' },
    { operation: 'root_key' },
    { operation: 'settings', settings: governance(officers) },
  ])
    assert.equal((await free.user('ann').post('/access/approvals', body)).status, 422)
  assert.equal(await store(free, 'stop'), 200)
})

/** The settings that the tests start with, with other officers. */
function governance(users: readonly string[], operations = config['approvals.operations']) {
  return formatSettings({
    officers: { users, requireCeremony: false, quorum: null, validitySeconds: 28_800 },
    approvals: {
      operations: operations as Governance['approvals']['operations'],
      tags: [],
      algorithms: [],
      owners: [],
      validitySeconds: 86_400,
    },
  })
}

test('a start with other officers requires one approval of exactly these by the previous officers', async () => {
  await using kms = await startKms({ config })
  const { db, seal } = kms.environment
  const startWith = (more: object) => startKms({ config: { ...config, ...more }, db, seal })
  const others = ['ann', 'ben', 'mallory']
  await assert.rejects(
    startWith({ 'roles.crypto_officer_users': others }),
    /approval of 3 of these crypto officers: ann, ben, cid, dan, eva.*warder officers ask settings/,
  )
  // Nor are the approvals switched off, or the quorum lowered.
  await assert.rejects(startWith({ 'approvals.operations': [] }), /requires the approval of 3/)
  await assert.rejects(startWith({ 'roles.ceremony_quorum': 2 }), /requires the approval of 3/)

  const wanted = ['ann', 'ben', 'cid', 'dan', 'fay']
  const request = await asked(kms, { operation: 'settings', settings: governance(wanted) })
  assert.deepEqual(request.settings.crypto_officer_users, wanted)
  assert.equal(await approve(kms, request, ['ann', 'ben']), 'open')
  await assert.rejects(startWith({ 'roles.crypto_officer_users': wanted }), /requires the approval/)
  assert.equal(await approve(kms, request, ['cid']), 'approved')
  await assert.rejects(startWith({ 'roles.crypto_officer_users': others }), /requires the approval/)
  {
    // In another order they are the same officers.
    await using later = await startWith({ 'roles.crypto_officer_users': [...wanted].reverse() })
    assert.deepEqual([...later.services.roles.officers.listed].sort(), wanted)
    const record = later.audit.find(({ operation }) => operation === 'access.settings_adopted')
    assert.equal(record?.details?.adopted, 'approved')
  }
  // The same settings start again; those of before would be another change.
  await using again = await startWith({ 'roles.crypto_officer_users': wanted })
  assert.equal(again.audit.filter(({ operation }) => operation === 'access.settings_adopted').length, 0)
  await assert.rejects(startWith({}), /approval of 3 of these crypto officers: .*fay/)
})

test('approvals of a former officer do not permit other settings, and forged records do not count', async () => {
  await using kms = await startKms({ config })
  const { db, seal } = kms.environment
  const request = await asked(kms, { operation: 'settings', settings: governance(['x', 'y', 'z']) })
  assert.equal(await approve(kms, request, ['ann', 'ben', 'cid']), 'approved')
  // Meanwhile other settings are approved, without cid.
  const without = ['ann', 'ben', 'dan', 'eva', 'fay']
  const change1 = await asked(kms, { operation: 'settings', settings: governance(without) }, 'dan')
  assert.equal(await approve(kms, change1, ['ann', 'ben', 'eva']), 'approved')
  await using later = await startKms({
    config: { ...config, 'roles.crypto_officer_users': without },
    db,
    seal,
  })
  assert.ok(later)
  await assert.rejects(
    startKms({ config: { ...config, 'roles.crypto_officer_users': ['x', 'y', 'z'] }, db, seal }),
    /approval of 3 .*fay/,
  )
  const forge = query<[Uint8Array], unknown>('UPDATE governance SET record = ?')
  await db.commit([change(forge, [Buffer.from('{}')])])
  await assert.rejects(startKms({ config, db, seal }))
})

test('a new root key requires an approval, which serves once', async () => {
  await using kms = await startKms({ config })
  const { db, seal } = kms.environment
  const ask = () => rootKeyApproval({ db, seal, now: Date.now() })
  await assert.rejects(ask(), /another root key requires the approval of 3/)
  const request = await asked(kms, { operation: 'root_key' })
  assert.equal(await approve(kms, request, ['ann', 'ben']), 'open')
  await assert.rejects(ask(), /requires the approval/)
  assert.equal(await approve(kms, request, ['dan']), 'approved')
  const used = await ask()
  assert.ok(used)
  await db.commit([used])
  await assert.rejects(ask(), /requires the approval/)
  await using free = await startKms()
  const parts = { db: free.environment.db, seal: free.environment.seal, now: Date.now() }
  assert.equal(await rootKeyApproval(parts), undefined)
})

for (const engine of await bothEngines()) {
  test(`${engine.name}: two nodes start with the new settings after one approval`, {
    skip: engine.skip,
  }, async () => {
    await using nodes = await startTwoNodes(engine, config)
    const far = { user: nodes.onFar }
    const wanted = ['ann', 'ben', 'cid']
    const request = await asked(far, { operation: 'settings', settings: governance(wanted) })
    await approve(nodes.near, request, ['ann', 'ben'])
    assert.equal(await approve(far, request, ['cid']), 'approved')
    const { seal } = nodes.near.environment
    const more = { ...config, 'roles.crypto_officer_users': wanted }
    {
      await using started = new AsyncDisposableStack()
      const start = async (db: Database) =>
        started.use(await startKms({ config: more, db, seal, rootKey: randomBytes(32) }))
      // The other one starts as a whole between two reads of the first: the settings, and their approval.
      const others: Started[] = []
      const between = Object.create(nodes.one, {
        all: {
          value: async (...asked: Parameters<Database['all']>) => {
            if (others.length === 0 && asked[0].text.includes("state = 'approved'"))
              others.push(await start(nodes.other))
            return nodes.one.all(...asked)
          },
        },
      }) as Database
      const starts = [await start(between), ...others]
      assert.equal(starts.length, 2)
      const adopted = starts.flatMap(({ audit }) =>
        audit.filter(({ operation }) => operation === 'access.settings_adopted'),
      )
      assert.equal(adopted.length, 1)
    }
    const stop = await asked(nodes.near, { operation: 'stop_store', store: 'aws' })
    await approve(far, stop, ['ann', 'ben', 'cid'])
    assert.equal(await isStopped(nodes.near), true)
  })
}
