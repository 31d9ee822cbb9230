import assert from 'node:assert/strict'
import { createPrivateKey } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { createServer, type Server, type TlsOptions } from 'node:tls'
import { issueCertificate } from '@warder/server'
import { openConnection } from './connection.ts'
import { buildFullQuery } from './query.ts'

const day = 24 * 60 * 60 * 1000
const plan = {
  hostnames: [],
  addresses: [],
  notBefore: new Date(Date.now() - day),
  notAfter: new Date(Date.now() + day),
}

let server: Server
let options: TlsOptions
let ca: string
let received = 0
before(async () => {
  const authority = await issueCertificate(
    { ...plan, commonName: 'authority', purpose: 'authority' },
    undefined,
  )
  ca = authority.certificatePem
  const issued = await issueCertificate(
    { ...plan, commonName: 'server', purpose: 'server', addresses: ['127.0.0.1'] },
    { certificatePem: ca, privateKey: createPrivateKey(authority.keyPem) },
  )
  options = { cert: issued.certificatePem, key: issued.keyPem }
  server = createServer(options)
  // Repeats what it gets: a whole message is an answer to whoever sent it.
  server.on('secureConnection', (socket) => {
    socket.on('error', () => undefined)
    socket.on('data', (bytes) => {
      received += bytes.length
    })
    socket.pipe(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
after(() => new Promise((resolve) => server.close(resolve)))

function connection(host: string, to = server) {
  const { port } = to.address() as AddressInfo
  return openConnection(
    { socket: { host, port }, url: undefined, ca, cert: undefined, key: undefined },
    'socket',
  )
}

test('A server is believed when its certificate is for the host that was asked for', async () => {
  const open = connection('127.0.0.1')
  const query = buildFullQuery()
  assert.deepEqual(await open.exchange(query), query)
  open.close()
})

test('A certificate for another host is refused before anything is sent', async () => {
  received = 0
  const open = connection('localhost')
  await assert.rejects(open.exchange(buildFullQuery()), /does not match/)
  open.close()
  assert.equal(received, 0)
})

test('A server that does not speak KMIP is told from one that does', async () => {
  const web = createServer(options, (socket) => {
    socket.on('error', () => undefined)
    socket.resume()
    socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')
  })
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve))
  const open = connection('127.0.0.1', web)
  await assert.rejects(open.exchange(buildFullQuery()), { name: 'KmipDecodeError' })
  open.close()
  await new Promise((resolve) => web.close(resolve))
})

test('An authority that is no certificate is told before anything is sent over HTTPS', () => {
  const endpoint = {
    socket: undefined,
    url: 'https://127.0.0.1:1',
    ca: 'none',
    cert: undefined,
    key: undefined,
  }
  assert.throws(() => openConnection(endpoint, 'https-ttlv'), {
    name: 'StartupError',
    message: /not a certificate/,
  })
})
