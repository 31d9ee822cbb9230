import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { dataKey, type GoogleWorld, startGoogle, wrappingKid } from './testing/world.ts'

let world: GoogleWorld
before(async () => {
  world = await startGoogle()
})
after(() => world[Symbol.asyncDispose]())

test('a data key is wrapped for a writer and opened for a reader of the same resource', async () => {
  const wrapped = await world.post('wrap', {
    ...(await world.tokens({ perimeter_id: 'p1' })),
    key: dataKey,
    reason: "{client:'drive' op:'update'}",
  })
  assert.equal(wrapped.status, 200, wrapped.text)
  assert.deepEqual(Object.keys(wrapped.json), ['wrapped_key'])
  assert.ok(wrapped.json.wrapped_key.length <= 1024)
  const opened = await world.post('unwrap', {
    ...(await world.tokens({ role: 'reader', perimeter_id: 'p1' })),
    wrapped_key: wrapped.json.wrapped_key,
    reason: "{client:'drive' op:'read'}",
  })
  assert.equal(opened.status, 200, opened.text)
  assert.deepEqual(opened.json, { key: dataKey })
  const [first, second] = world.kms.audit.slice(-2)
  assert.equal(first?.operation, 'google_cse.wrap')
  assert.equal(first?.principal, 'google:alice@example.com')
  assert.equal(first?.object, wrappingKid)
  assert.deepEqual(first?.details, {
    email: 'alice@example.com',
    application: 'drive',
    role: 'writer',
    resource_name: 'item123',
    perimeter_id: 'p1',
    identity_provider: 'https://idp.example.com',
    reason: "{client:'drive' op:'update'}",
  })
  assert.equal(second?.operation, 'google_cse.unwrap')
  assert.equal(second?.details?.reason, "{client:'drive' op:'read'}")
})
