import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net'
import { after, before, test } from 'node:test'
import { createServer as createTlsServer } from 'node:tls'
import { issue } from '@warder/server/testing'
import { type OutboundCode, OutboundError } from './guard.ts'
import { createPlainFetch, type PlainFetchOptions } from './plain-fetch.ts'
import { createTlsProbe } from './tls-probe.ts'

const closers: (() => void)[] = []
let answer: RequestListener = (_, response) => response.end('hello')
let port = 0

before(async () => {
  const server = createServer((request, response) => answer(request, response))
  port = await listening(server)
  closers.push(() => server.closeAllConnections())
})
after(() => {
  for (const close of closers.toReversed()) close()
})

function listening(server: Server): Promise<number> {
  closers.push(() => server.close())
  return new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)),
  )
}

async function assertRefused(reason: OutboundCode, run: Promise<unknown>): Promise<void> {
  await assert.rejects(run, (error: unknown) => {
    assert.ok(error instanceof OutboundError, String(error))
    assert.equal(error.code, reason, error.message)
    return true
  })
}

const resolve = async (name: string) => [
  { address: name.endsWith('.public') ? '93.184.216.34' : '127.0.0.1', family: 4 },
]
const plain = (more: Partial<PlainFetchOptions> = {}) =>
  createPlainFetch({
    proxy: undefined,
    allowPrivateNetworks: true,
    ports: [port],
    maxRedirects: 3,
    maxBytes: 1000,
    timeoutMs: 2000,
    resolve,
    ...more,
  })

test('plain HTTP is fetched, and redirects are followed as far as they are allowed', async () => {
  answer = (request, response) => {
    const left = Number(request.url?.slice(1))
    if (left > 0) response.writeHead(302, { location: `/${left - 1}` }).end()
    else response.end(`at ${request.headers.host}`)
  }
  const got = await plain().get(`http://a.test:${port}/2`)
  assert.deepEqual(
    [got.status, Buffer.from(got.body).toString(), got.redirects],
    [200, `at a.test:${port}`, 2],
  )
  await assertRefused('redirect', plain().get(`http://a.test:${port}/4`))
})

test('a private address is not asked, and no redirect is followed to another port or protocol', async () => {
  const guarded = plain({ allowPrivateNetworks: false })
  await assertRefused('address', guarded.get(`http://inside.test:${port}/`))
  await assertRefused('address', guarded.get(`http://127.0.0.1:${port}/`))
  await assertRefused('address', guarded.get(`http://[::ffff:7f00:1]:${port}/`))
  for (const [reason, location] of [
    ['url', 'http://a.test:1/'],
    ['url', 'ftp://a.test/'],
    ['url', `http://u:p@a.test:${port}/`],
    ['name', `http://nowhere.test:${port}/`],
  ] as const) {
    answer = (_, response) => response.writeHead(301, { location }).end()
    const fetch = plain({
      resolve: async (name) => {
        if (name === 'nowhere.test') throw new Error('no such name')
        return resolve(name)
      },
    })
    await assertRefused(reason, fetch.get(`http://a.test:${port}/`))
  }
})

test('the address that a redirect leads to is checked anew', async () => {
  answer = (_, response) => response.writeHead(302, { location: `http://inside.test:${port}/secret` }).end()
  const fetch = plain({
    allowPrivateNetworks: false,
    isPublic: (address) => address === '127.0.0.1',
    resolve: async (name) => [
      name === 'inside.test' ? { address: '10.0.0.1', family: 4 } : { address: '127.0.0.1', family: 4 },
    ],
  })
  await assertRefused('address', fetch.get(`http://outside.test:${port}/`))
})

test('too large and too slow are cut', async () => {
  answer = (_, response) => response.end(Buffer.alloc(1001))
  await assertRefused('size', plain().get(`http://a.test:${port}/`))
  answer = () => undefined
  await assertRefused('time', plain({ timeoutMs: 100 }).get(`http://a.test:${port}/`))
})

test('the certificate of a server is read for the protocol that is asked for, and no other', async () => {
  const { certificatePem, keyPem } = await issue({})
  const names: string[] = []
  const server = createTlsServer({
    cert: certificatePem,
    key: keyPem,
    ALPNProtocols: ['one/1'],
    SNICallback: (name, done) => {
      names.push(name)
      done(null)
    },
  })
  server.on('tlsClientError', () => undefined)
  server.on('secureConnection', (socket) => socket.on('error', () => undefined))
  const tlsPort = await listening(server)
  const options = { allowPrivateNetworks: true, port: tlsPort, timeoutMs: 2000, resolve }
  const der = await createTlsProbe(options).certificate('a.test', 'one/1', 'a.test')
  assert.equal(Buffer.from(der).toString('base64'), certificatePem.replace(/-----[A-Z ]+-----|\s/g, ''))
  assert.deepEqual(names, ['a.test'])
  await assertRefused('connection', createTlsProbe(options).certificate('a.test', 'two/1', 'a.test'))
  await assertRefused(
    'address',
    createTlsProbe({ ...options, allowPrivateNetworks: false }).certificate('a.test', 'one/1', 'a.test'),
  )
})

test('a server that says nothing, or hangs up, is no certificate', async () => {
  const silent = createTcpServer((socket) => void socket.on('error', () => undefined))
  const rude = createTcpServer((socket) => socket.destroy())
  const options = { allowPrivateNetworks: true, timeoutMs: 200, resolve }
  const at = async (server: Server) => createTlsProbe({ ...options, port: await listening(server) })
  await assertRefused('time', (await at(silent)).certificate('a.test', 'one/1', 'a.test'))
  await assertRefused('connection', (await at(rude)).certificate('a.test', 'one/1', 'a.test'))
})
