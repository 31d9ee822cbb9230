import { StartupError } from '@warder/base'
import {
  findObject,
  findWrappingWalk,
  listMarkedForWrapping,
  type ObjectId,
  type WrappingRule,
} from '@warder/keys'
import type { ServiceEnvironment } from '@warder/runtime'
import type { Database } from '@warder/storage'
import { readHsms, readWrapping } from './hsm-settings.ts'
import type { KmsConfig } from './settings.ts'

// Keys in HSMs that wrap material, as the settings name them (docs/how-to/hsm-keys.md).

/** Rules that the settings of a checked start contain. */
function listRules(config: KmsConfig): readonly WrappingRule[] {
  const hsms = readHsms(config)
  const rules = typeof hsms === 'string' ? hsms : readWrapping(config, hsms)
  return typeof rules === 'string' ? [] : rules
}

/**
 * The HSMs are not contacted: a start does not wait for them.
 * @throws StartupError for a wrapping key that does not exist, or is no AES key in an HSM
 */
export async function requireWrappingKeys({
  config,
  database,
}: {
  readonly config: KmsConfig
  readonly database: { readonly db: Database } | undefined
}): Promise<void> {
  for (const { key } of listRules(config)) {
    const found = database && (await findObject(database.db, key as ObjectId))
    if (found === undefined)
      throw new StartupError(
        `the wrapping key ${key} of hsm_wrapping or key_encryption_key does not exist: start without the setting, then create it (warder keys create --alg A256GCM --hsm NAME::LABEL) or register it (warder keys hsm register NAME LABEL)`,
      )
    if (found.type !== 'SymmetricKey' || found.algorithm !== 'AES' || found.form.hsm === undefined)
      throw new StartupError(
        `the wrapping key ${key} of hsm_wrapping or key_encryption_key is not an AES key in an HSM`,
      )
  }
}

/** The rules with the versions of their keys: when this text changes, all objects are checked. */
export async function describeRules({
  config,
  db,
}: Pick<ServiceEnvironment<KmsConfig>, 'config' | 'db'>): Promise<string> {
  const described = []
  for (const { key, tags, owners } of listRules(config)) {
    const found = await findObject(db, key as ObjectId)
    described.push({ key, version: found?.newestId ?? key, tags, owners })
  }
  return JSON.stringify(described)
}

/** Without rules nothing was ever wrapped, and nothing has to be. */
const noRules = '[]'
/** Interval after which all objects are checked again: a node with other settings may have created some. */
const recheckMs = 3_600_000

/** Interval after which a failed run, such as one without the HSM, is repeated. */
const retryMs = 30_000
const retryAt = new WeakMap<KmsConfig, number>()

/** Whether the wrapping of any object has to be checked; usually three look-ups in an index. */
export async function isWrappingDue(environment: ServiceEnvironment<KmsConfig>): Promise<boolean> {
  const { config, db, clock } = environment
  if (clock.now() < (retryAt.get(config) ?? 0)) return false
  const [walk, rules] = [await findWrappingWalk(db), await describeRules(environment)]
  if (walk === undefined) return rules !== noRules
  if (walk.finished_at === null || walk.rules !== rules) return true
  if (rules !== noRules && clock.now() - walk.finished_at >= recheckMs) return true
  return (await listMarkedForWrapping(db, 1)).length > 0
}

/** Wraps again what does not fit the settings, in the node that has the lease. */
export async function rewrapMaterial(environment: ServiceEnvironment<KmsConfig>): Promise<void> {
  const { rewrapDueMaterial } = await import('./hsm-rewraps.ts')
  const { config, clock } = environment
  try {
    await rewrapDueMaterial(environment, { rules: await describeRules(environment), recheckMs })
    retryAt.delete(config)
  } catch (error) {
    retryAt.set(config, clock.now() + retryMs)
    throw error
  }
}
