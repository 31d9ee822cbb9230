import { listsInWork } from '@warder/authority'
import type { Metrics } from '@warder/base'
import { abeThread, bulkThread, countUnfinishedGenerations } from '@warder/keys'
import type { KmipEngine } from '@warder/kmip-server'

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
