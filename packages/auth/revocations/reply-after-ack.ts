import type { HttpMethod, Operation } from '@warder/server'
import type { RevocationServices } from './operations.ts'

const reading: ReadonlySet<HttpMethod> = new Set(['GET', 'HEAD', 'LIST'])

/** Delays the reply of an operation until every subscriber of the revocation feed has acknowledged the revocation. */
export function replyAfterAck<Services extends RevocationServices>(
  operation: Operation<Services>,
): Operation<Services> {
  if (operation.route.methods.every((method) => reading.has(method))) return operation
  return {
    ...operation,
    async act(input, context) {
      const result = await operation.act(input, context)
      await context.services.revocations.waitForAcks()
      return result
    },
  }
}
