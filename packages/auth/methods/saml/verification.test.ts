import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startValidator } from './testing/validator.ts'
import { createVerification, type Job } from './verification.ts'

const { expected, response } = await startValidator()
const owner = { client: '127.0.0.1', tenant: 'r' }
const job = (xml = response()): Job => ({
  field: new Uint8Array(Buffer.from(encodeURIComponent(Buffer.from(xml).toString('base64')))),
  expected,
})
const slow = new URL('./fixtures/slow-thread.ts', import.meta.url)

it('messages are validated on a thread, one at a time, and the thread ends when it is idle', async () => {
  const verification = createVerification({ idleMs: 1 })
  const results = await Promise.all(
    [job(), job('<x/>'), job()].map((one) => verification.validate(owner, one)),
  )
  assert.deepEqual(
    results.map((result) => ('assertion' in result ? 'accepted' : result.refused.check)),
    ['accepted', 'xml', 'accepted'],
  )
  await new Promise((resolve) => setTimeout(resolve, 20))
  assert.ok('assertion' in (await verification.validate(owner, job())), 'another thread is started')
  verification.close()
})

it('a message that takes too long is refused, its thread is terminated, and another one validates the next', async () => {
  const verification = createVerification({ thread: slow, maxJobMs: 1000 })
  const [first, second] = await Promise.allSettled([
    verification.validate(owner, job('<slow/>')),
    verification.validate(owner, job('<quick/>')),
  ])
  assert.ok(first.status === 'rejected' && /timed out/.test(String(first.reason)))
  assert.ok(second.status === 'fulfilled' && 'refused' in second.value)
  verification.close()
})

it('a thread that crashes fails only its own message', async () => {
  const verification = createVerification({ thread: slow })
  const [first, second] = await Promise.allSettled([
    verification.validate(owner, job('<crash/>')),
    verification.validate(owner, job('<quick/>')),
  ])
  assert.equal(first.status, 'rejected')
  assert.equal(second.status, 'fulfilled')
  verification.close()
})

it('messages beyond the queue length are told to retry', async () => {
  const verification = createVerification()
  const answers = await Promise.allSettled(
    Array.from({ length: 80 }, () => verification.validate(owner, job('<x/>'))),
  )
  const refused = answers.filter(({ status }) => status === 'rejected')
  assert.equal(refused.length, 80 - 64 - 1)
  for (const one of refused) assert.ok(one.status === 'rejected' && one.reason.kind === 'overloaded')
  verification.close()
})
