import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeMasterKey } from '@warder/covercrypt'
import { listAttributes as allAttributes } from '@warder/covercrypt/testing'
import {
  boolean,
  Enumeration,
  enumeration,
  integer,
  optional,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import { startSharedKms } from '@warder/kms/testing'
import { AbeClient, coverCrypt, format, parent, vendor } from '../../testing/abe.ts'
import { kmipClient } from '../../testing/kmip-client.ts'
import { attributes, objectType, uid } from '../../testing/nodes.ts'
import { getAttributes, listIds, revocation } from '../../testing/requests.ts'

const kms = await startSharedKms()
const alice = new AbeClient(kmipClient(kms.user('alice')))
const bob = new AbeClient(kmipClient(kms.user('bob')))

const createPolicy = (policy: string) => vendor('cover_crypt_access_policy', policy)
const tagged = (...tags: readonly string[]) =>
  structure(Tag.Attribute, [
    textString(Tag.VendorIdentification, 'cosmian'),
    textString(Tag.AttributeName, 'tag'),
    textString(Tag.AttributeValue, JSON.stringify(tags)),
  ])
const publicLink = (id: string) =>
  structure(Tag.Link, [
    enumeration(Tag.LinkType, Enumeration.LinkType.PublicKeyLink),
    textString(Tag.LinkedObjectIdentifier, id),
  ])

/** Import under an identifier, which replaces an existing object if `replace` is set. */
const placed = (id: string, replace: boolean, payload: readonly TtlvNode[]): readonly TtlvNode[] => [
  uid(id),
  ...payload.slice(1, 2),
  boolean(Tag.ReplaceExisting, replace),
  ...payload.slice(2),
]

/** The payload of Register is that of Import without an identifier. */
const registered = (payload: readonly TtlvNode[]): readonly TtlvNode[] => payload.slice(1)

/** A pair and two user keys, as bytes. */
async function exported() {
  const { master, publicKey } = await alice.pair({ Team: ['Blue', 'Red'] })
  const users = [await alice.user(master, 'Team::Blue'), await alice.user(master, 'Team::Blue')]
  const [secret, open, one, other] = await Promise.all(
    [master, publicKey, ...users].map((id) => alice.get(id)),
  )
  return { secret, open, one, other } as Record<'secret' | 'open' | 'one' | 'other', Buffer>
}

for (const way of ['Import', 'Register'] as const) {
  const bring = async (client: AbeClient, payload: readonly TtlvNode[]) =>
    (await client.kmip.do(way, way === 'Import' ? payload : registered(payload))).id

  test(`${way}: user keys that are imported after or before their master key are refreshed and revoked with it`, async () => {
    const { secret, open, one, other } = await exported()
    const publicKey = await bring(bob, bob.importing('PublicKey', open))
    const masterId = `master brought by ${way}`
    const early = await bring(
      bob,
      bob.importing('PrivateKey', one, createPolicy('Team::Blue'), parent(masterId)),
    )
    const strangers = await bring(alice, alice.importing('PrivateKey', one, parent(masterId)))
    const master = (
      await bob.kmip.do(
        'Import',
        placed(masterId, false, bob.importing('PrivateKey', secret, publicLink(publicKey))),
      )
    ).id
    const late = await bring(
      bob,
      bob.importing('PrivateKey', other, createPolicy('Team::Blue'), parent(master)),
    )
    await bob.rotate(master, { RekeyAccessPolicy: 'Team::Blue' })
    const sealed = await bob.encrypt(publicKey, 'Team::Blue', 'renewed')
    assert.equal(await bob.decrypt(early, sealed), 'renewed')
    assert.equal(await bob.decrypt(late, sealed), 'renewed')
    assert.equal(await alice.decrypt(strangers, sealed), undefined, 'a copy that somebody else linked')
    await bob.kmip.do('Revoke', [uid(master), revocation('CessationOfOperation', 'closed')])
    const readState = async (client: AbeClient, id: string) =>
      (await getAttributes(client.kmip, id)).find(({ tag }) => tag === Tag.State)?.value
    assert.equal(await readState(bob, early), Enumeration.State.Deactivated)
    assert.equal(await readState(bob, late), Enumeration.State.Deactivated)
    assert.equal(await readState(alice, strangers), Enumeration.State.Active)
  })
}

test('a master key that replaces itself keeps its ids, and no other type of key replaces it', async () => {
  const { master, publicKey } = await alice.pair({ Team: ['Blue', 'Green'] })
  const blue = await alice.user(master, 'Team::Blue')
  const all = await alice.user(master, '*')
  await alice.rotate(master, { DeleteAttribute: ['Team::Blue'] })
  // The newest attribute is gone: the bytes do not tell that its id was given.
  const backup = await alice.get(master)
  await alice.kmip.do(
    'Import',
    placed(master, true, alice.importing('PrivateKey', backup, publicLink(publicKey))),
  )
  await alice.rotate(master, { AddAttribute: [['Team::Grey', 'Classic', null]] })
  const { structure: now } = decodeMasterKey(await alice.get(master))
  assert.deepEqual(
    allAttributes(now)
      .map(({ name, id }) => [name, id])
      .toSorted(),
    [
      ['Green', 0],
      ['Grey', 2],
    ].toSorted(),
  )
  const sealed = await alice.encrypt(publicKey, 'Team::Grey', 'grey')
  for (const user of [blue, all]) assert.equal(await alice.decrypt(user, sealed), undefined)
  const user = await alice.get(blue)
  await alice.kmip.fails('Import', placed(master, true, alice.importing('PrivateKey', user)), 'InvalidField')
  // A destroyed key keeps its place and its count.
  await alice.kmip.do('Revoke', [uid(master), revocation('CessationOfOperation', 'closed')])
  await alice.kmip.do('Destroy', [uid(master)])
  await alice.kmip.do(
    'Import',
    placed(master, true, alice.importing('PrivateKey', backup, publicLink(publicKey))),
  )
  await alice.rotate(master, { AddAttribute: [['Team::Black', 'Classic', null]] })
  const ids = allAttributes(decodeMasterKey(await alice.get(master)).structure).map(({ id }) => id)
  assert.ok(Math.max(...ids) >= 3, `${ids}`)
})

test('user keys inherit the tags of their master key, and are found by these and by the tag of their type', async () => {
  const { master, publicKey } = await alice.pair({ Team: ['Blue'] }, tagged('ward', 'north'))
  await alice.pair({ Team: ['Blue'] }, tagged('ward', 'south'))
  const byTags = alice.wish('["ward","north"]', 'Team::Blue', tagged('nurses'))
  const user = (await alice.kmip.do('Create', byTags)).id
  assert.equal(await alice.decrypt(user, await alice.encrypt(publicKey, 'Team::Blue', 'text')), 'text')
  assert.ok(
    (await getAttributes(alice.kmip, user)).some(
      (node) => JSON.stringify(node) === JSON.stringify(parent(master)),
    ),
  )
  const locate = async (client: AbeClient, ...wanted: readonly TtlvNode[]) =>
    listIds(await client.kmip.do('Locate', [attributes(...wanted)]))
  const kind = [
    enumeration(Tag.ObjectType, Enumeration.ObjectType.PrivateKey),
    coverCrypt,
    format('CoverCryptSecretKey'),
  ]
  assert.deepEqual(await locate(alice, parent('["north"]'), ...kind), [user])
  assert.deepEqual(await locate(alice, parent('["_sk","north"]')), [user])
  assert.deepEqual(await locate(alice, tagged('_uk', 'nurses')), [user])
  assert.deepEqual(await locate(alice, tagged('_uk', 'north')), [])
  assert.equal((await locate(alice, tagged('_sk', 'north')))[0], master)
  // Several keys have the tag; no key has it; a key of another user has it.
  await alice.kmip.fails('Create', alice.wish('["ward"]', 'Team::Blue'), 'InvalidField')
  await alice.kmip.fails('Locate', [attributes(parent('["ward"]'))], 'InvalidField')
  await alice.kmip.fails('Create', alice.wish('["nowhere"]', 'Team::Blue'), 'ObjectNotFound')
  await bob.kmip.fails('Create', bob.wish('["north"]', 'Team::Blue'), 'ObjectNotFound')
  await bob.kmip.fails('Locate', [attributes(parent('["north"]'))], 'ObjectNotFound')
  for (const text of ['[', '[]', '[1]', `["${'x'.repeat(3000)}"]`])
    await alice.kmip.fails(
      'Create',
      [objectType('PrivateKey'), attributes(coverCrypt, createPolicy('*'), parent(text))],
      'ObjectNotFound',
    )
})

test('the length of a key is accepted in bits or bytes, and stored in bits', async () => {
  const { open } = await exported()
  const sized = (length: number) =>
    alice
      .importing('PublicKey', open)
      .map((node) =>
        node.tag === Tag.PublicKey && node.type === 'Structure'
          ? structure(Tag.PublicKey, [
              structure(Tag.KeyBlock, [
                ...(optional(node, Tag.KeyBlock, 'Structure') ?? []),
                integer(Tag.CryptographicLength, length),
              ]),
            ])
          : node,
      )
  for (const told of [8 * open.length, open.length]) {
    const { id } = await alice.kmip.do('Import', sized(told))
    const kept = (await getAttributes(alice.kmip, id)).find(({ tag }) => tag === Tag.CryptographicLength)
    assert.equal(kept?.value, 8 * open.length)
  }
  for (const told of [8 * open.length + 8, open.length - 1, 1])
    await alice.kmip.fails('Import', sized(told), 'InvalidField')
})
