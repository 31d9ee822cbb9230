import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { firstLines, tryCommand } from './first-lines.ts'

const tls = { ca_file: 'tls/own.crt' }
const endpoints = { auth: { url: 'https://127.0.0.1:1', tls }, kms: { url: 'https://127.0.0.1:2', tls } }

test('what is printed to be pasted names the home, unless it is the one that everybody looks in', () => {
  assert.equal(tryCommand(join(process.cwd(), '.warder')), 'npx warder try')
  assert.equal(tryCommand('/var/lib/warder'), 'npx warder try --home /var/lib/warder')
  assert.equal(tryCommand("/it's here"), "npx warder try --home '/it'\\''s here'")
  assert.equal(tryCommand('/var/lib/warder', 'warder'), 'warder try --home /var/lib/warder')
  for (const line of firstLines('/var/lib/warder', endpoints))
    assert.match(line, /--cacert \/var\/lib\/warder\/tls\/own\.crt/)
})
