import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { createEndedKeys, createEndedMemory, openEndedSet } from './ended-set.ts'

const most = 1000

test('it holds what a map would hold, whatever is put and swept, in any order', () => {
  const action = fc.oneof(
    fc.record({ put: fc.nat(600), until: fc.integer({ min: 1, max: 50 }), value: fc.nat(9) }),
    fc.record({ sweep: fc.integer({ min: 1, max: 50 }) }),
  )
  fc.assert(
    fc.property(fc.array(action, { maxLength: 300 }), (actions) => {
      const set = openEndedSet(createEndedMemory(most), most)
      const model = new Map<number, { until: number; value: number }>()
      // Few homes: entries are pushed along, and wrap around the end of the table.
      const key = (id: number) => ({ high: id, low: id % 3 === 0 ? 2047 : id % 40 })
      for (const one of actions) {
        if ('put' in one) {
          const { until, value } = model.get(one.put) ?? { until: 0, value: 0 }
          model.set(one.put, { until: Math.max(until, one.until), value: Math.max(value, one.value) })
          set.put(key(one.put), one.until, one.value)
        } else {
          for (const [id, { until }] of model) if (until <= one.sweep) model.delete(id)
          set.sweep(one.sweep)
        }
      }
      assert.equal(set.size, model.size)
      for (let id = 0; id <= 600; id++) assert.equal(set.find(key(id)), model.get(id)?.value, String(id))
    }),
    { numRuns: 60 },
  )
})

test('what is in the memory is seen through any view of it, and each entry makes another generation', () => {
  const memory = createEndedMemory(most)
  const [writer, reader] = [openEndedSet(memory, most), openEndedSet(memory, most)]
  const keys = createEndedKeys(memory)
  const id = randomUUID()
  const before = reader.generation
  writer.put(keys.session(id), 100, 1)
  assert.equal(reader.find(createEndedKeys(memory).session(id)), 1)
  assert.notEqual(reader.generation, before)
  assert.equal(reader.find(keys.session(randomUUID())), undefined)
})

test('it is bounded: what is one too many is refused, and a sweep makes room', () => {
  const set = openEndedSet(createEndedMemory(most), most)
  const keys = createEndedKeys(createEndedMemory(most))
  for (let count = 0; count < most; count++) set.put(keys.session(randomUUID()), 10, 1)
  assert.throws(() => set.put(keys.session(randomUUID()), 10, 1), RangeError)
  set.sweep(10)
  assert.equal(set.size, 0)
  set.put(keys.session(randomUUID()), 20, 1)
})

test('keys of two kinds, and of names that look like ids of sessions, are not the same', () => {
  const keys = createEndedKeys(createEndedMemory(most))
  const id = randomUUID()
  assert.notDeepEqual(keys.other('person', 'x'), keys.other('name', 'x'))
  assert.notDeepEqual(keys.session(id), keys.other('session', id))
  for (const strange of ['', 'x', id.toUpperCase(), `${id}0`, id.replaceAll('-', '')])
    assert.deepEqual(keys.session(strange), keys.other('session', strange), strange)
  // Nobody can prepare names that fall on another's: the seed is that of the memory.
  assert.notDeepEqual(keys.other('name', 'x'), createEndedKeys(createEndedMemory(most)).other('name', 'x'))
})

test('a million sessions that have ended take less than 64 MiB', () => {
  const memory = createEndedMemory(1_000_000)
  assert.ok(memory.byteLength < 64 * 2 ** 20, String(memory.byteLength))
  const set = openEndedSet(memory, 1_000_000)
  for (let count = 0; count < 1_000_000; count++)
    set.put({ high: count, low: Math.imul(count, 0x9e3779b1) >>> 0 }, 10, 1)
  assert.equal(set.size, 1_000_000)
  assert.equal(set.find({ high: 999_999, low: Math.imul(999_999, 0x9e3779b1) >>> 0 }), 1)
})
