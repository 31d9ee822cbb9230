import type { AuditEvent } from '@warder/foundation/audit'
import type { KmipServices } from './services.ts'
import type { AuditedItems } from './types.ts'

/** Records that are handed to the audit writer together: those of other requests find room between them. */
const recordsTogether = 500

/**
 * Events of the items in the data of a batch item whose event is `whole`. None of them is answered where one failed: that
 * one has the reason, and the others are undone.
 */
export function itemEvents(whole: AuditEvent, items: AuditedItems | undefined): readonly AuditEvent[] {
  if (items === undefined) return none
  const { count, failed, policies } = items
  // What the items share is in the record of the batch item.
  const { items: _, policy: __, ...details } = whole.details ?? {}
  return Array.from({ length: count }, (_, item): AuditEvent => {
    const policy = policies?.[item]
    const of = { ...details, item, ...(policy !== undefined && { policy: policy.slice(0, 1024) }) }
    const undone = whole.outcome === 'failure' && failed !== undefined && item !== failed
    return { ...whole, ...(undone && { status: 409, reason: 'OperationUndone' }), details: of }
  })
}

const none: readonly AuditEvent[] = Object.freeze([])

/** Records the items of one request, in audit mode `reject` on disk: some, then more when the writer has taken those. */
export async function recordItems(
  audit: KmipServices['audit'],
  events: readonly AuditEvent[],
): Promise<void> {
  for (let start = 0; start < events.length; start += recordsTogether) {
    const some = events.slice(start, start + recordsTogether)
    if (audit.mode === 'reject') await Promise.all(some.map((event) => audit.recordDurably(event)))
    else {
      for (const event of some) audit.record(event)
      // In mode `continue` a log that cannot be written stops nobody.
      await audit.flush().catch(() => undefined)
    }
  }
}
