import { isIP } from 'node:net'
import type { RevocationConfig } from '@warder/authority'
import { boolean, choice, integer, list, optionalText, type SettingValues } from '@warder/runtime/settings'

const day = 86_400_000
const hour = 3_600_000

function addressProblem(text: string): string | undefined {
  return /^https?:\/\/[A-Za-z0-9.:[\]_-]+(?:\/[A-Za-z0-9._~/-]*)?$/.test(text)
    ? undefined
    : 'it must be like http://pki.example.com or https://kms.example.com:9998'
}

/** Settings of the certificate authorities. */
export const pkiSettings = {
  pki_public_url: optionalText({
    docs: 'Address (http or https) in certificates, before `/public/certificates/…` and `/ocsp`; unset: `kms_public_url`. Certificates that are issued while neither is set contain no addresses of a CRL or responder. Relying parties that fetch over https may need the CRL to trust the address of the CRL: put a plain http address here where a proxy serves these paths.',
    check: addressProblem,
  }),
  crl_default_validity_days: integer({
    default: 7,
    min: 1,
    max: 365,
    docs: 'Days from one scheduled CRL of an authority to its nextUpdate.',
  }),
  crl_refresh_overlap_hours: integer({
    default: 24,
    min: 1,
    max: 8760,
    docs: 'Hours before its nextUpdate at which a CRL is signed again, but not before half of its validity.',
  }),
  crl_cache_seconds: integer({
    default: 600,
    min: 0,
    max: 31_536_000,
    docs: 'Time for which caches may use a CRL without revalidation.',
  }),
  ocsp_validity_seconds: integer({
    default: 600,
    min: 60,
    max: 2_592_000,
    docs: 'Time from thisUpdate to nextUpdate of an OCSP response, for which clients and staplers may use it.',
  }),
  ocsp_signer: choice({
    default: 'delegated',
    choices: ['delegated', 'authority'],
    docs: '`delegated`: responses are signed with the key of a responder, whose certificate is renewed automatically; `authority`: with the key of the authority.',
  }),
  ocsp_max_signatures_per_second: integer({
    default: 2000,
    min: 1,
    max: 1_000_000,
    docs: 'Maximum number of responses that one worker signs per second, not counting cached ones; beyond it, the response is tryLater.',
  }),
  validate_requires_crl: boolean({
    default: false,
    docs: 'KMIP Validate returns Unknown if the CRL of a certificate of another authority cannot be fetched or is invalid; false: such a certificate counts as not revoked.',
  }),
} as const

/** @param publicUrl `kms_public_url` */
export function revocationConfig(
  config: SettingValues<typeof pkiSettings> & { readonly kms_public_url: string | undefined },
): RevocationConfig {
  const validity = config.crl_default_validity_days * day
  return {
    publicUrl: (config.pki_public_url ?? config.kms_public_url)?.replace(/\/+$/, ''),
    crlValidityMs: validity,
    crlOverlapMs: Math.min(config.crl_refresh_overlap_hours * hour, validity / 2),
    crlCacheMs: config.crl_cache_seconds * 1000,
    ocspValidityMs: config.ocsp_validity_seconds * 1000,
    delegatedResponder: config.ocsp_signer === 'delegated',
    freshAnswersPerSecond: config.ocsp_max_signatures_per_second,
  }
}

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
