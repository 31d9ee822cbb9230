import { createPrivateKey, X509Certificate } from 'node:crypto'
import { Agent } from 'node:https'
import { createSecureContext } from 'node:tls'
import { readWhole, send, TooLarge } from '@warder/foundation/http-client'
import { createTransport, type Exchange } from './exchanges.ts'
import { createFailures, parseBase, type Transport, type TransportOptions } from './transport.ts'

/**
 * HTTPS with kept connections. Follows no redirects: credentials go to the named service and nowhere else.
 * @throws TypeError for an address, an authority or a certificate that cannot be used
 */
export function httpsTransport(options: TransportOptions): Transport {
  const base = parseBase(options.baseUrl)
  requireCredentials(options)
  const agent = new Agent({
    keepAlive: true,
    maxSockets: options.maxConnections,
    minVersion: 'TLSv1.2',
    // Said, because NODE_TLS_REJECT_UNAUTHORIZED would take it away.
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
      if (begun) throw failure('unreachable', 'broke off its answer', error)
      throw failure(
        'unreachable',
        `cannot be reached: ${error instanceof Error ? error.message : error}`,
        error,
      )
    }
  }
  // Its turns take the place of the agent's own queue, which opens connections for what waits even after it was destroyed.
  return createTransport(exchange, options, failures, () => agent.destroy())
}

/** Read here as they will be read for each connection: there, a broken one would fail call after call. */
function requireCredentials({ ca, certificate }: TransportOptions): void {
  try {
    // OpenSSL takes a text without a certificate for no authority at all, and then trusts nobody.
    if (ca !== undefined) new X509Certificate(ca)
  } catch (cause) {
    throw new TypeError('the authority to trust is no certificate in PEM', { cause })
  }
  if (certificate === undefined) return
  try {
    // OpenSSL takes empty texts for none at all, and keeps a key of another kind beside the certificate.
    const leaf = new X509Certificate(certificate.cert)
    if (!leaf.checkPrivateKey(createPrivateKey(certificate.key))) throw new Error('the key is another one’s')
    createSecureContext(certificate)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new TypeError(`the client certificate and its key (PEM) cannot be used: ${why}`, { cause })
  }
}
