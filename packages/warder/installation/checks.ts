import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { inHome } from '@warder/foundation/home'
import {
  checkPlace,
  clientCrls,
  databasePlace,
  type RuntimeConfig,
  systemClock,
  tlsReader,
} from '@warder/foundation/runtime'
import type { Logger } from '@warder/foundation/telemetry'
import { chooseCiphers, readAuthorities } from '@warder/foundation/tls'
import type { ServiceConfiguration } from './configuration.ts'
import type { ServiceName } from './services.ts'

/**
 * Finds settings that a start would refuse, without starting: nothing is opened, written or listened on.
 * @throws StartupError as the start would
 */
export async function checkAsStart(name: ServiceName, { launch }: ServiceConfiguration): Promise<void> {
  const { config, home } = launch
  checkPlace(databasePlace(config, home, name))
  if (!config.plaintext_http) {
    chooseCiphers(config.tls_cipher_suites)
    // Those of the local authority are made by the first start.
    if (config.tls_cert_file !== undefined)
      tlsReader({ ...config, clients_ca_cert_file: undefined }, home, name)()
    requireAuthorities('clients_ca_cert_file', config.clients_ca_cert_file, home)
    const crls = clientCrls(config, home, systemClock, quiet)
    if (existsSync(inHome(home, config.clients_ca_cert_file ?? ''))) crls.read()
  }
  requireAuthorities('outbound_ca_file', config.outbound_ca_file, home)
  if (name === 'kms') {
    const { kmsService } = await import('@warder/kms')
    const kmsConfig = config as unknown as KmsConfig
    await kmsService.check?.({ config: kmsConfig, log: quiet })
    if (!config.plaintext_http)
      for (const { file, setting } of Object.values(kmsService.partners?.(kmsConfig) ?? {}))
        readAuthorities(inHome(home, file), setting)
  }
}

type KmsConfig = typeof import('@warder/kms').kmsService extends {
  check?(environment: { readonly config: infer C }): unknown
}
  ? C
  : never

const ignore = (): void => undefined
const quiet: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore, child: () => quiet }

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
