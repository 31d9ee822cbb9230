import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CovercryptError } from './error.ts'
import { encryptionRights, parsePolicy, userRights } from './policy.ts'
import { listRights } from './structure.ts'
import { decodeStructure, encodeStructure, structureFromJson } from './structure-formats.ts'
import { fromHex, toHex } from './testing/keys.ts'
import { skipVectors as skip, vectors } from './testing/vectors.ts'

interface Policies {
  readonly policies: readonly {
    policy: string
    parse: 'ok' | 'refused' | 'crash'
    dnf: string[][]
    encryption_rights: string[] | 'refused'
    user_rights: string[] | 'refused'
  }[]
  readonly access_structures: readonly { json: string; bytes?: string; refused?: true }[]
  readonly leb: readonly { access_structure_bytes: string; accepted: boolean }[]
}

const rightsOrRefused = (read: () => ReadonlySet<string>): readonly string[] | 'refused' => {
  try {
    return [...read()].toSorted()
  } catch (error) {
    if (error instanceof CovercryptError) return 'refused'
    throw error
  }
}

/** Truncated policies, and those that two releases of the deployed library read differently. */
function isRefusedHere(policy: string): boolean {
  let flat = policy
  for (let before = ''; before !== flat; ) {
    before = flat
    if (/&&\s*\)/.test(flat)) return true
    for (const [inner] of flat.matchAll(/\([^()]*\)/g)) if (isMixed(inner.slice(1, -1))) return true
    flat = flat.replace(/\([^()]*\)/g, ' @ ')
  }
  return isMixed(flat) || /&&\s*$/.test(flat)
}

function isMixed(flat: string): boolean {
  if (!flat.includes('||')) return false
  return flat.includes('&&') || /@\s*[^\s|]|[^\s|]\s*@/.test(flat)
}

test('truncated policies, and those that two releases read differently, are refused', () => {
  for (const policy of [
    'A::a && B::b || C::c',
    'A::a || B::b && C::c',
    '(A::a && B::b || C::c)',
    'D::d && (A::a || B::b && C::c)',
    '(A::a || B::b) C::c || D::d',
  ])
    assert.throws(() => parsePolicy(policy), /are mixed without parentheses; write \(A && B\) \|\| C/, policy)
  for (const policy of ['A::a &&', '(A::a &&) && B::b', 'A::a && &&', '(A::a || B::b) &&'])
    assert.throws(() => parsePolicy(policy), { code: 'invalid_policy' }, policy)
  assert.equal(parsePolicy('(A::a && B::b) || C::c').length, 2)
  assert.equal(parsePolicy('A::a && (B::b || C::c)').length, 2)
})

test('policies yield the clauses and rights of the deployed implementation', { skip }, () => {
  const { policies, access_structures } = vectors<Policies>('policies.json')
  const structure = decodeStructure(fromHex(access_structures[0]?.bytes as string))
  const all = listRights(structure)
  const strict: string[] = []
  let refusedHere = 0
  for (const { policy, parse, dnf, encryption_rights, user_rights } of policies) {
    if (parse === 'refused') assert.throws(() => parsePolicy(policy), { code: 'invalid_policy' }, policy)
    if (parse === 'refused') continue
    if (isRefusedHere(policy)) {
      assert.throws(() => parsePolicy(policy), { code: 'invalid_policy' }, policy)
      refusedHere++
      continue
    }
    const parsed = parsePolicy(policy)
    if (parse === 'crash') continue
    assert.deepEqual(
      parsed.map((clause) => clause.map(({ dimension, name }) => `${dimension}::${name}`)),
      dnf,
      policy,
    )
    // Two attributes of one dimension give a right that no key has: refused here when it is named.
    const twice = encryption_rights !== 'refused' && encryption_rights.some((right) => !all.has(right))
    if (twice) strict.push(policy)
    assert.deepEqual(
      rightsOrRefused(() => encryptionRights(structure, parsed)),
      twice ? 'refused' : encryption_rights,
      policy,
    )
    const held = rightsOrRefused(() => userRights(structure, parsed))
    assert.deepEqual(held, user_rights, policy)
  }
  assert.ok(refusedHere > 0)
  assert.equal(strict.length, 4)
})

test('the text of a structure yields the attributes of the deployed implementation, or is refused for a name that policies cannot write', {
  skip,
}, () => {
  const { access_structures, leb } = vectors<Policies>('policies.json')
  const strict: string[] = []
  for (const { json, bytes } of access_structures) {
    let structure: ReturnType<typeof structureFromJson>
    try {
      structure = structureFromJson(JSON.parse(json))
    } catch (error) {
      assert.ok(error instanceof CovercryptError && error.code === 'invalid_structure')
      if (bytes !== undefined) strict.push(json)
      if (bytes !== undefined) assert.equal(toHex(encodeStructure(decodeStructure(fromHex(bytes)))), bytes)
      continue
    }
    assert.ok(bytes !== undefined, json)
    const shape = ({ dimensions }: ReturnType<typeof decodeStructure>) =>
      dimensions
        .map(({ name, ordered, attributes }) => ({
          name,
          ordered,
          attributes: ordered ? attributes : attributes.toSorted((one, other) => one.id - other.id),
        }))
        .map((dimension) => ({
          ...dimension,
          attributes: dimension.attributes.map(({ id, ...rest }) => rest),
        }))
        .toSorted((one, other) => one.name.localeCompare(other.name))
    const byId = shape({
      dimensions: structure.dimensions.map((one) => ({ ...one, attributes: [...one.attributes] })),
    })
    assert.deepEqual(byId, shape(decodeStructure(fromHex(bytes as string))), json)
  }
  assert.equal(strict.length, 7)
  for (const { access_structure_bytes, accepted } of leb)
    if (accepted) decodeStructure(fromHex(access_structure_bytes))
    else assert.throws(() => decodeStructure(fromHex(access_structure_bytes)), { code: 'malformed' })
})
