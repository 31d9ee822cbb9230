import { failure } from '@warder/base'
import type { ResponseItem } from '@warder/kmip-codec'
import { toPublicFailure } from '../failure/failure.ts'
import { recordItems } from './data-items.ts'
import type { AnsweredItem } from './item.ts'
import type { KmipEngineOptions } from './message.ts'

/**
 * Audit mode `reject`: an outcome that cannot be recorded is not returned. A change that was committed, or may have
 * been, is already recorded, and its answer must not claim that nothing was done.
 */
export async function recordOrRefuse(
  options: KmipEngineOptions,
  answered: AnsweredItem,
): Promise<AnsweredItem> {
  if (answered.recorded) return answered
  try {
    const { audit } = options.services
    await audit.recordDurably(answered.event)
    if (answered.items.length > 0) await recordItems(audit, answered.items)
    answered.announced?.markResolved()
    return answered
  } catch (cause) {
    answered.announced?.markInDoubt()
    if (answered.unknown === true) return answered
    const {
      reason,
      message,
      failure: told,
    } = toPublicFailure(failure('audit_unavailable', undefined, { cause }))
    const { operation, uniqueBatchItemId } = answered.response
    const response: ResponseItem = {
      operation,
      uniqueBatchItemId,
      status: 'OperationFailed',
      reason,
      message,
    }
    return { ...answered, response, failure: told }
  }
}
