import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { after, test } from 'node:test'
import { temporaryHome } from '../testing/installation.ts'
import { startChild } from './child.ts'
import { startBoth } from './supervisor.ts'

const home = temporaryHome()
const nobody = { out: () => undefined, err: () => undefined, env: {} }
after(() => rmSync(home, { recursive: true, force: true }))

test('a signal that comes before a process is started starts none', async () => {
  const lines: string[] = []
  const say = (line: string): void => void lines.push(line)
  const env = { AUTH_PORT: '0', KMS_PORT: '0', KMS_SOCKET_SERVER_PORT: '0' }
  const code = startBoth(home, { out: say, err: say, env, isTerminal: { out: true, err: true } })
  process.emit('SIGTERM', 'SIGTERM')
  const still = new Promise((resolve) => setTimeout(resolve, 20_000, 'running').unref())
  const outcome = await Promise.race([code, still])
  // If it runs all the same, the second signal ends it.
  if (outcome === 'running') process.emit('SIGTERM', 'SIGTERM')
  assert.equal(outcome, 0)
  assert.deepEqual(lines, ['SIGTERM: stopping after the requests in flight'])
})

test('a process that cannot be started has ended', async (t) => {
  const { execPath } = process
  t.after(() => {
    process.execPath = execPath
  })
  process.execPath = '/nowhere/node'
  const child = startChild('auth', { args: [], flags: [], env: process.env }, nobody)
  await assert.rejects(child.ready, /ENOENT/)
  assert.equal(await child.exited, 1)
})
