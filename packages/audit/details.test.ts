import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { escapeHidden } from '@warder/base'
import fc from 'fast-check'
import { canonicalJson, formatDetails } from './details.ts'
import { createRecordMaker } from './record.ts'
import { createOwnEvent } from './writer.ts'

const sha256 = (text: string): string => hash('sha256', text, 'hex')
// biome-ignore lint/suspicious/noExplicitAny: a test looks into what was written
const parseDetails = (details: Readonly<Record<string, unknown>>): any => {
  const json = formatDetails(details)
  assert.ok(json.length <= 16_384, `${json.length}`)
  const value = JSON.parse(json)
  assert.equal(escapeHidden(canonicalJson(value)), json)
  return value
}

test('details that fit are written whole, however many members they have', () => {
  const names = Array.from({ length: 100 }, (_, index) => `name-${index}`)
  const details = { after: { policies: [...names, '*'] }, text: 'x'.repeat(5000) }
  assert.deepEqual(parseDetails(details), details)
  const many = Object.fromEntries(names.map((name, index) => [name, index]))
  assert.deepEqual(parseDetails({ ...many, last: true }), { ...many, last: true })
})

test('padding is cut with its length and hash, and pushes nothing out', () => {
  const padding = 'ä'.repeat(20_480)
  const after = { role: 'admin', policies: ['*'] }
  const told = parseDetails({ padding, before: null, after, more: { nested: [padding, 'short'] } })
  assert.deepEqual([told.before, told.after, told.more.nested[1]], [null, after, 'short'])
  const note = `…[cut: 40960 bytes, SHA-256 ${sha256(padding)}]`
  for (const cut of [told.padding, told.more.nested[0]]) {
    assert.ok(cut.startsWith('äää') && cut.endsWith(note), cut.slice(-120))
  }
})

test('a short name among long ones is kept wherever it stands, and the note counts the others', () => {
  const names = Array.from({ length: 1000 }, (_, index) => `${index}-${'n'.repeat(200)}`)
  for (const at of [0, 100, 1000]) {
    const policies = names.toSpliced(at, 0, '*')
    const told = parseDetails({ after: { policies, realm: 'r1' } }).after
    assert.equal(told.realm, 'r1')
    assert.ok(told.policies.includes('*'))
    const left = told.policies.length - 1
    assert.equal(
      told.policies.at(-1),
      `…[cut: ${1001 - left} of 1001 members, SHA-256 ${sha256(canonicalJson(policies))}]`,
    )
  }
})

test('members of an object and their names are cut in the same way', () => {
  const claims = Object.fromEntries(
    Array.from({ length: 500 }, (_, index) => [`claim-${index}`, 'v'.repeat(300)]),
  )
  const told = parseDetails({ claims: { ...claims, admin: true } }).claims
  assert.equal(told.admin, true)
  assert.match(told['…'], /^…\[cut: \d+ of 501 members, SHA-256 [0-9a-f]{64}\]$/)
  const name = 'm'.repeat(20_000)
  const [only] = Object.keys(parseDetails({ [name]: 1 }))
  assert.equal(only?.slice(-89), `…[cut: 20000 bytes, SHA-256 ${sha256(name)}]`.slice(-89))
})

test('whatever the details are, they are bounded, and nothing goes without a note', () => {
  const text = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 20 }),
    fc.constantFrom('\u0001'.repeat(9000), 'x'.repeat(20_000), '\u202e'.repeat(9000), '"'.repeat(400)),
  )
  const tree = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      text,
      fc.integer(),
      fc.array(tie('value'), { maxLength: 40 }),
      fc.dictionary(text, tie('value'), { maxKeys: 10 }),
    ),
  })).value
  fc.assert(
    fc.property(fc.dictionary(text, tree, { maxKeys: 10 }), (details) => {
      const whole = canonicalJson(details)
      const told = JSON.stringify(parseDetails(details))
      if (whole.length > 16_384)
        assert.match(told, /…\[cut: \d+ (bytes|of \d+ members), SHA-256 [0-9a-f]{64}\]/)
    }),
    { numRuns: 50 },
  )
  let deep: unknown = 'end'
  for (let level = 0; level < 200; level += 1) deep = [deep]
  assert.match(JSON.stringify(parseDetails({ deep })), /…\[cut: more than 80 levels\]/)
})

test('a text of a record that is cut tells its length and hash, too', () => {
  const principal = `${'p'.repeat(2000)}-1`
  const record = createRecordMaker({ node: 'n', service: 's' })({
    ...createOwnEvent(0, 'x'),
    principal,
  })
  const told = JSON.parse(record.replaceAll('\t', '').replace('"seq":', '"seq":0')).principal
  assert.ok(told.length <= 1024 && told.endsWith(`…[cut: 2002 bytes, SHA-256 ${sha256(principal)}]`), told)
})

test('plain texts are written as all other details are: canonical, with what is hidden escaped', () => {
  const text = fc.oneof(
    fc.string({ maxLength: 20 }),
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.constantFrom('', '"', '\\', '\u007f', '\u202e', '__proto__', 'toJSON', '10', '9'),
  )
  const value = fc.oneof({ weight: 5, arbitrary: text }, fc.constantFrom(undefined, null, 7, true))
  fc.assert(
    fc.property(fc.array(fc.tuple(text, value), { maxLength: 8 }), (members) => {
      const details = Object.fromEntries(members.map(([name, member]) => [name.toWellFormed(), member]))
      assert.equal(formatDetails(details), escapeHidden(canonicalJson(details)))
    }),
  )
  const secret = { shown: 'text', toJSON: () => 'hidden' }
  assert.equal(formatDetails(secret), '"hidden"')
})
