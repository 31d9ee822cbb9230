import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { generateClientTypes } from './client-types.ts'

const root = new URL('../', import.meta.url)

test("the client's types are those of the operation tables of both services", () => {
  for (const [path, text] of Object.entries(generateClientTypes()))
    assert.ok(readFileSync(new URL(path, root), 'utf8') === text, `${path}: run npm run docs`)
})
