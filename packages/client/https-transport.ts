import { createPrivateKey, X509Certificate } from 'node:crypto'
import { Agent } from 'node:https'
import { createSecureContext } from 'node:tls'
import { readWhole, send, TooLarge } from '@warder/outbound/http-client'
import { createTransport, type Exchange } from './exchanges.ts'
import { createFailures, parseBase, type Transport, type TransportOptions } from './transport.ts'

/**
 * Transport over HTTPS with keep-alive. Follows no redirects: credentials are sent only to the named service.
 * @throws TypeError for an unusable address, authority or certificate
 */
export function httpsTransport(options: TransportOptions): Transport {
  const base = parseBase(options.baseUrl)
  requireCredentials(options)
  const agent = new Agent({
    keepAlive: true,
    maxSockets: options.maxConnections,
    minVersion: 'TLSv1.2',
    // Set explicitly, because NODE_TLS_REJECT_UNAUTHORIZED would disable it.
    rejectUnauthorized: true,
    ...(options.ca !== undefined && { ca: options.ca, allowPartialTrustChain: true }),
    ...(options.serverName !== undefined && { servername: options.serverName }),
    ...(options.certificate !== undefined && options.certificate),
  })
  const failures = createFailures(base.origin)
  const { failure } = failures

  const exchange: Exchange = async (signal, method, target, headers, body) => {
    const url = new URL(`${base.origin}${base.prefix}${target}`)
    let begun = false
    try {
      const incoming = await send(url, { agent, method, headers, signal }, body)
      begun = true
      const read = await readWhole(incoming, options.maxAnswerBytes)
      return { status: incoming.statusCode ?? 0, headers: incoming.headers, body: read }
    } catch (error) {
      if (error instanceof TooLarge) throw failure('unexpected_reply', error.message)
      if (begun) throw failure('unreachable', 'aborted its response', error)
      throw failure(
        'unreachable',
        `cannot be reached: ${error instanceof Error ? error.message : error}`,
        error,
      )
    }
  }
  // The semaphore replaces the queue of the agent, which opens connections for waiting requests even after it
  // was destroyed.
  return createTransport(exchange, options, failures, () => agent.destroy())
}

/**
 * Validates the files once in the way in which each connection reads them. Otherwise a broken file would fail every
 * call.
 */
function requireCredentials({ ca, certificate }: TransportOptions): void {
  try {
    // OpenSSL accepts a text without a certificate as an empty list of authorities, and then trusts no
    // server.
    if (ca !== undefined) new X509Certificate(ca)
  } catch (cause) {
    throw new TypeError('the trusted authority is not a certificate in PEM', { cause })
  }
  if (certificate === undefined) return
  try {
    // OpenSSL accepts empty texts as absent, and a key of another type beside the certificate.
    const leaf = new X509Certificate(certificate.cert)
    if (!leaf.checkPrivateKey(createPrivateKey(certificate.key)))
      throw new Error('the key does not belong to the certificate')
    createSecureContext(certificate)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new TypeError(`the client certificate and its key (PEM) cannot be used: ${why}`, { cause })
  }
}
