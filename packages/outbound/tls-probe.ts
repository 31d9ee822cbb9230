import { connect } from 'node:tls'
import {
  createLookup,
  OutboundError,
  type Resolve,
  resolveAllowedAddresses,
  systemResolve,
  toOutboundError,
} from './guard.ts'

export interface TlsProbeOptions {
  readonly allowPrivateNetworks: boolean
  /** The setting that permits them; default `outbound_allow_private_networks`. */
  readonly privateNetworksSetting?: string
  readonly port: number
  /** For name resolution and handshake together. */
  readonly timeoutMs: number
  readonly resolve?: Resolve
}

export interface TlsProbe {
  /**
   * The certificate that a server shows for a protocol (RFC 7301). The caller decides whether it can be
   * trusted.
   * @param host a name or an address
   * @param servername the server name to send (RFC 6066 §3)
   * @returns DER
   * @throws OutboundError, also if the server does not choose the protocol
   */
  certificate(host: string, protocol: string, servername: string): Promise<Uint8Array>
}

export function createTlsProbe(options: TlsProbeOptions): TlsProbe {
  const { allowPrivateNetworks, privateNetworksSetting, port, timeoutMs, resolve = systemResolve } = options
  return {
    async certificate(host, protocol, servername) {
      const deadline = AbortSignal.timeout(timeoutMs)
      const addresses = await resolveAllowedAddresses(
        host,
        resolve,
        allowPrivateNetworks,
        deadline,
        undefined,
        privateNetworksSetting,
      )
      return new Promise((settle, reject) => {
        const socket = connect({
          host,
          port,
          lookup: createLookup(addresses),
          servername,
          ALPNProtocols: [protocol],
          rejectUnauthorized: false,
          minVersion: 'TLSv1.2',
        })
        const late = (): void => void socket.destroy(deadline.reason)
        deadline.addEventListener('abort', late, { once: true })
        socket.once('secureConnect', () => {
          const certificate = socket.getPeerX509Certificate()
          const chosen = socket.alpnProtocol
          socket.destroy()
          if (certificate === undefined || chosen !== protocol)
            reject(new OutboundError('connection', `${host} does not support ${protocol}`))
          else settle(new Uint8Array(certificate.raw))
        })
        socket.once('error', (error) => reject(toOutboundError(error, deadline)))
        socket.once('close', () => {
          deadline.removeEventListener('abort', late)
          reject(new OutboundError('connection', `${host} closed the connection`))
        })
      })
    },
  }
}
