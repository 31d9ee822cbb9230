import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { scene } from '../testing/scene.ts'
import { startAuth } from '../testing/start.ts'

describe('an address that floods the service with logins', () => {
  it('does not lock out other addresses, and its refusals do not count as errors of the service', async () => {
    const config = { password_hash_concurrency: 1 }
    await using auth = await startAuth({ adminPassword: 'correct horse', everyHash: true, config })
    const { realm, user } = scene(auth)
    await realm('r')
    await user('r', 'ann')
    const flooder = auth.clientWith({ localAddress: '127.0.0.2' })
    let refused = 0
    let full = (): void => {}
    const queueIsFull = new Promise<void>((resolve) => {
      full = resolve
    })
    const flood = Array.from({ length: 90 }, async (_, index) => {
      const answer = await flooder.call('POST', '/login?realm=r', { basic: `user${index}:wrong` })
      if (answer.status !== 503) return
      assert.ok(Number(answer.headers['retry-after']) >= 1)
      refused++
      full()
    })
    const gone = Promise.allSettled(flood)
    await queueIsFull
    const own = auth.clientWith({ localAddress: '127.0.0.3' })
    const answer = await own.call('POST', '/login?realm=r', { basic: 'ann:correct horse' })
    assert.equal(answer.status, 200, answer.text)
    assert.ok(auth.events.length < 60, 'it did not wait for the logins that came before')
    assert.ok(refused > 0)
    assert.ok(!auth.logged.some((line) => line.startsWith('a request failed')))
    // A queued hash that completes after the service has stopped would read the closed database.
    await gone
  })
})
