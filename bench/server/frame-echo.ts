// The limit for KMIP over its socket: node:tls, same TLS settings, whole frames in, the same frames out.
import { createServer } from 'node:tls'
import { tlsProfile } from '@warder/server'
import { readFrame } from '../load/connection.ts'

const [certFile = '', keyFile = '', clientsCaFile = ''] = process.argv.slice(2)
const profile = tlsProfile({ certFile, keyFile, clientsCaFile, requireClientCertificate: true })
const server = createServer({ ...profile }, (socket) => {
  let received: Buffer = Buffer.alloc(0)
  socket.setNoDelay(true)
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk: Buffer) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
    for (let frame = readFrame(received); frame !== undefined; frame = readFrame(received)) {
      received = received.subarray(frame.length)
      socket.write(frame.body)
    }
  })
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.send?.({ port: typeof address === 'object' ? address?.port : undefined })
})
