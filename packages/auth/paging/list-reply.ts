import { setImmediate as nextTurn } from 'node:timers/promises'
import { pageReply, rawReply } from '@warder/server'
import { isWhole, type Page } from './page.ts'

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
