import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { isLockHeld, requireUsableHome, StartupError } from '@warder/base'
import type { Terminal } from '@warder/command-line'
import { checkSettings } from '@warder/runtime/launch'
import { configureBoth, configureTogether, requireTogether } from '../installation/together.ts'
import { claimPorts, getListenAddresses, type ListenAddresses } from '../start/listen-addresses.ts'
import { type DatabaseState, readDatabaseState } from './state.ts'

/** Result of a dry run of `warder start`. */
export interface StartCheck {
  readonly databases: readonly DatabaseState[]
  readonly warnings: readonly string[]
}

/**
 * Runs the checks of `warder start`, in its order and with the same environment. Starts nothing and writes nothing. Ports
 * are checked only while the services do not run.
 * @throws StartupError for settings that a start refuses
 */
export async function checkStart(home: string, env: Terminal['env']): Promise<StartCheck> {
  if (!existsSync(home)) throw new StartupError(`the home folder ${home} does not exist: check --home`)
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

/** The running services occupy the ports of the settings, so free ones are checked. */
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

/** Lists the reasons to refuse a start that concern the databases, one line each. */
export function listRefusals({ databases }: StartCheck): readonly string[] {
  return databases.flatMap(({ service, refusal }) =>
    refusal === undefined ? [] : [refusal.startsWith(`${service}:`) ? refusal : `${service}: ${refusal}`],
  )
}
