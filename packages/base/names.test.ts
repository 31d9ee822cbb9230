import assert from 'node:assert/strict'
import { it } from 'node:test'
import { isName } from './names.ts'

it('a name has no character that cannot be seen or that reorders others, and is no step of a path', () => {
  for (const name of [
    'a',
    'Zoë',
    '李',
    'ann smith',
    'a.b',
    '...',
    '.a',
    '𝒳'.repeat(256),
    'ann@example.com',
    '*',
  ])
    assert.ok(isName(name), JSON.stringify(name))
  const invisible = [
    '\u0000',
    '\u001b',
    '\u0085',
    '\u00ad',
    '\u061c',
    '\u200b',
    '\u200d',
    '\u200e',
    '\u2028',
    '\u2029',
  ]
  const reordering = [
    '\u202a',
    '\u202b',
    '\u202c',
    '\u202d',
    '\u202e',
    '\u2066',
    '\u2067',
    '\u2068',
    '\u2069',
    '\ufeff',
    '\u{e0041}',
  ]
  for (const character of [...invisible, ...reordering])
    for (const name of [`a${character}b`, `${character}a`, character])
      assert.ok(!isName(name), JSON.stringify(name))
  for (const name of ['', '.', '..', ' a', 'a ', '\u00a0a', '\ud800', 'a'.repeat(257), '𝒳'.repeat(257)])
    assert.ok(!isName(name), JSON.stringify(name))
})
