import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { currentTypes, generatedFile } from './generate.ts'

test("the client's types are those of the service's operation table", () => {
  assert.ok(
    readFileSync(generatedFile, 'utf8') === currentTypes(),
    'run: node packages/warder/client/generate.ts',
  )
})
