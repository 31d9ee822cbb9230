import type { X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import { normalAddress } from '../net/client-address.ts'
import type { SweptConnection } from '../net/idle-sweep.ts'
import type { IssuedUnder } from '../tls/client-authorities.ts'
import type { PresentedChain } from '../tls/revocation/client-revocation.ts'
import type { PreparedReply } from './reply.ts'

/** The reply to bytes that reach no operation; it ends the connection. */
export interface Refusal {
  readonly reply: PreparedReply
  readonly requestId: string
}

/** Properties of one connection, read once so that requests need not ask the operating system again. */
export interface Connection extends SweptConnection {
  readonly peerAddress: string
  /** null = not read yet. */
  certificate: X509Certificate | undefined | null
  /** Its certificate was refused, and the log has the line about it: one for each connection. */
  certificateRefused: boolean
  /** Results of `partnerCertificate` by partner; undefined = the certificate is not one of that partner. */
  readonly partnerCertificates: Map<string, X509Certificate | undefined>
  /** Set where there are authorities of partners: those in force when the connection began. */
  readonly issuedUnder: IssuedUnder | undefined
  /** The chain of `certificate`; undefined where revocation is not checked. */
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
  /** The refusal has been sent: nothing else is sent. */
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
