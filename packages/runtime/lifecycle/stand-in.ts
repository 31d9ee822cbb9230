import { randomUUID } from 'node:crypto'
import { createServer as createHttpServer, type IncomingMessage, type RequestListener } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { Socket } from 'node:net'
import { canSharePort, KeyedLimiter, type ListenOptions, listenOn, toFailure } from '@warder/base'
import { bucketKey, type PreparedReply, prepareFailure, responseHeaders } from '@warder/server'
import type { TlsMaterial } from './messages.ts'
import type { PrimaryCertificates } from './primary-certificates.ts'
import type { Start } from './primary-start.ts'

/** Replies to one request; an error that it throws is sent as a failure. */
export type StandInAnswer = (request: IncomingMessage) => PreparedReply | Promise<PreparedReply>

/** The listener of a service that cannot serve yet, because its database is unavailable or the service is sealed. */
export interface StandIn {
  readonly port: number
  /** Replies from now on. */
  setAnswer(answer: StandInAnswer): void
  close(): void
}

const maxConnections = 1_000
/** Limit for one IPv4 address, or one /64 of IPv6. */
const maxConnectionsPerAddress = 250
const requestTimeoutMs = 10_000

/** Listens on the port of the service until the workers do. @throws StartupError for a taken port */
export async function startStandIn(
  { launch, definition, ports, opened }: Start,
  certificates: PrimaryCertificates,
  answer: StandInAnswer,
): Promise<StandIn> {
  const { host } = launch.config
  const port = await ports.claim(host, launch.config.port, definition.name)
  const standIn = await listen({
    name: definition.name,
    place: { host, port, reusePort: canSharePort(process.platform) },
    tls: certificates.current().https,
    answer,
  })
  opened.defer(() => standIn.close())
  ports.release()
  return standIn
}

/** Whether a request is `GET /health`, with any query. */
export function isHealthRequest({ url, method = '' }: IncomingMessage): boolean {
  return url?.split('?')[0] === '/health' && ['GET', 'HEAD'].includes(method)
}

interface StandInListener {
  readonly name: string
  readonly place: ListenOptions
  readonly tls: TlsMaterial | undefined
  readonly answer: StandInAnswer
}

/** Each connection is closed after its reply. A body is read only if the reply depends on it. */
async function listen(options: StandInListener): Promise<StandIn> {
  let { answer } = options
  const reply: RequestListener = (request, response) => {
    const requestId = randomUUID()
    const send = (prepared: PreparedReply): void => {
      const body = prepared.body ?? ''
      const headers = responseHeaders(prepared, requestId, 'no-store', Buffer.byteLength(body))
      response.writeHead(prepared.status, [...headers, 'Connection', 'close']).end(body)
    }
    Promise.resolve()
      .then(() => answer(request))
      .then(send, (error: unknown) => send(prepareFailure(toFailure(error), requestId)))
  }
  const server = options.tls === undefined ? createHttpServer(reply) : createHttpsServer(options.tls, reply)
  server.maxConnections = maxConnections
  server.headersTimeout = requestTimeoutMs
  server.requestTimeout = requestTimeoutMs
  server.on('clientError', (_error, socket) => socket.destroy())
  const open = new KeyedLimiter(maxConnections, maxConnectionsPerAddress)
  server.on('connection', (socket: Socket) => {
    const address = bucketKey(socket.remoteAddress ?? '')
    if (!open.tryAcquire(address, 1)) return void socket.destroy()
    socket.once('close', () => open.release(address, 1))
  })
  const { port } = await listenOn(server, options.place, `${options.name}:`)
  return {
    port,
    setAnswer(next) {
      answer = next
    },
    close() {
      server.close()
      server.closeIdleConnections()
    },
  }
}
