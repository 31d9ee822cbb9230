import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import {
  boolean,
  dateTime,
  interval,
  longInteger,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import { startSharedKms } from '@warder/kms/testing'
import { activeSince, aesKey, mask } from '../../testing/keys.ts'
import { kmipClient } from '../../testing/kmip-client.ts'
import { attributes, objectType, uid, vendorAttribute } from '../../testing/nodes.ts'
import { createAesKey, getAttributes, usageLimits } from '../../testing/requests.ts'

// KMIP 2.1 §6.1.25: Import does not enforce who sets an attribute, and when.

const [kms, other] = await Promise.all([startSharedKms(), startSharedKms()])
const alice = kmipClient(kms.user('alice'))

const symmetric = objectType('SymmetricKey')

const bring = (...nodes: readonly TtlvNode[]) => [
  symmetric,
  attributes(mask('Encrypt'), activeSince, ...nodes),
  aesKey(randomBytes(32)),
]

const vendor = (by: string, name: string) =>
  vendorAttribute(by, name, textString(Tag.AttributeValue, 'value'))

const withTag = (nodes: readonly TtlvNode[], tag: number) => nodes.filter((node) => node.tag === tag)

test('a key moves with its remaining uses', async () => {
  const there = kmipClient(other.user('alice'))
  const id = await createAesKey(alice, activeSince, usageLimits(10n))
  const take = (count: bigint) => [uid(id), longInteger(Tag.UsageLimitsCount, count)]
  await alice.do('GetUsageAllocation', take(4n))
  const { nodes } = await alice.do('Export', [uid(id)])
  await there.do('Import', [uid(id), symmetric, ...nodes.slice(2)])
  assert.deepEqual(withTag(await getAttributes(there, id), Tag.UsageLimits), [usageLimits(10n, 'Object', 6n)])
  await there.fails('GetUsageAllocation', take(7n), 'PermissionDenied')
  await there.do('GetUsageAllocation', take(6n))
})

test('AlwaysSensitive and NeverExtractable stay false after a move', async () => {
  const now = [boolean(Tag.Sensitive, true), boolean(Tag.Extractable, false)]
  const past = (always: boolean) => [
    boolean(Tag.AlwaysSensitive, always),
    boolean(Tag.NeverExtractable, always),
  ]
  for (const [said, expected] of [
    [past(false), past(false)],
    [past(true), past(true)],
    [[], past(true)],
  ] as const) {
    const { id } = await alice.do('Import', bring(...now, ...said))
    const has = await getAttributes(alice, id)
    for (const node of expected) assert.deepEqual(withTag(has, node.tag), [node])
  }
})

test('an import with more uses than the total is refused, and Register accepts no count', async () => {
  await alice.fails('Import', bring(usageLimits(10n, 'Object', 11n)), 'InvalidAttributeValue')
  await alice.fails('Import', bring(usageLimits(10n, 'Object', -1n)), 'InvalidAttributeValue')
  await alice.fails('Register', bring(usageLimits(10n, 'Object', 6n)), 'InvalidAttributeValue')
  const { id } = await alice.do('Import', bring(usageLimits(10n)))
  assert.deepEqual(withTag(await getAttributes(alice, id), Tag.UsageLimits), [
    usageLimits(10n, 'Object', 10n),
  ])
})

test('vendor attributes of another server are stored and read-only', async () => {
  const own = vendor('y', 'Serial')
  const { id } = await alice.do('Import', bring(own))
  assert.deepEqual(withTag(await getAttributes(alice, id), Tag.Attribute), [own])
  const added = [uid(id), structure(Tag.NewAttribute, [vendor('y', 'Other')])]
  await alice.fails('AddAttribute', added, 'AttributeReadOnly')
  await alice.fails('Register', bring(own), 'AttributeReadOnly')
  const replaced = await alice.do('ReKey', [uid(id)])
  assert.deepEqual(withTag(await getAttributes(alice, replaced.id), Tag.Attribute), [])
  await alice.fails('Import', bring(vendor('warder', 'anything')), 'AttributeReadOnly')
})

test('the lease time of the other server is kept', async () => {
  const { id } = await alice.do('Import', bring(interval(Tag.LeaseTime, 60)))
  assert.equal((await alice.do('ObtainLease', [uid(id)])).get(Tag.LeaseTime), 60)
  assert.deepEqual(withTag(await getAttributes(alice, id), Tag.LeaseTime), [interval(Tag.LeaseTime, 60)])
  await alice.fails('Import', bring(textString(Tag.LeaseTime, '60')), 'InvalidAttributeValue')
})

test('an archived object stays archived after Import until it is recovered', async () => {
  const day = dateTime(Tag.ArchiveDate, 949_363_200)
  const { id } = await alice.do('Import', bring(day))
  assert.deepEqual(withTag(await getAttributes(alice, id), Tag.ArchiveDate), [day])
  await alice.fails('Get', [uid(id)], 'ObjectArchived')
  await alice.do('Recover', [uid(id)])
  await alice.do('Get', [uid(id)])
  await alice.fails('Import', bring(textString(Tag.ArchiveDate, 'long ago')), 'InvalidAttributeValue')
})
