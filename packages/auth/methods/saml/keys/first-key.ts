import { unixSeconds } from '@warder/base'
import type { PeriodicWork } from '@warder/runtime'
import { listSpKeys } from './sp-key-store.ts'
import { ensureSpKeys } from './sp-keys.ts'

/**
 * Generates the key of the service provider after the first start, in the background: it takes half a second of CPU
 * time. Does nothing when the keys are files of the operator, and makes no more queries once a key exists.
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
