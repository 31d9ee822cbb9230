import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { CodedError } from '@warder/base'
import { TooLarge } from './http-client.ts'
import type { OutboundProxy, ProxyServer, Target } from './proxy.ts'

export type OutboundCode = 'url' | 'name' | 'address' | 'redirect' | 'time' | 'size' | 'connection'

/** An outbound request that was refused or failed. For the log only: callers never receive the URL. */
export class OutboundError extends CodedError<OutboundCode> {
  override readonly name = 'OutboundError'
}

/** Turns a failed exchange into one of these errors. */
export function toOutboundError(error: unknown, deadline: AbortSignal): OutboundError {
  if (error instanceof OutboundError) return error
  if (error instanceof TooLarge)
    return new OutboundError('size', `the peer ${error.message}`, { cause: error })
  if (deadline.aborted) return new OutboundError('time', 'the deadline has passed', { cause: error })
  return new OutboundError('connection', error instanceof Error ? error.message : 'the connection failed', {
    cause: error,
  })
}

/** Everything that is not a public unicast address (IANA special-purpose registries, RFC 6890 and its updates). */
const special4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
]

const blocked4 = new BlockList()
for (const block of special4) {
  const [address = '', prefix = ''] = block.split('/')
  blocked4.addSubnet(address, Number(prefix), 'ipv4')
}

/** Global unicast, the only allocated IPv6 block (RFC 4291 §2.4), without the special ranges inside it. */
const global6 = new BlockList()
global6.addSubnet('2000::', 3, 'ipv6')
const special6 = new BlockList()
for (const [address, prefix] of [
  ['2001::', 23], // IETF protocol assignments, Teredo among them
  ['2001:db8::', 32],
  ['2002::', 16], // 6to4 carries any IPv4 address
  ['3fff::', 20],
  ['2620:4f:8000::', 48],
] as const) {
  special6.addSubnet(address, prefix, 'ipv6')
}

/** Whether an address is one of the public internet: not private, loopback, link-local, multicast or a way to these. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return !blocked4.check(address, 'ipv4')
  if (family !== 6 || address.includes('%')) return false
  // IPv4 in IPv6 (mapped, compatible, NAT64) lies outside of 2000::/3 and is refused whole.
  return global6.check(address, 'ipv6') && !special6.check(address, 'ipv6')
}

/** Link-local addresses, and those of IPv6 at which AWS serves metadata. */
const linkLocal = new BlockList()
linkLocal.addSubnet('169.254.0.0', 16, 'ipv4')
linkLocal.addSubnet('fe80::', 10, 'ipv6')
linkLocal.addSubnet('fd00:ec2::', 32, 'ipv6')

/** Refuses addresses at which a cloud may serve credentials to this machine. @throws OutboundError `address` */
export function requireNoLinkLocal(host: string, addresses: readonly LookupAddress[]): void {
  // This includes IPv4 addresses in IPv6 (`::ffff:`).
  const refused = addresses.find(({ address }) =>
    linkLocal.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6'),
  )
  if (refused !== undefined)
    throw new OutboundError(
      'address',
      `${host} resolves to ${refused.address}, which is a link-local address or that of a metadata service`,
    )
}

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

/** Rules for the addresses of connections. */
export interface Guard {
  readonly allowPrivateNetworks: boolean
  /** The setting that permits them; default `outbound_allow_private_networks`. */
  readonly privateNetworksSetting?: string
  /** undefined = every connection is direct. */
  readonly proxy: OutboundProxy | undefined
  readonly resolve?: Resolve
  /** Which addresses are those of the public internet; a test passes its own. */
  readonly isPublic?: (address: string) => boolean
}

/** The route of a permitted connection. */
export interface Route {
  readonly host: string
  readonly port: number
  /** undefined = directly. */
  readonly proxy?: ProxyServer | undefined
  /** Checked; the connection goes to one of them, also through a proxy. undefined = the proxy resolves the name. */
  readonly addresses?: readonly LookupAddress[]
}

/**
 * Chooses the way to a target and checks its addresses. A proxy that resolves the name again may get other addresses.
 * So it receives an address that was checked here, unless the settings permit it to resolve names.
 * @throws OutboundError `name`, `address`, `time`
 */
export async function findRoute(target: Target, guard: Guard, deadline: AbortSignal): Promise<Route> {
  const { host, port } = target
  const proxy = guard.proxy?.select(target)
  if (proxy !== undefined && guard.proxy?.resolvesNames === true) {
    requireAllowedName(host, guard)
    return { host, port, proxy }
  }
  const { resolve = systemResolve, allowPrivateNetworks, isPublic, privateNetworksSetting } = guard
  try {
    const addresses = await resolveAllowedAddresses(
      host,
      resolve,
      allowPrivateNetworks,
      deadline,
      isPublic,
      privateNetworksSetting,
    )
    return { host, port, proxy, addresses }
  } catch (error) {
    const isUnknown = error instanceof OutboundError && error.code === 'name'
    if (proxy === undefined || !isUnknown) throw error
    throw new OutboundError(
      'name',
      `${error.message} here; outbound_proxy_resolves = true lets the proxy ${proxy.name} resolve names`,
      { cause: error },
    )
  }
}

/**
 * Special-use names (RFC 6761, RFC 6762, RFC 8375, and ICANN's `internal`) and names without a dot belong to private
 * networks.
 */
const privateName = /^[^.]+$|(?:^|\.)(?:localhost|local|internal|home\.arpa)$/

/** Rules that hold without an address: those for addresses, and names of private networks. */
function requireAllowedName(
  host: string,
  { allowPrivateNetworks, isPublic = isPublicAddress, privateNetworksSetting = defaultSetting }: Guard,
): void {
  const name = host.toLowerCase().replace(/\.$/, '')
  const isPrivate = isIP(name) === 0 ? privateName.test(name) : !isPublic(name)
  if (isPrivate && !allowPrivateNetworks)
    throw new OutboundError(
      'address',
      `${host} is not of the public internet; ${privateNetworksSetting} = true permits such hosts`,
    )
}

const defaultSetting = 'outbound_allow_private_networks'

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
  setting = defaultSetting,
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
