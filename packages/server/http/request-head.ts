import type { IncomingMessage } from 'node:http'
import { failure } from '@warder/base'
import { type HttpRequest, namesHost, readTarget } from './request.ts'

/** RFC 9112 §3.2: a request without one Host that names a host is refused; so is a target that is for proxies. */
export function checkHead(message: IncomingMessage, request: HttpRequest, overTls: boolean): void {
  const hasHost = hasOneHost(message.rawHeaders)
  if (message.httpVersion !== '1.1') checkOlderVersion(message)
  else if (!hasHost) throw failure('bad_request', 'The header Host is missing.')
  checkHost(request)
  const { expect } = message.headers
  if (expect !== undefined && !expectsOnlyContinue(expect)) throw failure('expectation_failed')
  // RFC 9110 §9.1: no path answers it, so it is no 405.
  if (message.method === 'CONNECT') throw failure('not_implemented')
  const { targetScheme, path } = request
  if (targetScheme !== undefined) checkScheme(targetScheme, overTls)
  else if (!path.startsWith('/') && !isServerWide(message))
    throw failure('bad_request', 'The request target must be a path or an absolute address.')
}

/** An empty Host is that of a target without an authority; an absolute target always has one (RFC 9110 §4.2). */
function checkHost({ headers: { host }, targetScheme }: HttpRequest): void {
  if (host === undefined || namesHost(host) || (host === '' && targetScheme === undefined)) return
  const where = targetScheme === undefined ? 'The header Host' : 'The authority of the request target'
  throw failure('bad_request', `${where} does not name a host.`)
}

/** RFC 9110 §7.4: over TLS the target must be an `https` one; without it TLS may have ended at a proxy. */
function checkScheme(scheme: string, overTls: boolean): void {
  if (scheme === 'https' || (scheme === 'http' && !overTls)) return
  throw failure('bad_request', 'The scheme of the request target must be that of the connection.')
}

/** `OPTIONS *` (RFC 9110 §9.3.7). */
export function isServerWide({ method, url = '' }: IncomingMessage): boolean {
  return method === 'OPTIONS' && (url === '*' || readTarget(url, method).path === '*')
}

/** RFC 9110 §10.1.1: a list, in any case. */
function expectsOnlyContinue(expect: string): boolean {
  return expect
    .split(',')
    .map((member) => member.trim().toLowerCase())
    .every((member) => member === '100-continue' || member === '')
}

function checkOlderVersion({ httpVersion, headers }: IncomingMessage): void {
  if (httpVersion !== '1.0') throw failure('bad_request', 'The version of HTTP must be 1.0 or 1.1.')
  // RFC 9112 §6.1: a proxy of that time may have cut the message in another way.
  if (headers['transfer-encoding'] !== undefined)
    throw failure('bad_request', 'HTTP/1.0 has no Transfer-Encoding.')
}

/** Headers of which node silently keeps the first, and of which another parser may use the last. */
const singleHeaders: ReadonlyMap<number, string> = new Map(
  ['Host', 'Content-Type', 'Authorization'].map((name) => [name.length, name]),
)

/** @returns whether there is a Host header @throws failure('bad_request') when one of `singleHeaders` is there twice */
function hasOneHost(rawHeaders: readonly string[]): boolean {
  let seen = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ''
    const single = singleHeaders.get(name.length)
    if (single === undefined || (name !== single && name.toLowerCase() !== single.toLowerCase())) continue
    const bit = 1 << name.length
    if ((seen & bit) !== 0) throw failure('bad_request', `The header ${single} appears more than once.`)
    seen |= bit
  }
  return (seen & (1 << 'Host'.length)) !== 0
}
