import type { X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import { normalAddress } from '../net/client-address.ts'
import type { SweptConnection } from '../net/idle-sweep.ts'
import type { IssuedUnder } from '../tls/client-authorities.ts'
import type { PresentedChain } from '../tls/index.ts'
import type { PreparedReply } from './reply.ts'

/** The reply that ends a connection, to bytes that no operation sees. */
export interface Refusal {
  readonly reply: PreparedReply
  readonly requestId: string
}

/** Facts about one connection, collected once so that a request does not ask the operating system again. */
export interface Connection extends SweptConnection {
  readonly peerAddress: string
  /** null = not looked at yet. */
  certificate: X509Certificate | undefined | null
  /** The log has a line about its certificate, which was refused: one a connection. */
  certificateRefused: boolean
  /** Certificates of partners by their names, as they were asked for; undefined = it is not one of that partner. */
  readonly partnerCertificates: Map<string, X509Certificate | undefined>
  /** Set where there are authorities of partners: those in force when the connection began. */
  readonly issuedUnder: IssuedUnder | undefined
  /** Of `certificate`; undefined where nobody asks whether it was revoked. */
  chain: PresentedChain | undefined
  /** Those of `open` whose body is still arriving. */
  reading: number
  /** It ends with its next reply: the client is to come to another worker. */
  leaving: boolean
  /** A last reply is being sent and the connection then ends. */
  closing: boolean
  /** Requests begun and not answered. */
  open: number
  /** Replies made that wait until those of earlier requests are sent. */
  queued: number
  /** The last reply, to what no operation sees; it is sent after the replies to earlier requests. */
  refusal: Refusal | undefined
  /** The refusal has been sent: nothing else is. */
  refused: boolean
  /** Node's parser reads it through its stream (`readThroughStream`). */
  throughStream: boolean
}

/** Remembers connections by their socket, until it closes. */
export interface Connections {
  get(socket: Socket): Connection
  /** Those over which a request has come. */
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
      // One that has closed already says so no more.
      if (!socket.destroyed) {
        connections.set(socket, connection)
        socket.once('close', () => connections.delete(socket))
      }
      return connection
    },
    all: () => connections,
  }
}
