import type { Metrics } from '@warder/foundation/telemetry'
import { abeThread } from '../abe/index.ts'
import type { KmipEngine } from '../api/kmip/engine/index.ts'
import { listsInWork } from '../authority/crl/lists-in-work.ts'
import { bulkThread } from '../bulk/bulk.ts'
import { countUnfinishedGenerations } from '../crypto/index.ts'

/** In a worker: work that goes to a thread, or waits for a place. */
export function queueMetrics(metrics: Metrics, kmip: KmipEngine): void {
  metrics.collected('queue_jobs', {
    type: 'gauge',
    help: 'Jobs that wait for a thread or a slot, or are running.',
    label: 'queue',
    read: async () => ({
      large_data: bulkThread.unfinished,
      attribute_keys: abeThread.unfinished,
      rsa_generation: countUnfinishedGenerations(),
      kmip_put_off: kmip.unfinished,
      revocation_lists: listsInWork(),
    }),
  })
}
