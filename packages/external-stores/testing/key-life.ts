import { removeTagChanges } from '@warder/keys'
import type { Started } from '@warder/kms/testing'
import { deactivate } from './deactivate.ts'

/** Settings by which the destruction of a key with the tag `waits` waits, and that of others does not. */
export const destructionWaits = { pending_destruction_days_by: ['tag:waits=7'] }

type Moment =
  | 'active'
  | 'disabled'
  | 'enabled'
  | 'awaiting destruction'
  | 'restored'
  | 'deactivated'
  | 'destroyed'

/** Takes a key through the steps that its owner may take. @returns the result of `ask` after each step */
export async function throughLife<T>(
  kms: Started,
  owner: string,
  kid: string,
  ask: () => Promise<T>,
): Promise<Readonly<Record<Moment, T>>> {
  const user = kms.user(owner)
  const path = `/v1/crypto/keys/${kid}`
  const after = async (method: string, at: string, expected: number, json?: object): Promise<T> => {
    const { status, text } = await user.call(method, at, json === undefined ? {} : { json })
    if (status !== expected) throw new Error(`${method} ${at} answered ${status}: ${text}`)
    return ask()
  }
  const active = await ask()
  const disabled = await after('POST', `${path}/disable`, 200, {})
  const enabled = await after('POST', `${path}/enable`, 200, {})
  const waits = { tags: ['waits'] }
  await after('POST', `${path}/tags`, 200, waits)
  const awaiting = await after('DELETE', path, 202)
  const restored = await after('POST', `${path}/restore`, 200, {})
  // No user may remove this tag: it records a changed setting.
  await kms.environment.db.commit(removeTagChanges(kid, waits.tags))
  await deactivate(kms, owner, kid)
  const deactivated = await ask()
  const destroyed = await after('DELETE', path, 204)
  return {
    active,
    disabled,
    enabled,
    'awaiting destruction': awaiting,
    restored,
    deactivated,
    destroyed,
  }
}

/** Makes the next version of a key. @returns its id */
export async function rotate(kms: Started, owner: string, kid: string): Promise<string> {
  const { status, json, text } = await kms.user(owner).post(`/v1/crypto/keys/${kid}/rotate`, {})
  if (status !== 200) throw new Error(text)
  return json.version_kid
}
