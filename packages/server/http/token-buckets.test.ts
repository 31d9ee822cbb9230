import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import type { TakerData } from './fixtures/taker.ts'
import { bucketKey, createTokenBuckets, tokenBucketMemory } from './token-buckets.ts'

/** A clock that shows what it is told; its wall clock stands still, since buckets must not look at it. */
const createHeldClock = () => {
  let at = 86_400_000
  return {
    now: () => 0,
    monotonic: () => at,
    move(ms: number) {
      at += ms
    },
  }
}
const often = (times: number, take: () => { readonly allowed: boolean }): number => {
  let allowed = 0
  for (let count = 0; count < times; count++) if (take().allowed) allowed++
  return allowed
}

test('a bucket gives its burst at once, then what flows in, and never holds more than its burst', () => {
  const clock = createHeldClock()
  const buckets = createTokenBuckets({ ratePerSecond: 10, burst: 5, slots: 64, clock })
  const take = () => buckets.take('192.0.2.1')
  assert.equal(often(100, take), 5)
  clock.move(99)
  assert.equal(often(100, take), 0)
  clock.move(1)
  assert.equal(often(100, take), 1)
  clock.move(250)
  assert.equal(often(100, take), 2)
  clock.move(50)
  assert.equal(often(100, take), 1)
  clock.move(24 * 60 * 60 * 1000)
  assert.equal(often(100, take), 5)
})

test('who is refused learns the whole seconds after which one request is allowed', () => {
  const clock = createHeldClock()
  const buckets = createTokenBuckets({ ratePerSecond: 0.1, burst: 1, slots: 64, clock })
  const take = () => buckets.take('192.0.2.1')
  assert.deepEqual(take(), { allowed: true, retryAfterSeconds: 0 })
  assert.deepEqual(take(), { allowed: false, retryAfterSeconds: 10 })
  clock.move(8500)
  assert.deepEqual(take(), { allowed: false, retryAfterSeconds: 2 })
  clock.move(1499)
  assert.deepEqual(take(), { allowed: false, retryAfterSeconds: 1 })
  clock.move(1)
  assert.equal(take().allowed, true)
})

test('a refusal costs nothing: who waits as long as told gets through', () => {
  const rates = fc.double({ min: 0.01, max: 5000, noNaN: true })
  fc.assert(
    fc.property(
      rates,
      fc.integer({ min: 1, max: 20 }),
      fc.integer({ min: 1, max: 50 }),
      (ratePerSecond, burst, asks) => {
        const clock = createHeldClock()
        const buckets = createTokenBuckets({ ratePerSecond, burst, slots: 1, clock })
        assert.equal(
          often(burst + asks, () => buckets.take('192.0.2.1')),
          burst,
        )
        const { retryAfterSeconds } = buckets.take('192.0.2.1')
        clock.move(retryAfterSeconds * 1000)
        assert.equal(buckets.take('192.0.2.1').allowed, true)
      },
    ),
  )
})

test('over any time no more is allowed than the burst and what flowed in', () => {
  const step = fc.record({ wait: fc.integer({ min: 0, max: 3000 }), asks: fc.integer({ min: 1, max: 12 }) })
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 20 }),
      fc.integer({ min: 1, max: 10 }),
      fc.array(step),
      (ratePerSecond, burst, steps) => {
        const clock = createHeldClock()
        const buckets = createTokenBuckets({ ratePerSecond, burst, slots: 1, clock })
        let allowed = 0
        let passed = 0
        for (const { wait, asks } of steps) {
          clock.move(wait)
          passed += wait
          allowed += often(asks, () => buckets.take('192.0.2.1'))
          // The interval is whole microseconds: at most one token in a million comes early.
          assert.ok(
            allowed <= burst + (passed / 1000) * ratePerSecond * 1.00002 + 1e-6,
            `${allowed} of ${burst}`,
          )
        }
      },
    ),
  )
})

test('a clock that goes back gives no tokens', () => {
  const clock = createHeldClock()
  const buckets = createTokenBuckets({ ratePerSecond: 10, burst: 5, slots: 1, clock })
  assert.equal(
    often(10, () => buckets.take('192.0.2.1')),
    5,
  )
  clock.move(-10_000)
  assert.equal(
    often(10, () => buckets.take('192.0.2.1')),
    0,
  )
  clock.move(10_000)
  assert.equal(
    often(10, () => buckets.take('192.0.2.1')),
    0,
  )
})

test('two threads with one memory together give no more than the burst and what flowed in', async () => {
  const slots = 16
  const memory = tokenBucketMemory(slots)
  const time = new BigInt64Array(new SharedArrayBuffer(8))
  time[0] = BigInt(Date.UTC(2026, 0, 1))
  const workerData: TakerData = {
    ratePerSecond: 1000,
    burst: 5000,
    slots,
    memory,
    time,
    address: '192.0.2.1',
  }
  const workers = [0, 1].map(() => new Worker(new URL('fixtures/taker.ts', import.meta.url), { workerData }))
  try {
    const together = async (asks: number): Promise<readonly number[]> => {
      const answers = workers.map((worker) => once(worker, 'message'))
      for (const worker of workers) worker.postMessage(asks)
      return (await Promise.all(answers)).map(([allowed]) => Number(allowed))
    }
    const sum = (counts: readonly number[]): number => counts.reduce((left, right) => left + right, 0)
    assert.equal(sum(await together(1)), 2, 'both threads run before they race')
    assert.equal(sum(await together(20_000)), 4998)
    assert.equal(sum(await together(20_000)), 0)
    Atomics.add(time, 0, 1500n)
    assert.equal(sum(await together(20_000)), 1500)
    const clock = { now: () => 0, monotonic: () => Number(Atomics.load(time, 0)) }
    const own = createTokenBuckets({ ratePerSecond: 1000, burst: 5000, slots, memory, clock })
    assert.equal(own.take('192.0.2.1').allowed, false, 'a third thread finds the same bucket empty')
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()))
  }
})

test('all addresses of an IPv6 /64 share one bucket, in any spelling; the next /64 has its own', () => {
  const clock = createHeldClock()
  const buckets = createTokenBuckets({ ratePerSecond: 1, burst: 3, slots: 1 << 20, clock })
  const same = [
    '2001:db8:1:2::1',
    '2001:DB8:1:2:ffff:ffff:ffff:ffff',
    '2001:0db8:0001:0002::',
    '2001:db8:1:2::9%eth0',
  ]
  assert.deepEqual(
    same.map((address) => buckets.take(address).allowed),
    [true, true, true, false],
  )
  assert.equal(buckets.take('2001:db8:1:3::1').allowed, true)
  assert.equal(
    often(5, () => buckets.take('192.0.2.1')),
    3,
  )
  assert.equal(buckets.take('::ffff:192.0.2.1').allowed, false, 'a mapped address is the IPv4 address')
  assert.equal(buckets.take('192.0.2.2').allowed, true, 'IPv4 neighbours do not share')
})

test('the bucket of an IPv6 address depends on its first 64 bits and on nothing else', () => {
  const group = fc.integer({ min: 0, max: 0xffff })
  const half = fc.tuple(group, group, group, group)
  const write = (groups: readonly number[]) => groups.map((one) => one.toString(16)).join(':')
  fc.assert(
    fc.property(half, half, half, half, (network, host, otherNetwork, otherHost) => {
      fc.pre(network.some((one) => one > 0) && otherNetwork.some((one) => one > 0)) // not the mapped ones
      const key = bucketKey(write([...network, ...host]))
      assert.equal(key, bucketKey(write([...network, ...otherHost])))
      assert.equal(
        key === bucketKey(write([...otherNetwork, ...host])),
        write(network) === write(otherNetwork),
      )
    }),
  )
})

test('a million callers take no more memory than the slots that were asked for', () => {
  const memory = tokenBucketMemory(128)
  const buckets = createTokenBuckets({
    ratePerSecond: 1,
    burst: 1,
    slots: 128,
    clock: createHeldClock(),
    memory,
  })
  let allowed = 0
  for (let count = 0; count < 20_000; count++) {
    if (buckets.take(`2001:db8:${(count >> 16).toString(16)}:${(count & 0xffff).toString(16)}::1`).allowed)
      allowed++
  }
  assert.equal(memory.byteLength, 32 + 128 * 8)
  assert.equal(allowed, 128, 'who shares a slot by chance shares its tokens')
})

test('which addresses share a slot cannot be computed without the memory', () => {
  const takeFromEach = (memory: SharedArrayBuffer): string => {
    const clock = createHeldClock()
    const buckets = createTokenBuckets({ ratePerSecond: 1, burst: 1, slots: 64, clock, memory })
    return Array.from({ length: 64 }, (_, index) =>
      buckets.take(`192.0.2.${index}`).allowed ? '1' : '0',
    ).join('')
  }
  assert.notEqual(takeFromEach(tokenBucketMemory(64)), takeFromEach(tokenBucketMemory(64)))
})

test('settings that make no bucket are refused', () => {
  const usual = { ratePerSecond: 1, burst: 1, slots: 4, clock: createHeldClock() }
  for (const wrong of [
    { ratePerSecond: 0 },
    { ratePerSecond: Number.NaN },
    { ratePerSecond: -1 },
    { burst: 0.5 },
    { burst: Number.NaN },
  ])
    assert.throws(() => createTokenBuckets({ ...usual, ...wrong }), /must be positive/)
  for (const slots of [0, 1.5, -1, Number.NaN])
    assert.throws(() => tokenBucketMemory(slots), /positive integer/)
  assert.throws(() => createTokenBuckets({ ...usual, memory: tokenBucketMemory(5) }), /wrong size/)
})
