import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HostUnsuitable, NoHost } from './connection-errors.ts'
import { Hosts, PrimaryMemory } from './hosts.ts'
import type { Standing } from './standing-store.ts'

const primary = (timeline: number, system = 7n): Standing => ({
  standby: false,
  readOnly: false,
  system,
  timeline,
})
const standby: Standing = { standby: true, readOnly: true, system: 7n, timeline: undefined }
const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })

type Answer = Standing | Error | 'nothing'

/** Hosts a, b, c … that answer so. */
function createHosts(answers: readonly Answer[], target: 'any' | 'read-write' | 'primary' = 'read-write') {
  const told: string[] = []
  const current = [...answers]
  const memory = new PrimaryMemory(PrimaryMemory.memory())
  const hosts = new Hosts({
    address: { hosts: answers.map((_, at) => ({ host: 'abc'[at], port: undefined })), target },
    memory,
    log: {
      warn: (_, message) => void told.push(message),
      error: (_, message) => void told.push(message),
    },
    probe: async ({ host }) => {
      const answer = current['abc'.indexOf(host ?? '')] ?? 'nothing'
      if (answer === 'nothing') return new Promise<never>(() => undefined)
      if (answer instanceof Error) throw answer
      return answer
    },
  })
  const choose = async () => (await hosts.choose()).host
  return { hosts, current, told, choose, memory }
}

test('the host that takes writes is chosen, and kept until it fails', async () => {
  const { hosts, current, choose } = createHosts([standby, primary(1)])
  assert.equal(await choose(), 'b')
  current[0] = primary(2)
  assert.equal(await choose(), 'b')
  hosts.markFailed(await hosts.choose())
  current[1] = refused
  assert.equal(await choose(), 'a')
})

test('of two that take writes the one of the later timeline is chosen, and the other is told', async () => {
  for (const answers of [
    [primary(1), primary(2)],
    [primary(2), primary(1)],
  ]) {
    const { told, choose, memory } = createHosts(answers)
    assert.equal(await choose(), answers[0]?.timeline === 2 ? 'a' : 'b')
    assert.equal(told.length, 1)
    assert.match(told[0] ?? '', /two hosts of PostgreSQL accept writes/)
    assert.equal(memory.timeline, 2)
  }
})

test('a host that says nothing does not hold up those that answer', async () => {
  assert.equal(await createHosts(['nothing', primary(3)]).choose(), 'b')
})

test('a primary of before a failover and another database system are refused', async () => {
  const { hosts, current, choose, told } = createHosts([primary(2), refused])
  const first = await hosts.choose()
  current[0] = primary(1)
  hosts.markFailed(first)
  await assert.rejects(choose(), (error) => {
    assert.ok(error instanceof NoHost)
    assert.equal(
      error.message,
      'no host accepts writes (a:5432: on timeline 1, although timeline 2 exists: a former primary; b:5432: connect ECONNREFUSED)',
    )
    return true
  })
  current[0] = primary(9, 8n)
  await assert.rejects(choose(), /another database system \(8\) than the known one \(7\)/)
  assert.throws(() => hosts.admit(first, primary(1)), HostUnsuitable)
  current[1] = primary(3)
  assert.equal(await choose(), 'b')
  assert.deepEqual(told, ['PostgreSQL failed over: the timeline has changed'])
})

test('what waiting does not mend is told as it is, unless another host does', async () => {
  const wrong = Object.assign(new Error('password authentication failed'), { code: '28P01' })
  await assert.rejects(createHosts([wrong, standby]).choose(), wrong)
  assert.equal(await createHosts([wrong, primary(1)]).choose(), 'b')
})

test('a primary that is set to read-only is a primary, and takes no writes', async () => {
  const set = { ...primary(1), readOnly: true }
  await assert.rejects(createHosts([set, standby]).choose(), /a:5432: read-only; b:5432: a standby/)
  assert.equal(await createHosts([set, standby], 'primary').choose(), 'a')
})

test('where any host will do they are taken in turn, and not asked', async () => {
  const { hosts, choose } = createHosts(['nothing', 'nothing', 'nothing'], 'any')
  const seen: (string | undefined)[] = []
  for (let round = 0; round < 4; round += 1) {
    seen.push(await choose())
    hosts.markFailed(await hosts.choose())
  }
  assert.deepEqual(seen, ['a', 'b', 'c', 'a'])
  assert.deepEqual([hosts.checksStanding, hosts.attempts], [false, 3])
})
