import { parseLine, type SearchFilter } from '@warder/audit'
import { failure } from '@warder/base'
import type { Database, Query, SqlValue } from '@warder/storage'
import { JobThread } from '../bulk/job-thread.ts'
import { readPresentRights, rightKinds } from './past-rights-store.ts'
import { digestRights, type RightsRecord, rightsOperation } from './rights-journal.ts'
import {
  type RightChange,
  type RightKind,
  type RightsJournal,
  readRightsJournal,
} from './rights-journal-store.ts'

// Rights at a date: a copy of the present ones, from which all newer changes are undone. The changes are in the audit
// log, in a chain whose end is in the database (docs/adr/rights-at-a-date.md).

/** What the report of rights needs of a database. */
export type RightsReader = Pick<Database, 'all' | 'get'>

/** A node that was searched. */
interface SearchedNode {
  readonly node: string
  readonly answered: boolean
  readonly problems: readonly string[]
}

/** Searches the audit logs of all nodes, newest records first. */
export interface RecordSearch {
  search(query: {
    readonly filter: SearchFilter
    readonly limit: number
    readonly after: string | undefined
  }): Promise<{
    readonly lines: readonly string[]
    readonly nodes: readonly SearchedNode[]
    readonly next: string | undefined
  }>
}

/** Jobs of the thread; `moment` names one of the moments that it keeps. */
export type PastRightsJob = { readonly moment: number } & (
  | { readonly type: 'open' }
  | { readonly type: 'finish' }
  | { readonly type: 'close' }
  | {
      readonly type: 'add'
      readonly kind: RightKind
      readonly rows: readonly (readonly SqlValue[])[]
    }
  | { readonly type: 'undo'; readonly changes: readonly RightChange[]; readonly strict: boolean }
  | { readonly type: 'has_undone'; readonly changes: readonly RightChange[] }
  | { readonly type: 'read'; readonly text: string; readonly params: readonly SqlValue[] }
)

interface Results extends Record<PastRightsJob['type'], unknown> {
  readonly undo: RightChange | undefined
  readonly has_undone: boolean
  readonly read: readonly unknown[]
}

/** Beside its data each job counts as so much, which bounds how many wait. */
const jobBytes = 64 * 1024

class PastRightsThread extends JobThread<PastRightsJob, Results> {
  constructor() {
    super('rights at a date', {
      maxBytes: 64 * 1024 * 1024,
      // Longer than the moments are kept.
      idleMs: 600_000,
      thread: new URL('./past-rights-thread.ts', import.meta.url),
    })
  }

  run<Type extends PastRightsJob['type']>(
    job: Extract<PastRightsJob, { type: Type }>,
  ): Promise<Results[Type]> {
    return this.send(job, jobBytes, [])
  }
}

const rowsAtOnce = 2000
const recordsAtOnce = 100
/** More changes that wait for the audit log are not read. */
const maxPending = 100_000
/** Clocks of nodes differ from that of the database by less. */
const marginMs = 600_000
/** Commits take less: changes of those that overlap are stored in another order than they were made. */
const maxOverlapMs = 60_000
/** Records that do not follow the ones read so far. */
const maxOthers = 1000
/** Pages without a record of the chain, in sequence. */
const maxIdlePages = 500

function formatTime(time: number): string {
  return new Date(time).toISOString()
}

/** Changes between the present and a moment, read from the newest to the oldest. */
class Undoing {
  readonly #thread: PastRightsThread
  readonly #moment: number
  readonly #time: number
  /** The changes up to this record were all in the audit log before the present rights were read. */
  readonly #settled: string
  #strict: boolean
  /** The chain is read up to this record; the latest of its changes and of those before is of this time. */
  #next: string
  #nextAt: number
  /** Times between which changes were lost by restores. */
  readonly #lost: { readonly from: number; readonly to: number }[] = []

  constructor(
    thread: PastRightsThread,
    moment: number,
    time: number,
    { before, after }: { readonly before: RightsJournal; readonly after: RightsJournal },
  ) {
    this.#thread = thread
    this.#moment = moment
    this.#time = time
    this.#settled = before.digest
    this.#strict =
      before.digest === after.digest && JSON.stringify(before.pending) === JSON.stringify(after.pending)
    this.#next = after.digest
    this.#nextAt = after.lastAt
  }

  /** Digest of the next record; undefined: all changes are undone. */
  get next(): string | undefined {
    return this.#next === '' || this.#nextAt <= this.#time ? undefined : this.#next
  }

  get nextAt(): number {
    return this.#nextAt
  }

  isNewer([at]: RightChange): boolean {
    return at > this.#time
  }

  /** Whether a record has newer changes, or follows one that has. */
  concerns({ prev_at: prevAt, changes }: RightsRecord): boolean {
    return prevAt > this.#time || changes.some((one) => this.isNewer(one))
  }

  /**
   * @param changes in their order; those up to the moment are left out
   * @param before the latest time of all changes before
   */
  async undo(changes: readonly RightChange[], before: number): Promise<void> {
    let latest = before
    for (const [at, name, madeAt = ''] of changes) {
      if (at > this.#time && name === '+restore') this.#requireBefore(at, madeAt, latest)
      if (at <= this.#time && latest > this.#time && latest - at > maxOverlapMs)
        throw failure(
          'conflict',
          `as_of: the clock of the database went back from ${formatTime(latest)} to ${formatTime(at)}, so it is not known which changes were made up to this time.`,
        )
      latest = Math.max(latest, at)
    }
    const newer = changes.filter((one) => this.isNewer(one)).reverse()
    const contradiction = await this.#thread.run({
      type: 'undo',
      moment: this.#moment,
      changes: newer,
      strict: this.#strict,
    })
    if (contradiction === undefined) return
    const [at, name, ...values] = contradiction
    throw failure(
      'conflict',
      `as_of: the rights in the database do not follow from the audit log (${name} ${values.join(' ')} at ${formatTime(at)}): verify the log, and the access to the database.`,
    )
  }

  #requireBefore(restoredAt: number, madeAt: string, latest: number): void {
    this.#lost.push({ from: latest, to: restoredAt })
    if (Date.parse(madeAt) > this.#time) return
    throw failure(
      'conflict',
      `as_of: the database was restored at ${formatTime(restoredAt)} from a backup of ${madeAt}, so the rights between these times are not known.`,
    )
  }

  /** The record whose digest is `next`. */
  async undoRecord({ prev, prev_at: prevAt, changes }: RightsRecord): Promise<void> {
    if (this.#next === this.#settled) this.#strict = true
    await this.undo(changes, prevAt)
    this.#next = prev
    this.#nextAt = prevAt
  }

  /** Whether a record outside of the chain has changes after the moment that the chain does not have. */
  async contradicts({ changes }: RightsRecord): Promise<boolean> {
    const newer = changes.filter(
      (one) => this.isNewer(one) && !this.#lost.some(({ from, to }) => one[0] > from && one[0] <= to),
    )
    return !(await this.#thread.run({ type: 'has_undone', moment: this.#moment, changes: newer }))
  }
}

/** @returns undefined for a record that is not one of changes of rights */
function readRecord(
  line: string,
): { readonly record: RightsRecord; readonly digest: string; readonly node: string } | undefined {
  const parsed = parseLine(line)
  const { prev, prev_at, changes } = (parsed?.details ?? {}) as Partial<RightsRecord>
  const isWhole =
    typeof prev === 'string' &&
    typeof prev_at === 'number' &&
    Array.isArray(changes) &&
    changes.every(
      (one: unknown) =>
        Array.isArray(one) &&
        typeof one[0] === 'number' &&
        typeof one[1] === 'string' &&
        (one[1] === '+restore' || rightKinds.some((kind) => kind === (one[1] as string).slice(1))) &&
        one.slice(2).every((value) => typeof value === 'string'),
    )
  if (!isWhole) return undefined
  const record = { prev, prev_at, changes }
  return { record, digest: digestRights(record), node: String(parsed?.node) }
}

/** Undoes the changes that are in the audit log. @throws failure('bad_gateway' | 'conflict') if some are missing */
async function undoRecorded(search: RecordSearch, undoing: Undoing, since: number): Promise<void> {
  const filter = { operation: rightsOperation, since }
  /** By their digests: records of the chain that came before their successor, and others. */
  const waiting = new Map<string, { readonly record: RightsRecord; readonly node: string }>()
  const seen = new Set<string>()
  const nodes = new Map<string, SearchedNode>()
  let after: string | undefined
  for (let idle = 0; ; idle += 1) {
    const page = await search.search({ filter, limit: recordsAtOnce, after })
    for (const node of page.nodes) if (!node.answered || node.problems.length > 0) nodes.set(node.node, node)
    for (const line of page.lines) {
      const found = readRecord(line)
      if (found === undefined || seen.has(found.digest)) continue
      if (undoing.concerns(found.record)) waiting.set(found.digest, found)
    }
    for (let next = undoing.next; next !== undefined; next = undoing.next) {
      const found = waiting.get(next)
      if (found === undefined) break
      waiting.delete(next)
      seen.add(next)
      await undoing.undoRecord(found.record)
      idle = 0
    }
    after = page.next
    if (after === undefined) break
    if (waiting.size > maxOthers || idle > maxIdlePages)
      throw failure(
        'conflict',
        `as_of: the search of the audit logs does not come to an end (${page.nodes.map(({ node }) => node).join(', ')}).`,
      )
  }
  if (undoing.next !== undefined) throw describeGap(undoing, [...nodes.values()])
  for (const { record, node } of waiting.values())
    if (await undoing.contradicts(record))
      throw failure(
        'conflict',
        `as_of: the audit log of ${node} has changes of rights that the database does not have, such as those before a restore: the rights at this time are not known.`,
      )
}

function describeGap({ nextAt }: Undoing, nodes: readonly SearchedNode[]): Error {
  const missing = nodes.filter(({ answered }) => !answered).map(({ node }) => node)
  const gap = `as_of: the changes of rights of ${formatTime(nextAt)} and before are not found`
  if (missing.length > 0)
    return failure('bad_gateway', `${gap}, and these nodes do not answer: ${missing.join(', ')}.`)
  const problems = nodes.flatMap(({ node, problems: some }) => some.map((problem) => `${node}: ${problem}`))
  const reason =
    problems.length === 0
      ? 'files of the audit log were removed or changed, or a node was forgotten'
      : problems.slice(0, 5).join('; ')
  return failure('conflict', `${gap} in the audit logs (${reason}).`)
}

interface Moment {
  readonly reader: Promise<RightsReader>
  readonly number: number
  users: number
  /** Milliseconds of the monotonic clock. */
  usedAt: number
}

/** Moments that one worker keeps. */
const maxMoments = 2
const keepMs = 120_000

/** Rights at a date, for reports. Moments are kept for the pages of a report. */
export class PastRights {
  readonly #db: Database
  readonly #search: RecordSearch
  readonly #now: () => number
  readonly #thread = new PastRightsThread()
  readonly #moments = new Map<number, Moment>()
  #last = 0
  #sweep: NodeJS.Timeout | undefined

  constructor({ db, search, now }: { db: Database; search: RecordSearch; now: () => number }) {
    this.#db = db
    this.#search = search
    this.#now = now
  }

  /**
   * The rights after the last change up to a time, kept until they are released.
   * @param time Unix milliseconds
   * @throws failure('bad_request') for a time without known changes, failure('conflict' | 'bad_gateway') if changes
   *   since then are not found, failure('overloaded')
   */
  async hold(time: number): Promise<{ readonly reader: RightsReader; release(): void }> {
    const moment = this.#moments.get(time) ?? this.#add(time)
    moment.users += 1
    const release = (): void => {
      moment.users -= 1
      moment.usedAt = performance.now()
      this.#sweep ??= setTimeout(() => this.#closeUnused(), keepMs).unref()
    }
    try {
      return { reader: await moment.reader, release }
    } catch (error) {
      release()
      throw error
    }
  }

  /**
   * Whether the rights at a time are computed; if they are not after `waitMs`, the work continues for a later call.
   * @throws as `hold`
   */
  async isReady(time: number, waitMs: number): Promise<boolean> {
    const waited = Promise.withResolvers<false>()
    const timer = setTimeout(() => waited.resolve(false), waitMs)
    try {
      return await Promise.race([this.use(time, async () => true), waited.promise])
    } finally {
      clearTimeout(timer)
    }
  }

  /** Reads the rights at a time. @throws as `hold` */
  async use<R>(time: number, work: (rights: RightsReader) => Promise<R>): Promise<R> {
    const { reader, release } = await this.hold(time)
    try {
      return await work(reader)
    } finally {
      release()
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#sweep)
    for (const [time] of this.#moments) await this.#remove(time)
  }

  #closeUnused(): void {
    this.#sweep = undefined
    for (const [time, { users, usedAt }] of this.#moments)
      if (users === 0 && performance.now() - usedAt >= keepMs) void this.#remove(time).catch(() => undefined)
    if (this.#moments.size > 0) this.#sweep = setTimeout(() => this.#closeUnused(), keepMs).unref()
  }

  async #remove(time: number): Promise<void> {
    const number = this.#moments.get(time)?.number
    this.#moments.delete(time)
    if (number !== undefined && this.#thread.running)
      await this.#thread.run({ type: 'close', moment: number })
  }

  #add(time: number): Moment {
    if (this.#moments.size >= maxMoments) {
      const unused = [...this.#moments].filter(([, { users }]) => users === 0)
      const [oldest] = unused.sort(([, a], [, b]) => a.usedAt - b.usedAt)
      if (oldest === undefined)
        throw failure('overloaded', 'reports of rights at other dates are being read', {
          retryAfterSeconds: 10,
        })
      void this.#remove(oldest[0]).catch(() => undefined)
    }
    this.#last += 1
    const number = this.#last
    const forget = (error: unknown): never => {
      if (this.#moments.get(time)?.number === number) void this.#remove(time).catch(() => undefined)
      throw error
    }
    const all = async <P extends readonly SqlValue[], R>(statement: Query<P, R>, params: P) =>
      (await this.#thread
        .run({ type: 'read', moment: number, text: statement.text, params })
        .catch(forget)) as readonly R[]
    const rights: RightsReader = {
      all,
      get: async (statement, params) => (await all(statement, params))[0],
    }
    const reader = this.#build(number, time).then(() => rights, forget)
    // It is awaited by its users.
    reader.catch(() => undefined)
    const moment = { reader, number, users: 0, usedAt: performance.now() }
    this.#moments.set(time, moment)
    return moment
  }

  async #build(moment: number, time: number): Promise<void> {
    const thread = this.#thread
    const before = await this.#readJournal()
    if (time > this.#now()) throw failure('bad_request', 'as_of is in the future.')
    if (time < before.beganAt)
      throw failure(
        'bad_request',
        `as_of: changes of rights are recorded since ${formatTime(before.beganAt)}, so earlier rights are not known.`,
      )
    await thread.run({ type: 'open', moment })
    for (const kind of rightKinds)
      for await (const rows of readPresentRights(this.#db, kind, rowsAtOnce))
        await thread.run({ type: 'add', moment, kind, rows })
    const after = await this.#readJournal()
    const undoing = new Undoing(thread, moment, time, { before, after })
    await undoing.undo(after.pending, after.lastAt)
    await undoRecorded(this.#search, undoing, time - marginMs)
    await thread.run({ type: 'finish', moment })
  }

  async #readJournal(): Promise<RightsJournal> {
    const journal = await readRightsJournal(this.#db, maxPending)
    if (journal.pending.length < maxPending) return journal
    throw failure(
      'conflict',
      'as_of: too many changes of rights wait to be written to the audit log: try again.',
    )
  }
}
