import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import Type from 'typebox'
import { removeNullMembers, withNullMembers } from './null-members.ts'

const Schema = Type.Object({
  name: Type.String(),
  size: Type.Optional(Type.Integer({ description: 'In bytes.' })),
  unset: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  anything: Type.Optional(Type.Unknown()),
  kind: Type.Optional(Type.Union([Type.Literal('a'), Type.Literal('b')])),
  list: Type.Optional(Type.Array(Type.Object({ note: Type.Optional(Type.String()) }))),
  map: Type.Optional(Type.Record(Type.String(), Type.Object({ note: Type.Optional(Type.String()) }))),
})

describe('null for an optional member', () => {
  it('is removed at every depth, but where it is required, has a meaning, or nothing is known of it', () => {
    const value = {
      name: null,
      size: null,
      unset: null,
      anything: null,
      kind: null,
      list: [{ note: null, other: null }, null],
      map: { one: { note: null } },
      unknown: null,
    }
    removeNullMembers(Schema, value)
    assert.deepEqual(value, {
      name: null,
      unset: null,
      anything: null,
      list: [{ other: null }, null],
      map: { one: {} },
      unknown: null,
    })
  })

  it('is removed in every part of a schema that is put together', () => {
    const Whole = Type.Intersect([
      Schema,
      Type.Union([Type.Array(Schema), Type.Object({ size: Type.Integer() })]),
    ])
    const value = { name: 'n', kind: null }
    removeNullMembers(Whole, value)
    assert.deepEqual(value, { name: 'n' })
    const list = [{ name: 'n', size: null }]
    removeNullMembers(Type.Union([Type.String(), Type.Array(Schema)]), list)
    assert.deepEqual(list, [{ name: 'n' }])
  })

  it('is published, once for each member that may be null', () => {
    const { properties } = withNullMembers(JSON.parse(JSON.stringify(Schema)))
    assert.deepEqual(properties.name, { type: 'string' })
    assert.deepEqual(properties.size, {
      description: 'In bytes.',
      anyOf: [{ type: 'integer' }, { type: 'null' }],
    })
    assert.deepEqual(properties.unset, { anyOf: [{ type: 'string' }, { type: 'null' }] })
    assert.deepEqual(properties.anything, {})
    const item = { type: 'object', properties: { note: { anyOf: [{ type: 'string' }, { type: 'null' }] } } }
    assert.deepEqual(properties.list.anyOf[0], { type: 'array', items: item })
  })
})
