import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startMetricsListener } from './primary-measurements.ts'

test('metrics are at /metrics alone, whatever parameters a scraper adds', async () => {
  const listener = await startMetricsListener({
    host: '127.0.0.1',
    port: 0,
    tls: undefined,
    exposition: async () => 'up 1',
  })
  try {
    const status = async (path: string, method = 'GET') => {
      const reply = await fetch(`http://127.0.0.1:${listener.port}${path}`, { method })
      await reply.arrayBuffer()
      return reply.status
    }
    for (const path of ['/metrics', '/metrics?', '/metrics?format=prometheus&_=1'])
      assert.equal(await status(path), 200, path)
    for (const path of ['/', '/metrics/', '/metricss?_=1', '/?/metrics', '/health'])
      assert.equal(await status(path), 404, path)
    assert.equal(await status('/metrics', 'POST'), 404)
  } finally {
    listener.close()
  }
})

test('those who ask while metrics are collected share them, the next one gets new ones', async () => {
  const begun: PromiseWithResolvers<string>[] = []
  const asked = Promise.withResolvers<void>()
  const listener = await startMetricsListener({
    host: '127.0.0.1',
    port: 0,
    tls: undefined,
    exposition() {
      const one = Promise.withResolvers<string>()
      begun.push(one)
      asked.resolve()
      return one.promise
    },
  })
  const ask = async (): Promise<readonly [number, string]> => {
    const reply = await fetch(`http://127.0.0.1:${listener.port}/metrics`)
    return [reply.status, await reply.text()]
  }
  try {
    const many = Array.from({ length: 20 }, ask)
    await asked.promise
    // Enough for all of them to have come.
    await new Promise((resolve) => setTimeout(resolve, 200))
    assert.equal(begun.length, 1)
    begun[0]?.resolve('first')
    assert.deepEqual(await Promise.all(many), Array(20).fill([200, 'first']))

    const failing = ask()
    while (begun.length < 2) await new Promise((resolve) => setTimeout(resolve, 1))
    begun[1]?.reject(new Error('no worker answers'))
    assert.deepEqual(await failing, [500, ''])

    const last = ask()
    while (begun.length < 3) await new Promise((resolve) => setTimeout(resolve, 1))
    begun[2]?.resolve('last')
    assert.deepEqual(await last, [200, 'last'])
  } finally {
    listener.close()
  }
})
