import { createServer } from 'node:net'
import { StartupError } from '../errors/index.ts'

/**
 * Makes sure that nobody listens on the port yet, and chooses one where 0 was asked for. Workers share a port through
 * SO_REUSEPORT, which would let two installations share it silently: this bind, without it, is what finds that out.
 * @returns the port to listen on
 * @throws StartupError when the port is taken or may not be used
 */
export function claimPort(host: string, port: number, name: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', (error: NodeJS.ErrnoException) => {
      reject(new StartupError(`${name}: cannot listen on ${host}:${port}: ${explain(error)}`))
    })
    probe.listen({ host, port, exclusive: true }, () => {
      const address = probe.address()
      const chosen = typeof address === 'object' && address !== null ? address.port : port
      probe.close(() => resolve(chosen))
    })
  })
}

function explain(error: NodeJS.ErrnoException): string {
  switch (error.code) {
    case 'EADDRINUSE':
      return 'the port is in use; stop the other program or choose another port (0 = any free one)'
    case 'EACCES':
      return 'not permitted; ports below 1024 need a privilege'
    case 'EADDRNOTAVAIL':
      return 'this machine has no such address'
    default:
      return error.message
  }
}

/** Whether several threads may listen on one port here (the kernel spreads connections over them). */
export function canSharePort(platform: NodeJS.Platform): boolean {
  return platform === 'linux' || platform === 'freebsd' || platform === 'aix' || platform === 'sunos'
}

/** `https://host:port` that a client on this machine can use. */
export function baseUrlOf(scheme: 'http' | 'https', host: string, port: number): string {
  const shown = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host
  return `${scheme}://${shown}:${port}`
}
