import { StartupError } from '@warder/base'
import type { ServiceName } from '@warder/command-line/endpoints'
import type { DatabaseRestore } from '@warder/runtime/launch'
import { hashStream } from './digest.ts'
import { type AuditHead, type BackupLine, BackupRefused, decodeRows, readLines } from './lines.ts'
import { type DatabaseChoice, RestoredDatabases } from './restored-databases.ts'
import { beginHomeRestore, type Complete, type HomeRestore, type Move } from './restored-home.ts'
import { openStream } from './sealed-stream.ts'
import type { RequireSender } from './sender.ts'
import { writeFilePart } from './staging.ts'
import type { Unlock } from './wrapped-keys.ts'

export interface RestoreOptions extends DatabaseChoice {
  readonly source: AsyncIterable<Uint8Array>
  readonly unlock: Unlock
  readonly requireSender: RequireSender
  /** Absolute; missing, or empty except for a root key. */
  readonly home: string
  /** Unix milliseconds. */
  readonly now: number
  onRow?(rows: number): void
}

export interface Restored {
  readonly madeAt: string
  readonly rootKey: boolean
  readonly files: number
  readonly rows: number
  readonly heads: Readonly<Partial<Record<ServiceName, AuditHead>>>
}

/**
 * Restores an installation into a missing or empty home and into empty databases. No service starts on either until the
 * restore is complete. After an interruption the next restore starts again, or finishes if only renames are left.
 * @throws StartupError when the home or a database is not empty
 * @throws BackupRefused when the backup is incomplete or invalid
 */
export async function restore(options: RestoreOptions): Promise<Restored> {
  const { home, source, unlock, requireSender, now } = options
  const target = beginHomeRestore<Restored>(home, now)
  try {
    if (target.complete !== undefined) return await finishInterrupted(source, home, target, target.complete)
    let work: Restoring | undefined
    try {
      work = new Restoring(options, target)
      const { bytes, digest } = hashStream(source)
      for await (const line of readLines(openStream(bytes, unlock, requireSender))) await work.take(line)
      target.requirePlace()
      await work.finish(digest())
      target.finish({ digest: digest(), moves: work.moves, told: work.result })
      return work.result
    } catch (error) {
      await work?.abandon()
      target.abandon(work?.mayHaveFinished ?? false)
      throw error
    } finally {
      work?.release()
    }
  } finally {
    target.release()
  }
}

/** @throws StartupError when this is another backup than the interrupted one */
async function finishInterrupted(
  source: AsyncIterable<Uint8Array>,
  home: string,
  target: HomeRestore<Restored>,
  complete: Complete<Restored>,
): Promise<Restored> {
  const { bytes, digest } = hashStream(source)
  for await (const _ of bytes);
  if (digest() !== complete.digest)
    throw new StartupError(
      `${home} contains the almost complete restore of another backup (of ${complete.told.madeAt}, SHA-256 ${complete.digest}): restore that one again to finish it, or use another --home`,
    )
  target.finish(complete)
  return complete.told
}

class Restoring {
  readonly #options: RestoreOptions
  readonly #files: string
  readonly #restoredAt: number
  readonly #databases: RestoredDatabases
  readonly #heads: Partial<Record<ServiceName, AuditHead>> = {}
  #database: DatabaseRestore | undefined
  #begun: { readonly madeAt: string; readonly rootKey: boolean } | undefined
  #fileCount = 0
  #rows = 0
  #ended = false
  /** A database may already be finished. */
  mayHaveFinished = false

  constructor(options: RestoreOptions, { files, isInterrupted, restoredAt }: HomeRestore<Restored>) {
    this.#options = options
    this.#files = files
    this.#databases = new RestoredDatabases(
      { home: options.home, files, interruptedAt: isInterrupted ? restoredAt : undefined },
      options,
    )
    this.#restoredAt = restoredAt
  }

  get moves(): readonly Move[] {
    return this.#databases.moves
  }

  get result(): Restored {
    return { ...this.#start, files: this.#fileCount, rows: this.#rows, heads: this.#heads }
  }

  get #start() {
    if (this.#begun === undefined) throw new BackupRefused('the backup has no valid first line')
    return this.#begun
  }

  async take(line: BackupLine): Promise<void> {
    if (this.#ended) throw new BackupRefused('the backup has data after its end line')
    if (line.kind === 'backup') {
      this.#begun = { madeAt: line.made_at, rootKey: line.root_key }
      return
    }
    void this.#start
    switch (line.kind) {
      case 'file':
        this.#fileCount += writeFilePart(this.#files, line) ? 1 : 0
        return
      case 'database':
        return this.#open(line)
      case 'table':
        return this.#currentDatabase.begin(line)
      case 'rows':
        await this.#currentDatabase.add(decodeRows(line))
        this.#rows += line.rows.length
        this.#options.onRow?.(this.#rows)
        return
      case 'end':
        if (line.files !== this.#fileCount || line.rows !== this.#rows)
          throw new BackupRefused('the number of files or rows differs from the end line of the backup')
        this.#ended = true
    }
  }

  get #currentDatabase(): DatabaseRestore {
    if (this.#database === undefined) throw new BackupRefused('the backup has rows before the first database')
    return this.#database
  }

  async #open({ service, schema, audit_head }: Extract<BackupLine, { kind: 'database' }>): Promise<void> {
    if (audit_head !== null) this.#heads[service] = audit_head
    this.#database = await this.#databases.begin(service, schema)
  }

  /** Finishes all databases only at the end, so that a truncated backup leaves no usable database. */
  async finish(digest: string): Promise<void> {
    if (!this.#ended) throw new BackupRefused('the backup is truncated')
    const madeAt = Date.parse(this.#start.madeAt)
    if (!Number.isSafeInteger(madeAt)) throw new BackupRefused('the backup has no valid time')
    this.mayHaveFinished = true
    await this.#databases.finish({ digest, madeAt, restoredAt: this.#restoredAt })
  }

  async abandon(): Promise<void> {
    await this.#databases.abandon()
  }

  release(): void {
    this.#databases.release()
  }
}
