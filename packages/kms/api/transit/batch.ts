import { failure, toFailure } from '@warder/foundation/errors'
import { rawReply } from '@warder/foundation/http'
import { andThen, type MaybePromise } from '@warder/foundation/promises'
import Type, { type TProperties } from 'typebox'
import { sentenceOf } from './error-shape.ts'
import { answer } from './text.ts'

/** Items that one request may hold, as in `POST /v1/crypto/batch`. */
const maxBatchItems = 1000

/** A request of one item, or of many under `batch_input`. */
export function batchable<Members extends TProperties>(members: Members) {
  return Type.Object({
    ...members,
    batch_input: Type.Optional(Type.Array(Type.Object(members), { maxItems: maxBatchItems })),
  })
}

interface Batched<Item> {
  readonly batch_input?: readonly Item[]
}

/**
 * Does one item, or each of a batch: what goes wrong with an item is told in its place, and 400 is the status where
 * something went wrong with every one of them.
 */
export function each<Item, Done extends object>(
  body: Item & Batched<Item>,
  act: (item: Item) => MaybePromise<Done>,
): MaybePromise<unknown> {
  const { batch_input: items } = body
  if (items === undefined) return andThen(act(body), answer)
  if (items.length === 0) throw failure('bad_request', 'missing batch input to process')
  return whole(items, act)
}

async function whole<Item, Done extends object>(
  items: readonly Item[],
  act: (item: Item) => MaybePromise<Done>,
): Promise<unknown> {
  const results = await Promise.all(
    items.map(async (item) => {
      const reference = referenceOf(item)
      try {
        return { ...(await act(item)), ...reference }
      } catch (thrown) {
        const failed = toFailure(thrown)
        // A failure of the service, or of the caller's rights, fails the whole request.
        if (failed.status >= 500 || failed.kind === 'forbidden') throw thrown
        return { error: sentenceOf(failed), ...reference }
      }
    }),
  )
  const json = answer({ batch_results: results })
  return results.every((result) => 'error' in result) ? rawReply({ status: 400, json }) : json
}

/** The client's reference of an item, which its result repeats. */
function referenceOf(item: unknown): { readonly reference?: string } {
  const { reference } = item as { readonly reference?: string }
  return reference === undefined ? {} : { reference }
}
