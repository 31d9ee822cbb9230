import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { type Failure, failure } from '../errors/index.ts'
import { securityHeaders } from './headers.ts'

/**
 * Answers what the HTTP parser refused (smuggling, too large a head, too slow) and ends the connection. `busy`: a
 * request of this connection still waits for its reply; then nothing is said, because it would be taken for that.
 */
export function refuseClientError(error: NodeJS.ErrnoException, socket: Socket, busy: boolean): void {
  if (error.code === 'ECONNRESET' || !socket.writable || busy) {
    socket.destroy()
    return
  }
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
