import { type ClaimedPort, claimPort } from '@warder/base'
import type { ServiceConfiguration } from '../installation/configuration.ts'

/** Address on which a service listens; port 0 = any. */
interface ListenAddress {
  readonly host: string
  readonly port: number
}

/** The addresses of both services. */
export interface ListenAddresses {
  readonly auth: ListenAddress
  readonly kms: ListenAddress
  /** The KMIP socket. */
  readonly socket: ListenAddress | undefined
  /** Auth uses HTTP without TLS. */
  readonly plain: boolean
}

export function getListenAddresses(auth: ServiceConfiguration, kms: ServiceConfiguration): ListenAddresses {
  const { plaintext_http: plain } = auth.launch.config
  return { auth: getListenAddress(auth), kms: getListenAddress(kms), socket: findKmipAddress(kms), plain }
}

function getListenAddress({ launch }: ServiceConfiguration): ListenAddress {
  return { host: launch.config.host, port: launch.config.port }
}

/** undefined: there is no KMIP socket, or its address is not known here. */
function findKmipAddress({ launch: { config } }: ServiceConfiguration): ListenAddresses['socket'] {
  const { host, plaintext_http: plain, clients_ca_cert_file: authorities } = config
  const { socket_server_start: enabled, socket_server_port: port, socket_server_hostname: hostname } = config
  if (enabled !== true || plain || authorities === undefined || typeof port !== 'number') return undefined
  return { host: typeof hostname === 'string' ? hostname : host, port }
}

/**
 * Claims the ports of both services before the start, so that the error for an occupied port names its setting.
 * @throws StartupError
 */
export async function claimPorts({
  auth,
  kms,
  socket,
}: ListenAddresses): Promise<
  readonly [auth: ClaimedPort, kms: ClaimedPort, socket: ClaimedPort | undefined]
> {
  const claim = (place: ListenAddress, name: string) => claimPort(place.host, place.port, name)
  return Promise.all([
    claim(auth, 'auth (AUTH_PORT)'),
    claim(kms, 'kms (KMS_PORT)'),
    socket && claim(socket, 'kmip (KMS_SOCKET_SERVER_PORT)'),
  ])
}
