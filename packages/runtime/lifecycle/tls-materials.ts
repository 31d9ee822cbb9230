import { inHome } from '@warder/base'
import { type AuthoritiesFile, type ClientAuthorities, readAuthorities } from '@warder/server'
import type { RuntimeConfig } from './launch.ts'
import type { TlsMaterials } from './messages.ts'
import type { ServiceDefinition } from './service.ts'
import { canRequireCertificates, createTlsReader } from './tls-material.ts'

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

/** Both kinds of authorities, read anew, where there are partners. @throws StartupError naming the file */
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
