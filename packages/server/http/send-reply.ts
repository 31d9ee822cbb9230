import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { pipeline, Readable } from 'node:stream'
import type { Metrics } from '@warder/base'
import { announcesBody } from './body.ts'
import type { BodyBudget } from './body-budget.ts'
import { sendRefusal } from './client-error.ts'
import type { Connection } from './connections.ts'
import type { Cors } from './cors.ts'
import { replyToFailure } from './dispatcher.ts'
import type { Exchange } from './exchange.ts'
import { rememberRead } from './node-internals/list-verb.ts'
import type { PrebuiltHeads } from './node-internals/prebuilt-head.ts'
import { type PreparedReply, responseHeaders } from './reply.ts'

/** An unread body up to this size is discarded to keep the connection; a larger one ends the connection. */
const drainableBytes = 64 * 1024
/** Replies up to this size are not counted in the budget while they wait for their clients. */
const smallReply = 64 * 1024
/** How long a refused upload is read and discarded, so that the client can read the reply. */
const lingerMs = 1000

/** Services of the server for its replies. */
export interface ReplyState {
  readonly metrics: Metrics
  readonly cors: Cors
  readonly budget: BodyBudget
  /** Value of the header Keep-Alive. */
  readonly keepAlive: string
  readonly heads: PrebuiltHeads
  /** Each reply ends its connection. */
  draining: boolean
}

/** @returns the reply that was sent: another one, if HTTP cannot carry the given one */
export function sendReply<Services>(
  state: ReplyState,
  exchange: Exchange<Services>,
  prepared: PreparedReply,
): PreparedReply {
  let reply = prepared
  try {
    writeReply(state, exchange, reply)
  } catch (thrown) {
    // A handler's header that HTTP cannot carry (RFC 9110 §5.5): nothing has been sent yet.
    reply = replyToFailure(exchange, thrown)
    writeReply(state, exchange, reply)
  }
  const { socket } = exchange.message
  if (socket.writableNeedDrain) {
    readThroughStream(exchange.connection, socket)
    reserveUnsentReply(state, exchange, reply)
  }
  return reply
}

/** An unsent reply counts in the budget like a body; when that exceeds the budget, the reply is dropped. */
function reserveUnsentReply<Services>(
  { budget, metrics }: ReplyState,
  { message, response }: Exchange<Services>,
  { body }: PreparedReply,
): void {
  const bytes = body === undefined ? 0 : Buffer.byteLength(body)
  if (bytes <= smallReply) return
  if (budget.tryReserve(bytes, true)) response.once('close', () => budget.release(bytes))
  else {
    metrics.count('http_replies_dropped_total')
    message.socket.destroy()
  }
}

function writeReply<Services>(
  { cors, heads, keepAlive, draining }: ReplyState,
  exchange: Exchange<Services>,
  reply: PreparedReply,
): void {
  const { response, message, request, operation } = exchange
  if (message.method === 'CONNECT') {
    exchange.connection.refusal ??= { reply, requestId: request.id }
    return
  }
  const { body, status, stream } = reply
  const bodyless = status === 204 || status === 304
  const length =
    bodyless || stream !== undefined ? undefined : body === undefined ? 0 : Buffer.byteLength(body)
  const cacheControl = (status < 400 ? operation?.cacheControl : undefined) ?? 'no-store'
  const { origin } = request.headers
  // Only pages send Origin; a cacheable reply may also be served to a page later.
  const mayBeReadByPages = origin !== undefined || operation?.cacheControl !== undefined
  const anyOrigin = mayBeReadByPages && (operation?.cors === 'any-origin' || exchange.preflightAnyOrigin)
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
  cors.reply(headers, origin, request.headers.host, anyOrigin)
  if (isLast) {
    exchange.connection.closing = true
    headers.push('Connection', 'close')
  } else if (response.shouldKeepAlive) headers.push('Keep-Alive', keepAlive)
  if (response.socket === null) queueBehindOthers(exchange)
  response.writeHead(status, headers)
  if (stream !== undefined && message.method !== 'HEAD') sendStream(exchange, stream)
  else if (unread) linger(message, response, bodyless ? undefined : body)
  else if (body === undefined || bodyless) response.end()
  else if (typeof body === 'string') response.end(body, length === body.length ? 'latin1' : 'utf8')
  else response.end(body)
}

/** Sends parts as fast as the client receives them. A client that is gone ends the stream. */
function sendStream<Services>(exchange: Exchange<Services>, stream: AsyncIterable<string>): void {
  readThroughStream(exchange.connection, exchange.message.socket)
  pipeline(Readable.from(stream), exchange.response, (error) => {
    if (error !== undefined && error !== null && error.code !== 'ERR_STREAM_PREMATURE_CLOSE')
      exchange.log.error({ detail: String(error) }, 'a reply ended before it was complete')
  })
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

/**
 * To be called when a reply stays in this process, until its caller receives it or until it is its turn. Node then
 * stops reading at the next request, so that a client that sends without reading cannot fill the memory; but its
 * parser, which reads past the socket's stream, refuses what TLS still hands over from what it has deciphered
 * (`HPE_PAUSED`), and an honest caller loses the connection. A listener on the stream makes node read through it from
 * now on, and the stream buffers such bytes. See docs/adr/node-performance.md.
 */
function readThroughStream(connection: Connection, socket: Socket): void {
  if (connection.throughStream) return
  connection.throughStream = true
  socket.on('data', (bytes: Buffer) => rememberRead(socket, bytes))
}
