// How much memory idle connections of the KMIP socket take, and of which kind (Linux; the limit of open files must allow
// it): `node bench/kmip/idle.ts [--connections 10000] [--tls TLSv1.2] [--limit MiB]`. Each connection is a whole mutual
// TLS handshake and one answered message. With --limit the exit code is 1 when the process takes more than that.
// With GLIBC_TUNABLES=glibc.malloc.mmap_threshold=65536:glibc.malloc.top_pad=0 in the environment it takes less.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, createSecureContext, type SecureVersion, type TLSSocket } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { systemClock } from '@warder/base'
import { ensureLocalAuthority } from '@warder/server'

interface Measured {
  readonly connections: number
  readonly mebibytes: number
  /** Of them: objects of JavaScript. */
  readonly javascript: number
}

const { values } = parseArgs({
  options: {
    connections: { type: 'string', default: '10000' },
    tls: { type: 'string', default: 'TLSv1.3' },
    limit: { type: 'string' },
  },
})
const wanted = Number(values.connections)
const limit = values.limit === undefined ? Number.POSITIVE_INFINITY : Number(values.limit)
const atOnce = 50
const folder = mkdtempSync(join(tmpdir(), 'warder-idle-'))
await ensureLocalAuthority({
  folder,
  clock: systemClock,
  certificates: [
    { name: 'kms', commonName: 'Warder kms' },
    { name: 'client', commonName: 'kmip-client', purpose: 'client' },
  ],
})
const server = fork(fileURLToPath(new URL('./idle-server.ts', import.meta.url)), [folder], {
  execArgv: ['--expose-gc'],
})
const message = Buffer.from('4200780100000000', 'hex')

try {
  const [{ port }] = (await once(server, 'message')) as [{ readonly port: number }]
  const secureContext = createSecureContext({
    ca: readFileSync(join(folder, 'ca.crt')),
    cert: readFileSync(join(folder, 'client.crt')),
    key: readFileSync(join(folder, 'client.key')),
    maxVersion: values.tls as SecureVersion,
  })
  const open = async (): Promise<TLSSocket> => {
    const socket = connect({ host: '127.0.0.1', port, secureContext, servername: 'localhost' })
    await once(socket, 'secureConnect')
    socket.write(message)
    await once(socket, 'data')
    return socket
  }
  const measure = async (): Promise<Measured> => {
    server.send('measure')
    const [measured] = (await once(server, 'message')) as [Measured]
    return measured
  }
  await open()
  const before = await measure()
  const sockets: TLSSocket[] = []
  while (sockets.length < wanted) {
    const count = Math.min(atOnce, wanted - sockets.length)
    sockets.push(...(await Promise.all(Array.from({ length: count }, open))))
  }
  const after = await measure()
  const grown = after.mebibytes - before.mebibytes
  const each = (mebibytes: number): string => ((mebibytes * 1024) / wanted).toFixed(1)
  process.stdout.write(
    `${after.connections} connections: ${after.mebibytes.toFixed(0)} MiB resident, ${grown.toFixed(0)} MiB of them for the ` +
      `connections, ${each(grown)} KiB each (${each(after.javascript - before.javascript)} KiB of JavaScript objects)\n`,
  )
  if (after.mebibytes > limit) {
    process.stdout.write(`more than ${limit} MiB\n`)
    process.exitCode = 1
  }
} finally {
  server.kill()
  rmSync(folder, { recursive: true, force: true })
}
process.exit()
