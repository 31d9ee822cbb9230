import { setImmediate as nextTurn } from 'node:timers/promises'
import { pageReply, rawReply } from '@warder/foundation/http'
import { isWhole, type Page } from './page.ts'

/** Rows that are read and written as JSON at a time. */
const slice = 1000

/**
 * A list as the reply of an operation. A page is one read. The whole list, which may have a million entries, is read
 * and turned into text a slice at a time, and other requests have their turn in between.
 * @param keyOf the key of an entry, as `after` takes it
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
