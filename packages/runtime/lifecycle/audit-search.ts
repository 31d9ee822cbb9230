import { createHash, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import {
  type AuditNodeRow,
  AuditThread,
  type CountBucket,
  forgetNode,
  listAuditNodes,
  maxBuckets,
  openIndexKey,
  openLogKeys,
  readNodeKey,
  readPosition,
  type SearchFilter,
  type VerifyResult,
} from '@warder/audit'
import { failure } from '@warder/base'
import {
  createNodeClient,
  isNodeProof,
  type NodeAnswers,
  type NodeCounts,
  type NodePage,
  type NodeProgress,
  type NodeRequest,
} from './audit-nodes.ts'
import { toDatabaseLocation } from './database.ts'
import type { RuntimeConfig } from './launch.ts'
import { logName } from './lost-audit.ts'
import type { ServiceEnvironment } from './service.ts'

/** Request for a page of a search. */
export interface AuditQuery {
  readonly filter: SearchFilter
  readonly limit: number
  /** The cursor of the page before; undefined = the newest records. */
  readonly after: string | undefined
}

export interface AuditNode {
  /** Name of its log in the database. Two nodes can have the same name, but not the same log. */
  readonly log: string
  readonly node: string
  readonly answered: boolean
  /** Why it did not answer. */
  readonly reason?: string
  /** Its last record; known on the first page. */
  readonly head?: { readonly seq: number; readonly hash: string }
  /** Its records since this time (RFC 3339) were searched; undefined = all. */
  readonly searched_to?: string
  /** Sentences about records that were not searched or left out. */
  readonly problems: readonly string[]
}

export interface AuditAnswer {
  /** Newest first: JSON as it is in the logs, because a parser may mistake its members for others. */
  readonly lines: readonly string[]
  readonly nodes: readonly AuditNode[]
  /** Cursor of the next page. */
  readonly next: string | undefined
}

/** Request for a page of counts. */
export interface AuditCountQuery {
  readonly filter: SearchFilter & { readonly since: number }
  /** Length of the intervals: they begin at multiples of it. */
  readonly stepMs: number
  /** The cursor of the page before; undefined = the newest records. */
  readonly after: string | undefined
}

export interface AuditCounts {
  /** By time; of the records that this page covers. Intervals without one are left out. */
  readonly buckets: readonly CountBucket[]
  readonly nodes: readonly AuditNode[]
  /** Cursor of the next page, whose counts are added to these. */
  readonly next: string | undefined
}

export interface VerifiedNode extends Omit<AuditNode, 'log' | 'head' | 'problems'> {
  readonly result?: VerifyResult
}

/** Searches the audit logs of a service on all of its nodes, in a worker. */
export interface AuditSearch {
  /** @throws failure('bad_request') for a cursor that is none */
  search(query: AuditQuery): Promise<AuditAnswer>
  /**
   * Counts records in at most `maxBuckets` intervals from `since` on.
   * @throws failure('bad_request') for a cursor that is none
   */
  count(query: AuditCountQuery): Promise<AuditCounts>
  verify(): Promise<readonly VerifiedNode[]>
  /**
   * Forgets a node that was retired, so that it is not named as missing any more. A node that answers stays.
   * @throws failure('not_found'), failure('conflict')
   */
  forget(node: string): Promise<void>
  /** The request of another node, after `isAsked` returned true. */
  answer(request: NodeRequest): Promise<NodeAnswers[NodeRequest['type']]>
  /** Whether another node sends a request. */
  isAsked(header: string, body: Uint8Array): Promise<boolean>
  close(): Promise<void>
}

/** A page of a node ends after this time with the records found so far. */
const budgetMs = 150

export type AuditSearchConfig = Parameters<typeof toDatabaseLocation>[0] &
  Pick<RuntimeConfig, 'audit_enabled' | Extract<keyof RuntimeConfig, `outbound_${string}`>>
type Environment = Pick<
  ServiceEnvironment<AuditSearchConfig>,
  'config' | 'home' | 'seal' | 'node' | 'db' | 'clock'
>

/** @param service whose logs they are */
export function createAuditSearch(environment: Environment, service: string): AuditSearch {
  return new NodesSearch(environment, service)
}

interface Row extends AuditNodeRow {
  readonly isHere: boolean
}

class NodesSearch implements AuditSearch {
  readonly #environment: Environment
  readonly #folder: string
  /** Name of this log in the database. */
  readonly #log: string
  readonly #thread = new AuditThread()
  #nodeKey: KeyObject | undefined
  #client: ReturnType<typeof createNodeClient> | undefined
  #isVerifying = false

  constructor(environment: Environment, service: string) {
    this.#environment = environment
    const { config, home, node } = environment
    this.#folder = join(home, 'audit', service)
    this.#log = logName(toDatabaseLocation(config, home, service), node, home)
  }

  async search({ filter, limit, after }: AuditQuery): Promise<AuditAnswer> {
    const digest = digestFilter(filter)
    const positions = after === undefined ? new Map<string, number>() : readCursor(after, digest)
    const { pages, missing } = await this.#askNodes(positions, (before) => ({
      ...{ type: 'search', filter, limit, before },
    }))
    const nodes = [...missing]
    const merged = mergePages(pages, limit, positions)
    for (const { row, ...page } of pages) {
      const isCut = merged.positions.get(row.log) !== (page.next ?? 0)
      nodes.push(describeNode(row, isCut ? { ...page, reached: undefined } : page))
    }
    const isOver = pages.every(({ row }) => merged.positions.get(row.log) === 0)
    return {
      lines: merged.lines,
      nodes: nameEqualNodes(nodes).toSorted((a, b) => (a.node < b.node ? -1 : 1)),
      next: isOver ? undefined : writeCursor(merged.positions, digest),
    }
  }

  async count({ filter, stepMs, after }: AuditCountQuery): Promise<AuditCounts> {
    const digest = digestFilter({ ...filter, stepMs })
    const before = after === undefined ? new Map<string, number>() : readCursor(after, digest)
    // The same for all pages: later intervals are not counted.
    const end = (Math.floor(filter.since / stepMs) + maxBuckets) * stepMs
    const bounded = { ...filter, until: Math.min(filter.until ?? end, end) }
    const { pages, missing } = await this.#askNodes(before, (position) => ({
      ...{ type: 'count', filter: bounded, stepMs, before: position },
    }))
    const positions = new Map([...before, ...pages.map(({ row, next = 0 }) => [row.log, next] as const)])
    const nodes = [...missing, ...pages.map(({ row, ...page }) => describeNode(row, page))]
    return {
      buckets: addBuckets(pages),
      nodes: nameEqualNodes(nodes).toSorted((a, b) => (a.node < b.node ? -1 : 1)),
      next: pages.every(({ next }) => next === undefined) ? undefined : writeCursor(positions, digest),
    }
  }

  /**
   * Asks each node for a page.
   * @param positions where each log is continued: 0 = it was read to its beginning
   * @returns pages of the nodes that answer, and the others
   */
  async #askNodes<Request extends Exclude<NodeRequest, { type: 'verify' }>>(
    positions: ReadonlyMap<string, number>,
    toRequest: (before: number | undefined) => Request,
  ) {
    const missing: AuditNode[] = []
    const pages: (NodeAnswers[Request['type']] & { readonly row: Row })[] = []
    const rows = await this.#listNodes()
    await Promise.all(
      rows.map(async (row) => {
        const { log, node } = row
        const before = positions.get(log)
        if (before === 0) return
        try {
          pages.push({ ...(await this.#ask(row, toRequest(before))), row })
        } catch (error) {
          if (row.isHere) throw error
          missing.push({ log, node, answered: false, reason: describeError(error), problems: [] })
        }
      }),
    )
    return { pages, missing }
  }

  async verify(): Promise<readonly VerifiedNode[]> {
    const rows = await this.#listNodes()
    return Promise.all(
      rows.map(async (row): Promise<VerifiedNode> => {
        const { node, isHere } = row
        try {
          return { node, answered: true, result: await this.#ask(row, { type: 'verify' }) }
        } catch (error) {
          if (isHere) throw error
          return { node, answered: false, reason: describeError(error) }
        }
      }),
    )
  }

  async forget(node: string): Promise<void> {
    const rows = (await this.#listNodes()).filter((row) => row.node === node)
    if (rows.length === 0) throw failure('not_found', 'No node of this name is known.')
    const answers = await Promise.all(rows.map((row) => this.#isAnswering(row)))
    const retired = rows.filter((_, index) => answers[index] === false)
    if (retired.length === 0)
      throw failure('conflict', 'The node answers: its log is searched. Stop it before it is forgotten.')
    await this.#environment.db.commit(retired.map(({ log }) => forgetNode(log)))
  }

  async #isAnswering(row: Row): Promise<boolean> {
    if (row.isHere) return true
    return this.#ask(row, { type: 'search', filter: {}, limit: 1 }).then(
      () => true,
      () => false,
    )
  }

  async answer(request: NodeRequest): Promise<NodeAnswers[NodeRequest['type']]> {
    if (request.type === 'search') return this.#searchHere(request)
    return request.type === 'count' ? this.#countHere(request) : this.#verifyHere()
  }

  async isAsked(header: string, body: Uint8Array): Promise<boolean> {
    const key = await this.#readKey()
    const now = this.#environment.clock.now()
    return key !== undefined && isNodeProof(key, this.#log, header, body, now)
  }

  close(): Promise<void> {
    return this.#thread.stop()
  }

  #requireLog(): void {
    if (!this.#environment.config.audit_enabled)
      throw failure('not_found', 'The audit log is disabled by the settings of this server.')
  }

  async #ask<Request extends NodeRequest>(row: Row, request: Request): Promise<NodeAnswers[Request['type']]> {
    if (row.isHere) return this.answer(request) as Promise<NodeAnswers[Request['type']]>
    const { config, home, clock } = this.#environment
    this.#client ??= createNodeClient(config, home)
    const key = await this.#readKey()
    if (key === undefined) throw new Error('the database has no key of its nodes')
    return this.#client.ask(row, request, key, clock.now())
  }

  async #readKey(): Promise<KeyObject | undefined> {
    const { db, seal } = this.#environment
    this.#nodeKey ??= await readNodeKey(db, seal)
    return this.#nodeKey
  }

  /** This node, and all others that were started with its database. Nodes are told apart by their logs. */
  async #listNodes(): Promise<readonly Row[]> {
    this.#requireLog()
    const { db, node } = this.#environment
    const others = (await listAuditNodes(db)).map((row) => ({ ...row, isHere: row.log === this.#log }))
    if (others.some(({ isHere }) => isHere)) return others
    return [{ log: this.#log, node, address: '', seq: null, hash: null, isHere: true }, ...others]
  }

  async #searchHere({ filter, limit, before }: Extract<NodeRequest, { type: 'search' }>): Promise<NodePage> {
    const log = await this.#openLog()
    if (log === undefined) return { lines: [], problems: [] }
    const request = { ...log, filter, limit, before, budgetMs }
    const { records, ...rest } = await this.#thread.run({ type: 'search', request })
    return { lines: records.map(({ line }) => line), ...rest }
  }

  async #countHere({ filter, stepMs, before }: Extract<NodeRequest, { type: 'count' }>): Promise<NodeCounts> {
    const log = await this.#openLog()
    if (log === undefined) return { buckets: [], problems: [] }
    return this.#thread.run({ type: 'count', request: { ...log, filter, stepMs, before, budgetMs } })
  }

  /** @returns undefined for a node that has written no record yet */
  async #openLog() {
    this.#requireLog()
    const folder = this.#folder
    if (!existsSync(folder)) return undefined
    const { seal } = this.#environment
    // Without its key no index can be read.
    const indexKey = (await openIndexKey(folder, seal)) ?? createSecretKey(randomBytes(32))
    return { folder, keys: await openLogKeys(folder, seal), indexKey }
  }

  async #verifyHere(): Promise<VerifyResult> {
    this.#requireLog()
    if (this.#isVerifying) throw failure('conflict', 'The audit log is being verified: wait for the result.')
    this.#isVerifying = true
    try {
      const keys = await openLogKeys(this.#folder, this.#environment.seal)
      return await this.#thread.run({ type: 'verify', folder: this.#folder, keys })
    } finally {
      this.#isVerifying = false
    }
  }
}

/** Nodes of one name, in several homes: their records cannot be told apart. */
function nameEqualNodes(nodes: readonly AuditNode[]): readonly AuditNode[] {
  const logs = Map.groupBy(nodes, ({ node }) => node)
  return nodes.map((one) => {
    const count = logs.get(one.node)?.length ?? 1
    const problem = `${count} nodes have the name ${one.node}: give each one its own (node_name), or forget the one that was retired`
    return count === 1 ? one : { ...one, problems: [...one.problems, problem] }
  })
}

function describeError(error: unknown): string {
  return error instanceof Error ? error.message : 'it failed'
}

/** With a sentence when the log ends before a record that the database knows. */
function describeNode(
  { log, node, seq, hash }: AuditNodeRow,
  { head, reached, problems }: NodeProgress,
): AuditNode {
  const isShort = head !== undefined && seq !== null && head.seq < seq
  const isOther = head !== undefined && head.seq === seq && head.hash !== hash
  return {
    log,
    node,
    answered: true,
    ...(reached !== undefined && { searched_to: new Date(reached).toISOString() }),
    ...(head !== undefined && { head }),
    problems:
      isShort || isOther
        ? [...problems, `its log ends with record ${head.seq}, which is not what the database recorded`]
        : problems,
  }
}

const timeAt = /"time":"([^"]{24})","hash":"[0-9a-f]{64}"\}$/
/**
 * Merges the pages of the nodes, newest records first. The answer ends at the first page that is used up while its log
 * has more records: those may be newer than the next records of the other nodes.
 */
function mergePages(
  pages: readonly (NodePage & { readonly row: Row })[],
  limit: number,
  before: ReadonlyMap<string, number>,
): { readonly lines: readonly string[]; readonly positions: ReadonlyMap<string, number> } {
  const positions = new Map(before)
  const lines: string[] = []
  const taken = pages.map(() => 0)
  const readTime = (line: string): string => timeAt.exec(line)?.[1] ?? ''
  while (lines.length < limit) {
    let best = -1
    let bestTime = ''
    let isWaiting = false
    for (const [index, page] of pages.entries()) {
      const line = page.lines[taken[index] ?? 0]
      if (line === undefined) {
        if (page.next !== undefined) isWaiting = true
        continue
      }
      const time = readTime(line)
      if (best < 0 || time > bestTime) [best, bestTime] = [index, time]
    }
    if (best < 0 || isWaiting) break
    lines.push(pages[best]?.lines[taken[best] ?? 0] ?? '')
    taken[best] = (taken[best] ?? 0) + 1
  }
  for (const [index, page] of pages.entries()) {
    const count = taken[index] ?? 0
    // A page that is used up continues at the position from its node, any other page after the last returned record.
    if (count === page.lines.length) positions.set(page.row.log, page.next ?? 0)
    else if (count > 0) positions.set(page.row.log, readPosition(page.lines[count - 1] ?? '')?.seq ?? 0)
  }
  return { lines, positions }
}

function addBuckets(pages: readonly NodeCounts[]): readonly CountBucket[] {
  const byStart = Map.groupBy(
    pages.flatMap(({ buckets }) => buckets),
    ({ start }) => start,
  )
  const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0)
  return [...byStart]
    .map(([start, buckets]) => ({
      start,
      records: sum(buckets.map(({ records }) => records)),
      failures: sum(buckets.map(({ failures }) => failures)),
    }))
    .toSorted((one, other) => one.start - other.start)
}

/** A cursor belongs to the filter that it was made for. */
function digestFilter(filter: SearchFilter & { readonly stepMs?: number }): string {
  const members = Object.entries(filter)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return createHash('sha256').update(JSON.stringify(members)).digest('base64url').slice(0, 16)
}

function writeCursor(positions: ReadonlyMap<string, number>, digest: string): string {
  return Buffer.from(JSON.stringify([1, digest, ...positions])).toString('base64url')
}

const maxPositions = 1000

/**
 * Reads the position at which the search continues at each node; 0 = the node has no more records. @throws
 * failure('bad_request')
 */
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
  if (version !== 1 || positions.length > maxPositions || !positions.every(isPosition))
    throw failure('bad_request', 'after is not the cursor of a page.')
  if (filter !== digest) throw failure('bad_request', 'after is the cursor of a search with other filters.')
  return new Map(positions)
}
