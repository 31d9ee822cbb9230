import { isColourAllowed } from './colour.ts'
import { getWidth } from './width.ts'

/** ISO/IEC 18004 requires four light modules around the symbol; readers need two. */
const quietZone = 2
const blackOnWhite = (line: string): string => `\u001b[30;107m${line}\u001b[0m`

/**
 * Formats a QR code (ISO/IEC 18004) for a terminal on standard error, two modules in each character. Colours make it
 * readable on every background; without colours it is readable on a dark background.
 * @returns undefined when the terminal is too narrow
 */
export async function formatQrCode(text: string, width = getWidth()): Promise<readonly string[] | undefined> {
  // Loaded when it is needed: other commands start without it.
  const { encodeQR } = await import('qr')
  const modules = encodeQR(text, 'raw', { ecc: 'low', border: quietZone })
  if (width !== undefined && modules.length > width) return undefined
  const isColoured = isColourAllowed('err')
  // A module below the last line is part of the background.
  const isInk = (row: number, column: number): boolean =>
    modules[row] === undefined ? false : modules[row][column] === isColoured
  const lines: string[] = []
  for (let row = 0; row < modules.length; row += 2) {
    const line = Array.from({ length: modules.length }, (_, column) => {
      const [upper, lower] = [isInk(row, column), isInk(row + 1, column)]
      return upper ? (lower ? '█' : '▀') : lower ? '▄' : ' '
    }).join('')
    lines.push(isColoured ? blackOnWhite(line) : line)
  }
  return lines
}
