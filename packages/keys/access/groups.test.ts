import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Started, startKms } from '@warder/kms/testing'
import type { ObjectId } from '../objects/object-id.ts'
import { findObject } from '../objects/object-store.ts'
import { verdictOn } from './permission.ts'
import { principalNamed } from './principal-named.ts'

let kms: Started
before(async () => {
  kms = await startKms()
})
after(() => kms[Symbol.asyncDispose]())

async function makeKey(owner: string): Promise<ObjectId> {
  const made = await kms.user(owner).post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })
  assert.equal(made.status, 200, made.text)
  return made.json.kid
}

const grant = (kid: string, user_id: string, operation_types: readonly string[], by = 'alice') =>
  kms.user(by).post('/access/grant', { unique_identifier: kid, user_id, operation_types })

test('a right of a role counts for callers with the role, and for no name', async () => {
  const { db } = kms.environment
  const kid = await makeKey('alice')
  assert.equal((await grant(kid, 'role:corp/engineers', ['encrypt'])).status, 200)
  const object = await findObject(db, kid)
  assert.ok(object)
  const verdict = (roles: readonly string[] | undefined, name = 'bob') =>
    verdictOn(db, kms.services.roles, object, roles === undefined ? { name } : { name, roles }, 'encrypt')
  const many = Array.from({ length: 40 }, (_, index) => `role:corp/${index}`)
  assert.equal(await verdict(['role:corp/engineers']), 'allowed')
  assert.equal(await verdict([...many, 'role:corp/engineers']), 'allowed')
  assert.equal(await verdict(many), 'nothing')
  assert.equal(await verdict(['role:other/engineers']), 'nothing')
  assert.equal(await verdict(undefined), 'nothing')
  assert.equal(await verdict(undefined, 'role:corp/engineers2'), 'nothing')
})

test('no credential yields the name of a group or a role', () => {
  for (const name of ['group:ops', 'role:corp/engineers'])
    for (const method of ['jwt', 'session', 'tls_auth', 'app_token', 'spiffe', 'default_username'])
      assert.throws(() => principalNamed(name, method), { kind: 'unauthorized' }, `${name} ${method}`)
})
