import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { failure } from '@warder/base'
import Type from 'typebox'
import { compileCheck } from './validation.ts'

const Item = Type.Object({
  tags: Type.Optional(Type.Array(Type.String())),
  note: Type.Optional(Type.String()),
})
const Schema = Type.Object({
  name: Type.String(),
  inner: Type.Optional(Type.Union([Item, Type.Null()])),
  list: Type.Optional(Type.Array(Item)),
  map: Type.Optional(Type.Record(Type.String(), Item)),
  claims: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  anything: Type.Optional(Type.Unknown()),
  kind: Type.Optional(
    Type.Union([
      Type.Object({ type: Type.Literal('a'), left: Type.Optional(Type.String()) }),
      Type.Object({ type: Type.Literal('b'), right: Type.Optional(Type.String()) }),
    ]),
  ),
})
const check = compileCheck(Schema, 'Invalid request body')
const refuses = (value: unknown, sentence: RegExp, by = check) =>
  assert.throws(() => by(value), { kind: failure('bad_request').kind, message: sentence })

describe('a member that the schema does not declare', () => {
  it('is refused with the name that was probably meant', () => {
    refuses(
      { name: 'n', nme: 1 },
      /^Invalid request body: nme: is not a known member; did you mean name\?\.$/,
    )
    refuses({ name: 'n', inner: { tag: ['prod'] } }, /inner\.tag: .*did you mean tags\?/)
    refuses({ name: 'n', list: [{}, { tag: [] }] }, /list\[1\]\.tag: .*did you mean tags\?/)
    refuses({ name: 'n', map: { any: { tag: [] } } }, /map\.any\.tag: .*did you mean tags\?/)
    refuses({ name: 'n', zzzzzz: 1 }, /zzzzzz: is not a known member; known members are name, inner, list/)
  })

  it('is named before what is missing, which it may have been meant to be', () => {
    refuses({ nme: 'n' }, /nme: .*did you mean name\?/)
  })

  it('is refused of the alternative that a value has, not of all of them together', () => {
    check({ name: 'n', kind: { type: 'a', left: 'x' } })
    refuses({ name: 'n', kind: { type: 'a', right: 'x' } }, /kind\.right: is not a known member/)
    // Null is as good as absent, also for a serialiser that writes the members of every alternative.
    check({ name: 'n', kind: { type: 'a', left: null, right: null } })
  })

  it('is refused at every part of an intersection', () => {
    const both = compileCheck(Type.Intersect([Schema, Type.Object({ id: Type.String() })]), 'Invalid')
    both({ name: 'n', id: 'i' })
    refuses({ name: 'n', id: 'i', idd: 'i' }, /idd: .*did you mean id\?/, both)
  })

  it('is accepted in a map, in what may be anything, and where a route tolerates its name', () => {
    check({ name: 'n', inner: null, claims: { a: { b: 1 } }, anything: { a: 1 }, map: { x: {}, y: {} } })
    const tolerant = compileCheck(Schema, 'Invalid', ['op'])
    tolerant({ name: 'n', op: 'x', list: [{ op: 'x' }] })
    refuses({ name: 'n', opp: 'x' }, /opp: is not a known member/, tolerant)
    compileCheck(Schema, 'Invalid', 'any')({ name: 'n', opp: 'x', inner: { tag: 1 } })
  })

  it('does not become known by a name of every object', () => {
    for (const name of ['constructor', 'toString', 'hasOwnProperty'])
      refuses({ name: 'n', [name]: 1 }, /is not a known member/)
  })
})
