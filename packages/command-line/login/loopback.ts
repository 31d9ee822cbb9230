import { createHash, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { StartupError } from '@warder/base'

interface Received {
  readonly code: string
  /** Realm of the session; undefined: the browser returned without one. */
  readonly realm: string | undefined
}

/** Loopback address that receives the code of a login from the browser (RFC 8252 §7.3). */
export interface Loopback {
  /** `http://127.0.0.1:PORT/warder-login` */
  readonly url: string
  /** Resolves when the browser has its response. @throws StartupError on a timeout */
  receive(): Promise<Received>
  /** Stops listening and closes every connection. */
  close(): void
}

const path = '/warder-login'
const host = '127.0.0.1'
const codePattern = /^[A-Za-z0-9_-]{1,256}$/
const realmPattern = /^[A-Za-z0-9_-]{1,64}$/
/** Enough for a browser; bounds other local programs. */
const maxConnections = 16
const requestMs = 10_000

interface Page {
  readonly status: number
  readonly sentence: string
}

const pages = {
  taken: {
    status: 200,
    sentence: 'The login is complete and continues in the terminal. You can close this window.',
  },
  again: { status: 410, sentence: 'The login is already complete. You can close this window.' },
  foreign: {
    status: 400,
    sentence: 'This response does not belong to the current login. Use the address that the command printed.',
  },
  unknown: { status: 404, sentence: 'There is nothing here.' },
  method: { status: 405, sentence: 'Only GET is allowed.' },
} as const satisfies Readonly<Record<string, Page>>

/**
 * Listens on a free loopback port for one response. Requests with a wrong state, which any local program can send, are
 * rejected without effect; the first request with the right state completes the login.
 * @param state expected state, compared in constant time
 * @throws StartupError when no port is available
 */
export async function openLoopback(state: string, withinMs: number): Promise<Loopback> {
  const received = Promise.withResolvers<Received>()
  // It may be rejected before `receive` is called.
  received.promise.catch(() => undefined)
  let isTaken = false
  let own = ''
  const selectPage = (request: IncomingMessage, response: ServerResponse): Page => {
    // A foreign name that resolves to this address (DNS rebinding) does not match.
    if (request.headers.host !== own) return pages.unknown
    if (request.method !== 'GET') return pages.method
    const target = URL.parse(request.url ?? '', `http://${own}`)
    if (target?.pathname !== path) return pages.unknown
    if (isTaken) return pages.again
    const result = readResult(target.searchParams, state)
    if (result === undefined) return pages.foreign
    isTaken = true
    response.once('close', () => received.resolve(result))
    return pages.taken
  }
  const answer = (request: IncomingMessage, response: ServerResponse): void =>
    send(response, selectPage(request, response))
  const server = createServer({ maxHeaderSize: 8192, requestTimeout: requestMs, keepAlive: false }, answer)
  server.maxConnections = maxConnections
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) =>
      reject(new StartupError(`no port is available on ${host}: ${cause.message}`, { cause })),
    )
    server.listen(0, host, resolve)
  })
  own = `${host}:${(server.address() as AddressInfo).port}`
  const timer = setTimeout(
    () =>
      received.reject(
        new StartupError(
          `the login was not completed within ${Math.ceil(withinMs / 1000)} seconds. If it was refused, the page in ` +
            'the browser shows the reason',
        ),
      ),
    withinMs,
  )
  return {
    url: `http://${own}${path}`,
    receive: () => received.promise,
    close() {
      clearTimeout(timer)
      server.close()
      server.closeAllConnections()
    },
  }
}

/** Reads the result of the current login; undefined for every other request. */
function readResult(query: URLSearchParams, state: string): Received | undefined {
  const [states, codes, realms] = ['state', 'code', 'realm'].map((name) => query.getAll(name))
  const [[code = ''], [realm]] = [codes ?? [], realms ?? []]
  const isOurs = states?.length === 1 && isSame(states[0] ?? '', state)
  const isCode = codes?.length === 1 && codePattern.test(code)
  const isRealm = realm === undefined || (realms?.length === 1 && realmPattern.test(realm))
  return isOurs && isCode && isRealm ? { code, realm } : undefined
}

/** Compares digests, because a constant-time comparison needs equal lengths. */
function isSame(actual: string, expected: string): boolean {
  const hash = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(hash(actual), hash(expected))
}

function send(response: ServerResponse, { status, sentence }: Page): void {
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    connection: 'close',
    ...(status === 405 && { allow: 'GET' }),
  })
  response.end(`<!doctype html><html lang="en"><title>Warder</title><p>${sentence}</p></html>\n`)
}
