import { Buffer } from 'node:buffer'

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
