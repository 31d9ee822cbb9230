import assert from 'node:assert/strict'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import {
  boolean,
  byteString,
  Enumeration,
  enumeration,
  integer,
  longInteger,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import { grant } from '@warder/kms/testing'
import {
  activeSince,
  aesKey,
  keyBlock,
  keyOf,
  mask,
  nameNode,
  wrappingSpecification,
} from '../testing/keys.ts'
import type { Ask } from '../testing/kmip-client.ts'
import { data, readBytes, startKmipFixture } from '../testing/kmip-fixture.ts'
import { aesAttributes, attributes, objectType, uid } from '../testing/nodes.ts'
import { createAesKey, listIds, usageLimits } from '../testing/requests.ts'

// An authenticated user who attacks other users' objects.

const { kms, alice, bob, registerKey, createPair } = await startKmipFixture()

const symmetric = objectType('SymmetricKey')
const nothing: Ask = { operation: 'Get', payload: [uid('nothing')] }
const text = data(Buffer.from('sixteen bytes!!!'))

test('Undo cannot bypass usage limits: an undone use returns no result', async () => {
  const id = await createAesKey(alice, activeSince, usageLimits(1n))
  const kek = await registerKey(randomBytes(32), 'AES', usageLimits(1n), mask('WrapKey'))
  const mac = await registerKey(randomBytes(32), 'HMAC_SHA256', usageLimits(1n))
  const derived = [
    symmetric,
    uid(await registerKey(randomBytes(32), 'AES', usageLimits(1n))),
    enumeration(Tag.DerivationMethod, Enumeration.DerivationMethod.HMAC),
    structure(Tag.DerivationParameters, [byteString(Tag.DerivationData, randomBytes(16))]),
    aesAttributes(128),
  ]
  const uses: readonly Ask[] = [
    { operation: 'DeriveKey', payload: derived },
    { operation: 'Encrypt', payload: [uid(id), text] },
    { operation: 'MAC', payload: [uid(mac), text] },
    { operation: 'Get', payload: [uid(id), wrappingSpecification(kek, undefined)] },
  ]
  for (const use of uses) {
    const { items } = await alice.send([use, nothing], { batchErrorContinuation: 'Undo' })
    assert.equal(items[0]?.status, 'OperationUndone')
    assert.deepEqual(
      items[0]?.payload?.map(({ tag }) => tag),
      [Tag.UniqueIdentifier],
      `${use.operation} tells what it is about and no more`,
    )
    await alice.do(use.operation, use.payload)
    await alice.fails(use.operation, use.payload ?? [], 'PermissionDenied')
  }
})

test('Locate finds and counts no objects of other users by any attribute, and a right to use a key is not a right to find it', async () => {
  const group = textString(Tag.ObjectGroup, 'group of alice')
  const id = await createAesKey(alice, activeSince, nameNode('name of alice'), group, uid('id of alice'))
  const wishes = [uid(id), nameNode('name of alice'), group]
  const found = async () => {
    for (const wish of wishes) {
      const located = await bob.do('Locate', [integer(Tag.MaximumItems, 0), attributes(wish)])
      assert.deepEqual(listIds(located), [])
      assert.equal(located.get(Tag.LocatedItems), 0)
      assert.deepEqual(listIds(await bob.do('Locate', [attributes(wish)])), [])
    }
  }
  await found()
  await grant(kms.user('alice'), id, 'bob', 'encrypt', 'get')
  await found()
  // Naming them in attributes of the caller's own objects does not help.
  const linkTo = structure(Tag.Link, [
    enumeration(Tag.LinkType, Enumeration.LinkType.ParentLink),
    textString(Tag.LinkedObjectIdentifier, id),
  ])
  const own = await createAesKey(bob, activeSince, group, linkTo)
  assert.deepEqual(listIds(await bob.do('Locate', [attributes(group)])), [own])
  assert.deepEqual(listIds(await bob.do('Locate', [attributes(linkTo)])), [own])
  assert.deepEqual(listIds(await alice.do('Locate', [attributes(group)])), [id])
})

test('an existing identifier is refused with the same error whoever owns it, and the object stays unchanged', async () => {
  const id = await createAesKey(alice, activeSince)
  const mine = await createAesKey(bob, activeSince)
  for (const taken of [id, mine]) {
    const create = [symmetric, aesAttributes(256, uid(taken))]
    await bob.fails('Create', create, 'ObjectAlreadyExists')
    const register = [symmetric, attributes(mask('Encrypt'), uid(taken)), aesKey(randomBytes(32))]
    await bob.fails('Register', register, 'ObjectAlreadyExists')
  }
  const replace = [
    uid(id),
    symmetric,
    boolean(Tag.ReplaceExisting, true),
    attributes(mask('Encrypt')),
    aesKey(randomBytes(32)),
  ]
  await grant(kms.user('alice'), id, 'bob', 'import', 'modifyattribute', 'destroy')
  await bob.fails('Import', replace, 'ObjectAlreadyExists')
  await alice.do('Encrypt', [uid(id), text])
})

test('asynchronous requests of other users can neither be polled nor cancelled', async () => {
  const make: Ask = { operation: 'Create', payload: [symmetric, aesAttributes()] }
  const { items } = await alice.send([make], { asynchronous: 'Mandatory' })
  const value = byteString(
    Tag.AsynchronousCorrelationValue,
    items[0]?.asynchronousCorrelationValue ?? new Uint8Array(),
  )
  const known = await bob.ask('Cancel', [value])
  const unknown = await bob.ask('Cancel', [
    byteString(Tag.AsynchronousCorrelationValue, Buffer.from('00000000-0000-4000-8000-000000000000')),
  ])
  assert.deepEqual(known, unknown)
  await bob.fails('Poll', [value], 'InvalidAsynchronousCorrelationValue')
  let polled = await alice.send([{ operation: 'Poll', payload: [value] }])
  for (let round = 0; round < 1000 && polled.items[0]?.status === 'OperationPending'; round++)
    polled = await alice.send([{ operation: 'Poll', payload: [value] }])
  assert.equal(polled.items[0]?.status, 'Success')
})

test('a ciphertext of another user is not decrypted by registering it as a wrapped key', async () => {
  const kek = await registerKey(randomBytes(32), 'AES', mask('WrapKey', 'UnwrapKey'))
  const secret = await createAesKey(alice, activeSince, boolean(Tag.Sensitive, true))
  const stolen = (await alice.do('Get', [uid(secret), wrappingSpecification(kek, undefined)])).nodes[2]
  assert.ok(stolen)
  const kept = await bob.do('Register', [symmetric, attributes(mask('Encrypt')), stolen])
  const clear = enumeration(Tag.KeyWrapType, Enumeration.KeyWrapType.NotWrapped)
  const importing = [uid(''), symmetric, clear, attributes(mask('Encrypt')), stolen]
  const open = async (reason: string) => {
    await bob.fails('Get', [uid(kept.id), clear], reason)
    await bob.fails('Import', importing, reason)
    const own = await createAesKey(bob, activeSince)
    await bob.fails('Get', [uid(kept.id), wrappingSpecification(own, undefined)], reason)
    assert.equal((await bob.ask('Encrypt', [uid(kept.id), text])).status, 'OperationFailed')
  }
  await open('WrappingObjectNotFound')
  // The right to encrypt with the wrapping key does not permit unwrapping.
  await grant(kms.user('alice'), kek, 'bob', 'encrypt', 'get', 'getattributes')
  await open('PermissionDenied')
})

test('a right permits only its own operations: derivekey does not encrypt, and encrypt does not derive, split or join', async () => {
  const id = await registerKey(randomBytes(32), 'AES')
  const derive = [
    symmetric,
    uid(id),
    enumeration(Tag.DerivationMethod, Enumeration.DerivationMethod.HMAC),
    structure(Tag.DerivationParameters, [byteString(Tag.DerivationData, randomBytes(16))]),
    aesAttributes(128),
  ]
  const split = [
    symmetric,
    uid(id),
    integer(Tag.SplitKeyParts, 2),
    integer(Tag.SplitKeyThreshold, 2),
    enumeration(Tag.SplitKeyMethod, Enumeration.SplitKeyMethod.XOR),
    attributes(mask('Encrypt')),
  ]
  await grant(kms.user('alice'), id, 'bob', 'encrypt')
  for (const [operation, payload] of [
    ['DeriveKey', derive],
    ['CreateSplitKey', split],
    ['Get', [uid(id)]],
    ['Decrypt', [uid(id), text]],
    ['ReKey', [uid(id)]],
    ['GetUsageAllocation', [uid(id), longInteger(Tag.UsageLimitsCount, 1n)]],
  ] as const)
    await bob.fails(operation, payload, 'PermissionDenied')
  const parts = listIds(await alice.do('CreateSplitKey', split)).map(String)
  const join = [symmetric, ...parts.map(uid), attributes(mask('Encrypt'))]
  await bob.fails('JoinSplitKey', join, 'ObjectNotFound')
})

test('concurrent uses of a limited key, by every operation, succeed only as often as its limit allows', async () => {
  const id = await registerKey(randomBytes(32), 'AES', usageLimits(5n))
  await grant(kms.user('alice'), id, 'bob', 'encrypt', 'mac', 'derivekey', 'get')
  const asks: readonly Ask[] = [
    { operation: 'Encrypt', payload: [uid(id), text] },
    {
      operation: 'MAC',
      payload: [
        uid(id),
        structure(Tag.CryptographicParameters, [
          enumeration(Tag.BlockCipherMode, Enumeration.BlockCipherMode.CMAC),
        ]),
        text,
      ],
    },
    { operation: 'GetUsageAllocation', payload: [uid(id), longInteger(Tag.UsageLimitsCount, 1n)] },
  ]
  const raced = await Promise.all(
    Array.from({ length: 15 }, (_, index) => {
      const ask = asks[index % asks.length]
      assert.ok(ask)
      return (index % 2 === 0 ? alice : bob).ask(ask.operation, ask.payload)
    }),
  )
  const succeeded = raced.filter(({ status }) => status === 'Success').length
  // A request that was overtaken too often has to be repeated: never more, and sometimes fewer, succeed at once.
  assert.ok(succeeded <= 5, `${succeeded} uses`)
  for (let round = succeeded; round < 5; round++) await bob.do('Encrypt', [uid(id), text])
  await bob.fails('Encrypt', [uid(id), text], 'PermissionDenied')
})

test('the ID placeholder and references to earlier results end with their message', async () => {
  const [first] = (await alice.send([{ operation: 'Create', payload: [symmetric, aesAttributes()] }])).items
  assert.equal(first?.status, 'Success')
  const means: readonly (TtlvNode | undefined)[] = [
    undefined,
    enumeration(Tag.UniqueIdentifier, Enumeration.UniqueIdentifier.IDPlaceholder),
    enumeration(Tag.UniqueIdentifier, Enumeration.UniqueIdentifier.Create),
    integer(Tag.UniqueIdentifier, 0),
    integer(Tag.UniqueIdentifier, -1),
  ]
  for (const who of [alice, bob]) for (const meant of means) await who.fails('Get', [meant], 'ObjectNotFound')
  // An object that a failed item would have made is not there for the next one.
  const id = await createAesKey(alice, activeSince)
  const { items } = await alice.send(
    [{ operation: 'Create', payload: [symmetric, aesAttributes(256, uid(id))] }, { operation: 'Destroy' }],
    { batchErrorContinuation: 'Continue' },
  )
  assert.deepEqual(
    items.map(({ reason }) => reason),
    ['ObjectAlreadyExists', 'ObjectNotFound'],
  )
})

test('a Sensitive key is not exported in clear, and users without the right cannot change that', async () => {
  const id = await createAesKey(alice, activeSince, boolean(Tag.Sensitive, true))
  await grant(kms.user('alice'), id, 'bob', 'get', 'export', 'getattributes', 'encrypt')
  const lift = structure(Tag.NewAttribute, [boolean(Tag.Sensitive, false)])
  for (const operation of ['SetAttribute', 'ModifyAttribute', 'AddAttribute'] as const)
    await bob.fails(operation, [uid(id), lift], 'PermissionDenied')
  await bob.fails('Get', [uid(id)], 'Sensitive')
  await bob.fails('Export', [uid(id)], 'Sensitive')
  // The owner may, and the latch tells it for ever.
  await alice.do('SetAttribute', [uid(id), lift])
  await alice.do('SetAttribute', [uid(id), structure(Tag.NewAttribute, [boolean(Tag.Sensitive, true)])])
  const told = await alice.do('GetAttributes', [
    uid(id),
    enumeration(Tag.AttributeReference, Tag.AlwaysSensitive),
  ])
  assert.match(JSON.stringify(told.nodes), /"value":false/)
  assert.equal(readBytes(await bob.do('Encrypt', [uid(id), text]), Tag.Data).length, 16)
})

test('a key that another user renews belongs to the owner of the old key', async () => {
  const id = await createAesKey(alice, activeSince, nameNode('renewed'))
  const pair = await createPair('RSA', integer(Tag.CryptographicLength, 2048))
  await grant(kms.user('alice'), id, 'bob', 'rekey')
  await grant(kms.user('alice'), pair.priv, 'bob', 'rekey')
  await grant(kms.user('alice'), pair.pub, 'bob', 'rekey')
  const renewed = [
    (await bob.do('ReKey', [uid(id)])).id,
    ...(await bob.do('ReKeyKeyPair', [textString(Tag.PrivateKeyUniqueIdentifier, pair.priv)])).nodes.map(
      ({ value }) => String(value),
    ),
  ]
  assert.equal(renewed.length, 3)
  for (const made of renewed) {
    // A grant on a key holds for all of its versions, and permits nothing else.
    for (const operation of ['GetAttributes', 'Get'] as const)
      await bob.fails(operation, [uid(made)], 'PermissionDenied')
    await alice.do('Get', [uid(made)])
  }
  assert.deepEqual(listIds(await alice.do('Locate', [attributes(nameNode('renewed'))])), renewed.slice(0, 1))
})

test("a link to another user's public key has no effect, and does not reveal whether the key exists", async () => {
  const { pub } = await createPair('RSA', integer(Tag.CryptographicLength, 2048))
  const reasons: unknown[] = []
  for (const target of [pub, 'nothing']) {
    const linkTo = structure(Tag.Link, [
      enumeration(Tag.LinkType, Enumeration.LinkType.PublicKeyLink),
      textString(Tag.LinkedObjectIdentifier, target),
    ])
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const { id } = await bob.do('Register', [
      objectType('PrivateKey'),
      attributes(mask('Sign'), linkTo),
      structure(Tag.PrivateKey, [
        keyBlock('PKCS_8', privateKey.export({ format: 'der', type: 'pkcs8' }), ...keyOf('ECDSA', 256)),
      ]),
    ])
    const item = await bob.ask('ReKeyKeyPair', [textString(Tag.PrivateKeyUniqueIdentifier, id)])
    reasons.push([item.status, item.reason, item.message])
  }
  assert.deepEqual(reasons[0], reasons[1])
  assert.deepEqual(reasons[0], ['Success', undefined, undefined])
  const told = await alice.do('GetAttributes', [uid(pub)])
  const replaced = `"Enumeration","value":${Enumeration.LinkType.ReplacementObjectLink}}`
  assert.ok(
    JSON.stringify(told.nodes).includes(`"Enumeration","value":${Enumeration.LinkType.PrivateKeyLink}}`),
  )
  assert.ok(!JSON.stringify(told.nodes).includes(replaced))
})
