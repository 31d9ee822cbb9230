import type { SettingValues } from '@warder/foundation/config'
import { StartupError } from '@warder/foundation/errors'
import { awsSettings, awsSettingsProblem } from './aws/settings.ts'

/** Settings of all external key stores. */
export const externalSettings = { ...awsSettings } as const

/** What is given in part, of any store. @throws StartupError */
export function refuseHalfStores(config: SettingValues<typeof externalSettings>): void {
  const problem = awsSettingsProblem(config)
  if (problem !== undefined) throw new StartupError(problem)
}
