import assert from 'node:assert/strict'
import { test } from 'node:test'
import { format, inspect } from 'node:util'
import { Secret } from './secret.ts'

test('a secret shows itself nowhere', () => {
  const secret = Secret.fromText('correct horse')
  const shown = [
    String(secret),
    `${secret}`,
    JSON.stringify({ secret }),
    inspect(secret),
    inspect({ secret }),
    format('%o %j', secret, secret),
  ]
  for (const text of shown) assert.ok(!text.includes('horse') && text.includes('[secret]'), text)
  assert.deepEqual(Object.keys(secret), [])
})

test('its bytes are had only inside use, and not after wiping, which zeroes them', () => {
  const bytes = Buffer.from('correct horse')
  const secret = new Secret(bytes)
  assert.equal(
    secret.use((given) => Buffer.from(given).toString()),
    'correct horse',
  )
  secret.wipe()
  assert.ok(bytes.every((byte) => byte === 0))
  assert.throws(() => secret.use(() => undefined), /wiped/)
})
