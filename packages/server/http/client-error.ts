import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { type Failure, failure } from '@warder/base'
import type { Connection, Refusal } from './connections.ts'
import { prepareFailure, responseHeaders } from './reply.ts'

/** How long a refused connection is read on: closing with unread bytes would reset it under the reply (RFC 9112 §9.6). */
const lingerMs = 1000

/**
 * Replies to a request that the HTTP parser refused (smuggling, too large a head, too slow) and ends the connection.
 * While a request of this connection waits for its reply, the refusal is kept for `sendRefusal`: the client would
 * mistake it for that reply. The parser also refuses all that follows, which changes nothing.
 */
export function refuseClientError(
  error: NodeJS.ErrnoException,
  socket: Socket,
  connection: Connection,
): void {
  if (connection.refused) return
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
  } else if (error.code === 'HPE_CLOSED_CONNECTION' || connection.closing) {
    // These bytes are not processed, and the pending reply ends the connection.
  } else {
    connection.refusal ??= prepareRefusal(toFailureOfParser(error.code))
    sendRefusal(connection, socket)
  }
}

/** To be called after each reply: sends the refusal after the last reply. */
export function sendRefusal(connection: Connection, socket: Socket): void {
  if (connection.refusal === undefined || awaitsReplies(connection)) return
  if (!connection.closing && socket.writable) {
    connection.refused = true
    refuse(connection.refusal, socket)
  }
  connection.closing = true
}

function awaitsReplies({ open, reading, queued }: Connection): boolean {
  return open > reading || queued > 0
}

function refuse(refusal: Refusal, socket: Socket): void {
  socket.end(formatResponse(refusal))
  socket.resume()
  const timer = setTimeout(() => socket.destroy(), lingerMs)
  socket.once('close', () => clearTimeout(timer))
}

function toFailureOfParser(code: string | undefined): Failure {
  if (code === 'HPE_HEADER_OVERFLOW') return failure('headers_too_large')
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return failure('payload_too_large')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return failure('request_timeout')
  return failure('bad_request')
}

function prepareRefusal(problem: Failure): Refusal {
  const requestId = randomUUID()
  return { reply: prepareFailure(problem, requestId), requestId }
}

function formatResponse({ reply, requestId }: Refusal): string {
  const body = String(reply.body ?? '')
  const headers = responseHeaders(reply, requestId, 'no-store', Buffer.byteLength(body))
  let head = `HTTP/1.1 ${reply.status} ${STATUS_CODES[reply.status] ?? 'Error'}\r\n`
  for (let index = 0; index < headers.length; index += 2)
    head += `${headers[index]}: ${headers[index + 1]}\r\n`
  return `${head}Connection: close\r\n\r\n${body}`
}
