import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import {
  boolean,
  byteString,
  dateTime,
  Enumeration,
  enumeration,
  integer,
  type StructureNode,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import { startSharedKms } from '@warder/kms/testing'
import {
  activeSince,
  aesKey,
  inside,
  keyBlock,
  keyOf,
  mask,
  nameNode,
  same,
  wrappingSpecification,
} from '../../testing/keys.ts'
import { kmipClient } from '../../testing/kmip-client.ts'
import { attributes, objectType, uid } from '../../testing/nodes.ts'
import { revocation } from '../../testing/requests.ts'

const [kms, other] = await Promise.all([startSharedKms(), startSharedKms()])

const symmetric = objectType('SymmetricKey')
const replacing = boolean(Tag.ReplaceExisting, true)

function find(nodes: readonly TtlvNode[], tag: number): StructureNode {
  const node = nodes.find((each) => each.tag === tag)
  assert.equal(node?.type, 'Structure')
  return node as StructureNode
}

test('an object moves to another server with all its attributes', async () => {
  const [here, there] = [kmipClient(kms.user('alice')), kmipClient(other.user('alice'))]
  const { id } = await here.do('Register', [
    symmetric,
    attributes(
      mask('Encrypt', 'Decrypt'),
      activeSince,
      nameNode('moving'),
      dateTime(Tag.ProcessStartDate, 2000),
    ),
    aesKey(randomBytes(32)),
  ])
  await here.do('Revoke', [uid(id), revocation('Superseded')])
  const out = await here.do('Export', [uid(id)])
  const key = find(out.nodes, Tag.SymmetricKey)
  const known = find(out.nodes, Tag.Attributes)
  await there.do('Import', [uid(id), symmetric, known, key])
  const again = await there.do('Export', [uid(id)])
  same(find(again.nodes, Tag.SymmetricKey), key)
  const volatile = new Set<number>([Tag.LastChangeDate, Tag.Fresh])
  const compared = (nodes: readonly TtlvNode[]) => nodes.filter(({ tag }) => !volatile.has(tag))
  const before = compared(known.value)
  const after = compared(find(again.nodes, Tag.Attributes).value)
  for (const node of before)
    assert.ok(
      after.some((each) => each.tag === node.tag && JSON.stringify(each) === JSON.stringify(node)),
      `attribute 0x${node.tag.toString(16)}`,
    )
  assert.equal(
    after.find(({ tag }) => tag === Tag.State)?.value,
    Enumeration.State.Deactivated,
    'the state moves along',
  )
})

test('an Import may choose an identifier, which one object has at most', async () => {
  const alice = kmipClient(kms.user('alice'))
  const first = aesKey(randomBytes(32))
  await alice.do('Import', [uid('chosen'), symmetric, attributes(mask('Encrypt')), first])
  const second = aesKey(randomBytes(16))
  const again = [uid('chosen'), symmetric, attributes(mask('Encrypt')), second]
  await alice.fails('Import', again, 'ObjectAlreadyExists')
  same(find((await alice.do('Get', [uid('chosen')])).nodes, Tag.SymmetricKey), first)
  const [id, type, ...rest] = again
  await alice.do('Import', [id, type, replacing, ...rest])
  same(find((await alice.do('Get', [uid('chosen')])).nodes, Tag.SymmetricKey), second)
  const fresh = await alice.do('Import', [uid(''), symmetric, attributes(), aesKey(randomBytes(16))])
  assert.match(fresh.id, /^[0-9a-f-]{36}$/)
})

test("Import cannot replace another user's object, and the error does not depend on ReplaceExisting", async () => {
  const [alice, mallory] = [kmipClient(kms.user('alice')), kmipClient(kms.user('mallory'))]
  const key = aesKey(randomBytes(32))
  await alice.do('Import', [uid('of alice'), symmetric, attributes(mask('Encrypt')), key])
  const theirs = [attributes(), aesKey(randomBytes(32))]
  const plain = await mallory.fails('Import', [uid('of alice'), symmetric, ...theirs], 'ObjectAlreadyExists')
  const wish = [uid('of alice'), symmetric, replacing, ...theirs]
  assert.equal(await mallory.fails('Import', wish, 'ObjectAlreadyExists'), plain)
  same(find((await alice.do('Get', [uid('of alice')])).nodes, Tag.SymmetricKey), key)
  const secret = structure(Tag.SecretData, [])
  await alice.fails('Import', [uid('of alice'), objectType('SecretData'), replacing, secret], 'InvalidField')
})

test('an AES key that replaces a key of another algorithm encrypts with GCM', async () => {
  const alice = kmipClient(kms.user('alice'))
  const place = [uid('becomes-aes'), symmetric]
  const usable = attributes(mask('Encrypt'), activeSince)
  const hmac = structure(Tag.SymmetricKey, [keyBlock('Raw', randomBytes(32), ...keyOf('HMAC_SHA256', 256))])
  await alice.do('Import', [...place, attributes(mask('MACGenerate')), hmac])
  for (const key of [aesKey(randomBytes(32)), hmac, aesKey(randomBytes(32))])
    await alice.do('Import', [...place, replacing, usable, key])
  await alice.do('Encrypt', [
    uid('becomes-aes'),
    structure(Tag.CryptographicParameters, [
      enumeration(Tag.BlockCipherMode, Enumeration.BlockCipherMode.GCM),
    ]),
    byteString(Tag.Data, Buffer.from('x')),
  ])
})

test('Import unwraps a wrapped key on request', async () => {
  const alice = kmipClient(kms.user('alice'))
  const kek = await alice.do('Register', [
    symmetric,
    attributes(mask('WrapKey', 'UnwrapKey'), activeSince),
    aesKey(randomBytes(32)),
  ])
  const key = aesKey(randomBytes(32))
  const { id } = await alice.do('Register', [symmetric, attributes(mask('Encrypt')), key])
  const wrapped = find(
    (await alice.do('Get', [uid(id), wrappingSpecification(kek.id, 'AESKeyWrapPadding')])).nodes,
    Tag.SymmetricKey,
  )
  const clear = enumeration(Tag.KeyWrapType, Enumeration.KeyWrapType.NotWrapped)
  const opened = await alice.do('Import', [uid(''), symmetric, clear, attributes(mask('Encrypt')), wrapped])
  same(find((await alice.do('Get', [uid(opened.id)])).nodes, Tag.SymmetricKey), key)
  const kept = await alice.do('Import', [uid(''), symmetric, attributes(mask('Encrypt')), wrapped])
  same(find((await alice.do('Get', [uid(kept.id)])).nodes, Tag.SymmetricKey), wrapped)
  const broken = structuredClone(wrapped) as StructureNode
  const value = inside(broken, Tag.KeyBlock, Tag.KeyValue)?.value as Uint8Array
  value[0] = (value[0] ?? 0) ^ 1
  const bad = [uid(''), symmetric, clear, attributes(mask('Encrypt')), broken]
  assert.equal(await alice.fails('Import', bad, 'CryptographicFailure'), 'CRYPTO')
})

test('Import stores server attributes of the right type', async () => {
  const alice = kmipClient(kms.user('alice'))
  const ask = (node: TtlvNode) => [uid(''), symmetric, attributes(node), aesKey(randomBytes(16))]
  const { id } = await alice.do('Import', ask(boolean(Tag.NeverExtractable, true)))
  const { nodes } = await alice.do('GetAttributes', [uid(id)])
  assert.equal(inside(find(nodes, Tag.Attributes), Tag.NeverExtractable)?.value, true)
  await alice.fails('Import', ask(integer(Tag.NeverExtractable, 1)), 'InvalidAttributeValue')
})

test('a destroyed object is not imported, and Export obeys the rules of Get', async () => {
  const alice = kmipClient(kms.user('alice'))
  const state = enumeration(Tag.State, Enumeration.State.Destroyed)
  await alice.fails(
    'Import',
    [uid('x'), symmetric, attributes(state), aesKey(randomBytes(16))],
    'InvalidField',
  )
  const { id } = await alice.do('Register', [
    symmetric,
    attributes(mask('Encrypt'), boolean(Tag.Sensitive, true)),
    aesKey(randomBytes(16)),
  ])
  assert.equal(await alice.fails('Export', [uid(id)], 'Sensitive'), 'DENIED')
  await kmipClient(kms.user('bob')).fails('Export', [uid(id)], 'ObjectNotFound')
})

test('Import stores server attributes if a server can have set them', async () => {
  const alice = kmipClient(kms.user('alice'))
  const bring = (...nodes: readonly TtlvNode[]) => [
    symmetric,
    attributes(mask('Encrypt'), ...nodes),
    aesKey(randomBytes(32)),
  ]
  const generation = integer(Tag.RotateGeneration, 3)
  const { id } = await alice.do('Import', bring(boolean(Tag.AlwaysSensitive, true), generation))
  const told = find((await alice.do('GetAttributes', [uid(id)])).nodes, Tag.Attributes)
  assert.equal(told.value.find(({ tag }) => tag === Tag.RotateGeneration)?.value, 3)
  await alice.fails('Import', bring(textString(Tag.RotateGeneration, '3')), 'InvalidAttributeValue')
  await alice.fails('Import', bring(generation, generation), 'AttributeSingleValued')
  await alice.fails('Import', bring(textString(Tag.AlwaysSensitive, 'x')), 'InvalidAttributeValue')
  // Facts about the object here are not taken from elsewhere.
  await alice.do('Import', bring(textString(Tag.LastChangeDate, 'never')))
})
