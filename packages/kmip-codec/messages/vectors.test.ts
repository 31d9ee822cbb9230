import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Tag } from '../tables/tags.gen.ts'
import { plain } from '../testing/arbitrary.ts'
import { readUnspokenRequests, readVectors } from '../testing/vectors.ts'
import { KmipDecodeError } from '../ttlv/error.ts'
import type { TtlvNode } from '../ttlv/node.ts'
import { readResponse, writeRequest } from './client.ts'
import { decodeRequest, toErrorResponse } from './codec.ts'
import { readRequest } from './request.ts'
import { writeResponse } from './response.ts'

const files = readVectors()
const skip = files.length === 0 ? 'the public KMIP test cases are not here (WARDER_VECTORS)' : false

const legacyTags: ReadonlySet<number> = new Set([
  Tag.TemplateAttribute,
  Tag.CommonTemplateAttribute,
  Tag.PrivateKeyTemplateAttribute,
  Tag.PublicKeyTemplateAttribute,
])

/** No part of a payload is in the form that only 1.x has. */
function isModern(node: TtlvNode): boolean {
  if (legacyTags.has(node.tag)) return false
  if (node.type !== 'Structure') return true
  const isVendor = node.value.some(({ tag }) => tag === Tag.VendorIdentification)
  if ((node.tag === Tag.Attribute || node.tag === Tag.AttributeReference) && !isVendor) return false
  return node.value.every(isModern)
}

/**
 * Without the messages of refusals: the words for a 1.x client depend on the reason of 2.x, which its own message does
 * not have. The live cases compare them.
 */
function withoutMessages(node: TtlvNode): TtlvNode {
  if (node.type !== 'Structure') return node
  const kept = node.value.filter(({ tag }) => tag !== Tag.ResultMessage)
  return { ...node, value: kept.map(withoutMessages) }
}

for (const version of ['1.4', '2.1'])
  test(`Every ${version} message of the public test cases is understood and written back as it was`, {
    skip,
  }, () => {
    let messages = 0
    for (const file of files.filter((candidate) => candidate.version === version))
      for (const [index, node] of file.messages.entries()) {
        const step = `${file.name} message ${index}`
        const isRequest = node.tag === Tag.RequestMessage
        const message = isRequest ? readRequest(node) : readResponse(node)
        assert.equal(message.version, version, step)
        const again = isRequest ? writeRequest(readRequest(node)) : writeResponse(readResponse(node))
        assert.deepEqual(plain(withoutMessages(again)), plain(withoutMessages(node)), step)
        if (!isRequest) continue
        for (const item of readRequest(node).items) {
          assert.equal(item.refusal, undefined, step)
          assert.ok(isModern(item.payload), step)
        }
        messages += 1
      }
    assert.ok(messages > 400, `${messages} requests`)
  })

const later = readUnspokenRequests()

test('Every request of the public test cases of 3.0 is answered UnsupportedProtocolVersion, in 2.1', {
  skip: later.length === 0 ? 'there are no test cases of a later version' : false,
}, () => {
  for (const text of later)
    assert.throws(
      () => decodeRequest(Buffer.from(text), 'xml'),
      (error) => {
        assert.ok(error instanceof KmipDecodeError)
        const { version, items } = toErrorResponse(error, 0)
        assert.deepEqual(
          [version, items[0]?.reason],
          ['2.1', 'UnsupportedProtocolVersion'],
          text.slice(0, 400),
        )
        return true
      },
    )
})
