import type { X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import { normalAddress } from './client-address.ts'

/** What is known of one connection; made once, so that a request does not ask the operating system again. */
export interface Connection {
  readonly peerAddress: string
  /** null = not looked at yet. */
  certificate: X509Certificate | undefined | null
  /** Those of `open` whose body is still arriving. */
  reading: number
  /** A last reply is being sent and the connection then ends. */
  closing: boolean
  /** Requests begun and not answered. */
  open: number
  /** Replies made that wait until those of earlier requests are sent. */
  queued: number
  /** How often in a row `createIdleSweep` found that nothing moved, and the bytes it had read by then. */
  quiet: number
  bytesSeen: number
  /** What the parser refused behind requests that still wait for their replies; it is told after these. */
  refusal: NodeJS.ErrnoException | undefined
}

/** Remembers connections by their socket, for as long as the socket lives. */
export interface Connections {
  of(socket: Socket): Connection
  /** The connection when a request has come over it. */
  known(socket: Socket): Connection | undefined
}

export function createConnections(): Connections {
  const connections = new WeakMap<Socket, Connection>()
  return {
    of(socket) {
      const known = connections.get(socket)
      if (known !== undefined) return known
      const connection: Connection = {
        peerAddress: normalAddress(socket.remoteAddress ?? '') ?? 'unknown',
        certificate: null,
        reading: 0,
        closing: false,
        open: 0,
        queued: 0,
        quiet: 0,
        bytesSeen: 0,
        refusal: undefined,
      }
      connections.set(socket, connection)
      return connection
    },
    known: (socket) => connections.get(socket),
  }
}
