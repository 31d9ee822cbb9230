import assert from 'node:assert/strict'
import fs, { rmSync } from 'node:fs'
import { get } from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import { test } from 'node:test'
import type { ServiceLaunch } from '@warder/runtime/launch'
import { foundationSettings } from '@warder/runtime/settings'
import { createGate, gateMemory, runService } from '@warder/runtime/testing'
import { newFolder } from '@warder/server/testing'
import { Stall } from './watchdog.ts'

test('beats that stand still for the limit are a stall; time without checks is not', () => {
  const stall = new Stall(5000, 2000)
  assert.equal(stall.isReached(1, 0), false)
  for (let second = 1; second < 5; second++) assert.equal(stall.isReached(1, second * 1000), false)
  assert.equal(stall.isReached(2, 5000), false, 'it beats again')
  assert.equal(stall.isReached(2, 3_600_000), false, 'an hour without a look counts as two')
  assert.equal(stall.isReached(2, 3_602_000), false)
  assert.equal(stall.isReached(2, 3_603_000), true)
})

test('a worker in an endless loop is named with its operation and replaced', async (context) => {
  const lines: string[] = []
  // Lines of the log go past `process.stderr`.
  const written = context.mock.method(fs, 'writeSync', (_: number, line: Uint8Array) => {
    lines.push(Buffer.from(line).toString())
    return line.length
  })
  syncBuiltinESMExports()
  const home = newFolder()
  const memory = gateMemory()
  const gate = createGate(memory)
  const rows = Object.entries(foundationSettings({ name: 'test', port: 0, bodyLimitBytes: 1_048_576 }))
  const own = {
    port: 0,
    workers: 1,
    plaintext_http: true,
    log_level: 'error',
    watchdog_seconds: 1,
    gate: memory,
  }
  const config = { ...Object.fromEntries(rows.map(([name, row]) => [name, row.default])), ...own }
  const service = await runService({
    module: new URL('../../runtime/lifecycle/fixtures/gated-service.ts', import.meta.url).href,
    exportName: 'gatedService',
    config: config as unknown as ServiceLaunch['config'],
    home,
    version: '0',
    env: {},
  })
  gate.open()
  const ask = (path: string): Promise<number | undefined> =>
    new Promise((resolve) => {
      const request = get(`${service.url}${path}`, { agent: false }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
      request.once('error', () => resolve(undefined))
    })
  try {
    assert.equal(await ask('/health'), 200)
    assert.equal(gate.starts(), 1)
    assert.equal(await ask('/loop'), undefined, 'its connection ends with the worker')
    const deadline = performance.now() + 30_000
    while ((await ask('/health')) !== 200) assert.ok(performance.now() < deadline, 'another worker serves')
    assert.equal(gate.starts(), 2)
    assert.match(lines.join(''), /"last_operation":"test.loop".*does not respond: the worker is terminated/)
  } finally {
    await service.stop()
    written.mock.restore()
    syncBuiltinESMExports()
    rmSync(home, { recursive: true, force: true })
  }
})
