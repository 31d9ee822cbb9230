// Defects of the deployed implementation that this one must not have.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decapsulate, encapsulate } from './encapsulation.ts'
import { derivePublicKey, type MasterKey, rekey, withStructure } from './keys.ts'
import { encryptionRights, parsePolicy, userRights } from './policy.ts'
import { addAttribute, deleteAttribute, disableAttribute, nextAttributeId } from './structure.ts'
import { createMaster, issue, listSecrets, toHex } from './testing/keys.ts'
import { refreshUserKey } from './user-key.ts'

const structure = { 'Level::<': ['low', 'high'], Team: ['blue', 'green'] }
const rightsOf = (master: MasterKey, policy: string) =>
  encryptionRights(master.structure, parsePolicy(policy))
const sealFor = (master: MasterKey, policy: string) =>
  encapsulate(derivePublicKey(master), rightsOf(master, policy))

for (const gone of ['green', 'blue']) {
  test(`the id of a deleted attribute is not reused: ${gone}`, () => {
    const issued = issue(createMaster(structure), '*')
    const { master } = issued
    const floor = nextAttributeId(master.structure, 0)
    const without = deleteAttribute(master.structure, { dimension: 'Team', name: gone })
    const wanted = { dimension: 'Team', name: 'grey', mode: 'Classic', after: undefined } as const
    const added = withStructure(
      withStructure(master, without),
      addAttribute(without, wanted, nextAttributeId(without, floor)),
    )
    const sealed = sealFor(added, 'Team::grey')
    // A user with all rights, refreshed in between or not, gains nothing.
    for (const key of [issued.userKey, refreshUserKey(added, issued.userKey)])
      assert.throws(() => decapsulate(key, sealed.encapsulation), { code: 'cannot_open' })
  })
}

test('after a partial rekey refreshed users open old ciphertexts', () => {
  const issued = issue(createMaster(structure), 'Level::low')
  const old = sealFor(issued.master, 'Team::blue')
  const renewed = rekey(issued.master, userRights(issued.master.structure, parsePolicy('Team::blue')))
  const key = refreshUserKey(renewed, issued.userKey)
  for (const { encapsulation, secret } of [
    old,
    sealFor(renewed, 'Team::blue'),
    sealFor(renewed, 'Level::low'),
  ])
    assert.equal(toHex(decapsulate(key, encapsulation)), toHex(secret))
})

test('a rekey leaves a disabled attribute disabled', () => {
  const master = createMaster(structure)
  const disabled = withStructure(
    master,
    disableAttribute(master.structure, { dimension: 'Team', name: 'blue' }),
  )
  const renewed = rekey(disabled, userRights(disabled.structure, parsePolicy('Team::blue')))
  assert.throws(() => sealFor(renewed, 'Team::blue'), { code: 'disabled_attribute' })
  sealFor(renewed, 'Team::green')
})

test('attributes added while another one is disabled do not enable its rights', () => {
  const master = createMaster(structure)
  const disabled = disableAttribute(master.structure, { dimension: 'Team', name: 'blue' })
  const wanted = { dimension: 'Level', name: 'top', mode: 'Classic', after: 'high' } as const
  const added = withStructure(master, addAttribute(disabled, wanted, 4))
  sealFor(added, 'Level::top')
  assert.throws(() => sealFor(added, 'Level::top && Team::blue'), { code: 'disabled_attribute' })
})

test('an attribute is added to a hierarchy at the requested position', () => {
  const master = createMaster(structure)
  const add = (after: string | undefined) => {
    const wanted = { dimension: 'Level', name: 'new', mode: 'Classic', after } as const
    const { dimensions } = addAttribute(master.structure, wanted, 4)
    return dimensions[0]?.attributes.map(({ name }) => name)
  }
  assert.deepEqual(add(undefined), ['new', 'low', 'high'])
  assert.deepEqual(add('low'), ['low', 'new', 'high'])
  assert.deepEqual(add('high'), ['low', 'high', 'new'])
  assert.throws(() => add('other'), { code: 'unknown_attribute' })
})

test('a refreshed user key keeps no secret that was removed from the master key', () => {
  const issued = issue(createMaster(structure), 'Team::blue')
  const chosen = userRights(issued.master.structure, parsePolicy('Team::blue'))
  const renewed = rekey(rekey(issued.master, chosen), chosen)
  const rights = new Map([...renewed.rights].map(([right, revisions]) => [right, revisions.slice(0, 1)]))
  const late = refreshUserKey({ ...renewed, rights }, issued.userKey)
  const soon = refreshUserKey({ ...renewed, rights }, refreshUserKey(renewed, issued.userKey))
  assert.deepEqual(listSecrets(late), listSecrets(soon))
  assert.ok([...late.rights.values()].every((secrets) => secrets.length === 1))
})
