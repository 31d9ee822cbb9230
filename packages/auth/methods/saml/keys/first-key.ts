import { type PeriodicWork, unixSeconds } from '@warder/foundation/runtime'
import { listSpKeys } from './sp-key-store.ts'
import { ensureSpKeys } from './sp-keys.ts'

/**
 * Makes the key of the service provider in the first seconds of the first run, beside the start: it takes half a second
 * of a processor. Does nothing where the keys are files of the operator, and asks nothing more once there is one.
 */
export function firstSpKey(): PeriodicWork<{ readonly saml_sp_key_files: readonly string[] }> {
  let isThere = false
  return {
    name: 'key of the SAML service provider',
    everySeconds: 2,
    async due({ db, config }) {
      if (isThere || config.saml_sp_key_files.length > 0) return false
      isThere = (await listSpKeys(db)).length > 0
      return !isThere
    },
    async run({ db, seal, clock }) {
      await ensureSpKeys({ db, seal, now: () => unixSeconds(clock) })
    },
  }
}
