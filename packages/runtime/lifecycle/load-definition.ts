import type { ServiceLaunch } from './launch.ts'
import type { ServiceDefinition } from './service.ts'

/** A service as its module declares it. */
export async function loadDefinition(
  launch: Pick<ServiceLaunch, 'module' | 'exportName'>,
): Promise<ServiceDefinition<unknown, unknown>> {
  const module = (await import(launch.module)) as Record<string, ServiceDefinition<unknown, unknown>>
  const definition = module[launch.exportName]
  if (definition === undefined) throw new Error(`${launch.module} exports no ${launch.exportName}`)
  return definition
}
