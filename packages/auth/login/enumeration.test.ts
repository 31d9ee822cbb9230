import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { createFairQueue } from '@warder/runtime'
import { scene } from '../testing/scene.ts'
import { startAuth } from '../testing/start.ts'

describe('a client that probes for user names', () => {
  it('learns nothing from status, text or headers, and each attempt costs one hash (A02)', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { realm, user } = scene(auth)
    await realm('r')
    await realm('closed', { auth_params: {} })
    await user('r', 'ann')
    const { hasher } = auth.services
    const { verify } = hasher
    let hashes = 0
    Object.assign(hasher, {
      verify(...given: Parameters<typeof verify>) {
        hashes++
        return verify(...given)
      },
    })
    const seen = new Set<string>()
    for (const [name, basic] of [
      ['r', 'ann:wrong'],
      ['r', 'nobody:wrong'],
      ['r', 'nobody:correct horse'],
      ['r', 'ann:'],
      ['r', `ann:${'x'.repeat(5000)}`],
      ['r', ' ann:correct horse'],
      ['r', `${'n'.repeat(300)}:wrong`],
      ['nowhere', 'ann:correct horse'],
      ['closed', 'ann:correct horse'],
      ['_', 'ann:correct horse'],
    ] as const) {
      hashes = 0
      const answer = await auth.call('POST', `/login?realm=${name}`, { basic })
      assert.equal(hashes, 1, `${name} ${basic.slice(0, 40)}`)
      const { date: _date, 'x-request-id': _id, ...headers } = answer.headers
      seen.add(JSON.stringify([answer.status, answer.text, headers]))
    }
    assert.equal(seen.size, 1, [...seen].join('\n'))
    for (const basic of ['ann:wrong', 'nobody:wrong']) {
      hashes = 0
      const json = { new_password: 'another horse' }
      assert.equal((await auth.call('POST', '/password?realm=r', { basic, json })).status, 401)
      assert.equal(hashes, 1, basic)
    }
  })

  it('learns nothing from the throttle: unknown names wait as long as known ones', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { realm, user } = scene(auth)
    await realm('r')
    await user('r', 'ann')
    const run = async (place: string, name: string): Promise<readonly string[]> => {
      const seen: string[] = []
      for (let count = 0; count < 8; count++) {
        const answer = await auth.call('POST', `/login?realm=${place}`, { basic: `${name}:wrong` })
        seen.push(`${answer.status} ${answer.headers['retry-after']} ${answer.text}`)
      }
      return seen
    }
    const known = await run('r', 'ann')
    assert.deepEqual(await run('r', 'nobody'), known)
    assert.deepEqual(await run('nowhere', 'nobody'), known)
  })
})

describe('five hundred logins at once (A32)', () => {
  it('get 401 or 503 with Retry-After, compute at most as many hashes as the queue has slots, and do not disturb sessions', async () => {
    const [logins, hashedAtOnce, queued] = [500, 2, 64]
    const config = { password_hash_concurrency: hashedAtOnce }
    await using auth = await startAuth({ adminPassword: 'correct horse', everyHash: true, config })
    const { realm, user, logIn } = scene(auth)
    await realm('r')
    await user('r', 'ann')
    const cookie = await logIn('r', 'ann')
    const { hasher } = auth.services
    // The queue is the same on every database engine, so the hashes need not be computed for each.
    const queue = createFairQueue(hashedAtOnce, queued)
    const instead: typeof hasher.verify = (_stored, _password, owner) => queue.run(owner, () => turn(false))
    const verify = auth.db.dialect === 'sqlite' ? hasher.verify : instead
    // All requests are held before the queue and enter it in one turn, so that the result does not depend on
    // the speed of the machine.
    const allAreThere = Promise.withResolvers<void>()
    const mayEnter = Promise.withResolvers<void>()
    let held = 0
    Object.assign(hasher, {
      async verify(...given: Parameters<typeof verify>) {
        held++
        if (held === logins) allAreThere.resolve()
        await mayEnter.promise
        return await verify(...given)
      },
    })
    const flood = Promise.all(
      Array.from({ length: logins }, (_, index) =>
        auth.call('POST', '/login?realm=r', { basic: `user${index}:wrong` }),
      ),
    )
    // Requests that are refused before the queue also end the wait.
    await Promise.race([allAreThere.promise, flood])
    const sessionsAreAnswered = async () => {
      assert.equal((await auth.call('GET', '/whoami', { cookie })).status, 200)
      assert.equal((await auth.call('GET', '/health')).status, 200)
    }
    await sessionsAreAnswered()
    mayEnter.resolve()
    await sessionsAreAnswered()
    const counts = new Map<number, number>()
    for (const { status, headers } of await flood) {
      counts.set(status, (counts.get(status) ?? 0) + 1)
      if (status !== 401) assert.ok(Number(headers['retry-after']) >= 1)
    }
    const hashed = hashedAtOnce + queued
    assert.deepEqual(Object.fromEntries(counts), { 401: hashed, 503: logins - hashed })
    const last = await auth.call('POST', '/login?realm=r', { basic: 'ann:correct horse' })
    assert.equal(last.status, verify === instead ? 401 : 200)
  })
})
