import assert from 'node:assert/strict'
import { test } from 'node:test'
import { optionsHelp } from '../commands/options.ts'
import { formatTable } from './table.ts'
import { detectWidth, fitHelp, getWidth } from './width.ts'

const kid = '0192f0c1-6f0e-7a55-8f0e-2f8f6f0e2f8f'

test('the width is that of a terminal; a pipe has none', () => {
  try {
    for (const [env, out, width] of [
      [{}, { isTTY: true, columns: 80 }, 80],
      [{ COLUMNS: '60' }, { isTTY: true, columns: 80 }, 60],
      [{ COLUMNS: 'wide' }, { isTTY: true, columns: 80 }, 80],
      [{ COLUMNS: '0' }, { isTTY: true, columns: 80 }, 80],
      [{ COLUMNS: '5' }, { isTTY: true, columns: 80 }, 20],
      [{}, { isTTY: true, columns: 0 }, undefined],
      [{}, { isTTY: true }, undefined],
      [{ COLUMNS: '60' }, { columns: 80 }, undefined],
      [{ COLUMNS: '60' }, {}, undefined],
    ] as const) {
      detectWidth(env, out)
      assert.equal(getWidth(), width, JSON.stringify([env, out]))
    }
    const resized = { isTTY: true, columns: 80 }
    detectWidth({}, resized)
    resized.columns = 40
    assert.equal(getWidth(), 40)
  } finally {
    detectWidth({}, {})
  }
})

test('a table on a narrow terminal cuts texts, and never an id', () => {
  const headings = ['KEY', 'STATE', 'SINCE', 'TAGS']
  const rows = [
    [kid, 'Active', '2026-11-21 14:05:09Z', 'payments and invoices of the shop in Lyon'],
    ['orders', 'Deactivated', '2026-11-22 14:05:09Z', ''],
  ]
  const whole = formatTable(headings, rows, '')
  assert.ok(whole[1]?.endsWith('in Lyon'))
  assert.deepEqual(formatTable(headings, rows, '', 500), whole)
  for (const width of [100, 90, 80]) {
    const lines = formatTable(headings, rows, '', width)
    assert.equal(lines.length, 3)
    for (const line of lines) assert.ok(line.length <= width, line)
    assert.ok(lines[1]?.startsWith(kid))
    assert.ok(lines[1]?.endsWith('…'))
  }
  assert.match(formatTable(headings, rows, '', 80)[1] ?? '', /Active +2026-11-21 ?….* +payments /)
})

test('a table that does not fit is printed as lines of heading and cell', () => {
  const lines = formatTable(
    ['ALIAS', 'KEY', 'TAGS'],
    [
      ['orders', kid, 'a'],
      ['bills', kid, ''],
    ],
    '',
    40,
  )
  assert.deepEqual(lines, ['ALIAS  orders', `KEY    ${kid}`, 'TAGS   a', '', 'ALIAS  bills', `KEY    ${kid}`])
  assert.deepEqual(formatTable(['ALIAS'], [], 'you have no aliases', 10), ['you have no aliases'])
})

test('a text that is cut keeps whole characters', () => {
  const rows = [['a', '🔑'.repeat(20)]]
  for (let width = 13; width < 20; width++)
    assert.ok(formatTable(['NAME', 'TEXT'], rows, '', width).every((line) => line.isWellFormed()))
})

test('help for a narrow terminal is filled again; what can be copied stays', () => {
  const options = optionsHelp({
    realm: { type: 'text', value: 'R', help: 'the realm to log in to, which is the name of a set of users' },
    'a-very-long-option': { type: 'text', value: 'VALUE', help: 'its text begins below it' },
    twice: { type: 'flag', help: 'text that goes on\nin another line' },
  })
  const example = `  warder login --realm shop --user ann --password-file /run/secrets/the-password-of-ann --no-keyring`
  const help = `warder login [OPTIONS]

Logs in and stores the session in HOME/logins, in a file with mode 0600; if the system has a
keyring, the file is encrypted with a key in it.

Account:
${options}

Example:
${example}`
  assert.equal(fitHelp(help, undefined), help)
  assert.equal(fitHelp(help, 120), help)
  const fitted = fitHelp(help, 60)
  assert.ok(fitted.includes(`\nExample:\n${example}`))
  for (const line of fitted.split('\n')) assert.ok(line.length <= 60 || line === example, line)
  assert.match(
    fitted,
    / {2}--realm R {13}the realm to log in to, which is the\n {24}name of a set of users\n/,
  )
  assert.match(fitted, / {2}--twice {15}text that goes on in another line\n/)
  assert.match(fitted, /^Account:$/m)
  const words = (text: string) => text.split(/\s+/).filter((word) => word !== '')
  for (const width of [20, 30, 40, 60, 80])
    assert.deepEqual(words(fitHelp(help, width)), words(help), 'nothing is lost')
})
