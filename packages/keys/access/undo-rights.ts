import { parseLine, type SearchFilter } from '@warder/audit'
import { failure } from '@warder/base'
import { rightKinds } from './past-rights-store.ts'
import { digestRights, type RightsRecord, rightsOperation } from './rights-journal.ts'
import type { RightChange, RightsJournal } from './rights-journal-store.ts'

// Undoes the changes of rights between the present and a moment, which are read from the audit logs of all nodes.

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

/** The present rights, in which changes are undone. */
interface PresentRights {
  /**
   * @param changes the newest first
   * @param strict whether each must have taken effect on the rights as they are
   * @returns the first one that contradicts the rights
   */
  undo(changes: readonly RightChange[], strict: boolean): Promise<RightChange | undefined>
  /** Whether all of these changes were undone. */
  hasUndone(changes: readonly RightChange[]): Promise<boolean>
}

const recordsAtOnce = 100
/** Assumed maximum difference between the clock of a node and the clock of the database. */
const marginMs = 600_000
/** Assumed maximum duration of a commit. Overlapping commits may store their changes in another order. */
const maxOverlapMs = 60_000
/** Maximum number of records that wait for their successor in the chain. */
const maxOthers = 1000
/** Maximum number of consecutive pages without a record of the chain. */
const maxIdlePages = 500

export function formatTime(time: number): string {
  return new Date(time).toISOString()
}

/** Undoes changes from the newest to the oldest: those of the database first, then those of the audit logs. */
class RightsUndo {
  readonly #rights: PresentRights
  readonly #time: number
  /** The changes up to this record were all in the audit log before the present rights were read. */
  readonly #recorded: string
  #strict: boolean
  /** The record up to which the chain is read, and the latest time of its changes and all earlier ones. */
  #next: string
  #nextAt: number
  /** Times between which restores lost changes. */
  readonly #gaps: { readonly from: number; readonly to: number }[] = []

  constructor(
    rights: PresentRights,
    time: number,
    { before, after }: { readonly before: RightsJournal; readonly after: RightsJournal },
  ) {
    this.#rights = rights
    this.#time = time
    this.#recorded = before.digest
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

  /** Whether this record or an earlier one contains changes after the moment. */
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
    const contradiction = await this.#rights.undo(newer, this.#strict)
    if (contradiction === undefined) return
    const [at, name, ...values] = contradiction
    throw failure(
      'conflict',
      `as_of: the rights in the database do not follow from the audit log (${name} ${values.join(' ')} at ${formatTime(at)}): verify the log, and the access to the database.`,
    )
  }

  #requireBefore(restoredAt: number, madeAt: string, latest: number): void {
    this.#gaps.push({ from: latest, to: restoredAt })
    if (Date.parse(madeAt) > this.#time) return
    throw failure(
      'conflict',
      `as_of: the database was restored at ${formatTime(restoredAt)} from a backup of ${madeAt}, so the rights between these times are not known.`,
    )
  }

  /** Reads the record whose digest is `next`. */
  async undoRecord({ prev, prev_at: prevAt, changes }: RightsRecord): Promise<void> {
    if (this.#next === this.#recorded) this.#strict = true
    await this.undo(changes, prevAt)
    this.#next = prev
    this.#nextAt = prevAt
  }

  /** Whether a record outside of the chain has changes after the moment that the chain does not have. */
  async contradicts({ changes }: RightsRecord): Promise<boolean> {
    const newer = changes.filter(
      (one) => this.isNewer(one) && !this.#gaps.some(({ from, to }) => one[0] > from && one[0] <= to),
    )
    return !(await this.#rights.hasUndone(newer))
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
async function undoRecorded(search: RecordSearch, undo: RightsUndo, since: number): Promise<void> {
  const filter = { operation: rightsOperation, since }
  /** Records by their digests: those that were received before their successor in the chain, and others. */
  const waiting = new Map<string, { readonly record: RightsRecord; readonly node: string }>()
  const seen = new Set<string>()
  const nodes = new Map<string, SearchedNode>()
  let after: string | undefined
  for (let idle = 0; ; idle += 1) {
    const page = await search.search({ filter, limit: recordsAtOnce, after })
    for (const node of page.nodes) if (!node.answered || node.problems.length > 0) nodes.set(node.node, node)
    for (const line of page.lines) {
      const read = readRecord(line)
      if (read === undefined || seen.has(read.digest)) continue
      if (undo.concerns(read.record)) waiting.set(read.digest, read)
    }
    for (let next = undo.next; next !== undefined; next = undo.next) {
      const entry = waiting.get(next)
      if (entry === undefined) break
      waiting.delete(next)
      seen.add(next)
      await undo.undoRecord(entry.record)
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
  if (undo.next !== undefined) throw describeGap(undo, [...nodes.values()])
  for (const { record, node } of waiting.values())
    if (await undo.contradicts(record))
      throw failure(
        'conflict',
        `as_of: the audit log of ${node} has changes of rights that the database does not have, such as those before a restore: the rights at this time are not known.`,
      )
}

function describeGap({ nextAt }: RightsUndo, nodes: readonly SearchedNode[]): Error {
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

/**
 * Undoes all changes after a moment.
 * @param journal the journal before and after the present rights were read
 * @throws failure('bad_gateway' | 'conflict') if changes since then are missing or contradict the rights
 */
export async function undoRights(
  rights: PresentRights,
  time: number,
  search: RecordSearch,
  journal: { readonly before: RightsJournal; readonly after: RightsJournal },
): Promise<void> {
  const undo = new RightsUndo(rights, time, journal)
  await undo.undo(journal.after.pending, journal.after.lastAt)
  await undoRecorded(search, undo, time - marginMs)
}
