import type { KmsClient, Reply } from '@warder/client'
import { UsageError } from '../cli/command.ts'
import { requireNoNames } from '../cli/options.ts'
import { tableLines } from '../cli/table.ts'
import { readKid } from '../kms/key-word.ts'
import { type KmsVerb, kmsVerb } from '../kms/verb.ts'

type Listing = 'access.owned' | 'access.obtained'
type Row<Name extends Listing> = Reply<Name>[number]

/** Rows that one request of the service gives at most. */
const pageSize = 1000
const usualLimit = 100
const mostRows = 1_000_000

interface ListOptions {
  readonly limit: number
  readonly after: string | undefined
  readonly command: string
}

/** At most `limit` rows, page by page, and the id to go on after when there are more. */
async function rowsOf<Name extends Listing>(
  kms: KmsClient,
  name: Name,
  { limit, after }: ListOptions,
): Promise<{ readonly rows: readonly Row<Name>[]; readonly next: string | null }> {
  const rows: Row<Name>[] = []
  let last = after
  // One more than wanted tells whether there are more.
  while (rows.length <= limit) {
    const wanted = Math.min(pageSize, limit + 1 - rows.length)
    const query = { limit: String(wanted), ...(last !== undefined && { after: last }) }
    const page = await kms.page<Listing>(name, { query })
    const found: readonly Row<Name>[] = page.rows
    rows.push(...found)
    // A page that is not full is the last one, unless the service says where it goes on.
    if (found.length < wanted && page.next === undefined) return { rows, next: null }
    last = page.next ?? found.at(-1)?.object_id
  }
  const shown = rows.slice(0, limit)
  return { rows: shown, next: shown.at(-1)?.object_id ?? null }
}

function listOwned(options: ListOptions): ReturnType<KmsVerb['parse']> {
  return async ({ kms, show }) => {
    const { rows, next } = await rowsOf(kms, 'access.owned', options)
    const cells = rows.map(({ object_id, state, attributes }) => [
      object_id,
      attributes.object_type,
      attributes.cryptographic_algorithm ?? '',
      String(attributes.cryptographic_length ?? ''),
      state,
    ])
    show({ keys: rows, next }, [
      ...tableLines(
        ['KEY', 'KIND', 'ALGORITHM', 'BITS', 'STATE'],
        cells,
        nothing('there are no keys that you own', options),
      ),
      ...more(options, next),
    ])
    return 0
  }
}

function listObtained(options: ListOptions): ReturnType<KmsVerb['parse']> {
  return async ({ kms, show }) => {
    const { rows, next } = await rowsOf(kms, 'access.obtained', options)
    const cells = rows.map(({ object_id, owner_id, state, operations }) => [
      object_id,
      owner_id,
      state,
      operations.join(' '),
    ])
    show({ keys: rows, next }, [
      ...tableLines(
        ['KEY', 'OWNER', 'STATE', 'YOU MAY'],
        cells,
        nothing('nobody has granted you rights on a key', options),
      ),
      ...more(options, next),
    ])
    return 0
  }
}

/** Behind the last key of a list there is nothing, which says nothing about the list. */
function nothing(sentence: string, { after }: ListOptions): string {
  return after === undefined ? sentence : 'there are no more'
}

function more({ limit, command }: ListOptions, next: string | null): readonly string[] {
  return next === null ? [] : ['', `there are more: ${command} --limit ${limit} --after ${next}`]
}

export const listKeysVerb = kmsVerb({
  name: 'list',
  words: '',
  summary: 'the keys that you own; with --obtained those of others on which you have rights',
  about: 'With --json: {"keys": […], "next": KEY or null}.',
  examples: [
    'warder keys list',
    'warder keys list --obtained --limit 20',
    "warder keys list --json | jq -r '.keys[].object_id'",
  ],
  options: {
    obtained: { type: 'flag', help: 'keys of others on which you have rights' },
    limit: { type: 'number', value: 'N', help: `shows N at most (default ${usualLimit}, up to ${mostRows})` },
    after: {
      type: 'text',
      value: 'KEY',
      help: 'goes on after this one; the last line of a list that goes on says how',
    },
  },
  parse({ obtained, limit = usualLimit, after: last }, names) {
    requireNoNames(names)
    if (limit < 1 || limit > mostRows) throw new UsageError(`--limit is 1 to ${mostRows}`)
    const after = last === undefined ? undefined : readKid(last)
    const options = { limit, after, command: `warder keys list${obtained ? ' --obtained' : ''}` }
    return obtained ? listObtained(options) : listOwned(options)
  },
})
