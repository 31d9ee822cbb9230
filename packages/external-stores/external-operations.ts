import type { SettingsTable, SettingValues } from '@warder/runtime/settings'
import type { Operation, SecurityScheme } from '@warder/server'
import { aws } from './aws/aws-operations.ts'
import { azure } from './azure/azure-operations.ts'
import { google } from './google/google-operations.ts'
import { microsoft } from './microsoft/microsoft-operations.ts'
import {
  type CommonConfig,
  type ExternalEnvironment,
  type ExternalStore,
  type ExternalStoreServices,
  operationsInScope,
} from './scope/scope.ts'
import { externalSettings } from './settings.ts'

export type ExternalConfig = SettingValues<typeof externalSettings>

/** The only list of all external key stores. */
const externalStores: readonly ExternalStore<ExternalConfig>[] = [aws, azure, google, microsoft]

/** The operations of the stores that are enabled. */
export function externalOperations(
  environment: ExternalEnvironment<ExternalConfig>,
): readonly Operation<ExternalStoreServices>[] {
  return externalStores
    .filter((store) => store.enabled(environment.config))
    .flatMap((store) => operationsInScope(store, environment))
}

/** Operations of all stores, for the documentation; they cannot be executed. */
export function describeExternalOperations(
  environment: Pick<ExternalEnvironment<ExternalConfig>, 'db' | 'clock' | 'baseUrl'>,
): readonly Operation<ExternalStoreServices>[] {
  const defaults = Object.entries(externalSettings as SettingsTable).map(([key, setting]) => [
    key,
    setting.default,
  ])
  const config = { kms_public_url: undefined, cache_lease_ms: 0, ...Object.fromEntries(defaults) }
  const described = { ...environment, config, node: '' } as unknown as ExternalEnvironment<ExternalConfig>
  return externalStores.flatMap((store) => operationsInScope(store, described))
}

/** Enabled stores, as they are described to callers. */
export function enableStores(config: ExternalConfig & CommonConfig, baseUrl: string) {
  return externalStores
    .filter((store) => store.enabled(config))
    .map((store) => ({ name: store.name, ...store.facts(config, baseUrl) }))
}

/** How callers of the stores authenticate, for openapi.yaml. */
export const externalSecuritySchemes: Readonly<Record<string, SecurityScheme>> = Object.assign(
  {},
  ...externalStores.map(({ securitySchemes }) => securitySchemes),
)
