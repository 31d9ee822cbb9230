import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  boolean,
  Enumeration,
  enumeration,
  integer,
  interval,
  structure,
  Tag,
  type TtlvNode,
} from '@warder/kmip-codec'
import { kmsService } from '@warder/kms'
import { startSharedKms } from '@warder/kms/testing'
import { activeSince, mask } from '../testing/keys.ts'
import { kmipClient } from '../testing/kmip-client.ts'
import { uid } from '../testing/nodes.ts'
import { createAesKey, getAttributes } from '../testing/requests.ts'

const hour = 3_600_000
let now = Date.UTC(2026, 5, 1)
const kms = await startSharedKms({ clock: { now: () => now, monotonic: () => performance.now() } })

// A token of now: the clock moves.
const rest = () => kms.user('alice')
const alice = () => kmipClient(rest())

async function look(): Promise<void> {
  const job = kmsService.periodic.find(({ name }) => name === 'kms rotations of keys')
  if (await job?.due?.(kms.environment)) await job?.run(kms.environment)
}

const set = (id: string, node: TtlvNode) =>
  alice().do('SetAttribute', [uid(id), structure(Tag.NewAttribute, [node])])
const rotation = async (id: string) => (await rest().get(`/v1/crypto/keys/${id}/rotation`)).json
const readAttributes = async (id: string) => {
  const all = await getAttributes(alice(), id)
  return (tag: number) => all.find((node) => node.tag === tag)?.value
}
test('RotateInterval is the rotation schedule of a key: the service rotates the key, and REST shows the schedule', async () => {
  const id = await createAesKey(alice(), activeSince)
  await set(id, interval(Tag.RotateInterval, 7200))
  assert.equal((await readAttributes(id))(Tag.RotateAutomatic), true)
  const said = await rotation(id)
  assert.deepEqual([said.rotate_every, said.rotates_at], [7200, new Date(now + 2 * hour).toISOString()])
  now += 2 * hour
  for (let turn = 0; turn < 2; turn += 1) await look()
  const { version, rotates_at } = await rotation(id)
  assert.deepEqual([version, rotates_at], [2, new Date(now + 2 * hour).toISOString()])
  // The newest version has the same schedule, and a change of it is a change of the key.
  const { version_kid } = (await rest().get(`/v1/crypto/keys/${id}`)).json
  assert.equal((await readAttributes(version_kid))(Tag.RotateInterval), 7200)
  await set(version_kid, boolean(Tag.RotateAutomatic, false))
  assert.equal((await readAttributes(id))(Tag.RotateAutomatic), false)
  assert.equal((await rotation(id)).rotate_every, undefined)
  now += 10 * hour
  await look()
  assert.equal((await rotation(id)).version, 2)
  // Back over REST, and read over KMIP from both.
  const put = await rest().call('PUT', `/v1/crypto/keys/${id}/rotation`, { json: { rotate_every: 86_400 } })
  assert.equal(put.status, 200, put.text)
  for (const one of [id, version_kid]) {
    const of = await readAttributes(one)
    assert.deepEqual([of(Tag.RotateInterval), of(Tag.RotateAutomatic)], [86_400, true])
  }
})

test('a key is created with its schedule; RotateOffset precedes the first interval without a warning about clocks', async () => {
  const id = await createAesKey(
    alice(),
    activeSince,
    interval(Tag.RotateInterval, 60),
    interval(Tag.RotateOffset, 100 * 3600),
  )
  const plain = await createAesKey(
    alice(),
    activeSince,
    interval(Tag.RotateInterval, 7200),
    boolean(Tag.RotateAutomatic, false),
  )
  assert.equal((await rotation(plain)).rotate_every, undefined)
  const { rotate_every, rotates_at } = await rotation(id)
  assert.deepEqual([rotate_every, rotates_at], [3600, new Date(now + 101 * hour).toISOString()])
  await look()
  now += 100 * hour
  await look()
  assert.equal((await rotation(id)).version, 1)
  now += hour
  await look()
  assert.equal((await rotation(id)).version, 2)
  // A ReKey takes the schedule along, counted anew; deleting the interval ends it.
  const { version_kid } = (await rest().get(`/v1/crypto/keys/${id}`)).json
  const { id: third } = await alice().do('ReKey', [uid(version_kid)])
  assert.equal((await rotation(id)).rotates_at, new Date(now + hour).toISOString())
  await alice().do('DeleteAttribute', [uid(third), enumeration(Tag.AttributeReference, Tag.RotateInterval)])
  assert.equal((await rotation(id)).rotate_every, undefined)
})

test('a pair is rotated as a pair by the attributes of its private key', async () => {
  const pair = await alice().do('CreateKeyPair', [
    structure(Tag.CommonAttributes, [
      enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.ECDSA),
      integer(Tag.CryptographicLength, 256),
    ]),
    structure(Tag.PrivateKeyAttributes, [mask('Sign'), activeSince, interval(Tag.RotateInterval, 3600)]),
    structure(Tag.PublicKeyAttributes, [mask('Verify'), activeSince]),
  ])
  const id = String(pair.get(Tag.PrivateKeyUniqueIdentifier))
  const open = String(pair.get(Tag.PublicKeyUniqueIdentifier))
  now += hour
  await look()
  for (const half of [id, open]) assert.equal((await rotation(half)).version, 2)
  assert.equal((await rotation(open)).rotate_every, undefined)
})
