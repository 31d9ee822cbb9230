import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tagText } from '@warder/kmip-codec'
import type { Fields } from '../payloads/payload.ts'
import { kmipOperations } from './kmip-operations.ts'

function tagsIn(fields: Fields): readonly number[] {
  return Object.values(fields).flatMap(({ tags }) => tags)
}

function allFields(fields: Fields): readonly Fields[] {
  return [fields, ...Object.values(fields).flatMap(({ inner }) => (inner ? allFields(inner) : []))]
}

test("the member that identifies an operation's object is declared in its request", () => {
  for (const { name, access, request } of kmipOperations.values())
    if (access.kind === 'object')
      assert.ok(tagsIn(request.fields).includes(access.member), `${name}: ${tagText(access.member)}`)
})

test('a payload declares each tag once and at most 31 fields, at every depth', () => {
  for (const { name, request, reply } of kmipOperations.values())
    for (const fields of [request.fields, reply.fields].flatMap(allFields)) {
      const tags = tagsIn(fields)
      assert.equal(new Set(tags).size, tags.length, name)
      assert.ok(Object.keys(fields).length <= 31, name)
    }
})
