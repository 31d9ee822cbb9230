import { createServer } from 'node:net'
import { listenOn } from '../net/listen.ts'

/** A port that nobody else gets. */
export interface ClaimedPort {
  readonly port: number
  /** Until its release. Not so for a port that was asked for by number: only that it was free is known then. */
  readonly held: boolean
  /** To be called once the workers listen, or will not. Again does nothing. */
  release(): void
}

/**
 * Makes sure that nobody listens on the port yet, and chooses one where 0 was asked for. Workers share a port through
 * SO_REUSEPORT, which would let two installations share it silently: this bind, without it, is what finds that out.
 * A chosen port is one that the system may give to any other program or outgoing connection next, so it is held, and
 * shared with the workers, until they listen; nobody knows of it yet, and whoever connects meanwhile is cut off.
 * @throws StartupError when the port is taken or may not be used
 */
export async function claimPort(host: string, port: number, name: string): Promise<ClaimedPort> {
  const held = port === 0 && canSharePort(process.platform)
  const holder = createServer((socket) => socket.destroy())
  const claimed = await listenOn(holder, { host, port, reusePort: held }, `${name}:`)
  // A failed start must still be able to end.
  holder.unref()
  if (!held) await new Promise((resolve) => holder.close(resolve))
  return { port: claimed.port, held, release: () => void holder.close() }
}

/** Whether several threads may listen on one port here (the kernel spreads connections over them). */
export function canSharePort(platform: NodeJS.Platform): boolean {
  return platform === 'linux' || platform === 'freebsd' || platform === 'aix' || platform === 'sunos'
}

/** `https://host:port` that a client on this machine can use. */
export function formatBaseUrl(scheme: 'http' | 'https', host: string, port: number): string {
  const shown = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host
  return `${scheme}://${shown}:${port}`
}
