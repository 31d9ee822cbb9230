import assert from 'node:assert/strict'
import { test } from 'node:test'
import { andThen } from './and-then.ts'

test('a value that is there is used in the same turn, and what fails is thrown', () => {
  assert.equal(
    andThen(1, (value) => value + 1),
    2,
  )
  assert.throws(
    () =>
      andThen(1, () => {
        throw new Error('no')
      }),
    /no/,
  )
})

test('a promise is waited for, and what fails rejects', async () => {
  const later = andThen(Promise.resolve(1), (value) => value + 1)
  assert.ok(later instanceof Promise)
  assert.equal(await later, 2)
  const failing = andThen(Promise.resolve(1), () => {
    throw new Error('no')
  })
  await assert.rejects(Promise.resolve(failing), /no/)
  await assert.rejects(Promise.resolve(andThen(Promise.reject(new Error('before')), () => 1)), /before/)
})

test('what the value failed with goes to the third function, what follows from it does not', async () => {
  const describeThrown = (thrown: unknown) => `failed: ${String(thrown)}`
  assert.equal(await andThen(Promise.reject('no'), () => 'yes', describeThrown), 'failed: no')
  assert.equal(await andThen(Promise.resolve(1), () => 'yes', describeThrown), 'yes')
  const failing = (): string => {
    throw new Error('after')
  }
  assert.throws(() => andThen(1, failing, describeThrown), /after/)
  await assert.rejects(Promise.resolve(andThen(Promise.resolve(1), failing, describeThrown)), /after/)
})
