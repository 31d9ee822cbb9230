import type { RequestMessage, ResponseItem } from '@warder/kmip-codec'
import { activeTrace, type SpanHead } from '@warder/outbound/http-client'
import type { Tracer } from '@warder/server'
import type { KmipCaller } from './types.ts'

/** Maximum number of operations that a span names; further ones are only counted. */
const maxNamed = 16

/** Called with the outcome of each item. */
export type Told = (items: readonly { readonly response: Pick<ResponseItem, 'status'> }[]) => void

/**
 * Answers a message within a span: a child of the span of its HTTP request, or a root span for the socket. The span
 * contains names of operations and statuses, no identifiers.
 * @param answer reports the items that it answers
 */
export async function traceRequest(
  tracer: Tracer | undefined,
  request: RequestMessage,
  caller: KmipCaller,
  answer: (told: Told) => Promise<Uint8Array>,
): Promise<Uint8Array> {
  if (tracer === undefined) return await answer(notTold)
  const span =
    caller.beginsTrace === true
      ? tracer.beginWork(createSpanHead(request, caller, 'server'))
      : activeTrace.getStore()?.begin(createSpanHead(request, caller, 'internal'))
  if (span === undefined) return await answer(notTold)
  let failed = 0
  const traceItems: Told = (items) => {
    failed = items.filter(({ response }) => response.status === 'OperationFailed').length
  }
  try {
    const bytes = await activeTrace.run(span, answer, traceItems)
    span.end(failed > 0, { 'kmip.failed_items': failed })
    return bytes
  } catch (error) {
    span.end(true, { 'error.type': error instanceof Error ? error.name : 'unknown' })
    throw error
  }
}

const notTold: Told = () => undefined

function createSpanHead(
  { items, version }: RequestMessage,
  caller: KmipCaller,
  kind: SpanHead['kind'],
): SpanHead {
  const names = items.slice(0, maxNamed).map(({ operation }) => operation)
  return {
    name: items.length === 1 ? `kmip.${names[0]}` : 'kmip.batch',
    kind,
    attributes: {
      'kmip.version': version,
      'kmip.operations': names.join(' '),
      'kmip.items': items.length,
      'warder.request_id': caller.requestId,
    },
  }
}
