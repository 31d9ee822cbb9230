import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net'

/** A set of addresses given as CIDR blocks. */
export interface AddressSet {
  /** True when the text is an IP address inside one of the blocks; mapped IPv4 addresses count as IPv4. */
  contains(address: string): boolean
}

/** `10.0.0.0/8`, `2001:db8::/32` or one address without a length. */
export interface Cidr {
  readonly address: string
  readonly prefix: number
  readonly family: 'ipv4' | 'ipv6'
}

/** Reads one CIDR block (RFC 4632 §3.1, RFC 4291 §2.3); undefined when it is none. */
export function parseCidr(text: string): Cidr | undefined {
  const slash = text.indexOf('/')
  const address = normalAddress(slash === -1 ? text : text.slice(0, slash))
  if (address === undefined) return undefined
  const family = isIPv4(address) ? 'ipv4' : 'ipv6'
  const maxPrefix = family === 'ipv4' ? 32 : 128
  if (slash === -1) return { address, prefix: maxPrefix, family }
  const length = text.slice(slash + 1)
  if (!/^(0|[1-9]\d{0,2})$/.test(length)) return undefined
  // A length written for the mapped form counts from the left of 128 bits.
  const mapped = family === 'ipv4' && isIPv6(text.slice(0, slash))
  const prefix = Number(length) - (mapped ? 96 : 0)
  return prefix < 0 || prefix > maxPrefix ? undefined : { address, prefix, family }
}

/** Blocks that are not CIDR are a mistake of the configuration: throws an Error that names the first one. */
export function addressSet(blocks: readonly string[]): AddressSet {
  const list = new BlockList()
  for (const block of blocks) {
    const cidr = parseCidr(block)
    if (cidr === undefined)
      throw new Error(`${JSON.stringify(block)} is not an address block such as 10.0.0.0/8`)
    list.addSubnet(cidr.address, cidr.prefix, cidr.family)
  }
  return {
    contains(text) {
      const address = normalAddress(text)
      return address !== undefined && list.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
    },
  }
}

/**
 * One spelling for one address: mapped IPv4 (`::ffff:192.0.2.1`, RFC 4291 §2.5.5.2) as IPv4, no zone, IPv6 in
 * canonical form (RFC 5952). undefined when the text is no address.
 */
export function normalAddress(text: string): string | undefined {
  if (isIPv4(text)) return text
  const zone = text.indexOf('%')
  const bare = zone === -1 ? text : text.slice(0, zone)
  if (!isIPv6(bare)) return undefined
  const canonical = new URL(`http://[${bare}]/`).hostname.slice(1, -1)
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(canonical)
  if (mapped?.[1] === undefined || mapped[2] === undefined) return canonical
  const high = Number.parseInt(mapped[1], 16)
  const low = Number.parseInt(mapped[2], 16)
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`
}

/** Maximum length of the evaluated chain; entries further left can be forged by the caller anyway. */
const maxHops = 32

/** Address of the client of a request. */
export interface ClientAddress {
  readonly address: string
  /** false: a proxy forwarded the request whose statement of the client is absent or not believed; `address` is the proxy's. */
  readonly isKnown: boolean
}

/** Value of `Forwarded` by which a proxy states that it does not know the client (RFC 7239 §6.2). */
export const unknownClient = 'for=unknown'

/**
 * The client behind trusted proxies. `X-Forwarded-For` counts only when the TCP peer is trusted; it is then
 * walked from right to left (the right end was written last) and the first address that is not a trusted
 * proxy is the client. A hop that is no address ends the walk at the last hop that could be believed.
 * `Forwarded` is not read, but its presence reveals a proxy.
 * @param believed the peer is trusted regardless of its address
 */
export function clientAddress(
  peer: string,
  {
    forwardedFor,
    forwarded,
  }: { readonly forwardedFor?: string | undefined; readonly forwarded?: string | undefined },
  trusted: AddressSet,
  believed = false,
): ClientAddress {
  if (forwardedFor === undefined) return { address: peer, isKnown: forwarded === undefined }
  if (!(believed || trusted.contains(peer))) return { address: peer, isKnown: false }
  const isKnown = forwarded?.toLowerCase().endsWith(unknownClient) !== true
  const hops = forwardedFor.split(',')
  let client = peer
  for (let index = hops.length - 1, walked = 0; index >= 0 && walked < maxHops; index--, walked++) {
    const hop = hopAddress((hops[index] ?? '').trim())
    if (hop === undefined) return { address: client, isKnown: false }
    client = hop
    if (!trusted.contains(hop)) return { address: client, isKnown }
  }
  return { address: client, isKnown }
}

/** `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1` or `[2001:db8::1]:4711`, as proxies write them. */
function hopAddress(text: string): string | undefined {
  if (isIP(text) !== 0) return normalAddress(text)
  const bracketed = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)
  if (bracketed?.[1] !== undefined) return isIPv6(bracketed[1]) ? normalAddress(bracketed[1]) : undefined
  const withPort = /^([^:]*):\d{1,5}$/.exec(text)
  return withPort?.[1] !== undefined && isIPv4(withPort[1]) ? withPort[1] : undefined
}
