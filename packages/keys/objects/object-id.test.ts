import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asObjectId, newObjectId } from './object-id.ts'

test('new ids are UUIDv7 and sort by time', () => {
  const ids = Array.from({ length: 600 }, (_, index) => newObjectId(1_700_000_000_000 + index))
  for (const id of ids)
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  assert.deepEqual(ids, ids.toSorted())
  assert.equal(new Set(ids).size, ids.length)
})

test('ids of one moment sort in order of creation, also if the clock stands still or jumps', () => {
  const later = 1_800_000_000_000
  const ids = Array.from({ length: 10_000 }, (_, index) => newObjectId(later + (index % 3)))
  assert.deepEqual(ids, ids.toSorted())
  assert.equal(new Set(ids).size, ids.length)
  // A clock that is put right is followed.
  assert.ok(newObjectId(later - 60_000) < (ids[0] ?? ''))
})

test('texts that cannot be ids are refused', () => {
  for (const text of ['', 'a\u0000b', 'a\nb', '\u009b', 'x'.repeat(257), '\ud800']) {
    assert.equal(asObjectId(text), undefined, JSON.stringify(text))
  }
  assert.equal(asObjectId("'; DROP TABLE managed_object; --"), "'; DROP TABLE managed_object; --")
})
