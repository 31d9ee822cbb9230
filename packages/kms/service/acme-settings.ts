import { isIP } from 'node:net'
import { boolean, integer, list } from '@warder/runtime/settings'

/** Settings of ACME, in addition to those of each directory (`PUT /v1/pki/authorities/{id}/acme`). */
export const acmeSettings = {
  acme_allow_private_networks: boolean({
    default: false,
    docs: 'Validate ACME challenges also in private, loopback and link-local networks, for authorities of an internal network.',
  }),
  acme_http_port: integer({
    default: 80,
    min: 1,
    max: 65_535,
    docs: 'TCP port for http-01 challenges.',
  }),
  acme_tls_port: integer({
    default: 443,
    min: 1,
    max: 65_535,
    docs: 'TCP port for tls-alpn-01 challenges.',
  }),
  acme_dns_servers: list({
    default: [],
    docs: 'DNS servers (address, or address:port) for ACME challenges; empty: those of the system.',
    check: (servers) =>
      servers.every(isServer) ? undefined : 'must contain addresses like 192.0.2.53 or 192.0.2.53:5353',
  }),
} as const

function isServer(text: string): boolean {
  if (isIP(text) !== 0) return true
  const [, bracketed, plain, port] = /^(?:\[(.+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? []
  return isIP(bracketed ?? '') === 6 || (isIP(plain ?? '') === 4 && Number(port) > 0 && Number(port) < 65_536)
}
