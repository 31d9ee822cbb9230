import { createHash } from 'node:crypto'
import { failure } from '@warder/base'
import { asObjectId, type InventoryCursor, type InventoryFilter, isWalk } from '@warder/keys'

/** Of which filter a cursor is: with another one it would lead elsewhere. */
function filterMark(filter: InventoryFilter): string {
  const members = Object.entries(filter).filter(([, value]) => value !== undefined)
  return createHash('sha256').update(JSON.stringify(members)).digest('base64url').slice(0, 12)
}

/** A cursor for callers: where the page ended, and of which filter. It is no secret and proves nothing. */
export function writeCursor({ walk, value, id }: InventoryCursor, filter: InventoryFilter): string {
  return Buffer.from(JSON.stringify([filterMark(filter), walk, value, id])).toString('base64url')
}

/** @throws failure('bad_request') for what is no cursor of a list with this filter */
export function readCursor(text: string, filter: InventoryFilter): InventoryCursor {
  const place = parseCursor(text)
  if (place === undefined) throw failure('bad_request', 'after is not the `next` of a page.')
  if (place.mark !== filterMark(filter))
    throw failure('bad_request', 'after is of a list with another filter: begin anew.')
  return place
}

function parseCursor(text: string): (InventoryCursor & { readonly mark: unknown }) | undefined {
  let parts: unknown
  try {
    parts = JSON.parse(Buffer.from(text, 'base64url').toString())
  } catch {
    return undefined
  }
  if (!Array.isArray(parts) || parts.length !== 4) return undefined
  const [mark, walk, value, id] = parts as readonly unknown[]
  if (!isWalk(walk) || !Number.isSafeInteger(value)) return undefined
  if (typeof id !== 'string' || asObjectId(id) === undefined) return undefined
  return { mark, walk, value: Number(value), id }
}
