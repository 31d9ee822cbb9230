import { listsInWork } from '@warder/authority'
import { type Counters, type Metrics, memoizeFor } from '@warder/base'
import { countByState, countEnding, type KeyRing } from '@warder/keys'
import type { ServiceEnvironment } from '@warder/runtime'
import type { KmsConfig } from './settings.ts'

/** Everything that this service counts. */
export const kmsCounters: Counters = {
  certificate_renewals_total: { outcome: ['renewed', 'failed'] },
  destructions_failed_total: {},
  destructions_total: { outcome: ['waits', 'near', 'carried_out'] },
  key_rotations_total: {
    outcome: ['announced', 'announced_failing', 'budget_ending', 'rotated', 'failed'],
  },
  kmip_connections_refused_total: {},
  kmip_connections_total: {},
  kmip_handshake_failures_total: {},
  objects_hsm_rewrapped_total: {},
  objects_hsm_rewraps_failed_total: {},
  objects_rewrapped_total: {},
}

/** Counting reads an index as long as there are objects. */
const countEveryMs = 60_000

/** In the primary: objects of the installation, each node's own reading. */
export function objectMetrics({ metrics, db, clock }: ServiceEnvironment<KmsConfig>): void {
  metrics.collected('objects', {
    type: 'gauge',
    help: 'Objects by state, updated every minute.',
    label: 'state',
    read: memoizeFor(() => countByState(db), countEveryMs, clock.monotonic),
  })
  metrics.collected('keys_budget_ending', {
    type: 'gauge',
    help: 'Active keys that have used 90 % of their AES-GCM messages and are not rotated automatically, updated every minute.',
    read: memoizeFor(() => countEnding(db), countEveryMs, clock.monotonic),
  })
}

/** In the primary: the revocation lists that it signs. */
export function listMetrics(metrics: Metrics): void {
  metrics.collected('queue_jobs', {
    type: 'gauge',
    help: 'Jobs that wait for a thread or a slot, or are running.',
    label: 'queue',
    read: async () => ({ revocation_lists: listsInWork() }),
  })
}

/** In a worker: its cache of decrypted keys. */
export function keyCacheMetrics(metrics: Metrics, keys: KeyRing): void {
  metrics.gauge('key_cache_entries', 'Decrypted keys in memory.', () => keys.size)
  metrics.collected('key_cache_uses_total', {
    type: 'counter',
    help: 'Uses of keys, by whether the key was already decrypted in memory.',
    label: 'outcome',
    read: async () => {
      const { hits, misses } = keys.uses
      return { hit: hits, miss: misses }
    },
  })
}
