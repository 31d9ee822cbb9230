import { setImmediate as nextTurn } from 'node:timers/promises'
import { pageReply, rawReply } from '@warder/server'
import Type from 'typebox'
import { PlainText } from './texts.ts'

/** `?limit=&after=` of a list. Without `limit` the reply contains the whole list. */
export const PageQuery = Type.Object({
  limit: Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,3}$', description: '1 to 9999 entries.' })),
  after: Type.Optional(
    PlainText({ maxLength: 1024, description: 'The key of the last entry of the previous page.' }),
  ),
})

/** Part of a list in the order of its keys. */
export interface Page {
  /** Entries with a greater key only; '' = from the beginning. */
  readonly after: string
  readonly limit: number
}

/** More entries than any table has, so that one statement serves pages and whole lists. */
const everything = 2 ** 53 - 1

export function readPage(query: { readonly limit?: string; readonly after?: string }): Page {
  return { after: query.after ?? '', limit: query.limit === undefined ? everything : Number(query.limit) }
}

/** Whether the caller requests all remaining entries. */
function isWhole(page: Page): boolean {
  return page.limit === everything
}

/** Rows per slice of a streamed list. */
const slice = 1000

/**
 * Returns a list as the reply of an operation. A page is one read. The whole list, which may have a million entries,
 * is read and serialized in slices, so that other requests run in between.
 * @param keyOf cursor of an entry, as `after` expects it
 */
export async function listReply<Entry>(
  page: Page,
  read: (page: Page) => Promise<readonly Entry[]>,
  keyOf: (entry: Entry) => string,
  show: (entry: Entry) => unknown,
): Promise<unknown> {
  if (!isWhole(page)) {
    const entries = await read(page)
    const last = entries.length < page.limit ? undefined : entries.at(-1)
    return pageReply(entries.map(show), last === undefined ? undefined : keyOf(last))
  }
  const parts: Buffer[] = []
  let { after } = page
  for (;;) {
    const entries = await read({ after, limit: slice })
    const last = entries.at(-1)
    if (last !== undefined) parts.push(Buffer.from(JSON.stringify(entries.map(show)).slice(1, -1)))
    if (last === undefined || entries.length < slice) break
    after = keyOf(last)
    await nextTurn()
  }
  const pieces = parts.flatMap((part, index) => (index === 0 ? [part] : [Buffer.from(','), part]))
  return rawReply({
    raw: Buffer.concat([Buffer.from('['), ...pieces, Buffer.from(']')]),
    contentType: 'application/json',
  })
}
