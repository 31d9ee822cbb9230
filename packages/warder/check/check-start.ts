import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { StartupError } from '@warder/foundation/errors'
import { requireUsableHome } from '@warder/foundation/home'
import { checkSettings } from '@warder/foundation/runtime'
import { isLockHeld } from '@warder/foundation/supervision'
import type { Terminal } from '../cli/command.ts'
import { configureBoth, configureTogether, requireTogether } from '../installation/together.ts'
import { claimPorts, getListenAddresses, type ListenAddresses } from '../start/listen-addresses.ts'
import { type DatabaseState, readDatabaseState } from './state.ts'

/** What `warder start` would find in a home. */
export interface StartCheck {
  readonly databases: readonly DatabaseState[]
  readonly warnings: readonly string[]
}

/**
 * Asks what `warder start` asks, in its order and with the same environment, and starts nothing: nothing in the home is
 * written. Ports are asked for while the services do not run.
 * @throws StartupError for settings with which it would be refused
 */
export async function checkStart(home: string, env: Terminal['env']): Promise<StartCheck> {
  if (!existsSync(home)) throw new StartupError(`the home folder ${home} is not there`)
  requireUsableHome(home)
  const configured = configureBoth(home, env)
  const addresses = getListenAddresses(configured.auth, configured.kms)
  const isRunning = isLockHeld(join(home, 'start.lock'))
  const claimed = await claimPorts(isRunning ? useFreePorts(addresses) : addresses)
  try {
    const ports = { auth: claimed[0].port, kms: claimed[1].port }
    return await checkBoth(configureTogether(configured, env, ports))
  } finally {
    for (const port of claimed) port?.release()
  }
}

/** The running services have the ports of the settings. */
function useFreePorts({ auth, kms, socket, plain }: ListenAddresses): ListenAddresses {
  const [authPort, kmsPort] = [
    { ...auth, port: 0 },
    { ...kms, port: 0 },
  ]
  return { auth: authPort, kms: kmsPort, socket: socket && { ...socket, port: 0 }, plain }
}

async function checkBoth({ auth, kms, authUrl }: ReturnType<typeof configureTogether>): Promise<StartCheck> {
  await requireTogether(auth, kms, authUrl)
  const warnings = [...auth.loaded.warnings, ...kms.loaded.warnings]
  for (const { launch } of [auth, kms]) warnings.push(...(await checkSettings(launch)))
  const databases = [await readDatabaseState('auth', auth.launch), await readDatabaseState('kms', kms.launch)]
  warnings.push(...databases.flatMap(({ warning }) => warning ?? []))
  return { databases, warnings }
}

/** The refusals of a start that the databases are the reason of, a line for each. */
export function listRefusals({ databases }: StartCheck): readonly string[] {
  return databases.flatMap(({ service, refusal }) =>
    refusal === undefined ? [] : [refusal.startsWith(`${service}:`) ? refusal : `${service}: ${refusal}`],
  )
}
