import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeJson } from '../json/decode.ts'
import { encodeJson } from '../json/encode.ts'
import { decodeTtlv } from '../ttlv/decode.ts'
import { encodeTtlv } from '../ttlv/encode.ts'
import { decodeXml } from '../xml/decode.ts'
import { encodeXml } from '../xml/encode.ts'
import { plain } from './arbitrary.ts'
import { readVectors } from './vectors.ts'

const files = readVectors()
const skip = files.length === 0 ? 'the public KMIP test cases are not here (WARDER_VECTORS)' : false

test('Every message of the public test cases survives binary, JSON and XML unchanged', { skip }, () => {
  let messages = 0
  for (const { name, messages: nodes } of files)
    for (const [index, node] of nodes.entries()) {
      const expected = plain(node)
      const step = `${name} message ${index}`
      assert.deepEqual(plain(decodeTtlv(encodeTtlv(node))), expected, `${step} as binary`)
      assert.deepEqual(plain(decodeJson(encodeJson(node))), expected, `${step} as JSON`)
      assert.deepEqual(plain(decodeXml(encodeXml(node))), expected, `${step} as XML`)
      messages += 1
    }
  assert.ok(messages > 2000, `${messages} messages`)
})
