import { isAbsolute, join } from 'node:path'
import { newTicketKeys, tlsProfile } from '../tls/index.ts'
import type { RuntimeConfig } from './launch.ts'
import type { TlsMaterial } from './messages.ts'

/** Paths in settings that are not absolute start at the home folder. */
export function inHome(home: string, path: string): string {
  return isAbsolute(path) ? path : join(home, path)
}

/**
 * Whether the service uses the local authority of the first run: no certificate of its own is configured, or client
 * certificates of that authority are accepted.
 */
export function usesLocalAuthority(config: RuntimeConfig, home: string): boolean {
  if (config.plaintext_http) return false
  const { tls_cert_file: own, clients_ca_cert_file: clients } = config
  return own === undefined || (clients !== undefined && inHome(home, clients) === join(home, 'tls', 'ca.crt'))
}

/** Whether the service can listen beside HTTPS: that takes TLS and an authority for the certificates of its clients. */
export function canRequireCertificates(config: RuntimeConfig): boolean {
  return !config.plaintext_http && config.clients_ca_cert_file !== undefined
}

/**
 * Reads the certificates; called again at each SIGHUP. Ticket keys stay, so that sessions survive a reload.
 * @throws StartupError naming the file that cannot be used
 */
export function tlsReader(
  config: RuntimeConfig,
  home: string,
  service: string,
  options: { readonly requireClientCertificate: boolean } = { requireClientCertificate: false },
): () => TlsMaterial | undefined {
  if (config.plaintext_http) return () => undefined
  const ticketKeys = newTicketKeys()
  const file = (setting: string | undefined, name: string): string =>
    inHome(home, setting ?? join('tls', name))
  return () =>
    tlsProfile({
      certFile: file(config.tls_cert_file, `${service}.crt`),
      keyFile: file(config.tls_key_file, `${service}.key`),
      clientsCaFile:
        config.clients_ca_cert_file === undefined ? undefined : inHome(home, config.clients_ca_cert_file),
      cipherSuites: config.tls_cipher_suites,
      ticketKeys,
      ...options,
    }) as TlsMaterial
}
