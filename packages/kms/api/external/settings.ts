import type { SettingValues } from '@warder/foundation/config'
import { StartupError } from '@warder/foundation/errors'
import { awsSettings, awsSettingsProblem } from './aws/settings.ts'
import { azureSettings, azureSettingsProblem } from './azure/settings.ts'
import { googleSettings, googleSettingsProblem } from './google/scope/settings.ts'
import { microsoftSettings, microsoftSettingsProblem } from './microsoft/settings.ts'

/** Settings of all external key stores. */
export const externalSettings = {
  ...awsSettings,
  ...azureSettings,
  ...googleSettings,
  ...microsoftSettings,
} as const

/** What is given in part, of any store. @throws StartupError */
export function refuseHalfStores(
  config: SettingValues<typeof externalSettings> & { readonly plaintext_http: boolean },
): void {
  const problem =
    awsSettingsProblem(config) ??
    azureSettingsProblem(config) ??
    googleSettingsProblem(config) ??
    microsoftSettingsProblem(config)
  if (problem !== undefined) throw new StartupError(problem)
}
