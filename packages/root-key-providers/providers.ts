import { inHome, StartupError } from '@warder/base'
import { type OutboundAccess, readOutboundAccess } from '@warder/outbound'
import type { RootKeyLaunch, RuntimeConfig } from '@warder/runtime/launch'
import type { RootKeyProvider } from '@warder/storage'
import type { RootKeyConfig, RootKeySourceName } from './settings.ts'

/** `proxy` is not a setting of the provider, but the proxy from the settings or the environment. */
export type ProviderConfig = RuntimeConfig & RootKeyConfig & Pick<OutboundAccess, 'proxy'>
type CreateProvider = (
  config: ProviderConfig,
  resolvePath: (path: string) => string,
  env: NodeJS.ProcessEnv,
) => Promise<RootKeyProvider>

/** Sources that wrap the root key. Each provider is loaded when it is used; a start with a file loads none. */
const providers: Partial<Record<RootKeySourceName, CreateProvider>> = {
  pkcs11: async (config, path) => (await import('./pkcs11.ts')).createPkcs11Provider(config, path),
  transit: async (config, path) => (await import('./transit.ts')).createTransitProvider(config, path),
  kmip: async (config, path) => (await import('./kmip.ts')).createKmipProvider(config, path),
  'aws-kms': async (...parts) => (await import('./aws/kms.ts')).createAwsKmsProvider(...parts),
  'google-kms': async (...parts) => (await import('./google/kms.ts')).createGoogleKmsProvider(...parts),
  'azure-key-vault': async (...parts) =>
    (await import('./azure/key-vault.ts')).createAzureKeyVaultProvider(...parts),
}

/** Reads the settings and files of a provider; contacts nothing. @throws StartupError */
export async function createRootKeyProvider(
  source: string,
  { config, home, env }: RootKeyLaunch,
): Promise<RootKeyProvider> {
  const create = providers[source as RootKeySourceName]
  if (create === undefined) throw new StartupError(`this version supports no root_key_source ${source}`)
  // As in the clients of the clouds, an empty variable is an absent one.
  const variables = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))
  // `getSettings` has the rows of the providers for both services.
  const { proxy } = readOutboundAccess(config, home, env)
  const all = { ...config, proxy } as unknown as ProviderConfig
  return create(all, (path) => inHome(home, path), variables)
}
