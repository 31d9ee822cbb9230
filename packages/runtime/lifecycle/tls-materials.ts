import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { inHome } from '@warder/base'
import {
  type AuthoritiesFile,
  type ClientAuthorities,
  getPkcs12File,
  newTicketKeys,
  readAuthorities,
  tlsProfile,
} from '@warder/server'
import type { RuntimeConfig } from './launch.ts'
import type { TlsMaterial, TlsMaterials } from './messages.ts'
import type { ServiceDefinition } from './service.ts'

/** Whether the operator configured the certificate of the server. */
export function hasOwnCertificate({
  tls_cert_file: pem,
  tls_p12_file: p12,
}: Pick<RuntimeConfig, 'tls_cert_file' | 'tls_p12_file'>): boolean {
  return pem !== undefined || p12 !== undefined
}

/**
 * Whether the service uses the local authority of the first run: no certificate of its own is configured, or client
 * certificates of that authority are accepted.
 */
export function usesLocalAuthority(config: RuntimeConfig, home: string): boolean {
  if (config.plaintext_http) return false
  const { clients_ca_cert_file: clients } = config
  return (
    !hasOwnCertificate(config) ||
    (clients !== undefined && inHome(home, clients) === join(home, 'tls', 'ca.crt'))
  )
}

/**
 * Whether the service can listen beside HTTPS: this requires TLS and an authority for the certificates of its clients.
 */
export function canRequireCertificates(config: RuntimeConfig): boolean {
  return !config.plaintext_http && config.clients_ca_cert_file !== undefined
}

/** The files of certificates and keys that a service shows to others, as far as they are there. */
export function certificateFiles(config: RuntimeConfig, home: string, service: string): readonly string[] {
  if (config.plaintext_http) return []
  const named = [
    ...(config.tls_p12_file === undefined
      ? [
          config.tls_cert_file ?? join('tls', `${service}.crt`),
          config.tls_key_file ?? join('tls', `${service}.key`),
        ]
      : [config.tls_p12_file, config.tls_p12_password_file].filter((file) => file !== undefined)),
    config.socket_server_rsa_cert_file ?? join('tls', `${service}-rsa.crt`),
    config.socket_server_rsa_key_file ?? join('tls', `${service}-rsa.key`),
    ...(config.clients_ca_cert_file === undefined ? [] : [config.clients_ca_cert_file]),
  ]
  return named.map((file) => inHome(home, file)).filter((file) => existsSync(file))
}

/**
 * Reads the certificates; called again at each SIGHUP. Ticket keys stay, so that sessions survive a reload.
 * @throws StartupError naming the file that cannot be used
 */
export function createTlsReader(
  config: RuntimeConfig,
  home: string,
  service: string,
  options: {
    readonly requireClientCertificate: boolean
    readonly partnersCaFiles?: readonly AuthoritiesFile[] | undefined
  } = { requireClientCertificate: false },
): () => TlsMaterial | undefined {
  if (config.plaintext_http) return () => undefined
  const ticketKeys = newTicketKeys()
  const file = (setting: string | undefined, name: string): string =>
    inHome(home, setting ?? join('tls', name))
  const { socket_server_rsa_cert_file: rsaCert, socket_server_rsa_key_file: rsaKey } = config
  /** Clients of the listener beside HTTPS may know RSA alone: the pair that is named, else that of the local authority if it is there. */
  const second = () => {
    if (!options.requireClientCertificate) return undefined
    const pair = {
      certFile: file(rsaCert, `${service}-rsa.crt`),
      keyFile: file(rsaKey, `${service}-rsa.key`),
      certSetting: 'socket_server_rsa_cert_file',
      keySetting: 'socket_server_rsa_key_file',
    }
    const isNamed = rsaCert !== undefined && rsaKey !== undefined
    return isNamed || (!hasOwnCertificate(config) && existsSync(pair.certFile)) ? pair : undefined
  }
  return () =>
    tlsProfile({
      certFile: file(config.tls_cert_file, `${service}.crt`),
      keyFile: file(config.tls_key_file, `${service}.key`),
      p12: getPkcs12File(config, home),
      clientsCaFile:
        config.clients_ca_cert_file === undefined ? undefined : inHome(home, config.clients_ca_cert_file),
      cipherSuites: config.tls_cipher_suites,
      ticketKeys,
      second: second(),
      ...options,
    }) as TlsMaterial
}

/** Reads the certificates and authorities of both listeners of a service; called again at each reload. */
export function createMaterialsReader(
  definition: ServiceDefinition<unknown, unknown>,
  config: RuntimeConfig & Readonly<Record<string, unknown>>,
  home: string,
): () => Omit<TlsMaterials, 'revoked'> {
  const { name } = definition
  const partners = resolvePartners(home, definition.partners?.(config) ?? {})
  const readTls = createTlsReader(config, home, name, {
    requireClientCertificate: false,
    partnersCaFiles: Object.values(partners),
  })
  const beside = canRequireCertificates(config) && definition.socket?.(config) !== undefined
  const readSocketTls = beside
    ? createTlsReader(config, home, name, { requireClientCertificate: true })
    : () => undefined
  return () => ({
    https: readTls(),
    socket: readSocketTls(),
    clientAuthorities: readClientAuthorities(config, home, partners),
  })
}

/** Both kinds of authorities, read anew, if there are partners. @throws StartupError naming the file */
function readClientAuthorities(
  { clients_ca_cert_file: users, plaintext_http }: RuntimeConfig,
  home: string,
  partners: Readonly<Record<string, AuthoritiesFile>>,
): ClientAuthorities | undefined {
  if (Object.keys(partners).length === 0 || plaintext_http) return undefined
  return {
    users:
      users === undefined
        ? undefined
        : readAuthorities(inHome(home, users), 'clients_ca_cert_file').toString(),
    partners: Object.fromEntries(
      Object.entries(partners).map(([name, { file, setting }]) => [
        name,
        readAuthorities(file, setting).toString(),
      ]),
    ),
  }
}

/** The files of a service's partners, with their places in the home folder. */
function resolvePartners(
  home: string,
  partners: Readonly<Record<string, AuthoritiesFile>>,
): Readonly<Record<string, AuthoritiesFile>> {
  return Object.fromEntries(
    Object.entries(partners).map(([name, file]) => [name, { ...file, file: inHome(home, file.file) }]),
  )
}
