import { Resolver } from 'node:dns/promises'
import type { Resolve } from '@warder/outbound'

const timeoutMs = 3000
const tries = 2

/** @param servers `address` or `address:port`; empty: those of the system */
export function createResolver(servers: readonly string[]): Resolver {
  const resolver = new Resolver({ timeout: timeoutMs, tries })
  if (servers.length > 0) resolver.setServers(servers)
  return resolver
}

/** Resolves addresses with these servers only, without the hosts file. */
export function dnsResolve(resolver: Resolver): Resolve {
  return async (name) => {
    const [four, six] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
    const found = [
      ...(four.status === 'fulfilled' ? four.value.map((address) => ({ address, family: 4 })) : []),
      ...(six.status === 'fulfilled' ? six.value.map((address) => ({ address, family: 6 })) : []),
    ]
    if (found.length === 0 && four.status === 'rejected') throw four.reason
    return found
  }
}
