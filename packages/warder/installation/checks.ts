import { join } from 'node:path'
import {
  databasePlace,
  inHome,
  type RuntimeConfig,
  type ServiceEnvironment,
} from '@warder/foundation/runtime'
import { chooseCiphers, readAuthorities } from '@warder/foundation/tls'
import type { ServiceConfiguration } from './configuration.ts'
import type { ServiceName } from './services.ts'

/**
 * What a start would refuse about the settings, found without starting: nothing is opened, written or listened on.
 * @throws StartupError as the start would
 */
export async function checkAsStart(name: ServiceName, { launch }: ServiceConfiguration): Promise<void> {
  const { config, home } = launch
  databasePlace(config.database_url, home, name)
  if (!config.plaintext_http) {
    chooseCiphers(config.tls_cipher_suites)
    requireAuthorities('clients_ca_cert_file', config.clients_ca_cert_file, home)
  }
  requireAuthorities('outbound_ca_file', config.outbound_ca_file, home)
  if (name === 'kms') {
    const { kmsService } = await import('@warder/kms')
    const log = { debug: ignore, info: ignore, warn: ignore, error: ignore }
    // The settings and the log are all that this service looks at before it starts.
    await kmsService.prepare?.({ config, log } as unknown as ServiceEnvironment<KmsConfig>)
  }
}

type KmsConfig = typeof import('@warder/kms').kmsService extends {
  prepare?(environment: ServiceEnvironment<infer C>): unknown
}
  ? C
  : never

const ignore = (): void => undefined

function requireAuthorities(
  setting: keyof RuntimeConfig & string,
  path: string | undefined,
  home: string,
): void {
  if (path === undefined) return
  const file = inHome(home, path)
  // The first start makes it.
  if (file === join(home, 'tls', 'ca.crt')) return
  readAuthorities(file, setting)
}
