import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerOptions, ServerResponse } from 'node:http'
import { createServer as createSecureServer, type Server as HttpsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { type Clock, closeServer, failure, listenOn, toFailure } from '@warder/base'
import { assertUniqueOperations } from '../operations/define.ts'
import { type ClientAuthorities, createIssuedUnder, type IssuedUnder } from '../tls/peer.ts'
import { BodyBudget } from './body-budget.ts'
import { type AddressSet, addressSet, clientAddress, normalAddress } from './client-address.ts'
import { refuseClientError, sendRefusal } from './client-error.ts'
import { type Connections, createConnections, startIdleSweep } from './connections.ts'
import { createCors } from './cors.ts'
import { type Dispatcher, dispatch } from './dispatcher.ts'
import { createErrorShapes } from './error-shapes.ts'
import { Exchange } from './exchange.ts'
import { compileOperation } from './input.ts'
import { BodyMessage } from './node-internals/body-message.ts'
import { acceptListVerb, type ListVerb, standInVerb } from './node-internals/list-verb.ts'
import { createPrebuiltHeads } from './node-internals/prebuilt-head.ts'
import {
  createPeerSecretCheck,
  defaultLimits,
  handshakeProblem,
  peerSecretHeader,
  type ServerLimits,
  type ServiceServer,
  type ServiceServerOptions,
} from './options.ts'
import { jsonType, type PreparedReply, securityHeaders } from './reply.ts'
import { HttpRequest } from './request.ts'
import { RequestBatcher } from './request-batcher.ts'
import { createRouter } from './router.ts'
import { type ReplyState, sendReply } from './send-reply.ts'

/** Data shared by the phases of a server. */
interface ServerState<Services> {
  readonly options: ServiceServerOptions<Services>
  readonly dispatcher: Dispatcher<Services>
  readonly connections: Connections
  readonly trustedProxies: AddressSet
  readonly isPeerSecret: (shown: unknown) => boolean
  readonly findErrorShape: ReturnType<typeof createErrorShapes>
  readonly replies: ReplyState
  /** Open ones, also those without a request. */
  readonly sockets: Set<Socket>
  /** undefined = the verb LIST is refused. */
  listVerb: ListVerb | undefined
  /** The partners' authorities in force. */
  issuedUnder: IssuedUnder | undefined
  inFlight: number
}

/**
 * Serves a table of operations over HTTP/1.1, with TLS by default. `dispatcher.ts` processes a request; this file has the
 * socket and its limits; `send-reply.ts` sends the reply.
 */
export function createServiceServer<Services>(options: ServiceServerOptions<Services>): ServiceServer {
  assertUniqueOperations(options.operations)
  const limits: ServerLimits = { ...defaultLimits, ...options.limits }
  const state = createState(options, limits)
  const server = buildServer(options, limits, (message, response) => beginRequest(state, message, response))
  // Node detaches its parser from such a connection (RFC 9110 §9.3.6): the following bytes are not HTTP. Tunnels are
  // not supported.
  server.on('connect', (message: BodyMessage) => {
    message.socket.on('error', () => message.socket.destroy())
    beginRequest(state, message, new ServerResponse(message))
  })
  state.listVerb = serveListVerb(server, options)
  guardPartnerHosts(server, state)
  trackSockets(server, state.sockets)
  const { keepAliveTimeoutMs: keptMs, idleTimeoutMs: stalledMs } = limits
  server.once('close', startIdleSweep(state.connections, { keptMs, stalledMs }))
  handleParserErrors(server, state)
  return {
    server,
    listen: (place) => listenOn(server, place, `${options.serviceName}:`),
    drain(timeoutMs) {
      state.replies.draining = true
      const closed = closeServer(server, timeoutMs, () => {
        for (const socket of state.sockets) socket.destroy()
        server.closeAllConnections()
      })
      server.closeIdleConnections()
      return closed
    },
    setTls(tls, clientAuthorities) {
      if (options.tls === undefined) throw failure('internal_error', 'this server has no TLS to reload')
      state.issuedUnder = toIssuedUnder(clientAuthorities, options.clock)
      ;(server as HttpsServer).setSecureContext(tls)
    },
    spread: (share) => endEvenly(state.connections, share),
    inFlight: () => state.inFlight,
  }
}

function createState<Services>(
  options: ServiceServerOptions<Services>,
  limits: ServerLimits,
): ServerState<Services> {
  const dispatcher = createDispatcher(options, limits)
  const state: ServerState<Services> = {
    options,
    dispatcher,
    connections: createConnections(() => state.issuedUnder),
    trustedProxies: addressSet(options.trustedProxyCidrs ?? []),
    isPeerSecret: createPeerSecretCheck(options.peerSecret),
    findErrorShape: createErrorShapes(options.operations),
    replies: createReplyState(options, limits, dispatcher),
    sockets: new Set(),
    listVerb: undefined,
    issuedUnder: toIssuedUnder(options.clientAuthorities, options.clock),
    inFlight: 0,
  }
  return state
}

function createDispatcher<Services>(
  options: ServiceServerOptions<Services>,
  limits: ServerLimits,
): Dispatcher<Services> {
  return {
    router: createRouter(
      options.operations.map((operation) => ({
        methods: operation.route.methods,
        path: operation.route.path,
        target: compileOperation(operation, limits.bodyBytes),
      })),
    ),
    cors: createCors(options.corsAllowedOrigins ?? [], options.baseUrl, options.tls === undefined),
    budget: new BodyBudget(limits.bufferedBytes, limits.bodyBytes),
    batcher: new RequestBatcher(),
  }
}

function createReplyState<Services>(
  { clock, metrics }: ServiceServerOptions<Services>,
  { keepAliveTimeoutMs }: ServerLimits,
  { cors, budget }: Dispatcher<Services>,
): ReplyState {
  const keepAlive = `timeout=${Math.floor(keepAliveTimeoutMs / 1000)}`
  return {
    metrics,
    cors,
    budget,
    keepAlive,
    heads: createPrebuiltHeads(clock, { keepAlive, contentType: jsonType, securityHeaders }),
    draining: false,
  }
}

function toIssuedUnder(authorities: ClientAuthorities | undefined, clock: Clock): IssuedUnder | undefined {
  return authorities && createIssuedUnder(authorities, () => clock.now())
}

function beginRequest<Services>(
  state: ServerState<Services>,
  message: BodyMessage,
  response: ServerResponse,
): void {
  const { options, listVerb } = state
  const connection = state.connections.get(message.socket)
  // RFC 9112 §9.6: a request after the reply that ends its connection is not processed.
  if (connection.closing) return
  if (message.method === standInVerb && listVerb?.isList(message) === true) message.method = 'LIST'
  const forwarded = readForwardedHeaders(message)
  const believed =
    forwarded.forwardedFor !== undefined && state.isPeerSecret(message.headers[peerSecretHeader])
  const client = clientAddress(connection.peerAddress, forwarded, state.trustedProxies, believed)
  const request = new HttpRequest(randomUUID(), message, connection, client, options.clientRevocation)
  const exchange = new Exchange(options, request, message, response, connection)
  exchange.trace = options.tracer?.begin(request.headers)
  matchRoute(state, exchange)
  state.inFlight++
  connection.open++
  dispatch(state.dispatcher, exchange, (reply) => finishRequest(state, exchange, reply))
}

function matchRoute<Services>(state: ServerState<Services>, exchange: Exchange<Services>): void {
  try {
    const found = state.dispatcher.router.find(exchange.request.method, exchange.request.path)
    exchange.compiled = found.target
    if (found.target === undefined) exchange.allow = found.allow
    else exchange.parameters = found.parameters
  } catch (thrown) {
    exchange.routeFailure = thrown
  }
  if (exchange.compiled === undefined) exchange.errorShapeHere = state.findErrorShape(exchange.request.path)
}

function finishRequest<Services>(
  state: ServerState<Services>,
  exchange: Exchange<Services>,
  prepared: PreparedReply | undefined,
): void {
  try {
    const refused = prepared === undefined || exchange.connection.refused
    recordReply(exchange, refused ? prepared : sendReply(state.replies, exchange, prepared))
  } catch (thrown) {
    exchange.log.error({ detail: toFailure(thrown).detail }, 'a reply could not be sent')
    exchange.message.socket.destroy()
  } finally {
    state.inFlight--
    exchange.connection.open--
    exchange.reservation?.release()
    sendRefusal(exchange.connection, exchange.message.socket)
  }
}

/** Metrics, trace and audit. @param reply undefined = the request did not arrive in time */
function recordReply<Services>(exchange: Exchange<Services>, reply: PreparedReply | undefined): void {
  const { audit, metrics } = exchange.options
  const status = reply?.status ?? 408
  const durationMs = exchange.durationMs()
  metrics.operation(exchange.operationName, status, durationMs)
  exchange.trace?.end({
    operation: exchange.operationName,
    method: exchange.request.method,
    route: exchange.operation?.route.path,
    requestId: exchange.request.id,
    status,
    durationMs,
  })
  if (reply !== undefined && audit.mode === 'continue' && exchange.audited)
    audit.record(exchange.auditEvent(status, reply.reason, undefined, durationMs))
}

function buildServer<Services>(
  options: ServiceServerOptions<Services>,
  limits: ServerLimits,
  onRequest: (message: BodyMessage, response: ServerResponse) => void,
): ServiceServer['server'] {
  const http: ServerOptions<typeof BodyMessage> = {
    IncomingMessage: BodyMessage,
    insecureHTTPParser: false,
    requireHostHeader: false, // refused by the dispatcher, so that the reply carries every header
    maxHeaderSize: limits.maxHeaderBytes,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    // `startIdleSweep` ends idle connections; node's own `timeout` is off, too.
    keepAliveTimeout: 0,
    optimizeEmptyRequests: true,
    connectionsCheckingInterval: limits.connectionsCheckingIntervalMs,
    noDelay: true,
  }
  const server =
    options.tls === undefined
      ? createServer(http)
      : createSecureServer({ ...http, handshakeTimeout: limits.handshakeTimeoutMs, ...options.tls })
  server.maxConnections = limits.maxConnections
  // Beyond this count node silently drops headers, and possibly a second credential; `maxHeaderSize` is the limit.
  server.maxHeadersCount = 0
  server.on('request', onRequest)
  server.on('checkContinue', onRequest)
  server.on('checkExpectation', onRequest)
  return server
}

/** @returns the verb LIST, if an operation has it and node's parser is to accept it */
function serveListVerb<Services>(
  server: ServiceServer['server'],
  { operations, listVerb: enabled, tls }: ServiceServerOptions<Services>,
): ListVerb | undefined {
  if (enabled === false || !operations.some(({ route }) => route.methods.includes('LIST'))) return undefined
  const listVerb = acceptListVerb(server)
  server.on(tls === undefined ? 'connection' : 'secureConnection', listVerb.watch)
  return listVerb
}

/** Ends handshakes for a partner's host name that are not the partner's. */
function guardPartnerHosts<Services>(server: ServiceServer['server'], state: ServerState<Services>): void {
  const { partnerHosts, tls, metrics, log } = state.options
  if (partnerHosts === undefined || partnerHosts.size === 0 || tls === undefined) return
  // Runs before the HTTP parser is attached to the connection.
  server.prependListener('secureConnection', (socket: TLSSocket) => {
    const problem = handshakeProblem(socket, partnerHosts, state.issuedUnder)
    if (problem === undefined) return
    metrics.count('http_client_errors_total')
    const address = normalAddress(socket.remoteAddress ?? '') ?? 'unknown'
    log.warn({ address, server_name: socket.servername, problem }, 'a TLS handshake was aborted')
    socket.destroy()
  })
}

function trackSockets(server: ServiceServer['server'], sockets: Set<Socket>): void {
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
}

function handleParserErrors<Services>(
  server: ServiceServer['server'],
  { connections, listVerb, options }: ServerState<Services>,
): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const connection = connections.get(socket)
    if (!connection.refused && !connection.closing && listVerb?.accept(error, socket) === true) return
    if (!connection.refused) options.metrics.count('http_client_errors_total')
    refuseClientError(error, socket, connection)
  })
  // Before the handshake no reply is possible, and `end` would wait for the handshake without limit.
  server.on('tlsClientError', (_error: Error, socket: Socket) => socket.destroy())
}

/** Ends a share of the connections with their next reply, evenly: every n-th of them. */
function endEvenly(connections: Connections, share: number): void {
  let count = 0
  for (const [, connection] of connections.all()) {
    count += 1
    if (Math.floor(count * share) > Math.floor((count - 1) * share)) connection.leaving = true
  }
}

/** Headers in which proxies state their client. */
function readForwardedHeaders({ headers }: IncomingMessage): Parameters<typeof clientAddress>[1] {
  return { forwardedFor: headers['x-forwarded-for'] as string | undefined, forwarded: headers.forwarded }
}
