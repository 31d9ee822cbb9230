import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findObject, findWithMaterial, type ManagedObject, type ObjectId } from '@warder/keys'
import {
  dateTime,
  Enumeration,
  enumeration,
  integer,
  longInteger,
  Tag,
  type TtlvNode,
} from '@warder/kmip-codec'
import { kmipClient } from '../../testing/kmip-client.ts'
import { startKmipFixture } from '../../testing/kmip-fixture.ts'
import { uid } from '../../testing/nodes.ts'
import { createAesKey, revocation, usageLimits } from '../../testing/requests.ts'

let now = Date.now()
const { kms, alice } = await startKmipFixture({
  clock: { now: () => now, monotonic: () => performance.now() },
})

type Reason = keyof typeof Enumeration.RevocationReasonCode

async function stored(id: string): Promise<ManagedObject> {
  const object = await findObject(kms.environment.db, id as ObjectId)
  assert.ok(object)
  return object
}

const active = (): TtlvNode => dateTime(Tag.ActivationDate, Math.floor(now / 1000) - 10)

test('a key goes from Pre-Active through Active and Deactivated to Destroyed, and its material is deleted', async () => {
  const id = await createAesKey(alice)
  assert.equal((await stored(id)).state, 'PreActive')
  await alice.do('Activate', [uid(id)])
  assert.equal((await stored(id)).state, 'Active')
  await alice.fails('Activate', [uid(id)], 'WrongKeyLifecycleState')
  assert.equal(await alice.fails('Destroy', [uid(id)], 'WrongKeyLifecycleState'), 'DENIED')
  await alice.do('Revoke', [uid(id), revocation('CessationOfOperation', 'the end')])
  const revoked = await stored(id)
  assert.deepEqual(
    [revoked.state, revoked.revocationReason, revoked.revocationMessage, revoked.deactivationAt],
    ['Deactivated', 'CessationOfOperation', 'the end', now],
  )
  assert.ok((await kms.services.keys.get(id as ObjectId))?.held)
  await alice.do('Destroy', [uid(id)])
  const destroyed = await stored(id)
  assert.deepEqual([destroyed.state, destroyed.destroyedAt], ['Destroyed', now])
  const { db, seal } = kms.environment
  assert.equal((await findWithMaterial(db, seal, id as ObjectId, undefined))?.material, undefined)
  await alice.fails('Destroy', [uid(id)], 'ObjectDestroyed')
})

test('a compromise is recorded in every state, with its occurrence date', async () => {
  const day = dateTime(Tag.CompromiseOccurrenceDate, 949_363_200)
  for (const code of ['KeyCompromise', 'CACompromise'] as const) {
    const id = await createAesKey(alice)
    await alice.do('Revoke', [uid(id), revocation(code), day])
    const compromised = await stored(id)
    assert.deepEqual([compromised.state, compromised.compromisedAt], ['Compromised', now])
    assert.match(compromised.attributes.text, /CompromiseOccurrenceDate.*2000-02-01/)
    await alice.fails('Revoke', [uid(id), revocation(code), day], 'WrongKeyLifecycleState')
    await alice.do('Destroy', [uid(id)])
    assert.equal((await stored(id)).state, 'Destroyed_Compromised')
  }
  const lost = await createAesKey(alice)
  await alice.do('Destroy', [uid(lost)])
  await alice.do('Revoke', [uid(lost), revocation('KeyCompromise'), day])
  assert.equal((await stored(lost)).state, 'Destroyed_Compromised')
  await alice.fails('Revoke', [uid(await createAesKey(alice)), revocation('Superseded'), day], 'InvalidField')
})

test('KMIP 2.1 §6.1.44: a compromise without an occurrence date has the InitialDate, in every version', async () => {
  for (const version of ['1.0', '1.4', '2.0', '2.1'] as const) {
    const id = await createAesKey(alice)
    const created = now
    now += 60_000
    await kmipClient(kms.user('alice'), { version }).do('Revoke', [uid(id), revocation('KeyCompromise')])
    const { state, compromisedAt } = await stored(id)
    assert.deepEqual([state, compromisedAt], ['Compromised', now])
    const { nodes } = await alice.do('GetAttributes', [
      uid(id),
      enumeration(Tag.AttributeReference, Tag.CompromiseOccurrenceDate),
    ])
    assert.deepEqual(nodes.at(-1)?.value, [
      dateTime(Tag.CompromiseOccurrenceDate, Math.floor(created / 1000)),
    ])
  }
})

test('every other revocation reason deactivates an active key, and a key that was never active', async () => {
  const codes: readonly Reason[] = [
    'Unspecified',
    'AffiliationChanged',
    'Superseded',
    'CessationOfOperation',
    'PrivilegeWithdrawn',
  ]
  for (const code of codes) {
    const id = await createAesKey(alice, active())
    await alice.do('Revoke', [uid(id), revocation(code)])
    assert.deepEqual([(await stored(id)).state, (await stored(id)).revocationReason], ['Deactivated', code])
    await alice.fails('Revoke', [uid(id), revocation(code)], 'WrongKeyLifecycleState')
  }
  const never = await createAesKey(alice)
  await alice.do('Revoke', [uid(never), revocation('Superseded')])
  const { state, deactivationAt, activationAt } = await stored(never)
  assert.deepEqual([state, deactivationAt, activationAt], ['Deactivated', now, undefined])
  await alice.fails('Activate', [uid(never)], 'WrongKeyLifecycleState')
  await alice.do('Destroy', [uid(never)])
  await alice.fails('Revoke', [uid(await createAesKey(alice))], 'MissingData')
})

test('a key is activated and deactivated on its dates without a request', async () => {
  const second = Math.floor(now / 1000)
  const id = await createAesKey(
    alice,
    dateTime(Tag.ActivationDate, second + 60),
    dateTime(Tag.DeactivationDate, second + 120),
  )
  assert.equal((await stored(id)).state, 'PreActive')
  now += 61_000
  await alice.fails('Activate', [uid(id)], 'WrongKeyLifecycleState')
  await alice.fails('Destroy', [uid(id)], 'WrongKeyLifecycleState')
  now += 61_000
  await alice.do('Destroy', [uid(id)])
})

test('an archived key cannot be used or exported until it is recovered', async () => {
  const id = await createAesKey(alice)
  await alice.do('Archive', [uid(id)])
  await alice.fails('Archive', [uid(id)], 'ObjectArchived')
  await alice.fails('Get', [uid(id)], 'ObjectArchived')
  await alice.do('Recover', [uid(id)])
  await alice.do('Recover', [uid(id)])
  await alice.do('Get', [uid(id)])
})

test('ObtainLease succeeds for usable keys, and GetUsageAllocation reduces the usage count', async () => {
  const id = await createAesKey(alice, active(), usageLimits(100n, 'Byte'))
  const lease = await alice.do('ObtainLease', [uid(id)])
  assert.equal(lease.get(Tag.LeaseTime), 3600)
  assert.equal(lease.get(Tag.LastChangeDate), Math.floor(now / 1000))
  const take = (count: bigint) => [uid(id), longInteger(Tag.UsageLimitsCount, count)]
  await alice.do('Check', take(100n))
  await alice.fails('Check', take(101n), 'UsageLimitExceeded')
  await alice.do('GetUsageAllocation', take(60n))
  await alice.fails('GetUsageAllocation', take(41n), 'PermissionDenied')
  await alice.fails('GetUsageAllocation', take(-1n), 'InvalidField')
  await alice.do('GetUsageAllocation', take(40n))
  await alice.fails('GetUsageAllocation', take(1n), 'PermissionDenied')
  // Two clients at once never get more than there is.
  const shared = await createAesKey(alice, active(), usageLimits(5n))
  const one = [uid(shared), longInteger(Tag.UsageLimitsCount, 1n)]
  const all = await Promise.all(Array.from({ length: 8 }, () => alice.ask('GetUsageAllocation', one)))
  assert.equal(all.filter(({ status }) => status === 'Success').length, 5)
})

test('Check says whether a use would be allowed', async () => {
  const id = await createAesKey(alice, active())
  const mask = (bits: number) => [uid(id), integer(Tag.CryptographicUsageMask, bits)]
  const { Encrypt, Sign } = Enumeration.CryptographicUsageMask
  assert.equal((await alice.do('Check', mask(Encrypt))).id, id)
  assert.equal(await alice.fails('Check', mask(Sign), 'IncompatibleCryptographicUsageMask'), 'Check Failed')
})

test("no operation distinguishes another user's object from a missing one", async () => {
  const id = await createAesKey(alice, active())
  const mallory = kmipClient(kms.user('mallory'))
  for (const operation of [
    'Get',
    'Activate',
    'Destroy',
    'Archive',
    'Recover',
    'ObtainLease',
    'Check',
  ] as const) {
    const foreign = await mallory.ask(operation, [uid(id)])
    assert.deepEqual(foreign, await mallory.ask(operation, [uid('01999999-0000-7000-8000-000000000000')]))
    assert.deepEqual([foreign.reason, foreign.message], ['ObjectNotFound', 'DENIED'])
  }
  await mallory.fails('Revoke', [uid(id), revocation('Superseded')], 'ObjectNotFound')
  assert.equal((await stored(id)).state, 'Active')
})
