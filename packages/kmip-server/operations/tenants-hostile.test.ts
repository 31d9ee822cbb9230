import assert from 'node:assert/strict'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { after, test } from 'node:test'
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
import {
  activeSince,
  aesKey,
  keyBlock,
  keyOf,
  mask,
  nameNode,
  wrappingSpecification,
} from '../testing/keys.ts'
import type { Ask, Payload } from '../testing/kmip-client.ts'
import { aesAttributes, attributes, objectType, uid } from '../testing/nodes.ts'
import { bytesOf, type CryptoWorld, data, startCryptoWorld } from './fixtures/crypto-world.ts'

// Somebody with an account of their own who wants what is others'.

const world = await startCryptoWorld()
after(() => world.kms[Symbol.asyncDispose]())

const symmetric = objectType('SymmetricKey')
const nothing: Ask = { operation: 'Get', payload: [uid('nothing')] }
const text = data(Buffer.from('sixteen bytes!!!'))
const idsIn = (payload: Payload) =>
  payload.nodes.filter(({ tag }) => tag === Tag.UniqueIdentifier).map(({ value }) => value)

async function createdBy(who: CryptoWorld['alice'], ...more: readonly TtlvNode[]): Promise<string> {
  return (await who.do('Create', [symmetric, aesAttributes(256, activeSince, ...more)])).id
}

async function grant(id: string, ...operations: readonly string[]): Promise<void> {
  const body = { unique_identifier: id, user_id: 'bob', operation_types: operations }
  const { status, text } = await world.kms.user('alice').post('/access/grant', body)
  assert.equal(status, 200, text)
}

function limited(uses: bigint): TtlvNode {
  return structure(Tag.UsageLimits, [
    longInteger(Tag.UsageLimitsTotal, uses),
    enumeration(Tag.UsageLimitsUnit, Enumeration.UsageLimitsUnit.Object),
  ])
}

test('a use that is taken back gives nothing away: limits cannot be got round with Undo', async () => {
  const id = await createdBy(world.alice, limited(1n))
  const kek = await world.registered(randomBytes(32), 'AES', limited(1n), mask('WrapKey'))
  const mac = await world.registered(randomBytes(32), 'HMAC_SHA256', limited(1n))
  const derived = [
    symmetric,
    uid(await world.registered(randomBytes(32), 'AES', limited(1n))),
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
    const { items } = await world.alice.send([use, nothing], { batchErrorContinuation: 'Undo' })
    assert.equal(items[0]?.status, 'OperationUndone')
    assert.deepEqual(
      items[0]?.payload?.map(({ tag }) => tag),
      [Tag.UniqueIdentifier],
      `${use.operation} tells what it is about and no more`,
    )
    await world.alice.do(use.operation, use.payload)
    await world.alice.fails(use.operation, use.payload ?? [], 'PermissionDenied')
  }
})

test('nothing is found of others, neither by any attribute nor in a count; a right to use is none to find', async () => {
  const group = textString(Tag.ObjectGroup, 'group of alice')
  const id = await createdBy(world.alice, nameNode('name of alice'), group, uid('id of alice'))
  const wishes = [uid(id), nameNode('name of alice'), group]
  const found = async () => {
    for (const wish of wishes) {
      const located = await world.bob.do('Locate', [integer(Tag.MaximumItems, 0), attributes(wish)])
      assert.deepEqual(idsIn(located), [])
      assert.equal(located.get(Tag.LocatedItems), 0)
      assert.deepEqual(idsIn(await world.bob.do('Locate', [attributes(wish)])), [])
    }
  }
  await found()
  await grant(id, 'encrypt', 'get')
  await found()
  // Naming them in attributes of one's own leads nowhere either.
  const linkTo = structure(Tag.Link, [
    enumeration(Tag.LinkType, Enumeration.LinkType.ParentLink),
    textString(Tag.LinkedObjectIdentifier, id),
  ])
  const own = await createdBy(world.bob, group, linkTo)
  assert.deepEqual(idsIn(await world.bob.do('Locate', [attributes(group)])), [own])
  assert.deepEqual(idsIn(await world.bob.do('Locate', [attributes(linkTo)])), [own])
  assert.deepEqual(idsIn(await world.alice.do('Locate', [attributes(group)])), [id])
})

test('an identifier that is taken is refused the same way whoever has it, and what is there stays as it is', async () => {
  const id = await createdBy(world.alice)
  const mine = await createdBy(world.bob)
  for (const taken of [id, mine]) {
    const create = [symmetric, aesAttributes(256, uid(taken))]
    await world.bob.fails('Create', create, 'ObjectAlreadyExists')
    const register = [symmetric, attributes(mask('Encrypt'), uid(taken)), aesKey(randomBytes(32))]
    await world.bob.fails('Register', register, 'ObjectAlreadyExists')
  }
  const replace = [
    uid(id),
    symmetric,
    boolean(Tag.ReplaceExisting, true),
    attributes(mask('Encrypt')),
    aesKey(randomBytes(32)),
  ]
  await grant(id, 'import', 'modifyattribute', 'destroy')
  await world.bob.fails('Import', replace, 'ObjectAlreadyExists')
  await world.alice.do('Encrypt', [uid(id), text])
})

test('requests that others put off can neither be asked for nor cancelled', async () => {
  const make: Ask = { operation: 'Create', payload: [symmetric, aesAttributes()] }
  const { items } = await world.alice.send([make], { asynchronous: 'Mandatory' })
  const value = byteString(
    Tag.AsynchronousCorrelationValue,
    items[0]?.asynchronousCorrelationValue ?? new Uint8Array(),
  )
  const known = await world.bob.ask('Cancel', [value])
  const unknown = await world.bob.ask('Cancel', [
    byteString(Tag.AsynchronousCorrelationValue, Buffer.from('00000000-0000-4000-8000-000000000000')),
  ])
  assert.deepEqual(known, unknown)
  await world.bob.fails('Poll', [value], 'InvalidAsynchronousCorrelationValue')
  let polled = await world.alice.send([{ operation: 'Poll', payload: [value] }])
  for (let round = 0; round < 1000 && polled.items[0]?.status === 'OperationPending'; round++)
    polled = await world.alice.send([{ operation: 'Poll', payload: [value] }])
  assert.equal(polled.items[0]?.status, 'Success')
})

test('a ciphertext of others’ is not opened by registering it as a wrapped key', async () => {
  const kek = await world.registered(randomBytes(32), 'AES', mask('WrapKey', 'UnwrapKey'))
  const secret = await createdBy(world.alice, boolean(Tag.Sensitive, true))
  const stolen = (await world.alice.do('Get', [uid(secret), wrappingSpecification(kek, undefined)])).nodes[2]
  assert.ok(stolen)
  const kept = await world.bob.do('Register', [symmetric, attributes(mask('Encrypt')), stolen])
  const clear = enumeration(Tag.KeyWrapType, Enumeration.KeyWrapType.NotWrapped)
  const importing = [uid(''), symmetric, clear, attributes(mask('Encrypt')), stolen]
  const open = async (reason: string) => {
    await world.bob.fails('Get', [uid(kept.id), clear], reason)
    await world.bob.fails('Import', importing, reason)
    const own = await createdBy(world.bob)
    await world.bob.fails('Get', [uid(kept.id), wrappingSpecification(own, undefined)], reason)
    assert.equal((await world.bob.ask('Encrypt', [uid(kept.id), text])).status, 'OperationFailed')
  }
  await open('WrappingObjectNotFound')
  // The right to encrypt with the wrapping key does not permit unwrapping.
  await grant(kek, 'encrypt', 'get', 'getattributes')
  await open('PermissionDenied')
})

test('rights are for what they say: who may derive does not encrypt, who may encrypt does not derive, split or join', async () => {
  const id = await world.registered(randomBytes(32), 'AES')
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
  await grant(id, 'encrypt')
  for (const [operation, payload] of [
    ['DeriveKey', derive],
    ['CreateSplitKey', split],
    ['Get', [uid(id)]],
    ['Decrypt', [uid(id), text]],
    ['ReKey', [uid(id)]],
    ['GetUsageAllocation', [uid(id), longInteger(Tag.UsageLimitsCount, 1n)]],
  ] as const)
    await world.bob.fails(operation, payload, 'PermissionDenied')
  const parts = idsIn(await world.alice.do('CreateSplitKey', split)).map(String)
  const join = [symmetric, ...parts.map(uid), attributes(mask('Encrypt'))]
  await world.bob.fails('JoinSplitKey', join, 'ObjectNotFound')
})

test('of many who use a limited key at once, through every way to use it, no more succeed than it allows', async () => {
  const id = await world.registered(randomBytes(32), 'AES', limited(5n))
  await grant(id, 'encrypt', 'mac', 'derivekey', 'get')
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
      return (index % 2 === 0 ? world.alice : world.bob).ask(ask.operation, ask.payload)
    }),
  )
  const succeeded = raced.filter(({ status }) => status === 'Success').length
  // Whoever was overtaken too often is told to try again: never more, sometimes fewer at once.
  assert.ok(succeeded <= 5, `${succeeded} uses`)
  for (let round = succeeded; round < 5; round++) await world.bob.do('Encrypt', [uid(id), text])
  await world.bob.fails('Encrypt', [uid(id), text], 'PermissionDenied')
})

test('a placeholder and what stands for earlier results are of one message alone', async () => {
  const [first] = (await world.alice.send([{ operation: 'Create', payload: [symmetric, aesAttributes()] }]))
    .items
  assert.equal(first?.status, 'Success')
  const means: readonly (TtlvNode | undefined)[] = [
    undefined,
    enumeration(Tag.UniqueIdentifier, Enumeration.UniqueIdentifier.IDPlaceholder),
    enumeration(Tag.UniqueIdentifier, Enumeration.UniqueIdentifier.Create),
    integer(Tag.UniqueIdentifier, 0),
    integer(Tag.UniqueIdentifier, -1),
  ]
  for (const who of [world.alice, world.bob])
    for (const meant of means) await who.fails('Get', [meant], 'ObjectNotFound')
  // An object that a failed item would have made is not there for the next one.
  const id = await createdBy(world.alice)
  const { items } = await world.alice.send(
    [{ operation: 'Create', payload: [symmetric, aesAttributes(256, uid(id))] }, { operation: 'Destroy' }],
    { batchErrorContinuation: 'Continue' },
  )
  assert.deepEqual(
    items.map(({ reason }) => reason),
    ['ObjectAlreadyExists', 'ObjectNotFound'],
  )
})

test('a Sensitive key is not given in clear, however often somebody without the right tries to make it otherwise', async () => {
  const id = await createdBy(world.alice, boolean(Tag.Sensitive, true))
  await grant(id, 'get', 'export', 'getattributes', 'encrypt')
  const lift = structure(Tag.NewAttribute, [boolean(Tag.Sensitive, false)])
  for (const operation of ['SetAttribute', 'ModifyAttribute', 'AddAttribute'] as const)
    await world.bob.fails(operation, [uid(id), lift], 'PermissionDenied')
  await world.bob.fails('Get', [uid(id)], 'Sensitive')
  await world.bob.fails('Export', [uid(id)], 'Sensitive')
  // The owner may, and the latch tells it for ever.
  await world.alice.do('SetAttribute', [uid(id), lift])
  await world.alice.do('SetAttribute', [uid(id), structure(Tag.NewAttribute, [boolean(Tag.Sensitive, true)])])
  const told = await world.alice.do('GetAttributes', [
    uid(id),
    enumeration(Tag.AttributeReference, Tag.AlwaysSensitive),
  ])
  assert.match(JSON.stringify(told.nodes), /"value":false/)
  assert.equal(bytesOf(await world.bob.do('Encrypt', [uid(id), text]), Tag.Data).length, 16)
})

test('who may renew a key does not take it away: the new one belongs to whom the old one belonged', async () => {
  const id = await createdBy(world.alice, nameNode('renewed'))
  const pair = await world.pair('RSA', integer(Tag.CryptographicLength, 2048))
  await grant(id, 'rekey')
  await grant(pair.priv, 'rekey')
  await grant(pair.pub, 'rekey')
  const renewed = [
    (await world.bob.do('ReKey', [uid(id)])).id,
    ...(
      await world.bob.do('ReKeyKeyPair', [textString(Tag.PrivateKeyUniqueIdentifier, pair.priv)])
    ).nodes.map(({ value }) => String(value)),
  ]
  assert.equal(renewed.length, 3)
  for (const made of renewed) {
    // A grant on a key holds for all of its versions, and permits nothing else.
    for (const operation of ['GetAttributes', 'Get'] as const)
      await world.bob.fails(operation, [uid(made)], 'PermissionDenied')
    await world.alice.do('Get', [uid(made)])
  }
  assert.deepEqual(
    idsIn(await world.alice.do('Locate', [attributes(nameNode('renewed'))])),
    renewed.slice(0, 1),
  )
})

test('a link to a public key of others’ does nothing, and does not tell whether it is there', async () => {
  const { pub } = await world.pair('RSA', integer(Tag.CryptographicLength, 2048))
  const reasons: unknown[] = []
  for (const target of [pub, 'nothing']) {
    const linkTo = structure(Tag.Link, [
      enumeration(Tag.LinkType, Enumeration.LinkType.PublicKeyLink),
      textString(Tag.LinkedObjectIdentifier, target),
    ])
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const { id } = await world.bob.do('Register', [
      objectType('PrivateKey'),
      attributes(mask('Sign'), linkTo),
      structure(Tag.PrivateKey, [
        keyBlock('PKCS_8', privateKey.export({ format: 'der', type: 'pkcs8' }), ...keyOf('ECDSA', 256)),
      ]),
    ])
    const item = await world.bob.ask('ReKeyKeyPair', [textString(Tag.PrivateKeyUniqueIdentifier, id)])
    reasons.push([item.status, item.reason, item.message])
  }
  assert.deepEqual(reasons[0], reasons[1])
  assert.deepEqual(reasons[0], ['Success', undefined, undefined])
  const told = await world.alice.do('GetAttributes', [uid(pub)])
  const replaced = `"Enumeration","value":${Enumeration.LinkType.ReplacementObjectLink}}`
  assert.ok(
    JSON.stringify(told.nodes).includes(`"Enumeration","value":${Enumeration.LinkType.PrivateKeyLink}}`),
  )
  assert.ok(!JSON.stringify(told.nodes).includes(replaced))
})
