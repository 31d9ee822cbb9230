import { createServer } from 'node:net'
import { listenOn } from './listen.ts'

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
