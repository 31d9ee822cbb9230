import { failure } from '@warder/base'
import type { Database, Query, SqlValue } from '@warder/storage'
import { JobThread } from '../bulk/job-thread.ts'
import { readPresentRights, rightKinds } from './past-rights-store.ts'
import {
  type RightChange,
  type RightKind,
  type RightsJournal,
  readRightsJournal,
} from './rights-journal-store.ts'
import { formatTime, type RecordSearch, undoRights } from './undo-rights.ts'

// Rights at a date: a copy of the present ones, from which all newer changes are undone. The changes are in the audit
// log, in a chain whose end is in the database (docs/adr/rights-at-a-date.md).

/** The database that the report of rights reads. */
export type RightsReader = Pick<Database, 'all' | 'get'>

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

/** Bytes that each job counts in addition to its data; this bounds the number of jobs that wait. */
const jobBytes = 64 * 1024

class PastRightsThread extends JobThread<PastRightsJob, Results> {
  constructor() {
    super('rights at a date', {
      maxBytes: 64 * 1024 * 1024,
      // This is longer than moments are kept.
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
/** Maximum number of changes that are read before they are in the audit log. */
const maxPending = 100_000

interface Moment {
  readonly reader: Promise<RightsReader>
  readonly number: number
  users: number
  /** Milliseconds of the monotonic clock. */
  usedAt: number
}

/** Maximum number of moments that a worker keeps. */
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
    // Errors are reported to the callers that await it.
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
    const rights = {
      undo: (changes: readonly RightChange[], strict: boolean) =>
        thread.run({ type: 'undo', moment, changes, strict }),
      hasUndone: (changes: readonly RightChange[]) => thread.run({ type: 'has_undone', moment, changes }),
    }
    await undoRights(rights, time, this.#search, { before, after })
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
