import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { XmlElement } from '@warder/kmip-codec/testing'
import { parseCase, type TestCase } from '../cases/test-case.ts'
import { listCases, vectorsVariable } from '../cases/vectors.ts'
import { runCase, type Strictness } from '../run/run-case.ts'
import { replay } from './replay.ts'

const version = `<ProtocolVersion><ProtocolVersionMajor type="Integer" value="2"/><ProtocolVersionMinor type="Integer" value="1"/></ProtocolVersion>`
const requestHeader = `<RequestHeader>${version}<BatchCount type="Integer" value="1"/></RequestHeader>`
const responseHeader = `<ResponseHeader>${version}<TimeStamp type="DateTime" value="$NOW"/><BatchCount type="Integer" value="1"/></ResponseHeader>`
const operation = (name: string): string => `<Operation type="Enumeration" value="${name}"/>`
const success = `<ResultStatus type="Enumeration" value="Success"/>`
const id = `<UniqueIdentifier type="TextString" value="$UNIQUE_IDENTIFIER_0"/>`

function exchange(name: string, request: string, response: string): string {
  return `<RequestMessage>${requestHeader}<BatchItem>${operation(name)}<RequestPayload>${request}</RequestPayload></BatchItem></RequestMessage>
<ResponseMessage>${responseHeader}<BatchItem>${operation(name)}${response}</BatchItem></ResponseMessage>`
}

const payload = (members: string): string => `${success}<ResponsePayload>${members}</ResponsePayload>`
const attributes = `<Attributes><State type="Enumeration" value="Active"/>
  <Name><NameValue type="TextString" value="one"/><NameType type="Enumeration" value="UninterpretedTextString"/></Name>
  <Name><NameValue type="TextString" value="two"/><NameType type="Enumeration" value="UninterpretedTextString"/></Name>
  <ActivationDate type="DateTime" value="$NOW-3600"/></Attributes>`
const reference = `<AttributeReference type="Enumeration" value="State"/>`
const registered = `<ObjectType type="Enumeration" value="SymmetricKey"/>`

const example = parseCase(
  'EX-M-1-21',
  `<KMIP>
${exchange('Register', registered, payload(id))}
${exchange('GetAttributes', `${id}${reference}`, payload(`${id}${attributes}`))}
${exchange('Encrypt', `${id}<Data type="ByteString" value="00"/>`, payload(`${id}<Data type="ByteString" value="0102030405060708"/>`))}
${exchange('Destroy', id, `<ResultStatus type="Enumeration" value="OperationFailed"/><ResultReason type="Enumeration" value="PermissionDenied"/><ResultMessage type="TextString" value="DENIED"/>`)}
</KMIP>`,
)

/** Changes the value of the first element of this name in one step. */
function withValue(step: number, name: string, value: string, printed?: string) {
  let done = false
  const change = (element: XmlElement): XmlElement => {
    const changed = new Map(element.attributes)
    if (!done && element.name === name && (printed === undefined || changed.get('value') === printed)) {
      done = true
      changed.set('value', value)
    }
    return { name: element.name, attributes: changed, children: element.children.map(change) }
  }
  return (response: XmlElement, at: number): XmlElement => (at === step ? change(response) : response)
}

/** Changes the members of the first element of this name in one step. */
function withMembers(
  step: number,
  name: string,
  edit: (children: readonly XmlElement[]) => readonly XmlElement[],
) {
  const change = (element: XmlElement): XmlElement => ({
    ...element,
    children: element.name === name ? edit(element.children) : element.children.map(change),
  })
  return (response: XmlElement, at: number): XmlElement => (at === step ? change(response) : response)
}

async function findDifferences(
  testCase: TestCase,
  change?: (response: XmlElement, step: number) => XmlElement,
  strictness?: Strictness,
) {
  const { outcome, failures } = await runCase(testCase, replay(testCase, change), undefined, strictness)
  assert.equal(outcome, failures.length === 0 ? 'passed' : 'failed')
  return failures.flatMap(({ step, differences }) =>
    differences.map(({ operation: name, path, sentence }) => `${step} ${name} ${path} ${sentence}`),
  )
}

const without = (name: string) => (children: readonly XmlElement[]) =>
  children.filter((child) => child.name !== name)

test('A server that answers as printed passes, whatever it calls its objects', async () => {
  assert.deepEqual(await findDifferences(example), [])
})

test('Another status, reason, value, date or identifier is told with its place', async () => {
  const [status] = await findDifferences(example, withValue(3, 'ResultStatus', 'OperationUndone'))
  assert.equal(status, '3 Destroy BatchItem/ResultStatus must be OperationFailed, is OperationUndone')
  const [reason] = await findDifferences(example, withValue(3, 'ResultReason', 'ItemNotFound'))
  assert.equal(reason, '3 Destroy BatchItem/ResultReason must be PermissionDenied, is ItemNotFound')
  const [state] = await findDifferences(example, withValue(1, 'State', 'PreActive'))
  assert.equal(
    state,
    '1 GetAttributes BatchItem/ResponsePayload/Attributes/State must be Active, is PreActive',
  )
  const [date] = await findDifferences(example, withValue(1, 'ActivationDate', '2001-01-01T00:00:00Z'))
  assert.match(date ?? '', /ActivationDate must be \$NOW-3600, is 2001/)
  const [other] = await findDifferences(example, withValue(1, 'UniqueIdentifier', 'another'))
  assert.match(other ?? '', /UniqueIdentifier must be \$UNIQUE_IDENTIFIER_0 = .*, is another/)
  const [bytes] = await findDifferences(example, withValue(2, 'Data', '0102030405060709'))
  assert.match(bytes ?? '', /Data must be 0102030405060708, is 0102030405060709/)
  const [stamp] = await findDifferences(example, withValue(0, 'TimeStamp', '2001-01-01T00:00:00Z'))
  assert.match(stamp ?? '', /ResponseHeader\/TimeStamp must be \$NOW/)
})

test('A printed moment that no request said is that of the run; one that a request said stays what it is', async () => {
  const dates = (activation: string, initial: string): string =>
    `<Attributes><ActivationDate type="DateTime" value="${activation}"/><InitialDate type="DateTime" value="${initial}"/></Attributes>`
  const [then, other] = ['2012-04-27T08:12:24+00:00', '2013-01-10T23:33:21+00:00']
  const given = `<Attributes><ActivationDate type="DateTime" value="${then}"/></Attributes>`
  const old = parseCase(
    'OLD-M-1-21',
    `<KMIP>
${exchange('Register', `${registered}${given}`, payload(id))}
${exchange('GetAttributes', `${id}${reference}`, payload(`${id}${dates(then, other)}`))}
</KMIP>`,
  )
  const now = new Date().toISOString()
  assert.deepEqual(await findDifferences(old, withValue(1, 'InitialDate', now)), [])
  const [printed, ...others] = await findDifferences(old)
  assert.match(printed ?? '', /InitialDate must be 2013/)
  assert.equal(others.length, 0)
  const [moved] = await findDifferences(old, (response, step) =>
    withValue(1, 'InitialDate', now)(withValue(1, 'ActivationDate', now)(response, step), step),
  )
  assert.match(moved ?? '', /ActivationDate must be 2012/)
})

test('A message in other words is a difference, unless the server may have its own', async () => {
  const other = withValue(3, 'ResultMessage', 'Not now.')
  assert.deepEqual(await findDifferences(example, other), [
    '3 Destroy BatchItem/ResultMessage must be DENIED, is Not now.',
  ])
  assert.deepEqual(await findDifferences(example, other, { ownWords: true }), [])
  const none = withMembers(3, 'BatchItem', without('ResultMessage'))
  assert.equal((await findDifferences(example, none, { ownWords: true })).length, 1)
})

test('A missing or an additional member is a difference', async () => {
  const [missing] = await findDifferences(example, withMembers(3, 'BatchItem', without('ResultMessage')))
  assert.equal(missing, '3 Destroy BatchItem/ResultMessage is missing (must be DENIED)')
  const [gone] = await findDifferences(example, withMembers(1, 'Attributes', without('State')))
  assert.match(gone ?? '', /Attributes\/State is missing/)
  const twice = withMembers(1, 'Attributes', (children) => [...children, ...children.slice(0, 1)])
  const [extra] = await findDifferences(example, twice)
  assert.match(extra ?? '', /Attributes\/State is not expected \(is Active\)/)
  const [order] = await findDifferences(
    example,
    withMembers(3, 'BatchItem', (items) => items.toReversed()),
  )
  assert.match(order ?? '', /is in another place|is not expected/)
})

test('Attributes have no order, and those with many values neither', async () => {
  const reversed = withMembers(1, 'Attributes', (children) => children.toReversed())
  assert.deepEqual(await findDifferences(example, reversed), [])
  const [renamed] = await findDifferences(example, withValue(1, 'NameValue', 'three', 'two'))
  assert.match(renamed ?? '', /Attributes\/Name\/NameValue must be two, is three/)
})

const made = parseCase(
  'EX-M-2-21',
  `<KMIP>
${exchange('Create', registered, payload(id))}
${exchange('Encrypt', `${id}<Data type="ByteString" value="00"/>`, payload(`${id}<Data type="ByteString" value="0102030405060708"/>`))}
${exchange('Decrypt', `${id}<Data type="ByteString" value="0102030405060708"/>`, payload(`${id}<Data type="ByteString" value="00"/>`))}
${exchange('MACVerify', `<MACData type="ByteString" value="$DATA_0"/>`, payload(''))}
</KMIP>`,
)

test('What a key made by the server gives may differ, and stands for the printed bytes from then on', async () => {
  const server = replay(made, withValue(1, 'Data', 'aaaaaaaaaaaaaaaa'))
  const sent: string[] = []
  const { outcome } = await runCase(made, (message) => {
    sent.push(JSON.stringify(message, (_key, value) => (value instanceof Uint8Array ? [...value] : value)))
    return server(message)
  })
  assert.equal(outcome, 'passed')
  assert.match(sent[2] ?? '', /\[170,170,170,170,170,170,170,170\]/)
  assert.match(sent[3] ?? '', /\[0\]/)
  const [decrypted] = await findDifferences(made, withValue(2, 'Data', '01'))
  assert.match(decrypted ?? '', /2 Decrypt .*Data must be 00, is 01/)
  const [shorter] = await findDifferences(made, withValue(1, 'Data', 'aaaa'))
  assert.match(shorter ?? '', /1 Encrypt .*Data must be/)
})

test('A request with a value that never came ends the case', async () => {
  const broken = parseCase('EX-M-3-21', `<KMIP>${exchange('Get', id, payload(id))}</KMIP>`)
  assert.deepEqual(await findDifferences(broken), ['0 Get  $UNIQUE_IDENTIFIER_0 has no value yet'])
})

test('A file that is no test case is told, not run', async () => {
  for (const text of ['<KMIP></KMIP>', '<KMIP', `<KMIP><RequestMessage/></KMIP>`]) {
    const { outcome, reason } = await runCase(parseCase('X', text), () => assert.fail('nothing is sent'))
    assert.equal(outcome, 'skipped')
    assert.match(reason ?? '', /cannot be read/)
  }
})

const cases = listCases(process.env, { draft: false })
const skip = cases.length === 0 ? `the public KMIP test cases are not here (${vectorsVariable})` : false

test('Every public test case passes against its own responses, and none against a wrong status', {
  skip,
}, async () => {
  for (const testCase of cases) {
    assert.equal(testCase.unreadable, undefined, testCase.name)
    assert.deepEqual(await findDifferences(testCase), [], testCase.name)
    const wrong = await findDifferences(testCase, withValue(0, 'ResultStatus', 'OperationUndone'))
    assert.ok(wrong.length > 0, testCase.name)
  }
})
