import type { AuditEvent } from '@warder/audit'
import { type Failure, failure, toFailure } from '@warder/base'
import { createAuditedItem, type Key, recordItems } from '@warder/keys'
import { rawReply } from '@warder/server'
import Type, { type TProperties } from 'typebox'
import { formatSentence } from './error-shape.ts'
import type { Context } from './row.ts'
import { answer } from './text.ts'

/** Maximum number of items in a request, as in `POST /v1/crypto/batch`. */
const maxBatchItems = 1000

/** A request of one item, or of many under `batch_input`; `whole` contains the members that apply to all of them. */
export function batchable<Members extends TProperties, Whole extends TProperties = Record<never, never>>(
  members: Members,
  whole: Whole = {} as Whole,
) {
  return Type.Object({
    ...members,
    ...whole,
    batch_input: Type.Optional(Type.Array(Type.Object(members), { maxItems: maxBatchItems })),
  })
}

/** Member of requests that encrypt or decrypt: the status if some items of a batch failed and others did not. */
export const PartialFailureCode = {
  partial_failure_response_code: Type.Optional(
    Type.Integer({
      minimum: 200,
      maximum: 599,
      description: 'Status if some items of a batch failed. Default 400.',
    }),
  ),
} as const

interface Batched<Item> {
  readonly batch_input?: readonly Item[]
}

/** How the items of a request are done. */
interface ItemRow<Item, Done extends object> {
  /** Operation of the audit record of each item. */
  readonly name: string
  readonly key: Key
  /** Status if some items failed; undefined: that of the interface, 200. */
  readonly partialStatus?: number
  act(item: Item, context: Context): Promise<Done>
}

/**
 * Does one item, or each of a batch, with an audit record for each of them. A failed item is answered in its place; 400
 * is the status if every item failed.
 */
export async function each<Item, Done extends object>(
  body: Item & Batched<Item>,
  context: Context,
  row: ItemRow<Item, Done>,
): Promise<unknown> {
  const { batch_input: items } = body
  if (items === undefined) return answer(await row.act(body, context))
  if (items.length === 0) throw failure('bad_request', 'missing batch input to process')
  return whole(items, context, row)
}

interface DoneItem {
  readonly result: object
  readonly failed: Failure | undefined
  readonly event: AuditEvent
}

async function whole<Item, Done extends object>(
  items: readonly Item[],
  context: Context,
  { name, key, partialStatus, act }: ItemRow<Item, Done>,
): Promise<unknown> {
  const one = async (item: Item, index: number): Promise<DoneItem> => {
    const reference = readReference(item)
    const audited = createAuditedItem(context, () => name)
    audited.context.audit({
      object: key.object.id,
      ...(key.object.algorithm !== undefined && { algorithm: key.object.algorithm }),
      details: { item: index },
    })
    try {
      const result = { ...(await act(item, audited.context)), ...reference }
      return { result, failed: undefined, event: audited.event(200, undefined) }
    } catch (thrown) {
      const failed = toFailure(thrown)
      const result = { error: formatSentence(failed), ...reference }
      return { result, failed, event: audited.event(failed.status, failed.kind) }
    }
  }
  const done = await Promise.all(items.map(one))
  const count = done.filter(({ failed }) => failed !== undefined).length
  context.audit({ details: { items: done.length, failed: count } })
  await recordItems(context, done)
  // A failure of the service, or of the caller's rights, fails the whole request.
  const fatal = done.find(({ failed }) => failed !== undefined && isRequestFailure(failed))?.failed
  if (fatal !== undefined) throw fatal
  const json = answer({ batch_results: done.map(({ result }) => result) })
  const status = count === done.length ? 400 : count > 0 ? (partialStatus ?? 200) : 200
  return status === 200 ? json : rawReply({ status, json })
}

function isRequestFailure({ status, kind }: Failure): boolean {
  return status >= 500 || kind === 'forbidden'
}

/** The client's reference of an item, which its result repeats. */
function readReference(item: unknown): { readonly reference?: string } {
  const { reference } = item as { readonly reference?: string }
  return reference === undefined ? {} : { reference }
}
