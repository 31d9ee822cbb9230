import { Buffer } from 'node:buffer'
import { existsSync, readFileSync } from 'node:fs'
import { StartupError } from '@warder/base'
import { toFileRefused } from '@warder/command-line/files'
import {
  decodeNode,
  decodeRequest,
  type Encoding,
  KmipDecodeError,
  type KmipVersion,
  Tag,
  type TtlvNode,
  writeRequest,
} from '@warder/kmip-codec'

/** Input bytes and their encoding. */
interface Input {
  readonly bytes: Buffer
  readonly encoding: Encoding
}

const standardInput = 0

/**
 * Reads a message from a file, from standard input (`-`) or, with `hex`, from the argument itself.
 * @throws StartupError when it cannot be read or is not a message
 */
export function readInput(word: string, options: { readonly hex: boolean }): Input {
  if (word !== '-' && !existsSync(word)) {
    const bytes = options.hex ? parseHexDump(word) : undefined
    if (bytes !== undefined) return { bytes, encoding: 'ttlv' }
    throw new StartupError(`${word} does not exist${options.hex ? ', and is not a hex dump' : ''}`)
  }
  const bytes = readBytes(word)
  if (bytes[0] === 0x42 && bytes[1] === 0) return { bytes, encoding: 'ttlv' }
  const text = bytes.toString('utf8').trim()
  if (text.startsWith('<')) return { bytes: Buffer.from(text), encoding: 'xml' }
  if (text.startsWith('{')) return { bytes: Buffer.from(text), encoding: 'json' }
  const dumped = parseHexDump(text)
  if (dumped === undefined)
    throw new StartupError('the input is neither binary KMIP, nor a hex dump of it, nor JSON or XML')
  return { bytes: dumped, encoding: 'ttlv' }
}

function readBytes(word: string): Buffer {
  try {
    return readFileSync(word === '-' ? standardInput : word)
  } catch (error) {
    throw toFileRefused(error, word === '-' ? 'standard input' : word)
  }
}

/**
 * Decodes the message. A single JSON operation without envelope gets one of this version.
 * @throws StartupError with the reason when it cannot be read
 */
export function decodeMessage({ bytes, encoding }: Input, bareVersion: KmipVersion): TtlvNode {
  try {
    if (encoding !== 'json') return decodeNode(bytes, encoding)
    const { tag } = parseRoot(bytes)
    if (tag === 'RequestMessage' || tag === 'ResponseMessage') return decodeNode(bytes, encoding)
    return writeRequest({ ...decodeRequest(bytes, encoding, { bareVersion }), bare: false })
  } catch (error) {
    if (!(error instanceof KmipDecodeError) && !(error instanceof SyntaxError)) throw error
    throw new StartupError(`this is not a KMIP message: ${error.message}`)
  }
}

function parseRoot(bytes: Buffer): { readonly tag?: unknown } {
  return JSON.parse(bytes.toString('utf8')) as { readonly tag?: unknown }
}

/** Whether every item of a response succeeded or is pending. */
export function hasSucceeded(answer: TtlvNode): boolean {
  if (answer.type !== 'Structure') return false
  const items = answer.value.filter(({ tag }) => tag === Tag.BatchItem)
  return items.every(
    (item) =>
      item.type === 'Structure' &&
      item.value.some(({ tag, value }) => tag === Tag.ResultStatus && (value === 0 || value === 2)),
  )
}

/**
 * Parses a hex dump: digits in any case, with blanks, colons or line ends between them and `0x` before them, or the output
 * of `xxd` or `hexdump -C` with offsets and text.
 * @returns undefined when it is not a hex dump
 */
export function parseHexDump(text: string): Buffer | undefined {
  const digits = text.split(/\r?\n/).map(extractDigits).join('')
  if (digits === '' || digits.length % 2 === 1 || !/^[0-9a-f]+$/i.test(digits)) return undefined
  return Buffer.from(digits, 'hex')
}

function extractDigits(line: string): string {
  // xxd: `00000000: 4200 7801 0000 0078  B.x....x`, the text after two blanks
  const xxd = /^\s*[0-9a-f]{4,8}:\s+((?:[0-9a-f]{2,8}\s)*[0-9a-f]{2,8})(?:\s{2,}.*)?$/i.exec(line)
  if (xxd !== null) return removeSeparators(xxd[1] ?? '')
  // hexdump -C: `00000000  42 00 78 01 …  |B.x.…|`; its last line is an offset alone
  const canonical = /^\s*[0-9a-f]{8}(?:\s\s([0-9a-f\s]+?))?\s*\|.*\|\s*$/i.exec(line)
  if (canonical !== null) return removeSeparators(canonical[1] ?? '')
  return removeSeparators(line)
}

function removeSeparators(text: string): string {
  return text.replace(/0x/gi, '').replace(/[\s:,]+/g, '')
}
