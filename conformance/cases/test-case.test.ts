import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCase } from './test-case.ts'

const version = (minor: number) =>
  `<ProtocolVersion><ProtocolVersionMajor type="Integer" value="1"/><ProtocolVersionMinor type="Integer" value="${minor}"/></ProtocolVersion>`
const pair = `<RequestMessage><RequestHeader>${version(0)}</RequestHeader></RequestMessage>
<ResponseMessage><ResponseHeader>${version(0)}</ResponseHeader></ResponseMessage>`

test('Names that a document broke are put together, as cases of 1.0 to 1.2 have them; values are left alone', () => {
  const attribute = `<Attribute><AttributeName type="TextString" value="Unique   Identifier"/><AttributeValue type="TextString" value="a   b"/></Attribute>`
  const asked = pair.replace('</RequestHeader>', `</RequestHeader>${attribute}`)
  const { steps } = parseCase('SKFF-M-9-10', `<KMIP>${asked}</KMIP>`)
  const found = steps[0]?.request.children.find(({ name }) => name === 'Attribute')
  assert.deepEqual(
    found?.children.map(({ attributes }) => attributes.get('value')),
    ['Unique Identifier', 'a   b'],
  )
})

test('Comment lines that begin with # are passed over, as cases of 1.0 to 1.2 have them', () => {
  const {
    steps,
    version: spoken,
    unreadable,
  } = parseCase(
    'SKLC-M-1-10',
    `<KMIP>
# TIME 0
# A key is made, and what becomes of it is looked at
#
${pair}
  # TIME 1 ${pair}
</KMIP>`,
  )
  assert.deepEqual([unreadable, spoken, steps.length], [undefined, '1.0', 2])
  assert.notEqual(parseCase('X', `<KMIP>other text ${pair}</KMIP>`).unreadable, undefined)
})
