import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerOptions, ServerResponse } from 'node:http'
import { createServer as createSecureServer, type Server as HttpsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { failure, toFailure } from '../errors/index.ts'
import { addressSet, clientAddress, normalAddress } from '../net/client-address.ts'
import { startIdleSweep } from '../net/idle-sweep.ts'
import { listenOn } from '../net/listen.ts'
import { RequestBatcher } from '../net/request-batcher.ts'
import { assertUniqueOperations } from '../operations/define.ts'
import { createIssuedUnder } from '../tls/client-authorities.ts'
import { announcesBody } from './body.ts'
import { BodyBudget } from './body-budget.ts'
import { BodyMessage } from './body-message.ts'
import { refuseClientError, sendRefusal } from './client-error.ts'
import { createConnections } from './connections.ts'
import { createCors } from './cors.ts'
import { type Dispatcher, dispatch, replyToFailure } from './dispatcher.ts'
import { createErrorShapes } from './error-shapes.ts'
import { Exchange } from './exchange.ts'
import { responseHeaders } from './headers.ts'
import { compileOperation } from './input.ts'
import { acceptListVerb, standInVerb } from './node-internals/list-verb.ts'
import { defaultLimits, type ServerLimits, type ServiceServer, type ServiceServerOptions } from './options.ts'
import { handshakeProblem } from './partner-hosts.ts'
import { createPeerSecretCheck, peerSecretHeader } from './peer-secret.ts'
import { createPrebuiltHeads } from './prebuilt-head.ts'
import type { PreparedReply } from './reply.ts'
import { HttpRequest } from './request.ts'
import { createRouter } from './router.ts'
import { readThroughStream } from './waiting-replies.ts'

/** An unread body up to this size is discarded to keep the connection; a larger one ends the connection. */
const drainableBytes = 64 * 1024
/** Replies up to this size are not counted in the budget while they wait for their clients. */
const smallReply = 64 * 1024
/** How long a refused upload is read and discarded, so that the client can read the reply. */
const lingerMs = 1000

/**
 * Serves a table of operations over HTTP/1.1, with TLS by default. `dispatcher.ts` processes a request; this file has the
 * socket, its limits, and the reply.
 */
export function createServiceServer<Services>(options: ServiceServerOptions<Services>): ServiceServer {
  assertUniqueOperations(options.operations)
  const limits: ServerLimits = { ...defaultLimits, ...options.limits }
  const toIssuedUnder = (authorities: ServiceServerOptions<Services>['clientAuthorities']) =>
    authorities && createIssuedUnder(authorities, () => options.clock.now())
  let issued = toIssuedUnder(options.clientAuthorities)
  const connections = createConnections(() => issued)
  const trusted = addressSet(options.trustedProxyCidrs ?? [])
  const showsSecret = createPeerSecretCheck(options.peerSecret)
  const dispatcher: Dispatcher<Services> = {
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
  const findErrorShape = createErrorShapes(options.operations)
  const keepAlive = `timeout=${Math.floor(limits.keepAliveTimeoutMs / 1000)}`
  const heads = createPrebuiltHeads(options.clock, keepAlive)
  let inFlight = 0
  let draining = false

  /** Node detaches its parser from such a connection (RFC 9110 §9.3.6): what follows is not HTTP. Tunnels are not supported. */
  function onConnect(message: BodyMessage): void {
    message.socket.on('error', () => message.socket.destroy())
    onRequest(message, new ServerResponse(message))
  }

  function onRequest(message: BodyMessage, response: ServerResponse): void {
    const connection = connections.get(message.socket)
    // RFC 9112 §9.6: nothing is done for a request behind the reply that ends its connection.
    if (connection.closing) return
    if (message.method === standInVerb && listVerb?.isList(message) === true) message.method = 'LIST'
    const forwarded = readForwardedHeaders(message)
    const believed = forwarded.forwardedFor !== undefined && showsSecret(message.headers[peerSecretHeader])
    const client = clientAddress(connection.peerAddress, forwarded, trusted, believed)
    const request = new HttpRequest(randomUUID(), message, connection, client, options.clientRevocation)
    const exchange = new Exchange(options, request, message, response, connection)
    exchange.trace = options.tracer?.begin(request.headers)
    match(exchange)
    inFlight++
    connection.open++
    dispatch(dispatcher, exchange, (reply) => finish(exchange, reply))
  }

  function match(exchange: Exchange<Services>): void {
    try {
      const found = dispatcher.router.find(exchange.request.method, exchange.request.path)
      exchange.compiled = found.target
      if (found.target === undefined) exchange.allow = found.allow
      else exchange.parameters = found.parameters
    } catch (thrown) {
      exchange.routeFailure = thrown
    }
    if (exchange.compiled === undefined) exchange.errorShapeHere = findErrorShape(exchange.request.path)
  }

  function finish(exchange: Exchange<Services>, reply: PreparedReply | undefined): void {
    try {
      settle(exchange, reply)
    } catch (thrown) {
      exchange.log.error({ detail: toFailure(thrown).detail }, 'a reply could not be sent')
      exchange.message.socket.destroy()
    } finally {
      inFlight--
      exchange.connection.open--
      exchange.reservation?.release()
      sendRefusal(exchange.connection, exchange.message.socket)
    }
  }

  function settle(exchange: Exchange<Services>, prepared: PreparedReply | undefined): void {
    const { audit, metrics } = options
    let reply = prepared
    if (reply !== undefined && !exchange.connection.refused) {
      try {
        write(exchange, reply)
      } catch (thrown) {
        // A handler's header that HTTP cannot carry (RFC 9110 §5.5): nothing has been sent yet.
        reply = replyToFailure(exchange, thrown)
        write(exchange, reply)
      }
      const { socket } = exchange.message
      if (socket.writableNeedDrain) {
        readThroughStream(exchange.connection, socket)
        reserveUnsentReply(exchange, reply)
      }
    }
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
    if (reply !== undefined && audit.mode === 'continue' && exchange.audited) {
      audit.record(exchange.auditEvent(status, reply.reason, undefined, durationMs))
    }
  }

  /** An unsent reply counts in the budget like a body; when that exceeds the budget, the reply is dropped. */
  function reserveUnsentReply({ message, response }: Exchange<Services>, { body }: PreparedReply): void {
    const bytes = body === undefined ? 0 : Buffer.byteLength(body)
    if (bytes <= smallReply) return
    if (dispatcher.budget.tryReserve(bytes, true))
      response.once('close', () => dispatcher.budget.release(bytes))
    else {
      options.metrics.count('http_replies_dropped_total')
      message.socket.destroy()
    }
  }

  function write(exchange: Exchange<Services>, reply: PreparedReply): void {
    const { response, message, request, operation } = exchange
    if (message.method === 'CONNECT') {
      exchange.connection.refusal ??= { reply, requestId: request.id }
      return
    }
    const { body, status } = reply
    const bodyless = status === 204 || status === 304
    const length = bodyless ? undefined : body === undefined ? 0 : Buffer.byteLength(body)
    const cacheControl = (status < 400 ? operation?.cacheControl : undefined) ?? 'no-store'
    const { origin } = request.headers
    // Only pages send Origin; a cacheable reply may also be served to a page later.
    const mayBeRead = origin !== undefined || operation?.cacheControl !== undefined
    const anyOrigin = mayBeRead && (operation?.cors === 'any-origin' || exchange.preflightAnyOrigin)
    const unread = !message.complete && announcesBody(message) && !drainable(message)
    const plain = !anyOrigin && origin === undefined && message.httpVersion === '1.1'
    const { leaving, open } = exchange.connection
    // Replies to later requests are sent first.
    const isLast = unread || draining || (leaving && open === 1)
    if (plain && !isLast && typeof body === 'string' && length !== undefined) {
      if (message.method !== 'HEAD' && heads.write(response, reply, request.id, cacheControl, length)) {
        if (response.socket === null) queueBehindOthers(exchange)
        response.end(body, length === body.length ? 'latin1' : 'utf8')
        return
      }
    }
    const headers = responseHeaders(reply, request.id, cacheControl, length)
    dispatcher.cors.reply(headers, origin, request.headers.host, anyOrigin)
    if (isLast) {
      exchange.connection.closing = true
      headers.push('Connection', 'close')
    } else if (response.shouldKeepAlive) headers.push('Keep-Alive', keepAlive)
    if (response.socket === null) queueBehindOthers(exchange)
    response.writeHead(status, headers)
    if (unread) linger(message, response, bodyless ? undefined : body)
    else if (body === undefined || bodyless) response.end()
    else if (typeof body === 'string') response.end(body, length === body.length ? 'latin1' : 'utf8')
    else response.end(body)
  }

  const server = build(options, limits, onRequest)
  server.on('connect', onConnect)
  const takesLists = options.operations.some(({ route }) => route.methods.includes('LIST'))
  const listVerb = takesLists && options.listVerb !== false ? acceptListVerb(server) : undefined
  if (listVerb !== undefined)
    server.on(options.tls === undefined ? 'connection' : 'secureConnection', listVerb.watch)
  const { partnerHosts } = options
  if (partnerHosts !== undefined && partnerHosts.size > 0 && options.tls !== undefined)
    // Runs before the HTTP parser is attached to the connection.
    server.prependListener('secureConnection', (socket: TLSSocket) => {
      const problem = handshakeProblem(socket, partnerHosts, issued)
      if (problem === undefined) return
      options.metrics.count('http_client_errors_total')
      const address = normalAddress(socket.remoteAddress ?? '') ?? 'unknown'
      options.log.warn({ address, server_name: socket.servername, problem }, 'a TLS handshake was ended')
      socket.destroy()
    })
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  const { keepAliveTimeoutMs: keptMs, idleTimeoutMs: stalledMs } = limits
  server.once('close', startIdleSweep(connections, { keptMs, stalledMs }))
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const connection = connections.get(socket)
    if (!connection.refused && !connection.closing && listVerb?.accept(error, socket) === true) return
    if (!connection.refused) options.metrics.count('http_client_errors_total')
    refuseClientError(error, socket, connection)
  })
  // Before the handshake no reply is possible, and `end` would wait for the handshake without limit.
  server.on('tlsClientError', (_error: Error, socket: Socket) => socket.destroy())

  return {
    server,
    listen: (place) => listenOn(server, place, `${options.serviceName}:`),
    drain(timeoutMs) {
      draining = true
      return new Promise((resolve) => {
        const cut = setTimeout(() => {
          for (const socket of sockets) socket.destroy()
          server.closeAllConnections()
        }, timeoutMs)
        server.close(() => {
          clearTimeout(cut)
          resolve()
        })
        server.closeIdleConnections()
      })
    },
    setTls(tls, clientAuthorities) {
      if (options.tls === undefined) throw failure('internal_error', 'this server has no TLS to reload')
      issued = toIssuedUnder(clientAuthorities)
      ;(server as HttpsServer).setSecureContext(tls)
    },
    spread(share) {
      let count = 0
      for (const [, connection] of connections.all()) {
        count += 1
        // Evenly: every n-th of them.
        if (Math.floor(count * share) > Math.floor((count - 1) * share)) connection.leaving = true
      }
    },
    inFlight: () => inFlight,
  }
}

function build<Services>(
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

/** Headers in which proxies state their client. */
function readForwardedHeaders({ headers }: IncomingMessage): Parameters<typeof clientAddress>[1] {
  return { forwardedFor: headers['x-forwarded-for'] as string | undefined, forwarded: headers.forwarded }
}

function drainable(message: IncomingMessage): boolean {
  // RFC 9110 §10.1.1: after a final reply the body may or may not follow; a request could hide in it.
  if (message.headers.expect !== undefined) return false
  return Number(message.headers['content-length'] ?? Number.POSITIVE_INFINITY) <= drainableBytes
}

/** Queues a reply that is ready before the replies to earlier pipelined requests are sent (RFC 9112 §9.3.2). */
function queueBehindOthers<Services>({ connection, response, message }: Exchange<Services>): void {
  connection.queued++
  readThroughStream(connection, message.socket)
  response.once('finish', () => {
    connection.queued--
    sendRefusal(connection, message.socket)
  })
}

/** Sends the reply and continues reading for a moment: closing with unread bytes would reset the connection. */
function linger(
  message: IncomingMessage,
  response: ServerResponse,
  body: string | Uint8Array | undefined,
): void {
  if (body !== undefined) response.write(body)
  const end = (): void => {
    clearTimeout(timer)
    response.end()
  }
  const timer = setTimeout(end, lingerMs)
  message.once('end', end)
  message.once('close', end)
  message.resume()
}
