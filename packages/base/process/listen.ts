import type { Server } from 'node:net'
import { StartupError } from '../errors/failure.ts'

export interface ListenOptions {
  readonly host: string
  /** 0 = any free port. */
  readonly port: number
  readonly reusePort?: boolean
}

/** Connections that the system queues until they are accepted. */
const backlog = 1024

/**
 * @param who begins the sentence of the error
 * @returns the port, chosen when 0 was asked for
 * @throws StartupError with one line when the place is taken or is not one of this machine
 */
export function listenOn(
  server: Server,
  { host, port, reusePort }: ListenOptions,
  who: string,
): Promise<{ readonly port: number }> {
  return new Promise((resolve, reject) => {
    const refuse = (error: NodeJS.ErrnoException): void =>
      reject(new StartupError(`${who} cannot listen on ${host}:${port}: ${explain(error)}`))
    server.once('error', refuse)
    server.listen({ host, port, reusePort: reusePort === true, backlog }, () => {
      server.off('error', refuse)
      const address = server.address()
      resolve({ port: typeof address === 'object' && address !== null ? address.port : port })
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
