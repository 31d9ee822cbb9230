import type { AuditEvent, AuditTrail } from '@warder/audit'
import type { Clock } from '@warder/base'
import { type AuditFields, mergeAuditFields, type OperationContext } from '@warder/server'
import { requirePrincipal } from './key-access.ts'

/** An item of a request that holds many: each has an audit record of its own. */
export interface AuditedItem<Services> {
  /** The context of the request, with the audit fields of the item. */
  readonly context: OperationContext<Services>
  /** Record of the item, now that its outcome is known. */
  event(status: number, reason: string | undefined): AuditEvent
}

/** @param operation its name in the record, asked when the item is done */
export function createAuditedItem<Services extends { readonly clock: Clock }>(
  whole: OperationContext<Services>,
  operation: () => string,
): AuditedItem<Services> {
  let fields: AuditFields = {}
  const { services, request, principal, commit, log } = whole
  const startedAt = services.clock.monotonic()
  return {
    context: {
      services,
      found: undefined,
      request,
      principal,
      commit,
      log,
      audit(more) {
        fields = mergeAuditFields(fields, more)
      },
    },
    event(status, reason) {
      const { name, method, realm } = requirePrincipal(whole)
      return {
        time: services.clock.now(),
        request_id: request.id,
        operation: operation(),
        principal: name,
        auth_method: method,
        ...(realm !== undefined && { realm }),
        client_ip: request.clientAddress,
        outcome: status < 400 ? 'success' : 'failure',
        status,
        duration_ms: Math.round((services.clock.monotonic() - startedAt) * 1000) / 1000,
        ...(reason !== undefined && { reason }),
        ...fields,
      }
    },
  }
}

/** Records the items; in audit mode `reject` the records are on disk before the reply. */
export async function recordItems(
  { services: { audit } }: OperationContext<{ readonly audit: AuditTrail }>,
  items: readonly { readonly event: AuditEvent }[],
): Promise<void> {
  if (audit.mode === 'reject') await Promise.all(items.map(({ event }) => audit.recordDurably(event)))
  else for (const { event } of items) audit.record(event)
}
