import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { findLinkTarget, findObject, type ObjectId } from '@warder/keys'
import { Enumeration, enumeration, type StructureNode, Tag } from '@warder/kmip-codec'
import { kmsService } from '@warder/kms'
import { bothEngines, type Started, startKms, startTwoNodes } from '@warder/kms/testing'
import { change, type Database, query } from '@warder/storage'
import { readKeyBlock } from '../key-blocks/key-block.ts'
import { activeSince, aesKey, keyOf, mask, wrappingSpecification } from '../testing/keys.ts'
import { type KmipClient, kmipClient, Payload } from '../testing/kmip-client.ts'
import { attributes, objectType, uid } from '../testing/nodes.ts'
import { revocation } from '../testing/requests.ts'

const job = kmsService.periodic.find(({ name }) => name === 'kms objects of rotated wrapping keys')

let left = (): number => Number.NaN

/** Runs the job that one node runs once a minute. */
async function look({ environment }: Started, db: Database = environment.db): Promise<void> {
  const gauge = (name: string, _help: string, read: () => number): void => {
    if (name === 'wrapped_objects_left') left = read
  }
  const own = { ...environment, db, metrics: { ...environment.metrics, gauge } }
  if (await job?.due?.(own)) await job?.run(own)
}

const created = async (who: KmipClient): Promise<string> =>
  (
    await who.do('Create', [
      objectType('SymmetricKey'),
      attributes(...keyOf('AES', 256), mask('WrapKey', 'UnwrapKey'), activeSince),
    ])
  ).id

/** Registers secrets as clients keep them elsewhere: wrapped by a key of the service. */
async function wrappedBy(
  who: KmipClient,
  kek: string,
  mode: 'NISTKeyWrap' | 'GCM' = 'NISTKeyWrap',
  more = 0,
) {
  const secret = randomBytes(32)
  const clear = await who.do('Register', [
    objectType('SymmetricKey'),
    attributes(mask('Encrypt'), activeSince),
    aesKey(secret),
  ])
  const got = await who.do('Get', [uid(clear.id), wrappingSpecification(kek, mode)])
  const block = got.nodes[2] as StructureNode
  const payload = [objectType('SymmetricKey'), attributes(mask('Encrypt'), activeSince), block]
  const asks = Array.from({ length: more + 1 }, () => ({ operation: 'Register', payload }) as const)
  const { items } = await who.send(asks)
  const ids = items.map((item) => new Payload(item.payload).id)
  return { secret, block, ids, id: ids[0] ?? '' }
}

const registered = async (who: KmipClient, id: string): Promise<StructureNode> =>
  (await who.do('Get', [uid(id)])).nodes[2] as StructureNode

/** The wrapping key that the block of an object names. */
async function namedBy(who: KmipClient, id: string): Promise<unknown> {
  return readKeyBlock(await registered(who, id)).wrapping?.encryption?.identifier.value
}

async function secretIn(who: KmipClient, id: string): Promise<Uint8Array> {
  const wrapType = enumeration(Tag.KeyWrapType, Enumeration.KeyWrapType.NotWrapped)
  const { value } = readKeyBlock((await who.do('Get', [uid(id), wrapType])).nodes[2] as StructureNode)
  assert.ok(value !== undefined && !(value instanceof Uint8Array))
  return value.material.value as Uint8Array
}

const revoke = (who: KmipClient, id: string) =>
  who.do('Revoke', [uid(id), revocation('CessationOfOperation')])

for (const engine of await bothEngines()) {
  test(`objects wrapped by a rotated key are wrapped again by its newest version, and name it, on ${engine.name}`, {
    skip: engine.skip,
  }, async () => {
    const db = await engine.open(await engine.url())
    await using kms = await startKms({ db, config: { cache_lease_ms: 0 } })
    const alice = kmipClient(kms.user('alice'))
    const kek = await created(alice)
    const [aesWrap, gcm] = [await wrappedBy(alice, kek), await wrappedBy(alice, kek, 'GCM')]
    await look(kms)
    assert.equal(await namedBy(alice, aesWrap.id), kek, 'nothing was rotated')
    const { id: second } = await alice.do('ReKey', [uid(kek)])
    await look(kms)
    for (const { id, secret } of [aesWrap, gcm]) {
      assert.equal(await namedBy(alice, id), second)
      assert.deepEqual(Buffer.from(await secretIn(alice, id)), secret)
      const object = await findObject(db, id as ObjectId)
      assert.equal(object && findLinkTarget(object, 'WrappingKeyLink'), second)
      const record = kms.audit.findLast(
        ({ operation, object }) => operation === 'crypto.objects.rewrap' && object === id,
      )
      assert.deepEqual([record?.outcome, record?.details], ['success', { from: kek, wrapping_key: second }])
    }
    assert.equal(left(), 0)
    // The old version can go.
    await revoke(alice, kek)
    await alice.do('Destroy', [uid(kek)])
    assert.deepEqual(Buffer.from(await secretIn(alice, aesWrap.id)), aesWrap.secret)
    const before = await registered(alice, gcm.id)
    await look(kms)
    assert.deepEqual(await registered(alice, gcm.id), before, 'what is done is left alone')
  })

  test(`another node continues an interrupted rewrap, and two nodes rewrap each object once, on ${engine.name}`, {
    skip: engine.skip,
  }, async () => {
    await using nodes = await startTwoNodes(engine)
    const { near, far, one } = nodes
    const alice = kmipClient(near.user('alice'))
    const kek = await created(alice)
    const { ids, secret } = await wrappedBy(alice, kek, 'NISTKeyWrap', 129)
    const { id: second } = await alice.do('ReKey', [uid(kek)])
    const moved = async () => {
      const objects = await Promise.all(ids.map((id) => findObject(one, id as ObjectId)))
      return objects.filter((object) => object && findLinkTarget(object, 'WrappingKeyLink') === second).length
    }
    let commits = 0
    const dying: Database = {
      ...one,
      get: one.get.bind(one),
      all: one.all.bind(one),
      changed: one.changed.bind(one),
      commit: (changes) => {
        commits += 1
        if (commits === 2) throw new Error('the node is gone')
        return one.commit(changes)
      },
    }
    await assert.rejects(look(near, dying), /the node is gone/)
    assert.equal(await moved(), 100)
    await Promise.all([look(near), look(far)])
    assert.equal(await moved(), 130)
    const done = [...near.audit, ...far.audit].filter(
      ({ operation }) => operation === 'crypto.objects.rewrap',
    )
    const outcomes = (id: string) =>
      done.filter(({ object, outcome }) => object === id && outcome === 'success').length
    assert.ok(ids.every((id) => outcomes(id) >= 1))
    assert.deepEqual(Buffer.from(await secretIn(alice, ids[129] ?? '')), secret)
  })
}

test('an object that cannot be rewrapped safely stays unchanged and usable, and is counted', async () => {
  await using kms = await startKms()
  const [alice, bob] = [kmipClient(kms.user('alice')), kmipClient(kms.user('bob'))]
  const kek = await created(alice)
  const mine = await wrappedBy(alice, kek)
  for (const right of ['encrypt', 'decrypt'])
    await kms
      .user('alice')
      .post('/access/grant', { unique_identifier: kek, user_id: 'bob', operation_types: [right] })
  const his = await wrappedBy(bob, kek)
  const spent = await created(alice)
  const limited = await wrappedBy(alice, spent)
  await alice.do('ReKey', [uid(kek)])
  const { id: next } = await alice.do('ReKey', [uid(spent)])
  await revoke(alice, next)
  await look(kms)
  assert.notEqual(await namedBy(alice, mine.id), kek)
  assert.equal(await namedBy(bob, his.id), kek, 'it belongs to somebody else')
  assert.deepEqual(Buffer.from(await secretIn(bob, his.id)), his.secret)
  assert.equal(await namedBy(alice, limited.id), spent, 'the newest version may not wrap')
  assert.equal(left(), 1)
})

test('a key wraps with its newest version, which the key block names; a replaced version does not wrap', async () => {
  await using kms = await startKms()
  const alice = kmipClient(kms.user('alice'))
  const kek = await created(alice)
  const old = await wrappedBy(alice, kek)
  const { id: second } = await alice.do('ReKey', [uid(kek)])
  const fresh = await wrappedBy(alice, kek)
  assert.equal(await namedBy(alice, fresh.id), second)
  assert.deepEqual(Buffer.from(await secretIn(alice, fresh.id)), fresh.secret)
  assert.deepEqual(Buffer.from(await secretIn(alice, old.id)), old.secret)
  const { id: third } = await alice.do('ReKey', [uid(second)])
  await alice.fails('Get', [uid(kek), wrappingSpecification(second, 'NISTKeyWrap')], 'WrongKeyLifecycleState')
  // A version that opens nothing any more unwraps nothing either.
  const json = { min_decrypt_version: 3 }
  const set = await kms.user('alice').call('PUT', `/v1/crypto/keys/${kek}/rotation`, { json })
  assert.equal(set.status, 200, set.text)
  const wrapType = enumeration(Tag.KeyWrapType, Enumeration.KeyWrapType.NotWrapped)
  const told = await alice.fails('Get', [uid(old.id), wrapType], 'WrongKeyLifecycleState')
  assert.match(told, /min_decrypt_version/)
  await look(kms)
  assert.equal(await namedBy(alice, old.id), kek, 'nor is it opened to be moved')
  await kms.user('alice').call('PUT', `/v1/crypto/keys/${kek}/rotation`, { json: { min_decrypt_version: 1 } })
  await alice.do('ReKey', [uid(third)])
  await look(kms)
  assert.notEqual(await namedBy(alice, old.id), kek)
  assert.deepEqual(Buffer.from(await secretIn(alice, old.id)), old.secret)
})

const setBinding = query<[string, string], unknown>(
  'UPDATE managed_object SET bound_alg = ?, version = version + 1 WHERE id = ?',
)

test('an object that a bound key wrapped with another algorithm stays with its version, and can be unwrapped', async () => {
  await using kms = await startKms()
  const alice = kmipClient(kms.user('alice'))
  const kek = await created(alice)
  const [allowed, other] = [await wrappedBy(alice, kek, 'GCM'), await wrappedBy(alice, kek, 'NISTKeyWrap')]
  await kms.environment.db.commit([change(setBinding, ['A256GCM', kek], 1)])
  const { id: second } = await alice.do('ReKey', [uid(kek)])
  await look(kms)
  assert.equal(await namedBy(alice, allowed.id), second)
  assert.equal(await namedBy(alice, other.id), kek)
  assert.equal(left(), 1)
  for (const { id, secret } of [allowed, other])
    assert.deepEqual(Buffer.from(await secretIn(alice, id)), secret)
})
