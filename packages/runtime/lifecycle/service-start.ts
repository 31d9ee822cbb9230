import type { ServiceLaunch } from './launch.ts'
import type { RunningService } from './primary.ts'

/**
 * See `validate-settings.ts`: makes the checks of a start without starting the service. @throws StartupError
 */
export async function checkSettings(launch: ServiceLaunch): Promise<readonly string[]> {
  const { checkLaunch } = await import('./validate-settings.ts')
  return checkLaunch(launch)
}

/** See `primary.ts`, which is loaded only when a service is started. */
export async function runService(launch: ServiceLaunch): Promise<RunningService> {
  const primary = await import('./primary.ts')
  return primary.runService(launch)
}
