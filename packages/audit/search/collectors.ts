import { escapeHidden } from '@warder/base'
import type { Block } from './part.ts'
import { parseProperties, readProperties, type SearchFilter } from './terms.ts'

/** Takes the records that a search finds. */
export interface Collector {
  /** It takes no more records: the page ends. */
  readonly isFull: boolean
  /** Remembers what it has. @returns a function that discards everything that came later */
  mark(): () => void
  /** Begins consecutive records of a file, which count only when they are committed. */
  begin(): Draft
  /** Whether the index alone has all that is needed of a block, each of whose records is meant. */
  takesBlock?(block: Block): boolean
  addBlock?(block: Block): void
}

export interface Draft {
  readonly hasRecords: boolean
  /** In the order of the log. @param bytes the line, without its newline */
  add(seq: number, bytes: Buffer): void
  /** @returns the number of the oldest record that was taken, if others before it may be left */
  commit(): number | undefined
}

export interface FoundRecord {
  readonly seq: number
  /** As it stands in the log, without its newline; hidden characters are escaped. */
  readonly line: string
}

/** Keeps the newest records, up to a limit. */
export class RecordCollector implements Collector {
  readonly records: FoundRecord[] = []
  readonly #limit: number

  constructor(limit: number) {
    this.#limit = limit
  }

  get isFull(): boolean {
    return this.records.length >= this.#limit
  }

  mark(): () => void {
    const { length } = this.records
    return () => {
      this.records.length = length
    }
  }

  begin(): Draft {
    const room = this.#limit - this.records.length
    let found: { readonly seq: number; readonly bytes: Buffer }[] = []
    return {
      get hasRecords() {
        return found.length > 0
      },
      add(seq, bytes) {
        found.push({ seq, bytes })
        if (found.length >= 2 * room + 1000) found = found.slice(-room - 1)
      },
      commit: () => {
        const newest = found.slice(-room).reverse()
        for (const { seq, bytes } of newest)
          this.records.push({ seq, line: escapeHidden(bytes.toString('utf8')) })
        return newest.length < found.length || newest.length === room ? newest.at(-1)?.seq : undefined
      },
    }
  }
}

export interface CountBucket {
  /** Begin of the interval, Unix milliseconds: a multiple of its length. */
  readonly start: number
  readonly records: number
  /** Those of them whose outcome is not success. */
  readonly failures: number
}

/** Max number of intervals of a count. */
export const maxBuckets = 1000

/** Counts records and failures in intervals of one length. Records outside of `maxBuckets` intervals are not counted. */
export class CountCollector implements Collector {
  readonly isFull = false
  #counts = new Map<number, readonly [records: number, failures: number]>()
  readonly #stepMs: number
  readonly #filter: SearchFilter
  /** Only times select records. */
  readonly #isByTime: boolean

  constructor({ filter, stepMs }: { readonly filter: SearchFilter; readonly stepMs: number }) {
    const { since: _since, until: _until, ...others } = filter
    this.#stepMs = stepMs
    this.#filter = filter
    this.#isByTime = Object.values(others).every((value) => value === undefined)
  }

  get buckets(): readonly CountBucket[] {
    return [...this.#counts]
      .map(([start, [records, failures]]) => ({ start, records, failures }))
      .toSorted((one, other) => one.start - other.start)
  }

  mark(): () => void {
    const counts = new Map(this.#counts)
    return () => {
      this.#counts = counts
    }
  }

  begin(): Draft {
    const counts = new Map<number, [records: number, failures: number]>()
    return {
      get hasRecords() {
        return counts.size > 0
      },
      add: (_seq, bytes) => {
        const line = bytes.toString('latin1')
        const properties = readProperties(line) ?? parseProperties(line)
        if (properties === undefined) return
        const start = this.#toStart(properties.time)
        const [records, failures] = counts.get(start) ?? [0, 0]
        if (counts.size < maxBuckets || records > 0)
          counts.set(start, [records + 1, failures + (properties.failed ? 1 : 0)])
      },
      commit: () => {
        for (const [start, [records, failures]] of counts) this.#add(start, records, failures)
        return undefined
      },
    }
  }

  takesBlock({ minTime, maxTime }: Block): boolean {
    const { since = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY } = this.#filter
    const isInside = minTime >= since && maxTime < until
    return this.#isByTime && isInside && this.#toStart(minTime) === this.#toStart(maxTime)
  }

  addBlock({ first, last, minTime, failures }: Block): void {
    this.#add(this.#toStart(minTime), last - first + 1, failures)
  }

  #toStart(time: number): number {
    return Math.floor(time / this.#stepMs) * this.#stepMs
  }

  #add(start: number, records: number, failures: number): void {
    const before = this.#counts.get(start)
    if (before === undefined && this.#counts.size >= maxBuckets) return
    this.#counts.set(start, [(before?.[0] ?? 0) + records, (before?.[1] ?? 0) + failures])
  }
}
