import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:https'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { systemClock } from '@warder/base'
import { ensureLocalAuthority } from '@warder/server'
import fc from 'fast-check'
import { createOutbound } from './client.ts'
import { isPublicAddress, type OutboundCode, OutboundError } from './guard.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-outbound-'))
let answer: RequestListener = (_, response) => response.end('{}')
let port = 0
const closers: (() => void)[] = []
/** By the client's port, beneath TLS: only there can a test reset them. */
const connections = new Map<number | undefined, Socket>()

before(async () => {
  await ensureLocalAuthority({
    folder,
    clock: systemClock,
    certificates: [{ name: 'server', commonName: 'Server' }],
  })
  const server = createServer(
    { cert: readFileSync(join(folder, 'server.crt')), key: readFileSync(join(folder, 'server.key')) },
    (request, response) => answer(request, response),
  )
  server.on('connection', (socket: Socket) => connections.set(socket.remotePort, socket))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  port = typeof address === 'object' && address !== null ? address.port : 0
  closers.push(() => {
    server.closeAllConnections()
    server.close()
  })
})
after(() => {
  for (const close of closers) close()
  rmSync(folder, { recursive: true })
})

const local = (more: object = {}) =>
  createOutbound({ proxy: undefined, allowPrivateNetworks: true, caFile: join(folder, 'ca.crt'), ...more })

async function assertRefused(reason: OutboundCode, run: Promise<unknown>): Promise<void> {
  await assert.rejects(run, (error: unknown) => {
    assert.ok(error instanceof OutboundError, String(error))
    assert.equal(error.code, reason, error.message)
    return true
  })
}

test('an https resource is fetched, and bytes are posted', async () => {
  answer = (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () =>
      response.end(`${request.method} ${request.headers.accept ?? ''} ${Buffer.concat(chunks)}`),
    )
  }
  const outbound = local()
  const got = await outbound.get(`https://localhost:${port}/x`, { headers: { accept: 'text/plain' } })
  assert.deepEqual([got.status, Buffer.from(got.body).toString()], [200, 'GET text/plain '])
  const posted = await outbound.post(`https://127.0.0.1:${port}/x`, Buffer.from('body'))
  assert.equal(Buffer.from(posted.body).toString(), 'POST  body')
})

test('private addresses are refused in every spelling, also behind a name', async () => {
  const outbound = createOutbound({ proxy: undefined, allowPrivateNetworks: false })
  for (const host of [
    '127.0.0.1',
    '2130706433',
    '0x7f.1',
    '017700000001',
    '127.1',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '0.0.0.0',
    '10.0.0.1',
    '169.254.169.254',
    '[fe80::1]',
    '[fd00::1]',
  ]) {
    await assertRefused('address', outbound.get(`https://${host}:${port}/`))
  }
  for (const address of ['192.168.1.1', '::ffff:10.0.0.1']) {
    const named = createOutbound({
      proxy: undefined,
      allowPrivateNetworks: false,
      resolve: async () => [
        { address: '93.184.216.34', family: 4 },
        { address, family: address.includes(':') ? 6 : 4 },
      ],
    })
    await assertRefused('address', named.get('https://innocent.example/'))
  }
})

test('the connection goes to the address that was checked, and the certificate must be that of the name', async () => {
  let asked = 0
  const outbound = local({
    resolve: async () => {
      asked += 1
      return [{ address: '127.0.0.1', family: 4 }]
    },
  })
  await assertRefused('connection', outbound.get(`https://other.example:${port}/`))
  assert.equal(asked, 1)
  await assertRefused(
    'connection',
    createOutbound({ proxy: undefined, allowPrivateNetworks: true }).get(`https://localhost:${port}/`),
  )
})

test('only https, no credentials in the URL, no redirects', async () => {
  answer = (_, response) => response.writeHead(302, { location: 'https://localhost/' }).end()
  const outbound = local()
  for (const url of [
    `http://localhost:${port}/`,
    'file:///etc/passwd',
    'nonsense',
    `https://a:b@localhost:${port}/`,
  ]) {
    await assertRefused('url', outbound.get(url))
  }
  await assertRefused('redirect', outbound.get(`https://localhost:${port}/`))
})

test('too large and too slow are cut', async () => {
  const outbound = local({ maxBytes: 1000, timeoutMs: 300 })
  answer = (_, response) => response.end(Buffer.alloc(1001))
  await assertRefused('size', outbound.get(`https://localhost:${port}/`))
  answer = (_, response) => {
    response.write(Buffer.alloc(600))
    response.end(Buffer.alloc(600))
  }
  await assertRefused('size', outbound.get(`https://localhost:${port}/`))
  answer = (_, response) => void response.write('x')
  await assertRefused('time', outbound.get(`https://localhost:${port}/`))
  answer = () => undefined
  await assertRefused('time', outbound.get(`https://localhost:${port}/`))
  await assertRefused(
    'time',
    local({ timeoutMs: 50, resolve: () => new Promise(() => undefined) }).get('https://slow.example/'),
  )
})

test('a kept connection that the peer has ended is no failure of a GET; a POST is not sent twice', async () => {
  const seen = new Set<unknown>()
  const requests: string[] = []
  answer = (request, response) => {
    requests.push(request.method ?? '')
    // The second request of a connection finds it ended, as one does that crosses the peer's idle limit.
    if (seen.has(request.socket)) request.socket.destroy()
    else response.end('{}')
    seen.add(request.socket)
  }
  const outbound = local()
  const url = `https://localhost:${port}/`
  for (let call = 0; call < 3; call += 1) assert.equal((await outbound.get(url)).status, 200)
  assert.deepEqual(requests, ['GET', 'GET', 'GET', 'GET', 'GET'])
  requests.length = 0
  await assertRefused('connection', outbound.post(url, Buffer.from('body')))
  assert.deepEqual(requests, ['POST'])
  // An answer that breaks off had begun: it is not asked for again.
  answer = (request, response) => {
    requests.push(request.method ?? '')
    if (requests.length !== 3) response.end('{}')
    else {
      response.writeHead(200, { 'content-length': 2 }).write('{')
      setTimeout(() => connections.get(request.socket.remotePort)?.resetAndDestroy(), 50)
    }
  }
  assert.equal((await outbound.get(url)).status, 200)
  await assertRefused('connection', outbound.get(url))
  assert.equal((await outbound.get(url)).status, 200)
  assert.deepEqual(requests, ['POST', 'GET', 'GET', 'GET'])
  // A connection of its own that breaks is a failure, at once.
  answer = (request) => request.socket.destroy()
  await assertRefused('connection', outbound.get(url))
})

test('no address of a special block is public', () => {
  const byte = fc.integer({ min: 0, max: 255 })
  fc.assert(
    fc.property(byte, byte, byte, byte, (a, b, c, d) => {
      const special =
        a === 0 ||
        a === 10 ||
        a === 127 ||
        a >= 224 ||
        (a === 100 && b >= 64 && b < 128) ||
        (a === 169 && b === 254) ||
        (a === 172 && b >= 16 && b < 32) ||
        (a === 192 && b === 168) ||
        (a === 198 && (b === 18 || b === 19))
      const address = `${a}.${b}.${c}.${d}`
      if (special) assert.equal(isPublicAddress(address), false, address)
      assert.equal(isPublicAddress(`::ffff:${address}`), false)
    }),
  )
  for (const address of ['1.1.1.1', '93.184.216.34', '2606:4700:4700::1111'])
    assert.equal(isPublicAddress(address), true)
  for (const address of [
    '2002:7f00:1::',
    '2001:db8::1',
    'fe80::1%eth0',
    '64:ff9b::1.1.1.1',
    'localhost',
    '',
  ]) {
    assert.equal(isPublicAddress(address), false, address)
  }
})

test('NODE_TLS_REJECT_UNAUTHORIZED=0, meant for another program, does not let a foreign server in', async (t) => {
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  t.after(() => {
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
  })
  let asked = 0
  answer = (_, response) => {
    asked += 1
    response.end('{}')
  }
  const outbound = createOutbound({ proxy: undefined, allowPrivateNetworks: true })
  await assertRefused('connection', outbound.get(`https://127.0.0.1:${port}/`))
  assert.equal(asked, 0)
})
