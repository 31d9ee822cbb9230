import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newObjectDefaults, ObjectAttributes } from '@warder/keys'
import { integer, Tag, textString } from '@warder/kmip-codec'
import fc from 'fast-check'
import { addAttribute, deleteAttribute, instancesCalled } from './attribute-edit.ts'
import { assignIndexes, indexNodes } from './attribute-index.ts'
import type { AttributeState } from './attribute-view.ts'

const name = { tag: Tag.ObjectGroup, vendor: undefined }
const group = (text: string) => textString(Tag.ObjectGroup, text)
const object = {
  ...newObjectDefaults,
  type: 'SymmetricKey',
  state: 'PreActive',
  form: {},
  attributes: ObjectAttributes.none,
}
const empty = { object, tags: [] }
const none = empty as unknown as AttributeState

const added = (state: AttributeState, ...names: readonly string[]) =>
  names.reduce((before, text) => addAttribute(before, group(text), 0).state, state)

test('an instance keeps its index when others are deleted, and a new instance gets the lowest free index', () => {
  const state = deleteAttribute(added(none, 'a', 'b', 'c', 'd'), name, { index: 1 }, 0).state
  const told = (of: AttributeState) => indexNodes(of.object, instancesCalled(of, name, 0))
  const index = (value: number) => integer(Tag.AttributeIndex, value)
  assert.deepEqual(told(state), [group('a'), index(0), group('c'), index(2), group('d'), index(3)])
  const whole = addAttribute(state, group('e'), 0)
  assert.equal(whole.index, 1)
  assert.deepEqual(told(whole.state), ['a', 'e', 'c', 'd'].map(group))
  assert.doesNotMatch(whole.state.object.attributes.text, /indexGaps/)
})

test('property: every instance keeps its index until it is deleted', () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.nat(5), { nil: undefined }), { maxLength: 40 }), (edits) => {
      const known = new Map<unknown, number>()
      let state = none
      let count = 0
      for (const gone of edits) {
        if (gone === undefined) {
          const edited = addAttribute(state, group(`${count++}`), 0)
          known.set(edited.node.value, edited.index)
          state = edited.state
        } else {
          const [node] = [...known].find(([, index]) => index === gone) ?? []
          if (node === undefined)
            assert.throws(() => deleteAttribute(state, name, { index: gone }, 0), /no /i)
          else {
            const edited = deleteAttribute(state, name, { index: gone }, 0)
            assert.deepEqual([edited.node.value, edited.index], [node, gone])
            known.delete(node)
            state = edited.state
          }
        }
        const there = instancesCalled(state, name, 0).map(({ value }) => value)
        const indexes = assignIndexes(state.object, name, there.length)
        assert.deepEqual(
          new Map(there.map((value, place) => [value, indexes[place]])),
          new Map([...known].sort((one, other) => one[1] - other[1])),
        )
      }
    }),
  )
})
