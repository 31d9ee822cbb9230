import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { createOutbound } from './client.ts'
import { OutboundError } from './guard.ts'
import { metadataClient } from './metadata-client.ts'

let answer: RequestListener = () => undefined
const server = createServer((request, response) => answer(request, response))
let port = 0
before(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  port = (server.address() as AddressInfo).port
})
after(() => {
  server.closeAllConnections()
  server.close()
})

const refuses = (code: string, run: Promise<unknown>): Promise<void> =>
  assert.rejects(run, (error: unknown) => error instanceof OutboundError && error.code === code)

test('a metadata service on this machine receives method and headers', async () => {
  answer = ({ method, headers }, response) => response.end(`${method} ${headers['x-token']}`)
  for (const host of ['127.0.0.1', 'localhost', '2130706433']) {
    const url = `http://${host}:${port}/latest`
    const { status, body } = await metadataClient.request('PUT', url, { 'x-token': 'one' })
    assert.deepEqual([status, Buffer.from(body).toString()], [200, 'PUT one'])
  }
})

test('no other host, no redirect and no large reply is accepted', async () => {
  for (const url of [
    'http://example.com/',
    'http://metadata.google.internal/',
    'http://10.0.0.1/',
    'http://169.254.1.1/',
    'http://[::ffff:169.254.169.254]/',
    `https://127.0.0.1:${port}/`,
    'nonsense',
  ])
    await refuses('url', metadataClient.request('GET', url, {}))
  const url = `http://127.0.0.1:${port}/`
  answer = (_, response) => response.writeHead(302, { location: url }).end()
  await refuses('redirect', metadataClient.request('GET', url, {}))
  answer = (_, response) => response.end(Buffer.alloc(70_000))
  await refuses('size', metadataClient.request('GET', url, {}))
  await refuses('connection', metadataClient.request('GET', 'http://127.0.0.1:9/', {}))
})

test('link-local addresses are refused where a client says so, also behind a name', async () => {
  const outbound = createOutbound({
    proxy: undefined,
    allowPrivateNetworks: true,
    allowLinkLocal: false,
    resolve: async () => [{ address: '::ffff:169.254.169.254', family: 6 }],
  })
  for (const url of [
    'https://169.254.169.254/',
    'https://[fe80::1]/',
    'https://[fd00:ec2::254]/',
    'https://a.example/',
  ])
    await refuses('address', outbound.get(url))
})
