import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startProxy } from '@warder/outbound/testing'
import { issue } from '@warder/server/testing'
import { startInstallation, temporaryHome } from '../testing/installation.ts'

const folder = temporaryHome()
after(() => rmSync(folder, { recursive: true, force: true }))

test('both services reach others through the proxy, and log which, without its credentials', async () => {
  const { certificatePem: cert, keyPem: key } = await issue({
    hostnames: ['collector.example', 'idp.example'],
  })
  const [caFile, credentialsFile] = [join(folder, 'ca.crt'), join(folder, 'proxy')]
  writeFileSync(caFile, cert)
  writeFileSync(credentialsFile, 'warder:open sesame\n', { mode: 0o600 })
  const lines: string[] = []
  const server = createServer({ cert, key }, (request, response) => {
    if (request.method === 'GET') return response.end('{"keys":[]}')
    request.setEncoding('utf8').on('data', (text: string) => lines.push(text))
    request.on('end', () => response.end())
    return undefined
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const proxy = await startProxy({ credentials: 'warder:open sesame' })
  const issuer = `https://idp.example:${port}`
  const warder = await startInstallation({
    env: {
      // Address of another proxy, for the service without a setting of its own; nothing listens there.
      HTTPS_PROXY: 'http://other:hunter2@127.0.0.1:9',
      KMS_OUTBOUND_PROXY: proxy.url,
      KMS_OUTBOUND_PROXY_CREDENTIALS_FILE: credentialsFile,
      KMS_OUTBOUND_PROXY_RESOLVES: 'true',
      KMS_OUTBOUND_CA_FILE: caFile,
      KMS_AUDIT_COLLECTOR_URL: `https://collector.example:${port}/records`,
      KMS_JWT_AUTH_PROVIDER: `${issuer},${issuer}/keys,kms`,
    },
  })
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = { iss: issuer, aud: 'kms', sub: 'ann', exp: 4_000_000_000 }
  const token = `${encode({ alg: 'ES256', kid: '1' })}.${encode(claims)}.${'A'.repeat(86)}`
  const kms = warder.client('kms')
  assert.equal((await kms.ask('/me', { headers: { authorization: `Bearer ${token}` } })).status, 401)
  kms.close()
  while (lines.length === 0) await new Promise((resolve) => setTimeout(resolve, 20))
  assert.match(lines.join(''), /"service":"kms"/)
  assert.deepEqual([...new Set(proxy.seen.map(({ method, target }) => `${method} ${target}`))].sort(), [
    `CONNECT collector.example:${port}`,
    `CONNECT idp.example:${port}`,
  ])
  const told = warder
    .output()
    .split('\n')
    .filter((line) => line.includes('outbound requests go through a proxy'))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .map(({ service, proxy, from }) => [service, proxy, from])
    .sort()
  assert.deepEqual(told, [
    ['auth', 'http://127.0.0.1:9', 'HTTPS_PROXY'],
    ['kms', proxy.url, 'outbound_proxy'],
  ])
  assert.doesNotMatch(warder.output(), /hunter2|sesame/)
  assert.equal(await warder.stop(), 0)
  await proxy.close()
  server.closeAllConnections()
  server.close()
})
