import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import { isPublicAddress } from './address.ts'
import { OutboundError, toOutboundError } from './error.ts'

/** Name resolution. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>

export const systemResolve: Resolve = (hostname) => lookup(hostname, { all: true, verbatim: true })

/** Hands addresses that were resolved and checked to a socket. */
export function createLookup(addresses: readonly LookupAddress[]): LookupFunction {
  return (_hostname, wanted, callback) => {
    const [first] = addresses
    if (wanted.all) callback(null, [...addresses])
    else callback(null, first?.address ?? '', first?.family ?? 4)
  }
}

/** The host without the brackets of an IPv6 address. */
export function stripBrackets(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '')
}

/**
 * Resolves the addresses of a host, all of which are allowed. The connection must use one of them, so that a name cannot
 * resolve to another address the second time.
 * @param host a name or an address
 * @param setting permits private addresses; named in the error
 * @throws OutboundError `name`, `address`, `time`
 */
export async function resolveAllowedAddresses(
  host: string,
  resolve: Resolve,
  allowPrivate: boolean,
  deadline: AbortSignal,
  isPublic = isPublicAddress,
  setting = 'outbound_allow_private_networks',
): Promise<readonly LookupAddress[]> {
  const family = isIP(host)
  let addresses: readonly LookupAddress[]
  if (family !== 0) addresses = [{ address: host, family }]
  else {
    try {
      addresses = await Promise.race([resolve(host), rejectOnAbort(deadline)])
    } catch (error) {
      throw deadline.aborted
        ? toOutboundError(error, deadline)
        : new OutboundError('name', `${host} cannot be resolved`, { cause: error })
    }
  }
  if (addresses.length === 0) throw new OutboundError('name', `${host} has no address`)
  const refused = addresses.find(({ address }) => !isPublic(address))
  if (refused !== undefined && !allowPrivate) {
    throw new OutboundError(
      'address',
      `${host} resolves to ${refused.address}, which is not a public address; ${setting} = true permits such addresses`,
    )
  }
  return addresses
}

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
  )
}
