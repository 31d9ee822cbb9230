// The limit that everything is compared with: node:https, same TLS settings, JSON in, JSON out, nothing else.
import { createServer } from 'node:https'
import { tlsProfile } from '@warder/server'

const [certFile = '', keyFile = ''] = process.argv.slice(2)
const server = createServer({ ...tlsProfile({ certFile, keyFile }) }, (request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const body = chunks.length === 1 ? (chunks[0] ?? Buffer.alloc(0)) : Buffer.concat(chunks)
    const reply = Buffer.from(JSON.stringify(JSON.parse(body.toString('utf8'))))
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': reply.length })
    response.end(reply)
  })
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.send?.({ port: typeof address === 'object' ? address?.port : undefined })
})
