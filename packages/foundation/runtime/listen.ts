import type { Server } from 'node:net'
import { StartupError } from '../errors/index.ts'

export interface ListenOptions {
  readonly host: string
  /** 0 = any free port. */
  readonly port: number
  readonly reusePort?: boolean
}

/** Connections that the system keeps for a moment while nobody has taken them. */
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
    const refuse = (error: Error): void =>
      reject(new StartupError(`${who} cannot listen on ${host}:${port}: ${error.message}`))
    server.once('error', refuse)
    server.listen({ host, port, reusePort: reusePort === true, backlog }, () => {
      server.off('error', refuse)
      const address = server.address()
      resolve({ port: typeof address === 'object' && address !== null ? address.port : port })
    })
  })
}
