import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { type Failure, failure } from '../errors/index.ts'
import type { Connection } from './connections.ts'
import { securityHeaders } from './headers.ts'

/**
 * Answers what the HTTP parser refused (smuggling, too large a head, too slow) and ends the connection. While a request
 * of this connection waits for its reply nothing is said, because it would be taken for that: the refusal is kept for
 * `tellRefusal`.
 */
export function refuseClientError(
  error: NodeJS.ErrnoException,
  socket: Socket,
  connection: Connection | undefined,
): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
  } else if (error.code === 'HPE_CLOSED_CONNECTION') {
    // Bytes behind a request with `Connection: close`: nobody reads them, and its reply ends the connection.
  } else if (connection === undefined) {
    refuse(error, socket)
  } else if (connection.closing && !awaitsReplies(connection)) {
    socket.destroy()
  } else {
    connection.refusal ??= error
    tellRefusal(connection, socket)
  }
}

/** To be called when a reply has been handed to the connection: the refusal goes behind the last one. */
export function tellRefusal(connection: Connection, socket: Socket): void {
  if (connection.refusal === undefined || awaitsReplies(connection)) return
  if (!connection.closing && socket.writable) refuse(connection.refusal, socket)
  connection.closing = true
}

function awaitsReplies({ open, reading, queued }: Connection): boolean {
  return open > reading || queued > 0
}

function refuse(error: NodeJS.ErrnoException, socket: Socket): void {
  socket.end(minimalReply(problemOf(error.code)), () => socket.destroy())
}

function problemOf(code: string | undefined): Failure {
  if (code === 'HPE_HEADER_OVERFLOW') return failure('headers_too_large')
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return failure('payload_too_large')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return failure('request_timeout')
  return failure('bad_request')
}

function minimalReply(problem: Failure): string {
  const body = JSON.stringify({ error: problem.kind, description: problem.message })
  let head = `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status] ?? 'Error'}\r\n`
  for (let index = 0; index < securityHeaders.length; index += 2) {
    head += `${securityHeaders[index]}: ${securityHeaders[index + 1]}\r\n`
  }
  head += `Cache-Control: no-store\r\nX-Request-Id: ${randomUUID()}\r\nContent-Type: application/json\r\n`
  return `${head}Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`
}
