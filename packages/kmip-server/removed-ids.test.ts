import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { findObject, forgetReservations, newObjectId, type ObjectId } from '@warder/keys'
import { boolean, Tag, type TtlvNode, textString } from '@warder/kmip-codec'
import { startSharedKms } from '@warder/kms/testing'
import fc from 'fast-check'
import { activeSince, aesKey, mask } from './testing/keys.ts'
import { kmipClient } from './testing/kmip-client.ts'
import { attributes, objectType, uid } from './testing/nodes.ts'

const kms = await startSharedKms()

const symmetric = objectType('SymmetricKey')
const uses = mask('Encrypt', 'Decrypt')
const chosen = (id: string): TtlvNode => textString(Tag.UniqueIdentifier, id)
const aes = { kty: 'oct', alg: 'A256GCM' }
const message = { alg: 'dir', enc: 'A256GCM', data: 'eA' }

/** Every operation by which a client chooses the identifier of a new object. */
const doors: Readonly<Record<string, (user: string, id: string) => Promise<string | undefined>>> = {
  Register: (user, id) => asked(user, 'Register', [symmetric, own(id), aesKey(randomBytes(32))]),
  Import: (user, id) => asked(user, 'Import', [uid(id), symmetric, own(), aesKey(randomBytes(32))]),
  'Import that replaces': (user, id) =>
    asked(user, 'Import', [
      uid(id),
      symmetric,
      boolean(Tag.ReplaceExisting, true),
      own(),
      aesKey(randomBytes(32)),
    ]),
  Create: (user, id) => asked(user, 'Create', [symmetric, creation(id)]),
  'Create in a batch that is undone': async (user, id) => {
    const create = { operation: 'Create', payload: [symmetric, creation(id)] } as const
    const { items } = await kmipClient(kms.user(user)).send([create], {
      batchErrorContinuation: 'Undo',
    })
    return items[0]?.reason
  },
}

function own(id?: string): TtlvNode {
  return attributes(uses, activeSince, ...(id === undefined ? [] : [chosen(id)]))
}

function creation(id: string): TtlvNode {
  return attributes(
    uses,
    activeSince,
    { tag: Tag.CryptographicAlgorithm, type: 'Enumeration', value: 3 },
    { tag: Tag.CryptographicLength, type: 'Integer', value: 256 },
    chosen(id),
  )
}

async function asked(
  user: string,
  operation: 'Register' | 'Import' | 'Create',
  payload: readonly TtlvNode[],
): Promise<string | undefined> {
  return (await kmipClient(kms.user(user)).ask(operation, payload)).reason
}

async function create(user: string): Promise<string> {
  return (await kms.user(user).post('/v1/crypto/keys', aes)).json.kid
}

async function remove(user: string, id: string): Promise<void> {
  const { status } = await kms.user(user).call('DELETE', `/v1/crypto/keys/${encodeURIComponent(id)}`)
  assert.equal(status, 204)
}

const ownerOf = async (id: string) => (await findObject(kms.environment.db, id as ObjectId))?.owner

for (const [door, take] of Object.entries(doors))
  test(`another user cannot take the identifier of a removed object by ${door}`, async () => {
    for (const id of [randomUUID(), `chosen ${door}`]) {
      assert.equal(await take('alice', id), undefined)
      await remove('alice', id)
      assert.notEqual(await take('mallory', id), undefined)
      assert.equal(await ownerOf(id), undefined)
      assert.equal(await take('alice', id), undefined, 'it stays its owner’s')
      await remove('alice', id)
    }
    const kid = await create('alice')
    await kms.user('alice').post(`/v1/crypto/keys/${kid}/rotate`, {})
    const { json } = await kms.user('alice').get(`/v1/crypto/keys/${kid}/versions`)
    const versions: string[] = json.versions.map((version: { kid: string }) => version.kid)
    assert.equal(versions.length, 2)
    await remove('alice', kid)
    for (const id of [kid, ...versions]) assert.notEqual(await take('mallory', id), undefined, 'a version')
    assert.equal(await take('alice', kid), undefined)
    const { status } = await kms.user('mallory').post('/v1/crypto/encrypt', { kid, ...message })
    assert.equal(status, 404)
  })

test('a client can choose an identifier in the format of the service only to import an object', async () => {
  const id = newObjectId(Date.now())
  for (const [door, take] of Object.entries(doors)) {
    if (door.startsWith('Import')) continue
    assert.notEqual(await take('alice', id), undefined, door)
  }
  assert.equal(await doors.Import?.('alice', id), undefined)
  const { db } = kms.environment
  const old = newObjectId(Date.now())
  await db.commit(forgetReservations(Date.now() + 1))
  try {
    assert.notEqual(
      await doors.Import?.('alice', old),
      undefined,
      'it may have been that of a removed object',
    )
    const ahead = newObjectId(Date.now() + 3_600_000)
    assert.notEqual(await doors.Import?.('alice', ahead), undefined, 'it is of a moment that has not come')
  } finally {
    await db.commit([
      { query: { text: 'UPDATE removed_forgotten SET before_at = 0', numbered: '' }, params: [] },
    ])
  }
})

test('neither key of a pair can take the identifier of another user’s removed object', async () => {
  const id = randomUUID()
  assert.equal(await doors.Register?.('alice', id), undefined)
  await remove('alice', id)
  const masked = (tag: number, ...more: TtlvNode[]): TtlvNode => ({
    tag,
    type: 'Structure',
    value: [mask(tag === Tag.PrivateKeyAttributes ? 'Sign' : 'Verify'), ...more],
  })
  const common: TtlvNode = {
    tag: Tag.CommonAttributes,
    type: 'Structure',
    value: [
      { tag: Tag.CryptographicAlgorithm, type: 'Enumeration', value: 6 },
      {
        tag: Tag.CryptographicDomainParameters,
        type: 'Structure',
        value: [{ tag: Tag.RecommendedCurve, type: 'Enumeration', value: 6 }],
      },
    ],
  }
  for (const tag of [Tag.PrivateKeyAttributes, Tag.PublicKeyAttributes]) {
    const pair = [
      common,
      ...[Tag.PrivateKeyAttributes, Tag.PublicKeyAttributes].map((half) =>
        masked(half, ...(half === tag ? [chosen(id)] : [])),
      ),
    ]
    const { message } = await kmipClient(kms.user('mallory')).ask('CreateKeyPair', pair)
    assert.match(String(message), /is reserved for its former owner/)
    await kmipClient(kms.user('alice')).do('CreateKeyPair', pair)
    await remove('alice', id)
  }
})

test('identifiers stay with the objects of a deleted user, and a new user of the same name does not get them', async () => {
  const id = randomUUID()
  const transfer = (from: string, to: string) =>
    kms.user('admin').post('/access/transfer', { from_user_id: from, to_user_id: to })
  assert.equal(await doors.Register?.('dora', id), undefined)
  await remove('dora', id)
  assert.equal((await transfer('dora', 'erin')).status, 200)
  assert.notEqual(await doors.Register?.('dora', id), undefined)
  assert.equal(await doors.Register?.('erin', id), undefined)
})

test('property: only a transfer changes the owner of an identifier', async () => {
  const users = ['ann', 'ben', 'cat'] as const
  const step = fc.record({
    user: fc.constantFrom(...users),
    id: fc.constantFrom('one', 'two'),
    what: fc.constantFrom('remove', ...Object.keys(doors)),
  })
  let run = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 12 }), async (steps) => {
      run++
      const owners = new Map<string, string>()
      for (const { user, id: name, what } of steps) {
        const id = `${name} ${run}`
        if (what === 'remove') {
          await kms.user(user).call('DELETE', `/v1/crypto/keys/${encodeURIComponent(id)}`)
          continue
        }
        await doors[what]?.(user, id)
        const owner = await ownerOf(id)
        if (owner === undefined) continue
        assert.equal(owner, owners.get(id) ?? owner)
        owners.set(id, owner)
      }
    }),
    { numRuns: 15 },
  )
})
