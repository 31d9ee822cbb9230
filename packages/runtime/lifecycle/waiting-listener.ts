import { randomUUID } from 'node:crypto'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type ListenOptions, listenOn } from '@warder/base'
import { prepareFailure, prepareReply, responseHeaders, unreachableDatabase } from '@warder/server'
import { StorageUnavailable } from '@warder/storage'
import type { TlsMaterial } from './messages.ts'

export interface WaitingListener {
  close(): void
}

const maxConnections = 1_000
const requestTimeoutMs = 10_000

/**
 * Replies for a service that waits for its database: `GET /health` reports DOWN, all other requests receive 503. No body is
 * read, and each connection ends with its reply.
 */
export async function startWaitingListener(options: {
  readonly name: string
  readonly place: ListenOptions
  readonly tls: TlsMaterial | undefined
  /** `postgresql`. */
  readonly database: string
}): Promise<WaitingListener> {
  const answer: RequestListener = (request, response) => {
    const requestId = randomUUID()
    const isHealth =
      request.url?.split('?')[0] === '/health' && ['GET', 'HEAD'].includes(request.method ?? '')
    const reply = isHealth
      ? prepareReply(unreachableDatabase(options.database), 503, undefined)
      : prepareFailure(new StorageUnavailable('waiting for the database'), requestId)
    const body = reply.body ?? ''
    const headers = responseHeaders(reply, requestId, 'no-store', Buffer.byteLength(body))
    response.writeHead(reply.status, [...headers, 'Connection', 'close']).end(body)
  }
  const server = options.tls === undefined ? createHttpServer(answer) : createHttpsServer(options.tls, answer)
  server.maxConnections = maxConnections
  server.headersTimeout = requestTimeoutMs
  server.requestTimeout = requestTimeoutMs
  server.on('clientError', (_error, socket) => socket.destroy())
  await listenOn(server, options.place, `${options.name}:`)
  return {
    close() {
      server.close()
      server.closeIdleConnections()
    },
  }
}
