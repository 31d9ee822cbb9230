import Type from 'typebox'
import { PlainText } from '../texts/plain-text.ts'

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

/** More entries than any table holds, so that one statement serves pages and whole lists. */
const everything = 2 ** 53 - 1

export function readPage(query: { readonly limit?: string; readonly after?: string }): Page {
  return { after: query.after ?? '', limit: query.limit === undefined ? everything : Number(query.limit) }
}

/** Whether the caller requests all remaining entries. */
export function isWhole(page: Page): boolean {
  return page.limit === everything
}
