import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { firstLines, tryCommand } from './first-lines.ts'

const options = ['--cacert', '/var/lib/warder/tls/ca.crt']
const targets = {
  auth: { url: 'https://127.0.0.1:1', options },
  kms: { url: 'https://127.0.0.1:2', options },
}

test('what is printed to be pasted names the home, unless it is the one that everybody looks in', () => {
  assert.equal(tryCommand(join(process.cwd(), '.warder')), 'npx warder try')
  assert.equal(tryCommand('/var/lib/warder'), 'npx warder try --home /var/lib/warder')
  assert.equal(tryCommand("/it's here"), "npx warder try --home '/it'\\''s here'")
  for (const line of firstLines('/var/lib/warder', targets))
    assert.match(line, /--cacert \/var\/lib\/warder\/tls\/ca\.crt/)
})
