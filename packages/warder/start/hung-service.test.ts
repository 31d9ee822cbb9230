import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startInstallation } from '../testing/installation.ts'
import { until } from '../testing/until.ts'

test('a service that hangs as a whole is killed and started again, the other goes on, and no signal opens a debugger', async () => {
  const warder = await startInstallation({ env: { KMS_WATCHDOG_SECONDS: '1' } })
  const client = warder.client('kms')
  try {
    const [kms, auth] = [warder.pid('kms'), warder.pid('auth')]
    for (const pid of [kms, auth, warder.process.pid ?? 0]) process.kill(pid, 'SIGUSR1')
    process.kill(kms, 'SIGSTOP')
    await until('the kms is another process', () => {
      try {
        return warder.pid('kms') !== kms
      } catch {
        return false
      }
    })
    assert.match(warder.output(), /kms has not responded for 3 s and is killed/)
    await until('it serves', async () => {
      const answer = await client.ask('/health').catch(() => undefined)
      return answer?.status === 200
    })
    assert.equal(warder.pid('auth'), auth)
    assert.doesNotMatch(warder.output(), /Debugger listening/)
  } finally {
    client.close()
    await warder.stop()
  }
})
