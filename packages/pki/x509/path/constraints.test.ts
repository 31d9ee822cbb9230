import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contextTag, der, derSequence } from '../../der.ts'
import { issue, now, type Party, party } from '../../testing/authorities.ts'
import { type NameParts, nameFromParts } from '../distinguished-name.ts'
import { basicConstraints, type Extension, keyUsage, subjectAltName } from '../extensions.ts'
import { constraintName, directoryName, generalName, nameConstraints } from '../general-name.ts'
import { findNameProblem } from './constraints.ts'
import { validatePath } from './validate.ts'

const authority = [basicConstraints(true), keyUsage(['keyCertSign'])]
const end = [basicConstraints(false)]
const named = (...parts: NameParts): Party => ({ ...party('x'), name: nameFromParts(parts) })
const root = party('root')
const r = await issue(root, root, authority)

/** Creates a path of root, constrained authority, and end entity. */
async function outcome(
  constraint: Extension,
  middle: Party,
  leaf: Party,
  extensions: readonly Extension[] = end,
) {
  const others = [await issue(middle, root, [...authority, constraint])]
  const certificate = await issue(leaf, middle, extensions)
  const { validity } = validatePath({ certificate, anchors: [r], others, at: now })
  return validity
}

test('directory names are compared part by part from the top, ignoring case, blanks and string types', async () => {
  const middle = named(['C', 'CH'], ['O', 'Acme'], ['CN', 'middle'])
  const permitted = [
    directoryName(
      nameFromParts([
        ['C', 'CH'],
        ['O', 'Acme  GmbH'],
      ]),
    ),
  ]
  const under = (leaf: Party, extensions?: readonly Extension[]) =>
    outcome(nameConstraints({ permitted }), middle, leaf, extensions)
  assert.equal(await under(named(['C', 'CH'], ['O', ' ACME gmbh '], ['CN', 'x'])), 'Valid')
  assert.equal(await under(named(['C', 'CH'], ['O', 'Acme GmbH'])), 'Valid')
  assert.equal(await under(named(['O', 'Acme GmbH'], ['C', 'CH'])), 'Invalid')
  assert.equal(await under(named(['C', 'CH'])), 'Invalid')
  assert.equal(await under(named(['C', 'CH'], ['O', 'Acme GmbH 2'])), 'Invalid')
  // A certificate without subject has no directory name but the one among its alternative names.
  const other = [...end, subjectAltName([directoryName(nameFromParts([['C', 'DE']]))], true)]
  assert.equal(await under(named(), [...end, subjectAltName([generalName('DNS:a.example')], true)]), 'Valid')
  assert.equal(await under(named(), other), 'Invalid')
  const excluded = nameConstraints({ excluded: permitted })
  assert.equal(
    await outcome(excluded, middle, named(['C', 'ch'], ['O', 'ACME GMBH'], ['CN', 'x'])),
    'Invalid',
  )
  assert.equal(await outcome(excluded, middle, named(['C', 'ch'], ['CN', 'x'])), 'Valid')
})

test('subject names that act as alternative names are constrained', async () => {
  const middle = party('middle')
  const email = nameConstraints({ permitted: [constraintName('email:example.com')] })
  assert.equal(await outcome(email, middle, named(['Email', 'a@example.com'])), 'Valid')
  assert.equal(await outcome(email, middle, named(['Email', 'a@example.org'])), 'Invalid')
  const host = nameConstraints({ permitted: [constraintName('DNS:example.com')] })
  assert.equal(await outcome(host, middle, named(['CN', 'a.example.com'])), 'Valid')
  assert.equal(await outcome(host, middle, named(['CN', 'a.example.org'])), 'Invalid')
  assert.equal(await outcome(host, middle, named(['CN', 'Storage 1'])), 'Valid')
  const withName = [...end, subjectAltName([generalName('DNS:b.example.com')])]
  assert.equal(await outcome(host, middle, named(['CN', 'a.example.org']), withName), 'Valid')
})

test('constraints of every superior authority apply, also those of the anchor, and to authorities', async () => {
  const [one, two, leaf] = [party('one'), party('two'), party('')]
  const limit = (text: string) => nameConstraints({ permitted: [constraintName(text)] })
  const anchors = [await issue(root, root, [...authority, limit('DNS:example.com')])]
  const others = [
    await issue(one, root, [...authority, limit('DNS:a.example.com')]),
    await issue(two, one, [...authority, limit('DNS:com')]),
  ]
  for (const [name, validity] of [
    ['x.a.example.com', 'Valid'],
    ['x.example.com', 'Invalid'],
    ['x.com', 'Invalid'],
  ] as const) {
    const certificate = await issue(leaf, two, [...end, subjectAltName([generalName(`DNS:${name}`)], true)])
    assert.equal(validatePath({ certificate, anchors, others, at: now }).validity, validity, name)
  }
  const named = await issue(one, root, [...authority, subjectAltName([generalName('DNS:example.org')])])
  const below = await issue(leaf, one, [...end, subjectAltName([generalName('DNS:a.example.com')], true)])
  assert.equal(validatePath({ certificate: below, anchors, others: [named], at: now }).validity, 'Invalid')
})

test('unknown name types are refused under a constraint on them, and malformed constraints always', async () => {
  const middle = party('middle')
  const registered = (last: number) => der(contextTag(8, false), Uint8Array.of(0x2a, last))
  const withOther = [...end, subjectAltName([registered(3)])]
  const onOther = nameConstraints({ permitted: [registered(3)] })
  assert.equal(await outcome(onOther, middle, party('a'), withOther), 'Invalid')
  assert.equal(await outcome(onOther, middle, party('a')), 'Valid')
  const bounded = derSequence(
    der(contextTag(0), derSequence(constraintName('DNS:a'), der(contextTag(0, false), Uint8Array.of(1)))),
  )
  // The authority cannot be read, so that there is no path.
  assert.equal(await outcome({ ...onOther, value: bounded }, middle, party('a')), 'Unknown')
  const odd = nameConstraints({ permitted: [der(contextTag(7, false), Buffer.alloc(5))] })
  const address = [...end, subjectAltName([generalName('IP:192.0.2.1')])]
  assert.equal(await outcome(odd, middle, party('a'), address), 'Invalid')
})

test('the comparison of many names with many constraints is limited', async () => {
  const middle = party('middle')
  const numbers = Array.from({ length: 500 }, (_each, index) => `a${index}.example`)
  for (const make of [
    (name: string) => generalName(`DNS:${name}`),
    (name: string) => directoryName(nameFromParts(Array.from({ length: 8 }, () => ['OU', name] as const))),
  ]) {
    const many = numbers.map(make)
    const constraint = nameConstraints({ permitted: many })
    assert.equal(await outcome(constraint, middle, party('a'), [...end, subjectAltName(many)]), 'Invalid')
  }
})

test('an authority can check names against all constraints before it issues', async () => {
  const middle = party('middle')
  const permitted = [constraintName('DNS:example.com'), directoryName(nameFromParts([['O', 'Acme']]))]
  const chain = [r, await issue(middle, root, [...authority, nameConstraints({ permitted })])]
  const problem = (parts: NameParts, ...names: readonly string[]) =>
    findNameProblem(chain, nameFromParts(parts), names.map(generalName))
  assert.equal(
    problem(
      [
        ['O', 'Acme'],
        ['CN', 'a.example.com'],
      ],
      'DNS:a.example.com',
    ),
    undefined,
  )
  assert.equal(problem([], 'DNS:a.example.com', 'IP:192.0.2.1'), undefined)
  const outside = (name: string) =>
    `The name ${name} violates the name constraints of the authority, or of one above it.`
  assert.equal(
    problem([['O', 'Acme']], 'DNS:a.example.com', 'DNS:a.example.org'),
    outside('DNS:a.example.org'),
  )
  assert.equal(problem([['O', 'Other']], 'DNS:a.example.com'), outside('O=Other'))
  assert.equal(
    problem([
      ['O', 'Acme'],
      ['CN', 'a.example.org'],
    ]),
    outside('DNS:a.example.org'),
  )
})
