import { inHome } from '../home/index.ts'
import { type AuthoritiesFile, type ClientAuthorities, readAuthorities } from '../tls/index.ts'
import type { RuntimeConfig } from './launch.ts'
import type { TlsMaterials } from './messages.ts'
import type { ServiceDefinition } from './service.ts'
import { canRequireCertificates, tlsReader } from './tls-material.ts'

/** Reads the certificates and authorities of both listeners of a service; called again at each reload. */
export function materialsReader(
  definition: ServiceDefinition<unknown, unknown>,
  config: RuntimeConfig & Readonly<Record<string, unknown>>,
  home: string,
): () => Omit<TlsMaterials, 'revoked'> {
  const { name } = definition
  const partnersCaFile = partnersIn(home, definition.partners?.(config))
  const readTls = tlsReader(config, home, name, { requireClientCertificate: false, partnersCaFile })
  const beside = canRequireCertificates(config) && definition.socket?.(config) !== undefined
  const readSocketTls = beside
    ? tlsReader(config, home, name, { requireClientCertificate: true })
    : () => undefined
  return () => ({
    https: readTls(),
    socket: readSocketTls(),
    clientAuthorities: readClientAuthorities(config, home, partnersCaFile),
  })
}

/** Both kinds of authorities, read anew, where there are partners. @throws StartupError naming the file */
function readClientAuthorities(
  { clients_ca_cert_file: users, plaintext_http }: RuntimeConfig,
  home: string,
  partners: AuthoritiesFile | undefined,
): ClientAuthorities | undefined {
  if (partners === undefined || plaintext_http) return undefined
  return {
    users:
      users === undefined
        ? undefined
        : readAuthorities(inHome(home, users), 'clients_ca_cert_file').toString(),
    partners: readAuthorities(partners.file, partners.setting).toString(),
  }
}

/** The file of a service's partners, with its place in the home folder. */
function partnersIn(home: string, partners: AuthoritiesFile | undefined): AuthoritiesFile | undefined {
  return partners && { ...partners, file: inHome(home, partners.file) }
}
