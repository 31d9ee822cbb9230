import { createServer, type Server } from 'node:net'
import { StartupError } from '../errors.ts'

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

/**
 * Stops accepting, and resolves when all connections have ended.
 * @param destroyRest destroys those that are still open after `timeoutMs`
 */
export function closeServer(server: Server, timeoutMs: number, destroyRest: () => void): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(destroyRest, timeoutMs)
    server.close(() => {
      clearTimeout(timer)
      resolve()
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

/** A port that is reserved for this service. */
export interface ClaimedPort {
  readonly port: number
  /** Whether the port is held until `release`. A port with a fixed number is not held: it was only free when checked. */
  readonly held: boolean
  /** To be called once the workers listen, or when the start fails. Further calls do nothing. */
  release(): void
}

/**
 * Checks that the port is free, and chooses one for port 0. Workers share a port through SO_REUSEPORT, by which two
 * installations could silently share it; binding without SO_REUSEPORT detects that. The system could assign a chosen port to
 * another program or an outgoing connection, so it is held, and shared with the workers, until they listen; connections that
 * arrive meanwhile are closed.
 * @throws StartupError when the port is taken or may not be used
 */
export async function claimPort(host: string, port: number, name: string): Promise<ClaimedPort> {
  const held = port === 0 && canSharePort(process.platform)
  const holder = createServer((socket) => socket.destroy())
  const claimed = await listenOn(holder, { host, port, reusePort: held }, `${name}:`)
  // The listener must not keep the process of a failed start alive.
  holder.unref()
  if (!held) await new Promise((resolve) => holder.close(resolve))
  return { port: claimed.port, held, release: () => void holder.close() }
}

/** Whether several threads can listen on one port on this platform (the kernel distributes connections). */
export function canSharePort(platform: NodeJS.Platform): boolean {
  return platform === 'linux' || platform === 'freebsd' || platform === 'aix' || platform === 'sunos'
}

/** `https://host:port` that a client on this machine can use. */
export function formatBaseUrl(scheme: 'http' | 'https', host: string, port: number): string {
  const shown = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host
  return `${scheme}://${shown}:${port}`
}

/** The URL for browsers, in which passkeys need a name (WebAuthn Level 3 §5.1.2): a loopback address becomes `localhost`. */
export function toBrowserUrl(url: string): string {
  const { protocol, hostname, port } = new URL(url)
  return /^127(?:\.\d+){3}$|^\[::1\]$/.test(hostname)
    ? `${protocol}//localhost${port === '' ? '' : `:${port}`}`
    : url
}
