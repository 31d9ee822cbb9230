import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GuardFailed, StorageUnavailable, UniqueViolation } from './errors.ts'
import type { PlainChange } from './sqlite-connection.ts'
import { type CommitMessage, fromAnswer, NumberedTexts, TextNumbers, toAnswer } from './sqlite-messages.ts'

const createChanges = (...texts: readonly string[]): PlainChange[] =>
  texts.map((text, index) => [text, [index, `p${index}`], index === 0 ? 1 : undefined])

/** A message as it arrives at the other end of a port. */
const across = (message: CommitMessage): CommitMessage => structuredClone(message)

test('a text crosses once, and its changes arrive as they were sent', () => {
  const [sender, receiver] = [new TextNumbers(), new NumberedTexts()]
  const told: (readonly string[])[] = []
  for (const texts of [['a', 'b', 'a'], ['b'], ['c', 'a']]) {
    const changes = createChanges(...texts)
    sender.send(1, changes, (message) => {
      told.push(message.texts)
      assert.deepEqual(receiver.toChanges(across(message)), changes)
    })
  }
  assert.deepEqual(told, [['a', 'b'], [], ['c']])
})

test('what could not be sent is told with the next message', () => {
  const [sender, receiver] = [new TextNumbers(), new NumberedTexts()]
  const refuse = (): never => {
    throw new TypeError('cannot be cloned')
  }
  assert.throws(() => sender.send(1, createChanges('lost'), refuse), TypeError)
  sender.send(2, createChanges('found', 'lost'), (message) =>
    assert.deepEqual(receiver.toChanges(across(message)), createChanges('found', 'lost')),
  )
})

test('texts without end are not kept without end', () => {
  const [sender, receiver] = [new TextNumbers(), new NumberedTexts()]
  let told = 0
  for (let count = 0; count < 3000; count += 1)
    sender.send(count, createChanges(`text ${count}`, 'text 0'), (message) => {
      told += message.texts.length
      assert.deepEqual(receiver.toChanges(across(message)), createChanges(`text ${count}`, 'text 0'))
    })
  assert.equal(told, 1000)
})

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
