import { BlockList, isIP } from 'node:net'
import { domainToASCII } from 'node:url'

/** The value of `outbound_proxy` that disables proxies, and ignores the environment variables. */
export const directly = 'direct'

/** A proxy, as a setting or a variable names it. */
export interface ProxyAddress {
  /** Without credentials: `http://proxy.example:3128`. */
  readonly name: string
  /** TLS to the proxy itself. */
  readonly isSecure: boolean
  readonly host: string
  readonly port: number
  /** `USER:PASSWORD`; undefined = the address has none. */
  readonly credentials: string | undefined
}

/** @param text `http://` or `https://`, host and port; without a scheme it is `http://` @returns a sentence for a wrong one */
export function readProxyAddress(text: string): ProxyAddress | string {
  const address = /^[A-Za-z][A-Za-z0-9+.-]*:\/\//.test(text) ? text : `http://${text}`
  if (!URL.canParse(address)) return expectedProxy
  const url = new URL(address)
  if (!/^https?:$/.test(url.protocol) || `${url.pathname}${url.search}${url.hash}` !== '/')
    return expectedProxy
  const isSecure = url.protocol === 'https:'
  const port = url.port === '' ? (isSecure ? 443 : 80) : Number(url.port)
  const credentials = readCredentials(url)
  if (credentials === false)
    return 'must have credentials like USER:PASSWORD, percent-encoded, without control characters'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  return { name: `${url.protocol}//${url.hostname}:${port}`, isSecure, host, port, credentials }
}

const expectedProxy = 'must be an address like http://proxy.example:3128 or https://proxy.example:3129'

/** @returns false for those that HTTP cannot transmit */
function readCredentials({ username, password }: URL): string | undefined | false {
  if (`${username}${password}` === '') return undefined
  try {
    const user = decodeURIComponent(username)
    const text = `${user}:${decodeURIComponent(password)}`
    return !user.includes(':') && isCredentials(text) ? text : false
  } catch {
    return false
  }
}

/** `USER:PASSWORD` (RFC 7617 §2): a user name has no colon, and neither part a control character. */
export function isCredentials(text: string): boolean {
  return /^[^:\p{Cc}]{1,256}:\P{Cc}{0,1024}$/u.test(text)
}

/** Whether a host is reached without the proxy. @param host a name or an address, without brackets */
export type NoProxy = (host: string, port: number) => boolean

/** Parses one entry; undefined if it is invalid. */
type Entry = ((host: string, port: number) => boolean) | undefined

/**
 * Hosts that are reached directly: `example.com` (and its subdomains), `.example.com` (only its subdomains) or an
 * address, each with or without `:PORT`; a CIDR block; or `*`. Blocks and addresses match targets that are addresses,
 * never what a name resolves to.
 * @returns the rules, and the entries that are invalid
 */
export function readNoProxy(entries: readonly string[]): {
  readonly matches: NoProxy
  readonly invalid: readonly string[]
} {
  const read = entries.map((text) => ({ text, entry: readEntry(text.trim()) }))
  const known = read.map(({ entry }) => entry).filter((entry) => entry !== undefined)
  return {
    matches: (host, port) => known.some((entry) => entry(normalize(host), port)),
    invalid: read.filter(({ entry }) => entry === undefined).map(({ text }) => text),
  }
}

/** In lower case, without the final dot of an absolute name. */
function normalize(host: string): string {
  return host.toLowerCase().replace(/\.$/, '')
}

function readEntry(text: string): Entry {
  if (text === '*') return () => true
  const block = /^\[?([0-9a-fA-F:.]+)\]?\/(\d{1,3})$/.exec(text)
  if (block !== null) return readBlock(block[1] ?? '', Number(block[2]))
  if (isIP(text) !== 0) return readBlock(text, maxPrefix(text))
  const [, bracketed, plain, port] =
    /^(?:\[([0-9a-fA-F:.]+)\]|([^:/[\]]+))(?::([1-9]\d{0,4}))?$/.exec(text) ?? []
  const host = bracketed ?? plain
  if (host === undefined) return undefined
  const entry = isIP(host) === 0 ? readName(host) : readBlock(host, maxPrefix(host))
  if (port === undefined || entry === undefined) return entry
  return (target, targetPort) => targetPort === Number(port) && entry(target, targetPort)
}

function maxPrefix(address: string): number {
  return isIP(address) === 4 ? 32 : 128
}

function readBlock(address: string, prefix: number): Entry {
  const family = isIP(address)
  if (family === 0 || prefix > maxPrefix(address)) return undefined
  const list = new BlockList()
  list.addSubnet(address, prefix, family === 4 ? 'ipv4' : 'ipv6')
  return (host) => {
    const of = isIP(host)
    return of !== 0 && list.check(host, of === 4 ? 'ipv4' : 'ipv6')
  }
}

function readName(text: string): Entry {
  const bare = text.replace(/^\*?\./, '')
  const name = normalize(domainToASCII(bare))
  if (!/^[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/.test(name) || name.length > 253) return undefined
  const ending = `.${name}`
  return bare === text ? (host) => host === name || host.endsWith(ending) : (host) => host.endsWith(ending)
}
