import type { AuditEvent } from '@warder/audit'
import type { KmipServices } from './services.ts'
import type { AuditedItems } from './types.ts'

/** Number of records that the audit writer gets at once, so that it can write records of other requests in between. */
const recordsTogether = 500

/**
 * Events of the items in the data of a batch item whose event is `whole`. If one item fails, none is answered: its
 * event has the reason, and the others are undone.
 */
export function itemEvents(whole: AuditEvent, items: AuditedItems | undefined): readonly AuditEvent[] {
  if (items === undefined) return none
  const { count, failed, policies } = items
  // The common details are in the record of the batch item.
  const { items: _, policy: __, ...details } = whole.details ?? {}
  return Array.from({ length: count }, (_, item): AuditEvent => {
    const policy = policies?.[item]
    const of = { ...details, item, ...(policy !== undefined && { policy: policy.slice(0, 1024) }) }
    const undone = whole.outcome === 'failure' && failed !== undefined && item !== failed
    return { ...whole, ...(undone && { status: 409, reason: 'OperationUndone' }), details: of }
  })
}

const none: readonly AuditEvent[] = Object.freeze([])

/** Records the items of a request in chunks, each after the one before; durably in audit mode `reject`. */
export async function recordItems(
  audit: KmipServices['audit'],
  events: readonly AuditEvent[],
): Promise<void> {
  for (let start = 0; start < events.length; start += recordsTogether) {
    const some = events.slice(start, start + recordsTogether)
    if (audit.mode === 'reject') await Promise.all(some.map((event) => audit.recordDurably(event)))
    else {
      for (const event of some) audit.record(event)
      // In mode `continue` requests succeed even if the log cannot be written.
      await audit.flush().catch(() => undefined)
    }
  }
}
