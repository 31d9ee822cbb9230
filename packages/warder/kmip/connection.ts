import { Buffer } from 'node:buffer'
import { connect, type TLSSocket } from 'node:tls'
import { openTransport } from '@warder/command-line/https-client'
import {
  contentTypes,
  decodeNode,
  type Encoding,
  encodeNode,
  frameLength,
  isDraftMessage,
  type TtlvNode,
} from '@warder/kmip-codec'

/** Address of a server, and the client's credential. */
export interface Endpoint {
  /** `host:port` of the KMIP socket. */
  readonly socket: { readonly host: string; readonly port: number } | undefined
  /** Base URL for KMIP over HTTPS. */
  readonly url: string | undefined
  /** PEM of the authorities to trust; undefined = the system's. */
  readonly ca: string | undefined
  /** Expected name in the certificate of the server, if it is not that of the address. */
  readonly serverName?: string | undefined
  /** PEM of the client certificate and its key; the socket needs one. */
  readonly cert: string | undefined
  readonly key: string | undefined
  /** A bearer token, over HTTPS. */
  readonly token?: string | undefined
}

/** Transport of messages: binary over the socket, or one of the encodings over HTTPS. */
export type Transport = 'socket' | `https-${Encoding}`

export const transports: readonly Transport[] = ['socket', 'https-ttlv', 'https-json', 'https-xml']

/** A connection of one client. */
export interface Connection {
  /** Sends a RequestMessage and reads the response. @throws when the connection is closed or times out */
  exchange(message: TtlvNode): Promise<TtlvNode>
  close(): void
}

const answerWithinMs = 30_000
const maxAnswerBytes = 64 * 1024 * 1024

export function openConnection(endpoint: Endpoint, transport: Transport): Connection {
  if (transport === 'socket') return socketConnection(endpoint)
  return httpsConnection(endpoint, transport.slice('https-'.length) as Encoding)
}

function httpsConnection(endpoint: Endpoint, encoding: Encoding): Connection {
  const { url, ca, cert, key, token } = endpoint
  if (url === undefined) throw new Error('the server has no HTTPS address')
  const transport = openTransport({
    baseUrl: url,
    ca,
    ...(cert !== undefined && key !== undefined && { certificate: { cert, key } }),
    timeoutMs: answerWithinMs,
    maxConnections: 1,
    maxAnswerBytes: maxAnswerBytes,
  })
  return {
    async exchange(message) {
      const authorization: Record<string, string> =
        token === undefined ? {} : { authorization: `Bearer ${token}` }
      const headers = { 'content-type': contentTypes[encoding], ...authorization }
      const { status, body } = await transport.send('POST', '/kmip', headers, encodeNode(message, encoding))
      if (status !== 200) throw new Error(`HTTP ${status}: ${new TextDecoder().decode(body).slice(0, 300)}`)
      return decodeNode(body, encoding, { draft: isDraftMessage(message) })
    },
    close: () => transport.close(),
  }
}

function socketConnection({ socket, ca, serverName, cert, key }: Endpoint): Connection {
  if (socket === undefined) throw new Error('the server has no KMIP socket')
  let open: Promise<TLSSocket> | undefined
  const ensureConnected = (): Promise<TLSSocket> => {
    open ??= new Promise((resolve, reject) => {
      // The certificate must match the requested host (RFC 9525), unless a name is given.
      const named = serverName === undefined ? {} : { servername: serverName }
      const trust = ca === undefined ? {} : { ca, allowPartialTrustChain: true }
      const tls = connect({ ...socket, ...named, ...trust, cert, key, rejectUnauthorized: true }, () =>
        resolve(tls),
      )
      tls.once('error', reject)
    })
    return open
  }
  return {
    async exchange(message) {
      const tls = await ensureConnected()
      const answer = readFrame(tls)
      tls.write(encodeNode(message, 'ttlv'))
      return decodeNode(await answer, 'ttlv', { draft: isDraftMessage(message) })
    },
    close: () => void open?.then((tls) => tls.destroy()).catch(() => undefined),
  }
}

function readFrame(tls: TLSSocket): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let received = Buffer.alloc(0)
    const end = (settle: () => void): void => {
      clearTimeout(timer)
      tls.off('data', onData).off('error', onError).off('close', onClose)
      settle()
    }
    const onData = (part: Buffer): void => {
      received = Buffer.concat([received, part])
      let length: number | undefined
      try {
        length = frameLength(received, maxAnswerBytes)
      } catch (error) {
        end(() => reject(error))
        return
      }
      if (length !== undefined && received.length >= length) end(() => resolve(received.subarray(0, length)))
    }
    const onError = (error: Error): void => end(() => reject(error))
    const onClose = (): void => end(() => reject(new Error('the server closed the connection')))
    const timer = setTimeout(() => end(() => reject(new Error('no response in time'))), answerWithinMs)
    tls.on('data', onData).on('error', onError).on('close', onClose)
  })
}
