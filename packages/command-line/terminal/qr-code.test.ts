import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import decodeQR from 'qr/decode.js'
import { allowColour } from './colour.ts'
import { formatQrCode } from './qr-code.ts'

const url =
  'otpauth://totp/shop:ann?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=shop&algorithm=SHA1&digits=6&period=30'

/** Draws the characters of a terminal as pixels, as a camera sees them. @param ink what a block is drawn with */
function photograph(lines: readonly string[], ink: 'black' | 'white') {
  const scale = 4
  const rows = lines.flatMap((line) => {
    const text = [...stripVTControlCharacters(line)]
    return [text.map((each) => '█▀'.includes(each)), text.map((each) => '█▄'.includes(each))]
  })
  const [height, width] = [rows.length * scale, (rows[0]?.length ?? 0) * scale]
  const data = new Uint8Array(height * width * 4)
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const isInk = rows[Math.floor(y / scale)]?.[Math.floor(x / scale)] === true
      const level = isInk === (ink === 'white') ? 255 : 0
      data.set([level, level, level, 255], (y * width + x) * 4)
    }
  return { height, width, data }
}

test('a reader of QR codes reads what the terminal shows, with and without colours', async () => {
  try {
    allowColour({}, { out: {}, err: { isTTY: true } })
    const lines = (await formatQrCode(url)) ?? []
    assert.ok(lines.every((line) => line.startsWith('\u001b[30;107m') && line.endsWith('\u001b[0m')))
    assert.equal(decodeQR(photograph(lines, 'black')), url)
  } finally {
    allowColour({}, { out: {}, err: {} })
  }
  const plain = (await formatQrCode(url)) ?? []
  assert.equal(decodeQR(photograph(plain, 'white')), url)
  assert.equal(await formatQrCode(url, plain[0]?.length ?? 0).then((lines) => lines?.length), plain.length)
  assert.equal(await formatQrCode(url, (plain[0]?.length ?? 0) - 1), undefined)
})
