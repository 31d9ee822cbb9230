import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { parseCase, type TestCase } from '../cases/test-case.ts'
import { remarkOn } from '../report/table.ts'
import { runCases } from '../run/run-cases.ts'
import { startOwnServer, type TestServer } from '../server/own-server.ts'

let server: TestServer
before(async () => {
  server = await startOwnServer()
})
after(() => server[Symbol.asyncDispose]())

const version =
  '<ProtocolVersion><ProtocolVersionMajor type="Integer" value="2"/><ProtocolVersionMinor type="Integer" value="1"/></ProtocolVersion>'
const count = '<BatchCount type="Integer" value="1"/>'
const now = '<TimeStamp type="DateTime" value="$NOW"/>'
const success = '<ResultStatus type="Enumeration" value="Success"/>'
const id = (name: string) => `<UniqueIdentifier type="TextString" value="$${name}"/>`
const symmetric = '<ObjectType type="Enumeration" value="SymmetricKey"/>'

function exchange(operation: string, request: string, response: string): string {
  const named = `<Operation type="Enumeration" value="${operation}"/>`
  return `<RequestMessage><RequestHeader>${version}${count}</RequestHeader><BatchItem>${named}<RequestPayload>${request}</RequestPayload></BatchItem></RequestMessage>
<ResponseMessage><ResponseHeader>${version}${now}${count}</ResponseHeader><BatchItem>${named}${success}<ResponsePayload>${response}</ResponsePayload></BatchItem></ResponseMessage>`
}

function createCase(name: string, ...exchanges: readonly string[]): TestCase {
  return parseCase(name, `<KMIP>${exchanges.join('')}</KMIP>`)
}

function create(name: string, label: string): string {
  const attributes = `<Attributes>
    <Attribute><VendorIdentification type="TextString" value="x"/><AttributeName type="TextString" value="ID"/><AttributeValue type="TextString" value="${label}"/></Attribute>
    <CryptographicAlgorithm type="Enumeration" value="AES"/><CryptographicLength type="Integer" value="128"/>
    <CryptographicUsageMask type="Integer" value="Encrypt Decrypt"/><ActivationDate type="DateTime" value="$NOW-60"/></Attributes>`
  return exchange('Create', symmetric + attributes, symmetric + id(name))
}

async function remarks(testCase: TestCase): Promise<readonly (string | undefined)[]> {
  return (await runCases([testCase], server, 'socket')).map(remarkOn)
}

const correlation = '<CorrelationValue type="ByteString" value="$CORRELATION_VALUE"/>'
const init = '<InitIndicator type="Boolean" value="true"/>'
const final = '<FinalIndicator type="Boolean" value="true"/>'
const block = '<Data type="ByteString" value="00112233445566778899aabbccddeeff"/>'
const sealed = '<Data type="ByteString" value="ffeeddccbbaa99887766554433221100"/>'
const ecb =
  '<CryptographicParameters><BlockCipherMode type="Enumeration" value="ECB"/><PaddingMethod type="Enumeration" value="None"/></CryptographicParameters>'
const stream = [
  exchange(
    'Encrypt',
    id('UNIQUE_IDENTIFIER_0') + ecb + block + init,
    id('UNIQUE_IDENTIFIER_0') + sealed + correlation,
  ),
  exchange(
    'Encrypt',
    id('UNIQUE_IDENTIFIER_0') + block + correlation + final,
    id('UNIQUE_IDENTIFIER_0') + sealed,
  ),
]

test('Each stream of a case has a CorrelationValue of its own under one placeholder (TC-STREAM)', async () => {
  const testCase = createCase('STREAM-21', create('UNIQUE_IDENTIFIER_0', 'a'), ...stream, ...stream)
  assert.deepEqual(await remarks(testCase), [undefined])
})

const page = (offset: number) =>
  `<MaximumItems type="Integer" value="1"/><OffsetItems type="Integer" value="${offset}"/><Attributes>${symmetric}</Attributes>`
const reference =
  '<AttributeReference><VendorIdentification type="TextString" value="x"/><AttributeName type="TextString" value="ID"/></AttributeReference>'
const createAttribute = (name: string, label: string) =>
  exchange(
    'GetAttributes',
    id(name) + reference,
    `${id(name)}<Attributes><Attribute><VendorIdentification type="TextString" value="x"/><AttributeName type="TextString" value="ID"/><AttributeValue type="TextString" value="${label}"/></Attribute></Attributes>`,
  )

test("The order of what is located is the server's own, and the same from page to page (TC-OFFSET)", async () => {
  const labels = ['a', 'b', 'c']
  const made = labels.map((label, index) => create(`UNIQUE_IDENTIFIER_${index}`, label))
  for (const order of [
    [0, 1, 2],
    [2, 1, 0],
    [1, 2, 0],
  ]) {
    const pages = order.flatMap((index, offset) => [
      exchange('Locate', page(offset), id(`UNIQUE_IDENTIFIER_${index}`)),
      createAttribute(`UNIQUE_IDENTIFIER_${index}`, labels[index] ?? ''),
    ])
    const testCase = createCase(`OFFSET${order.join('')}-21`, ...made, ...pages, ...pages)
    assert.deepEqual(await remarks(testCase), [undefined])
  }
})

test('A server that gives one object on two pages, or another text of it, fails', async () => {
  const twice = createCase(
    'TWICE-21',
    create('UNIQUE_IDENTIFIER_0', 'a'),
    create('UNIQUE_IDENTIFIER_1', 'b'),
    exchange('Locate', page(0), id('UNIQUE_IDENTIFIER_0')),
    exchange('Locate', page(0), id('UNIQUE_IDENTIFIER_1')),
  )
  const [remark] = await remarks(twice)
  assert.match(remark ?? '', /step 3 Locate: .* must be \$UNIQUE_IDENTIFIER_1/)
  const other = createCase(
    'OTHER-21',
    create('UNIQUE_IDENTIFIER_0', 'a'),
    createAttribute('UNIQUE_IDENTIFIER_0', 'z'),
  )
  assert.match((await remarks(other))[0] ?? '', /must be z, is a/)
})
