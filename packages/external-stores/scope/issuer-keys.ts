import { createRemoteKeySet, type KeySet } from '@warder/server'
import type { ExternalEnvironment } from './store.ts'

/** Age of a cached set from which callers wait for its refresh; before that they use it meanwhile. */
const waitAfterSeconds = 86_400

/**
 * Key sets of issuers by their addresses, each fetched when it is first needed and kept. Addresses come from settings,
 * never from a token, so that there are no more sets than the settings name.
 */
export function issuerKeys({
  outbound,
  clock,
  log,
}: Pick<ExternalEnvironment<never>, 'outbound' | 'clock' | 'log'>): (address: string) => KeySet {
  const sets = new Map<string, KeySet>()
  return (address) => {
    const known = sets.get(address)
    if (known !== undefined) return known
    const set = createRemoteKeySet({ url: address, outbound, clock, log, waitAfterSeconds })
    sets.set(address, set)
    return set
  }
}
