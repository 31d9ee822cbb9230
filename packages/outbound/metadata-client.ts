import { flattenHeaders, type OutboundResponse } from './client.ts'
import { createLookup, OutboundError, stripBrackets, toOutboundError } from './guard.ts'
import { readWhole, send } from './http-client.ts'

/**
 * Addresses at which clouds serve metadata and credentials to their own machines and containers: instances of AWS, Azure
 * and Google; tasks of ECS; pods of EKS.
 */
const metadataHosts = [
  '169.254.169.254',
  '169.254.170.2',
  '169.254.170.23',
  'fd00:ec2::254',
  'fd00:ec2::23',
] as const
/** Agents that serve credentials on the machine itself. */
const loopbackHosts: Readonly<Record<string, readonly string[]>> = {
  '127.0.0.1': ['127.0.0.1'],
  '::1': ['::1'],
  localhost: ['127.0.0.1', '::1'],
}

const timeoutMs = 3000
const maxBytes = 65_536

/** Requests to the metadata service of this machine, without TLS, which it does not have. */
export interface MetadataClient {
  /** @throws OutboundError, also for every other host */
  request(
    method: 'GET' | 'PUT',
    url: string,
    headers: Readonly<Record<string, string>>,
  ): Promise<OutboundResponse>
}

/** No name is resolved, no proxy is used, and no redirect is followed. */
export const metadataClient: MetadataClient = {
  async request(method, address, headers) {
    const url = URL.canParse(address) ? new URL(address) : undefined
    const hosts = url === undefined ? undefined : findAddresses(stripBrackets(url))
    if (url?.protocol !== 'http:' || hosts === undefined)
      throw new OutboundError(
        'url',
        `${url?.origin ?? 'the address'} is not that of a metadata service: http:// and one of ${[...metadataHosts, ...Object.keys(loopbackHosts)].join(', ')}`,
      )
    const deadline = AbortSignal.timeout(timeoutMs)
    const lookup = createLookup(hosts.map((host) => ({ address: host, family: host.includes(':') ? 6 : 4 })))
    try {
      const incoming = await send(url, {
        method,
        headers: { ...headers },
        agent: false,
        signal: deadline,
        lookup,
      })
      const status = incoming.statusCode ?? 0
      if (status >= 300 && status < 400) {
        incoming.destroy()
        throw new OutboundError('redirect', `${url.origin} redirects`)
      }
      return { status, headers: flattenHeaders(incoming), body: await readWhole(incoming, maxBytes) }
    } catch (error) {
      throw toOutboundError(error, deadline)
    }
  },
}

function findAddresses(host: string): readonly string[] | undefined {
  if (Object.hasOwn(loopbackHosts, host)) return loopbackHosts[host]
  return (metadataHosts as readonly string[]).includes(host) ? [host] : undefined
}
