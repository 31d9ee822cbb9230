import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { StartupError } from '../errors.ts'
import { canSharePort, claimPort, formatBaseUrl, listenOn, toBrowserUrl } from './ports.ts'

test('a port in use is named, with what to do, even when its holder shares it', async () => {
  for (const reusePort of [false, canSharePort(process.platform)]) {
    const holder = createServer()
    await new Promise<void>((resolve) => holder.listen({ host: '127.0.0.1', port: 0, reusePort }, resolve))
    const address = holder.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    await assert.rejects(claimPort('127.0.0.1', port, 'auth'), (error: unknown) => {
      assert.ok(error instanceof StartupError)
      assert.match(error.message, new RegExp(`^auth: cannot listen on 127.0.0.1:${port}: the port is in use`))
      return true
    })
    holder.close()
  }
})

test('port 0 is any free port, which no other program can take before the workers listen', async () => {
  const claimed = await claimPort('127.0.0.1', 0, 'auth')
  assert.ok(claimed.port > 0)
  const reusePort = canSharePort(process.platform)
  if (reusePort) await assert.rejects(claimPort('127.0.0.1', claimed.port, 'kms'), /the port is in use/)
  const worker = createServer()
  await listenOn(worker, { host: '127.0.0.1', port: claimed.port, reusePort }, 'a worker')
  claimed.release()
  claimed.release()
  await new Promise((resolve) => worker.close(resolve))
  const again = await claimPort('127.0.0.1', claimed.port, 'auth')
  assert.equal(again.port, claimed.port)
})

test('the base URL is one that a client here can use', () => {
  assert.equal(formatBaseUrl('https', '127.0.0.1', 8443), 'https://127.0.0.1:8443')
  assert.equal(formatBaseUrl('https', '0.0.0.0', 8443), 'https://localhost:8443')
  assert.equal(formatBaseUrl('http', '::1', 80), 'http://[::1]:80')
  assert.equal(toBrowserUrl('https://127.0.0.1:8443'), 'https://localhost:8443')
  assert.equal(toBrowserUrl('https://[::1]'), 'https://localhost')
  for (const url of ['https://10.0.0.1:1', 'https://127.example:1', 'https://localhost:1'])
    assert.equal(toBrowserUrl(url), url)
})
