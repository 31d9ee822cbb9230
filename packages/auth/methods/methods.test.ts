import assert from 'node:assert/strict'
import { it } from 'node:test'
import { realmRules } from '../realm-rules.ts'
import { methods } from './methods.ts'

const unique = (what: string, values: readonly (string | undefined)[]): void => {
  const given = values.filter((value) => value !== undefined)
  assert.deepEqual(given, [...new Set(given)], what)
}

it('no two methods share a name, a scheme, a member of realms or a kind of credential', () => {
  unique(
    'name',
    methods.map(({ name }) => name),
  )
  unique(
    'scheme',
    methods.map(({ scheme }) => scheme),
  )
  unique(
    'member',
    realmRules.members.map(({ member }) => member),
  )
  unique(
    'credential',
    methods.map(({ first }) => first?.takes),
  )
})

it('every method has a proof, and its own session scheme if it is a first proof', () => {
  for (const { name, scheme, first, second, operations } of methods) {
    assert.ok(scheme !== undefined || second !== undefined, name)
    const provesElsewhere = operations(methods).some(({ access }) => access.public === true)
    if (scheme !== undefined) assert.ok(first !== undefined || provesElsewhere, name)
  }
})

it('every member of auth_params belongs to a method', () => {
  assert.deepEqual(
    realmRules.members.map(({ member }) => member),
    methods.map(({ settings }) => settings.member),
  )
})
