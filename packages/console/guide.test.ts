import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { texts } from './page/texts.ts'

const start = join(import.meta.dirname, '..', '..', 'docs', 'start')
const guide = readFileSync(join(start, 'console.md'), 'utf8')

/** All texts of the page that are not built from values. */
function listTexts(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(listTexts) : []
}

it('the guide names buttons, fields and rooms as the pages do', () => {
  const known = new Set(listTexts(texts))
  const quoted = [...guide.matchAll(/\*\*([^*]+)\*\*/g)].map(([, text = '']) => text.replaceAll(/\s+/g, ' '))
  assert.ok(quoted.length > 40, 'there is something to check')
  assert.deepEqual(
    quoted.filter((text) => !known.has(text)),
    ['bold'],
  )
})

it('the pictures and pages of the guide exist', () => {
  const targets = [...guide.matchAll(/\]\(([^)#]+)/g)].map(([, target = '']) => target)
  assert.ok(targets.length > 10)
  assert.deepEqual(
    targets.filter((target) => !existsSync(join(start, target))),
    [],
  )
})
