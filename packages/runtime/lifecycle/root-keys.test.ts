import assert from 'node:assert/strict'
import { mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { systemClock } from '@warder/base'
import { migrate, openSeal, openSqlite, sealMigrations } from '@warder/storage'
import { createLogger } from '../logger.ts'
import { createMetrics } from '../metrics.ts'
import { rootKeySourcePart } from './health-parts.ts'
import type { RootKeyLaunch } from './launch.ts'
import { createRootKeyState, openRootKeys, watchRootKey } from './root-keys.ts'

const home = mkdtempSync(join(tmpdir(), 'warder-root-keys-'))
after(() => rmSync(home, { recursive: true, force: true }))

test('a root key that is lost while the service runs is reported by log, metric and health, until it is back', async (t) => {
  const db = openSqlite({ path: join(home, 'a.db') })
  await migrate(db, 'seal', sealMigrations)
  const config = { root_key_source: 'file', root_key_file: 'root.key' } as RootKeyLaunch['config']
  const launch: RootKeyLaunch = { config, home, env: {} }
  const rootKeys = await openRootKeys(launch, { service: 'a', db, create: true })
  await openSeal({ db, service: 'a', rootKeys, clock: systemClock })
  const lines: string[] = []
  const log = createLogger({ level: 'info', service: 'a', write: (line) => void lines.push(line) })
  const [metrics, memory] = [createMetrics(), createRootKeyState()]
  const state = new Int32Array(memory)
  const health = rootKeySourcePart('file', memory)
  t.after(watchRootKey({ launch, service: 'a', db, log, metrics, state, everyMs: 20 }))
  const becomes = async (value: number): Promise<void> => {
    const end = performance.now() + 20_000
    while (Atomics.load(state, 0) !== value && performance.now() < end) await wait(10)
    assert.equal(Atomics.load(state, 0), value)
  }
  await wait(100)
  await health.probe()
  assert.deepEqual(lines, [])
  const path = join(home, 'root.key')
  renameSync(path, `${path}.lost`)
  await becomes(0)
  await assert.rejects(health.probe())
  assert.equal(health.required, false)
  assert.match(JSON.stringify(await metrics.snapshot()), /root_key_usable/)
  await wait(50)
  assert.match(lines[0] ?? '', /do not restart it before this is repaired/)
  assert.match(lines[0] ?? '', /the root key \S+root\.key does not exist/)
  renameSync(`${path}.lost`, path)
  await becomes(1)
  await health.probe()
  assert.match(lines.at(-1) ?? '', /the root key can be opened again/)
  await db.close()
})
