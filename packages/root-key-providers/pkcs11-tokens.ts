import { setTimeout as wait } from 'node:timers/promises'
import { StartupError } from '@warder/base'
import { type RootKeyProvider, RootKeyUnavailable } from '@warder/storage'

const version = 2
/** Time after which the next token is asked if the former ones have not answered. */
const patienceMs = 3_000

/**
 * One provider of several tokens: the root key is wrapped by the key of each, and unwrapped by the first that can. With one
 * token its wrapped root key is that of the token itself; else version (1 byte), and for each token the lengths (2 bytes
 * each) and bytes of its description and of its wrapped root key.
 */
export function combineTokens(tokens: readonly RootKeyProvider[]): RootKeyProvider {
  const members = tokens.map(
    (token): RootKeyProvider => ({
      ...token,
      unwrap: (wrapped, context) => unwrapEntry(token, wrapped, context),
    }),
  )
  const [first] = members
  if (first === undefined) throw new RangeError('no token')
  if (members.length === 1) return first
  return {
    source: first.source,
    description: `${members.length} tokens: ${members.map(({ description }) => description).join('; ')}`,
    members,
    async prepare() {
      for (const member of members) await member.prepare?.()
    },
    async wrap(key, context) {
      const entries = await Promise.allSettled(members.map((member) => member.wrap(key, context)))
      return encodeEntries(
        entries.map((entry, index) => {
          if (entry.status === 'rejected') throw entry.reason
          return { description: members[index]?.description ?? '', wrapped: entry.value }
        }),
      )
    },
    unwrap: (wrapped, context) => unwrapByAny(members, wrapped, context),
  }
}

async function unwrapByAny(
  members: readonly RootKeyProvider[],
  wrapped: Uint8Array,
  context: Uint8Array,
): Promise<Uint8Array> {
  const attempts: Promise<Uint8Array>[] = []
  for (const member of members) {
    attempts.push(member.unwrap(wrapped, context))
    const unwrapped = await Promise.race([
      Promise.any(attempts).catch(() => undefined),
      wait(patienceMs, undefined, { ref: false }),
    ])
    if (unwrapped !== undefined) return keepOne(unwrapped, attempts)
  }
  try {
    return keepOne(await Promise.any(attempts), attempts)
  } catch (error) {
    throw joinErrors(error instanceof AggregateError ? error.errors : [error])
  }
}

/** Wipes what slower tokens return. */
function keepOne(kept: Uint8Array, attempts: readonly Promise<Uint8Array>[]): Uint8Array {
  for (const attempt of attempts)
    attempt.then(
      (other) => other !== kept && other.fill(0),
      () => undefined,
    )
  return kept
}

/** The error of all tokens, which is temporary if one of their errors is. */
function joinErrors(errors: readonly unknown[]): Error {
  const other = errors.find(
    (error) => !(error instanceof RootKeyUnavailable || error instanceof StartupError),
  )
  if (other !== undefined) return other instanceof Error ? other : new Error(String(other))
  const sentence = errors.map((error) => (error as Error).message).join('; ')
  return errors.some((error) => error instanceof RootKeyUnavailable)
    ? new RootKeyUnavailable(sentence, { cause: errors[0] })
    : new StartupError(sentence, { cause: errors[0] })
}

interface Entry {
  readonly description: string
  readonly wrapped: Uint8Array
}

/**
 * The entry of the token. If no entry has its description, all entries, since its label or library may have changed.
 */
async function unwrapEntry(
  token: RootKeyProvider,
  wrapped: Uint8Array,
  context: Uint8Array,
): Promise<Uint8Array> {
  const entries = decodeEntries(wrapped)
  if (entries === undefined) return token.unwrap(wrapped, context)
  const own = entries.filter(({ description }) => description === token.description)
  const errors: unknown[] = []
  for (const entry of own.length > 0 ? own : entries) {
    try {
      return await token.unwrap(entry.wrapped, context)
    } catch (error) {
      // A token that is unavailable is not asked again.
      if (error instanceof RootKeyUnavailable) throw error
      errors.push(error)
    }
  }
  if (own.length > 0) throw joinErrors(errors)
  throw new StartupError(
    `the root key is not wrapped by ${token.description}: run warder root-key rotate, which wraps it by the tokens of the settings`,
    { cause: errors[0] },
  )
}

function encodeEntries(entries: readonly Entry[]): Buffer {
  const parts = entries.flatMap(({ description, wrapped }) =>
    [Buffer.from(description, 'utf8'), wrapped].flatMap((bytes) => {
      const length = Buffer.alloc(2)
      length.writeUInt16BE(bytes.length)
      return [length, bytes]
    }),
  )
  return Buffer.concat([Uint8Array.of(version), ...parts])
}

/** @returns undefined for the wrapped root key of one token @throws StartupError for a malformed one */
function decodeEntries(wrapped: Uint8Array): readonly Entry[] | undefined {
  if (wrapped[0] !== version) return undefined
  const bytes = Buffer.from(wrapped.buffer, wrapped.byteOffset, wrapped.byteLength)
  const fields: Buffer[] = []
  for (let at = 1; at < bytes.length; ) {
    const end = at + 2 + (at + 2 <= bytes.length ? bytes.readUInt16BE(at) : 0)
    if (at + 2 > bytes.length || end > bytes.length)
      throw new StartupError('the root key that is wrapped by several tokens is malformed')
    fields.push(bytes.subarray(at + 2, end))
    at = end
  }
  return Array.from({ length: fields.length >> 1 }, (_, index) => ({
    description: fields[2 * index]?.toString('utf8') ?? '',
    wrapped: fields[2 * index + 1] ?? Buffer.alloc(0),
  }))
}
