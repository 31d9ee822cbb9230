import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { KmipDecodeError } from '@warder/kmip-codec'
import { normaliseName, parseXml, type XmlElement } from '@warder/kmip-codec/testing'

/** One exchange of a test case: the request, and the expected response. */
export interface Step {
  readonly request: XmlElement
  readonly response: XmlElement
}

/** One OASIS test case: a file of requests and responses in turn. */
export interface TestCase {
  /** The file's name without its ending: `SKLC-M-1-21`. */
  readonly name: string
  /** Version of the first request: `2.1`. */
  readonly version: string
  /** Cases of one family may build on each other (`TL-M-2` reads objects of `TL-M-1`): `TL-M`. */
  readonly family: string
  readonly steps: readonly Step[]
  /** The reason why the file cannot be run; undefined if it can. */
  readonly unreadable: string | undefined
}

/** Every `*.xml` below a folder, in the order of numbers in their names (`M-2` before `M-10`). */
export function readCases(folder: string): readonly TestCase[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.xml'))
    .map((entry) => readCase(join(entry.parentPath, entry.name)))
    .sort((one, other) => one.name.localeCompare(other.name, 'en', { numeric: true }))
}

function readCase(path: string): TestCase {
  return parseCase(basename(path, '.xml'), readFileSync(path, 'utf8'))
}

/** Comments from `#` to the end of the line or the next element: `# TIME 0` between messages, as cases of 1.0 to 1.2 have it. */
const hashComments = /^[ \t]*#[^<\n]*/gm

/** The cases of 1.0 to 1.2 were printed from a document that broke long names in two: `Unique   Identifier`. */
const brokenNames = /(?<=<AttributeName type="TextString" value=")[^"]*/g

/** A test case from the text of its file. */
export function parseCase(name: string, text: string): TestCase {
  const family = name.replace(/-\d+(-\d+)?$/, '')
  try {
    const steps = readSteps(parseXml(plainText(text)).children)
    const version = readVersion(steps)
    return { name, version, family, steps, unreadable: undefined }
  } catch (error) {
    if (!(error instanceof KmipDecodeError)) throw error
    return { name, version: 'unknown', family, steps: [], unreadable: error.message }
  }
}

function plainText(text: string): string {
  return text.replace(hashComments, '').replace(brokenNames, (name) => name.replace(/ {2,}/g, ' '))
}

function readSteps(messages: readonly XmlElement[]): readonly Step[] {
  const steps: Step[] = []
  for (let index = 0; index < messages.length; index += 2) {
    const [request, response] = [messages[index], messages[index + 1]]
    if (request?.name !== 'RequestMessage' || response?.name !== 'ResponseMessage')
      throw new KmipDecodeError('wrong_member', 'Requests and responses do not alternate.')
    steps.push({ request, response })
  }
  if (steps.length === 0) throw new KmipDecodeError('missing_member', 'The file contains no request.')
  return steps
}

function readVersion(steps: readonly Step[]): string {
  const version = findChild(findChild(steps[0]?.request, 'RequestHeader'), 'ProtocolVersion')
  const part = (name: string): string => findChild(version, name)?.attributes.get('value') ?? '?'
  return `${part('ProtocolVersionMajor')}.${part('ProtocolVersionMinor')}`
}

/** The first child with this name, in any spelling. */
export function findChild(element: XmlElement | undefined, name: string): XmlElement | undefined {
  return element?.children.find((child) => normaliseName(child.name) === normaliseName(name))
}

/** The operations that a request names, in order. */
export function listOperations(message: XmlElement): readonly string[] {
  return message.children
    .filter(({ name }) => name === 'BatchItem')
    .map((item) => findChild(item, 'Operation')?.attributes.get('value') ?? 'none')
}
