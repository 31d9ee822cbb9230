import { randomUUID } from 'node:crypto'
import { Socket } from 'node:net'
import {
  createServer,
  type SecureContextOptions,
  type Server,
  type TLSSocket,
  type TlsOptions,
} from 'node:tls'
import type { AuditTrail } from '@warder/audit'
import {
  type Clock,
  closeServer,
  KeyedLimiter,
  type ListenOptions,
  type Logger,
  listenOn,
  type Metrics,
  toFailure,
} from '@warder/base'
import {
  type Authenticate,
  type ClientRevocation,
  RequestBatcher,
  startIdleSweep,
  type TokenBuckets,
} from '@warder/server'
import type { KmipEngine } from '../engine/types.ts'
import { findOwner } from './caller.ts'
import {
  type ConnectionEnvironment,
  defaultSocketLimits,
  KmipConnection,
  type SocketLimits,
} from './connection.ts'

export interface KmipSocketOptions {
  readonly engine: Pick<KmipEngine, 'answer'>
  readonly authenticate: Authenticate
  /** From `tlsProfile` with `requireClientCertificate`. */
  readonly tls: TlsOptions
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  /** undefined = off. A client over its rate waits: KMIP has no answer for it. */
  readonly rateLimiter?: TokenBuckets | undefined
  /** Checked for each message; undefined = there are no CRLs. */
  readonly clientRevocation?: ClientRevocation | undefined
  /** Gets a record of each refused client certificate. */
  readonly audit: Pick<AuditTrail, 'record'>
  /** Limits that are absent have their value of `defaultSocketLimits`. */
  readonly limits?: Partial<SocketLimits>
}

/** The KMIP socket of one worker. */
export interface KmipSocket {
  listen(place: ListenOptions): Promise<{ readonly port: number }>
  /** Stops accepting, finishes the messages being answered, and closes the remaining connections after `timeoutMs`. */
  drain(timeoutMs: number): Promise<void>
  /** New certificates and trust for new connections. */
  setTls(tls: SecureContextOptions): void
  /** Connections whose handshake is done. */
  readonly connections: number
}

/** Data shared by the phases of a socket. */
interface SocketState {
  readonly options: KmipSocketOptions
  readonly limits: SocketLimits
  readonly environment: ConnectionEnvironment
  /** Open ones, also those before or in the handshake. */
  readonly sockets: Set<Socket>
  /** Those whose handshake is done. */
  readonly connections: Map<TLSSocket, KmipConnection>
  draining: boolean
}

/**
 * KMIP in binary over TLS with client certificates (KMIP 2.1 §10, KMIP Profiles §3.2), usually on port 5696. A
 * connection belongs to one client: its certificate identifies the caller for as long as it is valid.
 */
export function createKmipSocket(options: KmipSocketOptions): KmipSocket {
  const state = createState(options)
  const { limits, sockets, connections } = state
  const { ALPNProtocols: _, ...tls } = options.tls
  const server = createServer({
    ...tls,
    requestCert: true,
    rejectUnauthorized: true,
    handshakeTimeout: limits.handshakeMs,
    allowHalfOpen: true,
  })
  server.maxConnections = limits.connections
  const { idleMs } = limits
  server.once('close', startIdleSweep({ all: () => connections }, { keptMs: idleMs, stalledMs: idleMs }))
  limitConnections(server, state)
  reportHandshakeFailures(server, options)
  server.on('secureConnection', (socket: TLSSocket) => {
    // Errors are followed by 'close', which is where connections are cleaned up.
    socket.on('error', () => undefined)
    void acceptConnection(state, socket)
  })
  return {
    listen: (place) => listenOn(server, place, 'the KMIP socket'),
    drain(timeoutMs) {
      state.draining = true
      const closed = closeServer(server, timeoutMs, () => {
        for (const socket of connections.keys()) socket.destroy()
        for (const socket of sockets) socket.destroy()
      })
      for (const connection of connections.values()) connection.end()
      return closed
    },
    setTls: (context) => server.setSecureContext(context),
    get connections() {
      return connections.size
    },
  }
}

function createState(options: KmipSocketOptions): SocketState {
  const limits: SocketLimits = { ...defaultSocketLimits, ...options.limits }
  const { engine, clock, log, rateLimiter } = options
  return {
    options,
    limits,
    environment: {
      engine,
      clock,
      log,
      limits,
      rateLimiter,
      budget: { limit: limits.bufferedBytes, used: 0 },
      stages: new RequestBatcher(),
    },
    sockets: new Set(),
    connections: new Map(),
    draining: false,
  }
}

/** Refuses the connections of an address that has too many. */
function limitConnections(server: Server, { options, limits, sockets }: SocketState): void {
  // `maxConnections` bounds all of them together.
  const open = new KeyedLimiter(Number.POSITIVE_INFINITY, limits.connectionsPerAddress)
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? 'unknown'
    if (!open.tryAcquire(address, 1)) {
      options.metrics.count('kmip_connections_refused_total')
      socket.destroy()
      return
    }
    sockets.add(socket)
    socket.setNoDelay(true)
    socket.once('close', () => {
      open.release(address, 1)
      sockets.delete(socket)
    })
  })
  server.on('drop', () => options.metrics.count('kmip_connections_refused_total'))
}

function reportHandshakeFailures(server: Server, options: KmipSocketOptions): void {
  server.on('tlsClientError', (error, socket) => {
    options.metrics.count('kmip_handshake_failures_total')
    // A string, for which @types/node has Error. Without a certificate there is none to refuse: port scanners, probes.
    const refusal: unknown = socket.authorizationError
    if (refusal === null || refusal === undefined)
      options.log.debug({ detail: error.message }, 'a TLS handshake with a KMIP client failed')
    else recordRefusal(options, plainAddress(rawPeer(socket)?.remoteAddress), String(refusal))
    socket.destroy()
  })
}

async function acceptConnection(state: SocketState, socket: TLSSocket): Promise<void> {
  const { options, connections } = state
  const { authenticate, clientRevocation, metrics } = options
  const address = plainAddress(socket.remoteAddress)
  try {
    const owner = await findOwner(socket, authenticate, address, randomUUID(), clientRevocation)
    if (socket.destroyed) return
    const connection = new KmipConnection(socket, owner, address, state.environment)
    connections.set(socket, connection)
    socket.once('close', () => connections.delete(socket))
    metrics.count('kmip_connections_total')
    if (state.draining) connection.end()
  } catch (error) {
    const { detail, message } = toFailure(error)
    recordRefusal(options, address, detail ?? message)
    socket.destroy()
  }
}

/** No request was read yet: only this record shows an operator why a device cannot connect. */
function recordRefusal({ log, audit, clock }: KmipSocketOptions, address: string, problem: string): void {
  log.warn({ detail: problem, client_ip: address }, 'the certificate of a KMIP client is refused')
  audit.record({
    time: clock.now(),
    request_id: randomUUID(),
    operation: 'kmip.connect',
    principal: 'unauthenticated',
    auth_method: 'tls_auth',
    client_ip: address,
    outcome: 'failure',
    status: 401,
    reason: 'client_certificate_refused',
    duration_ms: 0,
    details: { problem },
  })
}

/** The connection below TLS: Node has no address for a closed TLS socket, but has one for this socket. */
function rawPeer(socket: TLSSocket): Socket | undefined {
  const { _parent } = socket as TLSSocket & { readonly _parent?: unknown }
  return _parent instanceof Socket ? _parent : undefined
}

/** An IPv4-mapped IPv6 address. */
function plainAddress(address: string | undefined): string {
  return address?.startsWith('::ffff:') === true ? address.slice('::ffff:'.length) : (address ?? 'unknown')
}
