import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { findObject, type ObjectId } from '@warder/keys'
import {
  boolean,
  byteString,
  dateTime,
  Enumeration,
  enumeration,
  integer,
  interval,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import { grant } from '@warder/kms/testing'
import { activeSince, aesKey, mask, nameNode } from '../../testing/keys.ts'
import { kmipClient, type Payload } from '../../testing/kmip-client.ts'
import { parameters, startKmipFixture } from '../../testing/kmip-fixture.ts'
import { aesAttributes, attributes, objectType, uid } from '../../testing/nodes.ts'
import { createAesKey, usageLimits } from '../../testing/requests.ts'

// Attributes that carry more than the right that was granted.

const { kms, alice, bob, registerKey } = await startKmipFixture()

const stored = (id: string) => findObject(kms.environment.db, id as ObjectId)
const later = (days: number) => Math.floor(Date.now() / 1000) + days * 86400
const strict = [
  boolean(Tag.Extractable, false),
  boolean(Tag.Sensitive, true),
  usageLimits(10n),
  dateTime(Tag.ProtectStopDate, later(10)),
  dateTime(Tag.DeactivationDate, later(20)),
  nameNode('backup'),
] as const
/** Attributes that weaken the key, or change how it is found and protected. */
const others: readonly TtlvNode[] = [
  boolean(Tag.Extractable, true),
  boolean(Tag.Sensitive, false),
  mask('Encrypt', 'Decrypt', 'WrapKey'),
  usageLimits(1_000_000n),
  dateTime(Tag.ProtectStopDate, later(15)),
  dateTime(Tag.DeactivationDate, later(2000)),
  dateTime(Tag.ActivationDate, 1000),
  nameNode('another'),
  textString(Tag.Comment, 'x'),
  structure(Tag.Link, [
    enumeration(Tag.LinkType, Enumeration.LinkType.NextLink),
    textString(Tag.LinkedObjectIdentifier, 'x'),
  ]),
  interval(Tag.RotateInterval, 86400),
]

test('with only the right rekey the next version has the same attributes; other attributes require the right to modify', async () => {
  const now = dateTime(Tag.ActivationDate, Math.floor(Date.now() / 1000) - 60)
  const create = async () => {
    const id = await createAesKey(alice, now, ...strict)
    await grant(kms.user('alice'), id, 'bob', 'rekey', 'get')
    return id
  }
  const id = await create()
  for (const node of others) {
    const message = await bob.fails('ReKey', [uid(id), attributes(node)], 'PermissionDenied')
    assert.match(message, /also requires the right modifyattribute or setattribute/, String(node.tag))
  }
  await bob.fails('ReKey', [uid(id), interval(Tag.Offset, 86400 * 3650)], 'PermissionDenied')
  assert.equal((await stored(id))?.newestId, undefined, 'nothing was made')
  // A request may repeat the key's attributes, and set attributes of the replacement.
  const same = [
    boolean(Tag.Extractable, false),
    mask('Encrypt', 'Decrypt'),
    usageLimits(10n),
    nameNode('backup'),
  ]
  const raw = enumeration(Tag.KeyFormatType, Enumeration.KeyFormatType.Raw)
  const made = await bob.do('ReKey', [uid(id), attributes(...same, raw)])
  await bob.fails('Get', [uid(made.id)], 'NotExtractable')
  const version = await stored(made.id)
  assert.deepEqual([version?.owner, version?.extractable, version?.usageLimits?.total], ['alice', false, 10n])

  const modified = await create()
  await grant(kms.user('alice'), modified, 'bob', 'modifyattribute')
  await bob.do('ReKey', [uid(modified), attributes(textString(Tag.Comment, 'x'))])
  const own = await create()
  await alice.do('ReKey', [uid(own), attributes(boolean(Tag.Extractable, true))])
})

test('with only the right rekey all instances of an attribute are copied, in their order', async () => {
  const [gcm, ecb] = [Enumeration.BlockCipherMode.GCM, Enumeration.BlockCipherMode.ECB].map((mode) =>
    parameters(enumeration(Tag.BlockCipherMode, mode)),
  ) as [TtlvNode, TtlvNode]
  const wished = [objectType('SymmetricKey'), aesAttributes(256, activeSince, gcm, ecb)]
  const { id } = await alice.do('Create', wished)
  await grant(kms.user('alice'), id, 'bob', 'rekey')
  // The first one is the default of requests that name no mode (KMIP 2.1 §6.1.17).
  for (const said of [[ecb], [ecb, gcm], [gcm]])
    await bob.fails('ReKey', [uid(id), attributes(...said)], 'PermissionDenied')
  await bob.do('ReKey', [uid(id), attributes(gcm, ecb)])
  const { id: own } = await alice.do('Create', wished)
  await alice.do('ReKey', [uid(own), attributes(ecb)])
})

test('a replaced pair also keeps its attributes', async () => {
  const made = await alice.do('CreateKeyPair', [
    structure(Tag.CommonAttributes, [
      enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.EC),
      structure(Tag.CryptographicDomainParameters, [
        enumeration(Tag.RecommendedCurve, Enumeration.RecommendedCurve.P_256),
      ]),
      activeSince,
    ]),
    structure(Tag.PrivateKeyAttributes, [mask('Sign'), boolean(Tag.Extractable, false)]),
    structure(Tag.PublicKeyAttributes, [mask('Verify')]),
  ])
  const [priv, pub] = [Tag.PrivateKeyUniqueIdentifier, Tag.PublicKeyUniqueIdentifier].map((tag) =>
    String(made.get(tag)),
  ) as [string, string]
  await grant(kms.user('alice'), priv, 'bob', 'rekey')
  await grant(kms.user('alice'), pub, 'bob', 'rekey')
  const request = (tag: number, node: TtlvNode) => [
    textString(Tag.PrivateKeyUniqueIdentifier, priv),
    structure(tag, [node]),
  ]
  for (const [tag, node] of [
    [Tag.PrivateKeyAttributes, boolean(Tag.Extractable, true)],
    [Tag.CommonAttributes, boolean(Tag.Extractable, true)],
    [Tag.PrivateKeyAttributes, mask('Sign', 'Decrypt')],
    [Tag.PublicKeyAttributes, mask('Verify', 'Encrypt')],
  ] as const)
    await bob.fails('ReKeyKeyPair', request(tag, node), 'PermissionDenied')
  await bob.do('ReKeyKeyPair', request(Tag.PrivateKeyAttributes, boolean(Tag.Extractable, false)))
})

test("the caller's rules for new objects do not apply to a replacement of another owner's key", async () => {
  const id = await createAesKey(alice, activeSince)
  await grant(kms.user('alice'), id, 'bob', 'rekey')
  const carol = kmipClient(kms.user('carol'))
  await kms.user('alice').post('/access/grant', {
    unique_identifier: id,
    user_id: 'carol',
    operation_types: ['rekey'],
  })
  await carol.do('SetDefaults', [
    structure(Tag.DefaultsInformation, [
      structure(Tag.ObjectDefaults, [
        structure(Tag.ObjectTypes, [objectType('SymmetricKey')]),
        attributes(usageLimits(1n)),
      ]),
    ]),
  ])
  const made = await carol.do('ReKey', [uid(id)])
  assert.equal((await stored(made.id))?.usageLimits, undefined)
})

const digestIn = (payload: Payload) => {
  const [, told] = payload.nodes
  return told?.type === 'Structure' ? told.value.filter(({ tag }) => tag === Tag.Digest).length : 0
}

test('only users who may read secret material get its digest', async () => {
  const pin = Buffer.from('4711')
  const { id } = await alice.do('Register', [
    objectType('SecretData'),
    attributes(activeSince),
    structure(Tag.SecretData, [
      enumeration(Tag.SecretDataType, Enumeration.SecretDataType.Password),
      structure(Tag.KeyBlock, [
        enumeration(Tag.KeyFormatType, Enumeration.KeyFormatType.Raw),
        structure(Tag.KeyValue, [byteString(Tag.KeyMaterial, pin)]),
      ]),
    ]),
  ])
  const key = await alice.do('Register', [
    objectType('SymmetricKey'),
    attributes(activeSince, mask('Encrypt')),
    aesKey(randomBytes(16)),
  ])
  const reference = enumeration(Tag.AttributeReference, Tag.Digest)
  const guess = attributes(
    structure(Tag.Digest, [
      enumeration(Tag.HashingAlgorithm, Enumeration.HashingAlgorithm.SHA_256),
      byteString(Tag.DigestValue, createHash('sha256').update(pin).digest()),
      enumeration(Tag.KeyFormatType, Enumeration.KeyFormatType.Raw),
    ]),
  )
  const found = async (who: typeof bob) => (await who.do('Locate', [guess])).nodes.map(({ value }) => value)
  for (const secret of [id, key.id]) {
    await grant(kms.user('alice'), secret, 'bob', 'getattributes', 'locate')
    assert.equal(digestIn(await alice.do('GetAttributes', [uid(secret)])), 1)
    assert.equal(digestIn(await bob.do('GetAttributes', [uid(secret)])), 0)
    assert.equal(digestIn(await bob.do('GetAttributes', [uid(secret), reference])), 0)
    const names = async (who: typeof bob) =>
      (await who.do('GetAttributeList', [uid(secret)])).nodes.some(({ value }) => value === Tag.Digest)
    assert.deepEqual([await names(alice), await names(bob)], [true, false])
  }
  assert.deepEqual(await found(alice), [id])
  assert.deepEqual(await found(bob), [])
  const [, inBatch] = (
    await bob.send([
      { operation: 'Ping' },
      { operation: 'Locate', payload: [guess, integer(Tag.MaximumItems, 5)] },
    ])
  ).items
  assert.equal(
    inBatch?.payload?.some(({ value }) => value === id),
    false,
  )
  await grant(kms.user('alice'), id, 'bob', 'get')
  assert.equal(digestIn(await bob.do('GetAttributes', [uid(id), reference])), 1)
  assert.deepEqual(await found(bob), [id])
})

test("derivations by other users do not enlarge the row of the key's owner", async () => {
  const id = await registerKey(randomBytes(32), 'AES')
  await grant(kms.user('alice'), id, 'bob', 'derivekey', 'mac', 'getattributes')
  const row = async () => (await stored(id))?.links.length
  const request = [
    objectType('SymmetricKey'),
    uid(id),
    enumeration(Tag.DerivationMethod, Enumeration.DerivationMethod.HKDF),
    structure(Tag.DerivationParameters, []),
    aesAttributes(256, activeSince),
  ]
  for (let count = 0; count < 3; count += 1) {
    const made = await bob.do('DeriveKey', request)
    const derived = await stored(made.id)
    assert.deepEqual(derived?.links, [{ kind: 'DerivationBaseObjectLink', id }])
  }
  assert.equal(await row(), 0)
  await alice.do('DeriveKey', request)
  assert.equal(await row(), 1, 'those of the owner are on both sides (KMIP 2.1 §4.31)')
})
