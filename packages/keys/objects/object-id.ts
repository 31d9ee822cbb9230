import { randomBytes } from 'node:crypto'

/** Longest identifier that an object can have, in UTF-16 units. */
const maxObjectIdLength = 256

declare const brand: unique symbol
/** Identifier of a managed object: checked for form, not for existence. */
export type ObjectId = string & { readonly [brand]: 'ObjectId' }

// Control characters would reach logs and terminals, and PostgreSQL has no NUL in text.
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression refuses them
const refused = /[\u0000-\u001f\u007f-\u009f]/

/**
 * undefined if no object can have this identifier, which is then treated like any unknown one. `*` means any object in
 * the table of `create` grants: an object with that name would own these grants.
 */
export function asObjectId(text: string): ObjectId | undefined {
  if (
    text.length === 0 ||
    text === '*' ||
    text.length > maxObjectIdLength ||
    refused.test(text) ||
    !text.isWellFormed()
  ) {
    return undefined
  }
  return text as ObjectId
}

/** Prefix that distinguishes an alias of a key from an identifier (docs/adr/identifiers-and-aliases.md). */
export const aliasPrefix = 'alias/'

/** Can a client choose this identifier for a new object? One that could be taken for an alias cannot be chosen. */
export function isChoosable(id: string): boolean {
  return !id.startsWith(aliasPrefix)
}

const pool = Buffer.alloc(10 * 256)
let used = pool.length

/** A clock that was set back by more than this, in milliseconds, is followed. */
const maxLeadMs = 1000
const lastOfMillisecond = 0xfff
let latest = 0
let sequence = 0

/**
 * A UUIDv7 (RFC 9562 §5.7): it sorts by time, so that new rows are adjacent in the index. Identifiers of one process
 * sort in the order of their creation, also within a millisecond (§6.2, method 1). Not a secret.
 * @param now Unix milliseconds
 */
export function newObjectId(now: number): ObjectId {
  if (used === pool.length) {
    randomBytes(pool.length).copy(pool)
    used = 0
  }
  const random = pool.toString('hex', used, used + 10)
  used += 10
  const fresh = Number.parseInt(random.slice(0, 3), 16) >> 1
  if (now > latest || now < latest - maxLeadMs) {
    latest = now
    sequence = fresh
  } else if (sequence === lastOfMillisecond) {
    latest++
    sequence = fresh
  } else sequence++
  const time = latest.toString(16).padStart(12, '0')
  const place = sequence.toString(16).padStart(3, '0')
  const variant = '89ab'[Number.parseInt(random[3] ?? '0', 16) & 3]
  return `${time.slice(0, 8)}-${time.slice(8)}-7${place}-${variant}${random.slice(4, 7)}-${random.slice(7, 19)}` as ObjectId
}

/** As the pattern by which the database recognises them, which knows no digits. */
const serviceForm = /^[\s\S]{8}-[\s\S]{4}-7[\s\S]{3}-[\s\S]{4}-[\s\S]{12}$/u

/**
 * Whether an identifier has the form of those that `newObjectId` creates, a UUIDv7. Clients cannot choose one
 * (docs/adr/identifiers-and-aliases.md).
 */
export function hasServiceForm(id: string): boolean {
  return serviceForm.test(id)
}

/** Between the moment in an identifier of the service and the request that it is made for, in milliseconds. */
const maxAgeMs = 60_000

/** Whether an identifier can have been made for a request of this moment. */
export function isNewId(id: string, now: number): boolean {
  return hasServiceForm(id) && Math.abs(readTimestamp(id) - now) <= maxAgeMs
}

/** Whether the time in an identifier of this service is between two moments. */
export function isIdMadeBetween(id: string, from: number, now: number): boolean {
  const at = readTimestamp(id)
  return at > from && at <= now + maxAgeMs
}

/** Unix milliseconds in a UUIDv7; NaN for other identifiers of that form. */
function readTimestamp(id: string): number {
  return Number(`0x${id.slice(0, 8)}${id.slice(9, 13)}`)
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Whether an identifier has the form of those that the service itself creates. */
export function isUuid(id: string): boolean {
  return uuid.test(id)
}
