// The KMIP socket alone, in its own process: reports its port, and its resident memory on request.
import { readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { type Logger, type Metrics, systemClock } from '@warder/base'
import { createKmipSocket } from '@warder/kmip-server'
import { newTicketKeys, tlsProfile } from '@warder/server'

const folder = process.argv[2] ?? ''
const ignore = (): undefined => undefined
const log: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore, child: () => log }
const metrics: Metrics = {
  operation: ignore,
  count: ignore,
  gauge: ignore,
  collected: ignore,
  exposition: async () => '',
}

const socket = createKmipSocket({
  engine: { answer: async (bytes) => bytes },
  authenticate: () => ({ name: 'bench', method: 'tls_auth' }),
  audit: { record: () => undefined },
  tls: tlsProfile({
    certFile: `${folder}/kms.crt`,
    keyFile: `${folder}/kms.key`,
    clientsCaFile: `${folder}/ca.crt`,
    requireClientCertificate: true,
    ticketKeys: newTicketKeys(),
  }),
  clock: systemClock,
  log,
  metrics,
  limits: { connectionsPerAddress: 20_000 },
})
const { port } = await socket.listen({ host: '127.0.0.1', port: 0 })

process.on('message', async () => {
  // The rest of the handshakes is freed in more than one turn.
  for (let turn = 0; turn < 4; turn++) {
    globalThis.gc?.()
    await setTimeout(50)
  }
  const [, pages = '0'] = readFileSync('/proc/self/statm', 'utf8').split(' ')
  process.send?.({
    connections: socket.connections,
    mebibytes: (Number(pages) * 4096) / 1024 / 1024,
    javascript: process.memoryUsage().heapUsed / 1024 / 1024,
  })
})
process.send?.({ port })
