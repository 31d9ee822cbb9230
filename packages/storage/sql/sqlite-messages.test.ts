import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GuardFailed, StorageUnavailable, UniqueViolation } from './errors.ts'
import { fromAnswer, toAnswer } from './sqlite-writer.ts'

test('an error is the same behind the port, with its reason for the log', () => {
  const transferError = (error: Error) => {
    const outcome = fromAnswer(structuredClone(toAnswer(1, { error })))
    return 'error' in outcome ? outcome.error : undefined
  }
  const full = transferError(new StorageUnavailable('no space is left on the disk of /srv'))
  assert.ok(full instanceof StorageUnavailable)
  assert.equal(full.detail, 'no space is left on the disk of /srv')
  assert.deepEqual(transferError(new GuardFailed(3)), new GuardFailed(3))
  assert.deepEqual(transferError(new UniqueViolation('realm.id')), new UniqueViolation('realm.id'))
  assert.equal(transferError(new Error('else'))?.message, 'else')
})
