import { X509Certificate } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { TLSSocket } from 'node:tls'
import { failure } from '@warder/base'
import type { HttpMethod, IncomingRequest } from '../operations/types.ts'
import { type ClientRevocation, listPresentedChain } from '../tls/client-revocation.ts'
import { getVerifiedPeerCertificate, hasUnverifiedCertificate } from '../tls/peer.ts'
import type { ClientAddress } from './client-address.ts'
import type { Connection } from './connections.ts'

/** A request target (RFC 9112 §3.2), cut into its parts. */
interface RequestTarget {
  /** Begins with a slash, or is `*`; any other form is left unchanged, and matches no route. */
  readonly path: string
  /** Text after `?`, or empty. */
  readonly rawQuery: string
  /** Of the absolute form only; the scheme is in lower case. */
  readonly absolute: { readonly scheme: string; readonly authority: string } | undefined
}

/** RFC 3986 §3.2.2 and §3.2.3, without user information (RFC 9110 §4.2.4): a name or an address, and a port. */
const hostAndPort = /^(?:\[[0-9A-Fa-f:.]+\]|(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+)(?::(\d{0,5}))?$/
const absoluteForm = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/([^/?#]*)([^#]*)$/

/** @param method decides the meaning of an absolute target without a path (RFC 9112 §3.2.4) */
function readTarget(target: string, method: string): RequestTarget {
  if (target.startsWith('/')) return cut(target, undefined)
  const [, scheme, authority, rest = ''] = absoluteForm.exec(target) ?? []
  if (scheme === undefined || authority === undefined) return cut(target, undefined)
  const empty = method === 'OPTIONS' && rest === '' ? '*' : '/'
  const path = rest.startsWith('/') ? rest : `${empty}${rest}`
  return cut(path, { scheme: scheme.toLowerCase(), authority })
}

/** Whether the text names a host, as the header Host and the authority of a target do (RFC 9110 §7.2). */
function namesHost(text: string): boolean {
  const found = hostAndPort.exec(text)
  return found !== null && Number(found[1] ?? 0) <= 65_535
}

function cut(text: string, absolute: RequestTarget['absolute']): RequestTarget {
  const mark = text.indexOf('?')
  return mark === -1
    ? { path: text, rawQuery: '', absolute }
    : { path: text.slice(0, mark), rawQuery: text.slice(mark + 1), absolute }
}

export const emptyBody: Uint8Array = new Uint8Array(0)

/** A request over HTTP. Query, cookies and certificate are read on first use. */
export class HttpRequest implements IncomingRequest {
  readonly id: string
  readonly method: HttpMethod
  readonly path: string
  /** Text after `?`, or empty. */
  readonly rawQuery: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly clientAddress: string
  readonly isAddressKnown: boolean
  readonly peerAddress: string
  readonly connection: Connection
  /** Scheme of an absolute target, in lower case; undefined for a path. */
  readonly targetScheme: string | undefined
  readonly #message: IncomingMessage
  readonly #revocation: ClientRevocation | undefined
  /** Why the certificate of the client was refused; undefined: it was not. */
  certificateProblem: string | undefined
  #query: URLSearchParams | undefined
  body: Uint8Array = emptyBody

  constructor(
    id: string,
    message: IncomingMessage,
    connection: Connection,
    client: ClientAddress,
    revocation?: ClientRevocation,
  ) {
    const { path, rawQuery, absolute } = readTarget(message.url ?? '/', message.method ?? '')
    this.id = id
    this.method = message.method as HttpMethod
    this.path = path
    this.rawQuery = rawQuery
    this.targetScheme = absolute?.scheme
    // RFC 9112 §3.2.2: the target names the host, and the header Host is ignored.
    if (absolute !== undefined) message.headers.host = absolute.authority
    // node joins repeated headers to one text; only Set-Cookie is a list, which requests do not have.
    this.headers = message.headers as Readonly<Record<string, string | undefined>>
    this.clientAddress = client.address
    this.isAddressKnown = client.isKnown
    this.peerAddress = connection.peerAddress
    this.#message = message
    this.#revocation = revocation
    this.connection = connection
  }

  get query(): URLSearchParams {
    this.#query ??= new URLSearchParams(this.rawQuery)
    return this.#query
  }

  cookies(name: string): readonly string[] {
    const header = this.headers.cookie
    if (header === undefined) return []
    const values: string[] = []
    // Reads all of them, since a second one is refused. The size of the head limits their number.
    let equals = -1
    for (let start = 0; start < header.length; ) {
      const semicolon = header.indexOf(';', start)
      const end = semicolon === -1 ? header.length : semicolon
      if (equals < start) equals = header.indexOf('=', start)
      // Behind the last `=` no cookie has a value.
      if (equals === -1) break
      if (equals < end && header.slice(start, equals).trim() === name)
        values.push(unquote(header.slice(equals + 1, end).trim()))
      start = end + 1
    }
    return values
  }

  /** Bound to its object, since authenticators receive it as a function. */
  readonly peerCertificate = (): X509Certificate | undefined => {
    const { connection } = this
    if (connection.certificate === null) this.#readCertificate()
    const problem = connection.chain && this.#revocation?.problem(connection.chain)
    if (problem !== undefined) this.#refuseCertificate(problem)
    return connection.certificate ?? undefined
  }

  #refuseCertificate(problem: string): never {
    this.certificateProblem = problem
    throw failure('unauthorized', undefined, { detail: problem })
  }

  #readCertificate(): void {
    const { connection } = this
    const { socket } = this.#message
    const tls = socket instanceof TLSSocket ? socket : undefined
    const refused = tls && findCertificateProblem(tls, connection)
    if (refused !== undefined) this.#refuseCertificate(refused)
    const certificate = tls && getVerifiedPeerCertificate(tls)
    if (certificate !== undefined && this.#revocation !== undefined)
      connection.chain = listPresentedChain(certificate)
    // A copy, because the certificate of the socket keeps the whole session in memory.
    connection.certificate = certificate && new X509Certificate(certificate.raw)
  }

  /** The certificate of a partner, which is valid only for the partner's interface. */
  readonly partnerCertificate = (partner: string): X509Certificate | undefined => {
    const { partnerCertificates, issuedUnder } = this.connection
    if (partnerCertificates.has(partner)) return partnerCertificates.get(partner)
    const { socket } = this.#message
    const found = socket instanceof TLSSocket ? getVerifiedPeerCertificate(socket) : undefined
    const isPartner = found !== undefined && issuedUnder?.partner(found, partner) === true
    const certificate = isPartner ? new X509Certificate(found.raw) : undefined
    partnerCertificates.set(partner, certificate)
    return certificate
  }
}

/** A caller whose certificate does not verify must not be treated as anonymous. */
function findCertificateProblem(socket: TLSSocket, { issuedUnder }: Connection): string | undefined {
  if (hasUnverifiedCertificate(socket))
    return `the client certificate did not verify: ${socket.authorizationError}`
  const certificate = issuedUnder && getVerifiedPeerCertificate(socket)
  return certificate !== undefined && issuedUnder?.users(certificate) === false
    ? 'the client certificate does not identify a user'
    : undefined
}

/** RFC 6265 §4.1.1: a cookie value may be enclosed in double quotes. */
function unquote(value: string): string {
  return value.length >= 2 && value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1) : value
}

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

/** Headers of which node silently uses the first, and another parser may use the last. */
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
