import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allowColour, styleError, styleHeading, styleHelp } from './colour.ts'

test('colours are for terminals whose user wants them', () => {
  const [terminal, pipe] = [{ isTTY: true }, {}]
  try {
    for (const [env, out, coloured] of [
      [{}, terminal, true],
      [{ NO_COLOR: '' }, terminal, true],
      [{ NO_COLOR: '1' }, terminal, false],
      [{ TERM: 'dumb' }, terminal, false],
      [{}, pipe, false],
    ] as const) {
      allowColour(env, { out, err: pipe })
      assert.equal(styleHeading('KEY') !== 'KEY', coloured)
      assert.equal(styleError('no'), 'no', 'the other stream is none')
      const help = styleHelp('warder x\n\nExample:\n  warder x')
      assert.equal(help.includes('\u001b[1mExample:\u001b[22m'), coloured)
    }
  } finally {
    allowColour({}, { out: pipe, err: pipe })
  }
})
