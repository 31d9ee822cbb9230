import { createHash, createSecretKey, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { AuditThread, openIndexKey, openLogKeys, type SearchFilter, type SearchPage } from '@warder/audit'
import { failure } from '@warder/base'
import type { RuntimeConfig } from './launch.ts'
import type { ServiceEnvironment } from './service.ts'

/** The request for a page of a search. */
export interface AuditQuery {
  readonly filter: SearchFilter
  readonly limit: number
  /** The cursor of the page before; undefined = the newest records. */
  readonly after: string | undefined
}

export interface AuditNode {
  readonly node: string
  readonly answered: boolean
  /** Why it did not answer. */
  readonly reason?: string
  /** Its last record; known on the first page. */
  readonly head?: { readonly seq: number; readonly hash: string }
  /** Sentences about records that were not searched or left out. */
  readonly problems: readonly string[]
}

export interface AuditAnswer {
  /** Newest first: the unchanged JSON of the logs, since a parser could change its members. */
  readonly lines: readonly string[]
  readonly nodes: readonly AuditNode[]
  /** Cursor of the next page. */
  readonly next: string | undefined
}

/** Searches the audit log of a service, in a worker. */
export interface AuditSearch {
  search(query: AuditQuery): Promise<AuditAnswer>
  close(): Promise<void>
}

/** A page ends after this time with the records found so far. */
const budgetMs = 120

type Environment = Pick<ServiceEnvironment<RuntimeConfig>, 'config' | 'home' | 'seal' | 'node'>

/** @param service whose log it is */
export function createAuditSearch({ config, home, seal, node }: Environment, service: string): AuditSearch {
  const folder = join(home, 'audit', service)
  const thread = new AuditThread()
  const searchHere = async (request: NodeRequest): Promise<SearchPage> => {
    if (!existsSync(folder)) return { records: [], next: undefined, head: undefined, problems: [] }
    // Without its key no index can be read.
    const indexKey = (await openIndexKey(folder, seal)) ?? createSecretKey(randomBytes(32))
    const keys = await openLogKeys(folder, seal)
    return thread.run({ type: 'search', request: { folder, keys, indexKey, budgetMs, ...request } })
  }
  return {
    async search({ filter, limit, after }) {
      if (!config.audit_enabled)
        throw failure('not_found', 'The audit log is disabled by the settings of this server.')
      const digest = digestFilter(filter)
      const positions = after === undefined ? new Map<string, number>() : readCursor(after, digest)
      const before = positions.get(node)
      const page = await searchHere({ filter, limit, before })
      const lines = page.records.map(({ line }) => line)
      const next = page.next === undefined ? undefined : writeCursor(new Map([[node, page.next]]), digest)
      const { head, problems } = page
      return {
        lines,
        nodes: [{ node, answered: true, problems, ...(head !== undefined && { head }) }],
        next,
      }
    },
    close: () => thread.stop(),
  }
}

interface NodeRequest {
  readonly filter: SearchFilter
  readonly limit: number
  readonly before: number | undefined
}

/** A cursor belongs to the filter that it was made for. */
function digestFilter(filter: SearchFilter): string {
  const members = Object.entries(filter)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return createHash('sha256').update(JSON.stringify(members)).digest('base64url').slice(0, 16)
}

function writeCursor(positions: ReadonlyMap<string, number>, digest: string): string {
  return Buffer.from(JSON.stringify([1, digest, ...positions])).toString('base64url')
}

const maxNodes = 1000

/** Reads where the search continues at each node. @throws failure('bad_request') */
function readCursor(text: string, digest: string): ReadonlyMap<string, number> {
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
  } catch {
    value = undefined
  }
  const [version, filter, ...positions] = Array.isArray(value) ? (value as unknown[]) : []
  const isPosition = (entry: unknown): entry is [string, number] =>
    Array.isArray(entry) &&
    entry.length === 2 &&
    typeof entry[0] === 'string' &&
    Number.isSafeInteger(entry[1]) &&
    entry[1] >= 0
  if (version !== 1 || positions.length > maxNodes || !positions.every(isPosition))
    throw failure('bad_request', 'after is not the cursor of a page.')
  if (filter !== digest) throw failure('bad_request', 'after is the cursor of a search with other filters.')
  return new Map(positions)
}
