import type { X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import type { PresentedChain } from '../tls/client-revocation.ts'
import type { IssuedUnder } from '../tls/peer.ts'
import { normalAddress } from './client-address.ts'
import type { PreparedReply } from './reply.ts'

/** State of a connection for the sweep. */
export interface SweptConnection {
  /** Requests that have begun and have no reply yet. */
  readonly open: number
  /** How often in a row nothing had moved, and the bytes that had been read by then. */
  quiet: number
  bytesSeen: number
  /** Something waited to be taken when it was last looked at. */
  stalling: boolean
}

/** A sweep is at most this far from the last, and an idle connection lives at most so much longer. */
const maxIntervalMs = 5_000
const sweepsInTimeout = 10

/**
 * Ends kept-alive connections that have been idle for `keptMs` since their last reply. A scan of all connections at an
 * interval replaces timers that every read and write of every connection would restart. While a reply waits to be read,
 * its connection has node's timer: after `stalledMs` without a byte it emits `timeout`, which its owner handles.
 * Handshakes and running requests have their own limits.
 * @returns a function that stops the sweep
 */
export function startIdleSweep(
  connections: { all(): Iterable<readonly [Socket, SweptConnection]> },
  { keptMs, stalledMs }: { readonly keptMs: number; readonly stalledMs: number },
): () => void {
  const intervalMs = Math.min(maxIntervalMs, Math.ceil(Math.min(keptMs, stalledMs) / sweepsInTimeout))
  const maxQuietSweeps = Math.ceil(keptMs / intervalMs)
  const sweep = (): void => {
    for (const [socket, connection] of connections.all()) {
      const { bytesRead } = socket
      const unsent = socket.writableLength > 0
      if (unsent !== connection.stalling) {
        connection.stalling = unsent
        socket.setTimeout(unsent ? stalledMs : 0)
      }
      const moved = connection.open > 0 || unsent || bytesRead !== connection.bytesSeen
      connection.bytesSeen = bytesRead
      connection.quiet = moved ? 0 : connection.quiet + 1
      if (connection.quiet > maxQuietSweeps) socket.destroy()
    }
  }
  const timer = setInterval(sweep, intervalMs)
  timer.unref()
  return () => clearInterval(timer)
}

/** The reply to bytes that reach no operation; it ends the connection. */
export interface Refusal {
  readonly reply: PreparedReply
  readonly requestId: string
}

/** Properties of one connection, read once so that requests need not query the operating system again. */
export interface Connection extends SweptConnection {
  readonly peerAddress: string
  /** null = not read yet. */
  certificate: X509Certificate | undefined | null
  /** Its certificate was refused, and the log has the line about it: one for each connection. */
  certificateRefused: boolean
  /** Results of `partnerCertificate` by partner; undefined = the certificate is not one of that partner. */
  readonly partnerCertificates: Map<string, X509Certificate | undefined>
  /** Set if there are authorities of partners: those in force when the connection began. */
  readonly issuedUnder: IssuedUnder | undefined
  /** The chain of `certificate`; undefined if revocation is not checked. */
  chain: PresentedChain | undefined
  /** Number of requests in `open` whose body is still arriving. */
  reading: number
  /** The connection ends with its next reply, so that the client reconnects to another worker. */
  leaving: boolean
  /** A last reply is being sent and the connection then ends. */
  closing: boolean
  /** Requests that have begun and have no reply yet. */
  open: number
  /** Replies that wait until those of earlier requests are sent. */
  queued: number
  /** The last reply, to bytes that reach no operation; it is sent after the replies to earlier requests. */
  refusal: Refusal | undefined
  /** The refusal has been sent: no further data are sent. */
  refused: boolean
  /** Node's parser reads it through its stream (`readThroughStream`). */
  throughStream: boolean
}

/** Remembers connections by their socket, until it closes. */
export interface Connections {
  get(socket: Socket): Connection
  /** Connections over which a request has arrived. */
  all(): Iterable<readonly [Socket, Connection]>
}

/** @param issuedUnder the authorities in force now */
export function createConnections(issuedUnder: () => IssuedUnder | undefined = () => undefined): Connections {
  const connections = new Map<Socket, Connection>()
  return {
    get(socket) {
      const known = connections.get(socket)
      if (known !== undefined) return known
      const connection: Connection = {
        peerAddress: normalAddress(socket.remoteAddress ?? '') ?? 'unknown',
        certificate: null,
        certificateRefused: false,
        partnerCertificates: new Map(),
        issuedUnder: issuedUnder(),
        chain: undefined,
        reading: 0,
        leaving: false,
        closing: false,
        open: 0,
        queued: 0,
        quiet: 0,
        bytesSeen: 0,
        stalling: false,
        refusal: undefined,
        refused: false,
        throughStream: false,
      }
      // A closed socket emits no further `close` event.
      if (!socket.destroyed) {
        connections.set(socket, connection)
        socket.once('close', () => connections.delete(socket))
      }
      return connection
    },
    all: () => connections,
  }
}
