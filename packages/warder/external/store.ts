import { isIP } from 'node:net'
import { join } from 'node:path'
import { StartupError } from '@warder/base'
import { UsageError } from '@warder/command-line'
import { type KmsContext, toUserError } from '@warder/command-line/kms'
import { formatSettingsToml } from '@warder/runtime/settings'
import { configure } from '../installation/configuration.ts'
import { addSettings } from './settings-file.ts'

export type StoreName = 'aws' | 'google' | 'microsoft' | 'azure'

/** An external key store in `GET /v1/external-stores`. */
export interface StoreState {
  readonly name: string
  readonly enabled: boolean
  /** Address of the service for clouds; absent in older versions. */
  readonly public_url?: unknown
  readonly stopped: { readonly at: string; readonly by: string } | null
  readonly paths?: unknown
  readonly [fact: string]: unknown
}

export async function fetchStoreState({ kms }: KmsContext, name: StoreName): Promise<StoreState> {
  const stores: readonly StoreState[] = await kms.call('external.list', {})
  const found = stores.find((store) => store.name === name)
  if (found === undefined)
    throw new StartupError(`this server does not support the external key store ${name}`)
  return found
}

/** Returns the address to enter at the cloud: `kms_public_url` of the server, without a trailing slash. */
export function getPublicUrl({ endpoints: places }: KmsContext, { public_url }: StoreState): string {
  return (typeof public_url === 'string' ? public_url : places.kms.url).replace(/\/+$/, '')
}

/** Returns the remaining steps if clouds cannot use the address. */
export function noteAddressProblems(publicUrl: string): readonly string[] {
  const host = new URL(publicUrl).hostname.replace(/^\[|\]$/g, '')
  const remedy = 'set kms_public_url in kms.toml, restart, and enter that address instead.'
  const isAddress = isIP(host) !== 0
  if (host === 'localhost' || (isAddress && /^(?:127\.|::1$|0\.0\.0\.0$)/.test(host)))
    return [`Clouds cannot reach ${host}: ${remedy}`]
  return isAddress
    ? [`Clouds need a name with a certificate of a public authority, not ${host}: ${remedy}`]
    : []
}

/** Formats the state as one line. */
export function formatState({ name, enabled, stopped }: StoreState): string {
  if (stopped !== null)
    return `${name}: stopped by ${stopped.by} at ${stopped.at}: every request is refused on every node`
  return enabled ? `${name}: enabled` : `${name}: disabled in the settings of the server`
}

/** Stops the service for the cloud, or starts it again. */
export async function setStopped(context: KmsContext, name: StoreName, stop: boolean): Promise<StoreState> {
  return context.kms.call(stop ? 'external.stop' : 'external.start', { path: { name } })
}

export async function disable(context: KmsContext, name: StoreName): Promise<number> {
  const state = await setStopped(context, name, true)
  context.show(state, [
    formatState(state),
    `Keys, grants and credentials stay. \`warder external ${name} enable\` enables it again.`,
  ])
  return 0
}

/**
 * Writes the settings into the file in the home, or shows them if the service is remote.
 * @returns lines for the user
 */
export function writeSettings(
  { endpoints: places }: KmsContext,
  settings: ReadonlyMap<string, unknown>,
  isEnabled: boolean,
): readonly string[] {
  const text = formatSettingsToml(settings).trim().split('\n')
  if (places.isRemote)
    return isEnabled ? [] : ['Add this to its kms.toml and restart the service:', ...indent(text)]
  const file = join(places.home, 'kms.toml')
  switch (addSettings(file, settings)) {
    case 'written':
      return [`${file} now enables it: restart the service.`]
    case 'there already':
      return isEnabled ? [] : [`${file} already enables it: restart the service.`]
    case 'not ours':
      return isEnabled
        ? []
        : [`${file} already has this section. Change it to this and restart the service:`, ...indent(text)]
  }
}

function indent(lines: readonly string[]): readonly string[] {
  return lines.map((line) => `  ${line}`)
}

/** Whether the settings in the home enable a store, even if the service has not been restarted yet. */
export function isSwitchedOn({ endpoints: places, env }: KmsContext, setting: string): boolean {
  if (places.isRemote) return false
  const values: Readonly<Record<string, unknown>> = configure('kms', places.home, [], env).loaded.values
  return values[setting] === true
}

/** Grants principals of a cloud the use of a key. */
export async function grantKey(
  { kms }: KmsContext,
  kid: string,
  users: readonly string[],
  operation_types: readonly string[] = ['encrypt', 'decrypt', 'getattributes'],
): Promise<void> {
  for (const user_id of users) {
    await kms.call('access.grant', {
      body: { unique_identifier: kid, user_id, operation_types: [...operation_types] },
    })
  }
}

/** A step of a tested exchange. */
export interface Step {
  readonly what: string
  /** undefined: the step succeeded. */
  readonly problem: string | undefined
}

/** Prints the steps. @returns the exit code */
export function showSteps(context: KmsContext, name: StoreName, steps: readonly Step[]): number {
  const failed = steps.filter(({ problem }) => problem !== undefined)
  context.show(
    {
      store: name,
      ok: failed.length === 0,
      steps: steps.map(({ what, problem }) => ({ what, problem: problem ?? null })),
    },
    [
      ...steps.map(({ what, problem }) =>
        problem === undefined ? `ok      ${what}` : `FAILED  ${what}: ${problem}`,
      ),
      failed.length === 0
        ? `The server responds as ${name} expects.`
        : `${failed.length} of ${steps.length} steps failed.`,
    ],
  )
  return failed.length === 0 ? 0 : 1
}

/** @throws StartupError unless the store is enabled and not stopped */
export function requireServing(state: StoreState): void {
  if (!state.enabled)
    throw new StartupError(
      `${formatState(state)}: run \`warder external ${state.name} enable\` and restart the service`,
    )
  if (state.stopped !== null) throw new StartupError(formatState(state))
}

/** Removes the temporary objects of a test; reports those that cannot be removed. */
export async function cleanUp(
  context: KmsContext,
  undo: () => Promise<unknown>,
  what: string,
): Promise<void> {
  try {
    await undo()
  } catch (error) {
    const told = toUserError(error)
    context.note(`${what} could not be removed: ${told instanceof Error ? told.message : String(told)}`)
  }
}

/** @throws UsageError for an unknown action */
export function readAction<A extends string>(
  store: StoreName,
  names: readonly string[],
  actions: readonly A[],
): A {
  const [word] = names
  const action = actions.find((one) => one === word)
  if (action !== undefined) return action
  throw new UsageError(
    `name the action: warder external ${store} ${actions.join('|')}${word === undefined ? '' : `, not '${word}'`}`,
  )
}
