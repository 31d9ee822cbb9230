import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeMasterKey, encodeMasterKey } from '@warder/covercrypt'
import { Enumeration, enumeration, Tag, textString } from '@warder/kmip-codec'
import { startSharedKms } from '@warder/kms/testing'
import { AbeClient, hospital, parent } from '../../testing/abe.ts'
import { kmipClient } from '../../testing/kmip-client.ts'
import { attributes, uid } from '../../testing/nodes.ts'
import { getAttributes, revocation } from '../../testing/requests.ts'

const kms = await startSharedKms()
const alice = new AbeClient(kmipClient(kms.user('alice')))

test('a rekey renews the pair and its user keys in place: they decrypt old and new ciphertexts, copies only old ones', async () => {
  const { master, publicKey } = await alice.pair()
  const [blue, green, level] = await Promise.all(
    ['Team::Blue', 'Team::Green', 'Clearance::Restricted'].map((policy) => alice.user(master, policy)),
  )
  const copy = (await alice.kmip.do('Import', alice.importing('PrivateKey', await alice.get(blue as string))))
    .id
  const digest = async (id: string) => JSON.stringify(await computeDigest(id))
  const before = await digest(publicKey)
  const policies = ['Team::Blue', 'Team::Blue && Clearance::Public', '*', 'Team::Green'] as const
  const old = await Promise.all(policies.map((policy) => alice.encrypt(publicKey, policy, policy)))
  await alice.rotate(master, { RekeyAccessPolicy: 'Team::Blue' })
  assert.notEqual(await digest(publicKey), before, 'the change of the published key is seen')
  const fresh = await Promise.all(policies.map((policy) => alice.encrypt(publicKey, policy, policy)))
  for (const sealed of [old, fresh]) {
    const opened = await Promise.all(
      [blue, green, level].map((user) =>
        Promise.all(sealed.map((one) => alice.decrypt(user as string, one))),
      ),
    )
    assert.deepEqual(opened, [
      ['Team::Blue', 'Team::Blue && Clearance::Public', '*', undefined],
      [undefined, undefined, '*', 'Team::Green'],
      ['Team::Blue', 'Team::Blue && Clearance::Public', '*', 'Team::Green'],
    ])
  }
  for (const [index, sealed] of fresh.entries()) {
    assert.equal(await alice.decrypt(copy, sealed), undefined)
    assert.equal((await alice.decrypt(copy, old[index] as Buffer)) !== undefined, index < 3)
  }
  await alice.rotate(master, { PruneAccessPolicy: 'Team::Blue' })
  for (const [index, sealed] of fresh.entries())
    assert.equal(await alice.decrypt(level as string, sealed), policies[index])
  for (const [index, sealed] of old.entries())
    assert.equal(await alice.decrypt(level as string, sealed), index === 3 ? policies[index] : undefined)
})

async function computeDigest(id: string) {
  return (await getAttributes(alice.kmip, id)).find(({ tag }) => tag === Tag.Digest)
}

test('attributes are added, renamed, disabled and deleted', async () => {
  const { master, publicKey } = await alice.pair()
  const all = await alice.user(master, '*')
  const secret = await alice.user(master, 'Clearance::Secret')
  const blue = await alice.encrypt(publicKey, 'Team::Blue', 'old blue')
  await alice.rotate(master, {
    AddAttribute: [
      ['Team::Grey', 'Classic', null],
      ['Clearance::Top', 'Hybridized', 'Secret'],
      ['Team::Quantum', 'PostQuantum', null],
    ],
  })
  for (const policy of ['Team::Grey', 'Clearance::Top', 'Team::Quantum', 'Team::Grey && Clearance::Top']) {
    const sealed = await alice.encrypt(publicKey, policy, 'new')
    assert.equal(await alice.decrypt(all, sealed), undefined, 'no key gains a right')
    const holder = await alice.user(master, policy)
    assert.equal(await alice.decrypt(holder, sealed), 'new')
  }
  const top = await alice.user(master, 'Clearance::Top')
  assert.equal(
    await alice.decrypt(top, await alice.encrypt(publicKey, 'Clearance::Secret', 'below')),
    'below',
  )
  assert.equal(
    await alice.decrypt(secret, await alice.encrypt(publicKey, 'Clearance::Top', 'above')),
    undefined,
  )

  await alice.rotate(master, { RenameAttribute: [['Team::Blue', 'Azure']] })
  assert.equal(await alice.decrypt(all, await alice.encrypt(publicKey, 'Team::Azure', 'azure')), 'azure')
  await alice.kmip.fails('Encrypt', alice.sealing(publicKey, 'Team::Blue', 'x'), 'InvalidField')

  await alice.rotate(master, { DisableAttribute: ['Team::Azure'] })
  const refusal = await alice.kmip.fails(
    'Encrypt',
    alice.sealing(publicKey, 'Team::Azure', 'x'),
    'CryptographicFailure',
  )
  assert.match(refusal, /disabled/)
  assert.equal(await alice.decrypt(all, blue), 'old blue')
  await alice.rotate(master, { RekeyAccessPolicy: 'Team::Azure' })
  await alice.kmip.fails('Encrypt', alice.sealing(publicKey, 'Team::Azure', 'x'), 'CryptographicFailure')
  await alice.rotate(master, { AddAttribute: [['Clearance::Vault', 'Classic', null]] })
  await alice.encrypt(publicKey, 'Clearance::Vault', 'other dimension')

  await alice.rotate(master, { DeleteAttribute: ['Team::Azure', 'Team::Green'] })
  assert.equal(await alice.decrypt(all, blue), undefined)
  await alice.kmip.fails('Encrypt', alice.sealing(publicKey, 'Team::Azure', 'x'), 'InvalidField')
})

test('the action names of clients before version 5 have the same effect', async () => {
  const { master, publicKey } = await alice.pair({ Team: ['Blue'] })
  await alice.rotate(master, { AddAttribute: [['Team::Grey', 'Hybridized']] })
  const user = await alice.user(master, 'Team::Grey')
  assert.equal(await alice.decrypt(user, await alice.encrypt(publicKey, 'Team::Grey', 'x')), 'x')
  await alice.rotate(master, { RemoveAttribute: ['Team::Grey'] })
  await alice.kmip.fails('Encrypt', alice.sealing(publicKey, 'Team::Grey', 'x'), 'InvalidField')
})

test('the id of a deleted attribute is never reused, even if it was the newest', async () => {
  const { master, publicKey } = await alice.pair({ Team: ['Blue', 'Green'] })
  const users = await Promise.all(
    ['Team::Blue', 'Team::Green', '*'].map((policy) => alice.user(master, policy)),
  )
  for (const gone of ['Green', 'Blue']) {
    await alice.rotate(master, { DeleteAttribute: [`Team::${gone}`] })
    await alice.rotate(master, { AddAttribute: [[`Team::Not${gone}`, 'Classic', null]] })
    const sealed = await alice.encrypt(publicKey, `Team::Not${gone}`, 'new')
    for (const user of users) assert.equal(await alice.decrypt(user, sealed), undefined)
    await alice.rotate(master, { RekeyAccessPolicy: '*' })
    for (const user of users)
      assert.equal(
        await alice.decrypt(user, await alice.encrypt(publicKey, `Team::Not${gone}`, 'new')),
        undefined,
      )
  }
})

test('user keys that are created, revoked and rotated concurrently are not lost', async () => {
  const { master, publicKey } = await alice.pair({ Team: ['Blue'] })
  const first = await alice.user(master, 'Team::Blue')
  const made = await Promise.all([
    ...Array.from({ length: 5 }, () => alice.user(master, 'Team::Blue')),
    alice.rotate(master, { RekeyAccessPolicy: 'Team::Blue' }).then(() => undefined),
  ])
  const users = [first, ...made.filter((id) => id !== undefined)]
  assert.equal(decodeMasterKey(await alice.get(master)).users.length, users.length)
  await alice.rotate(master, { RekeyAccessPolicy: 'Team::Blue' })
  const sealed = await alice.encrypt(publicKey, 'Team::Blue', 'new')
  for (const user of users) assert.equal(await alice.decrypt(user, sealed), 'new')
})

test('revoked user keys are not refreshed', async () => {
  const { master, publicKey } = await alice.pair({ Team: ['Blue'] })
  const [gone, stays] = [await alice.user(master, 'Team::Blue'), await alice.user(master, 'Team::Blue')]
  const old = await alice.encrypt(publicKey, 'Team::Blue', 'old')
  await alice.kmip.do('Revoke', [uid(gone), revocation('AffiliationChanged')])
  await alice.rotate(master, { RekeyAccessPolicy: 'Team::Blue' })
  const sealed = await alice.encrypt(publicKey, 'Team::Blue', 'new')
  assert.equal(await alice.decrypt(gone, sealed), undefined)
  assert.equal(await alice.decrypt(gone, old), 'old', 'it processes what was protected before')
  assert.equal(await alice.decrypt(stays, sealed), 'new')
})

test('a user key of another master key does not prevent a rotation', async () => {
  const { master, publicKey } = await alice.pair({ Team: ['Blue'] })
  const other = await alice.pair({ Team: ['Blue'] })
  const mine = await alice.user(master, 'Team::Blue')
  const foreign = await alice.get(await alice.user(other.master, 'Team::Blue'))
  const imported = (await alice.kmip.do('Import', alice.importing('PrivateKey', foreign, parent(master)))).id
  await alice.rotate(master, { RekeyAccessPolicy: 'Team::Blue' })
  const record = kms.audit.findLast(({ operation }) => operation === 'kmip.ReKeyKeyPair')
  assert.deepEqual((record?.details as { not_refreshed?: string[] } | undefined)?.not_refreshed, [imported])
  assert.equal(await alice.decrypt(mine, await alice.encrypt(publicKey, 'Team::Blue', 'new')), 'new')
})

test('a wrong action is refused by name and changes nothing', async () => {
  const { master, publicKey } = await alice.pair()
  const user = await alice.user(master, 'Team::Blue')
  const before = await alice.get(master)
  for (const [action, reason] of [
    ['{', 'InvalidAttributeValue'],
    [{}, 'InvalidField'],
    [[], 'InvalidField'],
    [{ RotateAttributes: ['Team::Blue'] }, 'InvalidField'],
    [{ constructor: 'Team::Blue' }, 'InvalidField'],
    [{ RekeyAccessPolicy: 'Team::Blue', PruneAccessPolicy: 'Team::Blue' }, 'InvalidField'],
    [{ RekeyAccessPolicy: ['Team::Blue'] }, 'InvalidField'],
    [{ RekeyAccessPolicy: 'Team::Nope' }, 'InvalidField'],
    [{ DeleteAttribute: ['Team'] }, 'InvalidField'],
    [{ DeleteAttribute: ['Team::Red', 'Team::Nope'] }, 'InvalidField'],
    [{ DisableAttribute: 'Team::Red' }, 'InvalidField'],
    [{ AddAttribute: [['Team::New']] }, 'InvalidField'],
    [{ toString: ['Team::Blue'] }, 'InvalidField'],
    [{ AddAttribute: [['Team::New', true, null]] }, 'InvalidField'],
    [{ AddAttribute: [['Team::Blue', 'Classic', null]] }, 'InvalidField'],
    [{ AddAttribute: [['Nowhere::New', 'Classic', null]] }, 'InvalidField'],
    [{ AddAttribute: [['Team::(New)', 'Classic', null]] }, 'InvalidField'],
    [{ RenameAttribute: [['Team::Blue', 'Red']] }, 'InvalidField'],
    [{ RenameAttribute: [['Team::Blue', 'Team::Azure']] }, 'InvalidField'],
  ] as const)
    await alice.kmip.fails('ReKeyKeyPair', alice.rotation(master, action), reason)
  await alice.kmip.fails('ReKeyKeyPair', [textString(Tag.PrivateKeyUniqueIdentifier, master)], 'MissingData')
  await alice.kmip.fails('ReKeyKeyPair', alice.rotation(user, { PruneAccessPolicy: '*' }), 'InvalidField')
  assert.deepEqual(await alice.get(master), before)
  await alice.kmip.do('Revoke', [uid(publicKey), revocation('Superseded')])
  await alice.kmip.do('Destroy', [uid(publicKey)])
  await alice.kmip.fails(
    'ReKeyKeyPair',
    alice.rotation(master, { PruneAccessPolicy: '*' }),
    'CryptographicFailure',
  )
})

test('import refuses a master key that a client modified, and accepts complete and consistent ones', async () => {
  const { master } = await alice.pair(hospital)
  const bytes = await alice.get(master)
  assert.deepEqual(Buffer.from(encodeMasterKey(decodeMasterKey(bytes))), bytes)
  const altered = Buffer.from(bytes)
  // The point of the first tracer.
  altered.set(altered.subarray(32 + 1 + 64 + 32, 32 + 1 + 128), 32 + 1 + 32)
  await alice.kmip.fails('Import', alice.importing('PrivateKey', altered), 'InvalidField')
  const { nodes } = await alice.kmip.do('Locate', [
    attributes(enumeration(Tag.ObjectType, Enumeration.ObjectType.PrivateKey), parent(master)),
  ])
  assert.deepEqual(
    nodes.filter(({ tag }) => tag === Tag.UniqueIdentifier),
    [],
  )
})

test('an undone batch creates no user key and leaves the master key unchanged', async () => {
  const { master } = await alice.pair({ Team: ['Blue'] })
  const before = await alice.get(master)
  const answer = await alice.kmip.send(
    [
      { operation: 'Create', payload: alice.wish(master, 'Team::Blue'), id: Uint8Array.of(1) },
      { operation: 'Create', payload: alice.wish(master, 'Team::Nope'), id: Uint8Array.of(2) },
    ],
    { batchErrorContinuation: 'Undo' },
  )
  assert.deepEqual(
    answer.items.map(({ status }) => status),
    ['OperationUndone', 'OperationFailed'],
  )
  assert.deepEqual(await alice.get(master), before)
})
