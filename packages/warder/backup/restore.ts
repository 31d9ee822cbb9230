import { existsSync, mkdirSync, readdirSync, rmdirSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { StartupError } from '@warder/foundation/errors'
import { type DatabaseRestore, takeLock } from '@warder/foundation/runtime'
import type { ServiceName } from '../installation/services.ts'
import { digested } from './digest.ts'
import { type AuditHead, type BackupLine, linesIn, rowsOf } from './lines.ts'
import { BackupRefused } from './refused.ts'
import { type DatabaseChoice, RestoredDatabases } from './restored-databases.ts'
import { openStream } from './sealed-stream.ts'
import { freshFolder, intoPlace, placeFile, removeFolder } from './staging.ts'
import type { Unlock } from './wrapped-keys.ts'

export interface RestoreOptions extends DatabaseChoice {
  readonly source: AsyncIterable<Uint8Array>
  readonly unlock: Unlock
  /** Absolute; missing or empty. */
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
 * Restores an installation into a home that is missing or empty, and into empty databases. Until all of it is there the
 * home has another name, and no service starts on a database; what is interrupted is begun anew by the next restore.
 * @throws StartupError when something is in the way
 * @throws BackupRefused when the backup is not whole
 */
export async function restore(options: RestoreOptions): Promise<Restored> {
  const { home } = options
  if (existsSync(home) && readdirSync(home).length > 0)
    throw new StartupError(
      `${home} is not empty: a restore replaces nothing. Name a new folder with --home, or move this one away`,
    )
  mkdirSync(dirname(home), { recursive: true })
  const unlock = takeLock(
    `${home}.restore.lock`,
    (pid) => `a restore into ${home} is under way (process ${pid})`,
  )
  const staging = `${home}.restoring`
  try {
    freshFolder(staging)
    const work = new Restoring(options, staging)
    try {
      const { bytes, digest } = digested(options.source)
      for await (const line of linesIn(openStream(bytes, options.unlock))) await work.take(line)
      await work.finish(digest())
    } catch (error) {
      await work.abandon()
      removeFolder(staging)
      throw error
    }
    if (existsSync(home)) rmdirSync(home)
    intoPlace(staging, home)
    return work.result
  } finally {
    unlock()
    rmSync(`${home}.restore.lock`, { force: true })
  }
}

class Restoring {
  readonly #options: RestoreOptions
  readonly #staging: string
  readonly #databases: RestoredDatabases
  readonly #heads: Partial<Record<ServiceName, AuditHead>> = {}
  #database: DatabaseRestore | undefined
  #begun: { readonly madeAt: string; readonly rootKey: boolean } | undefined
  #files = 0
  #rows = 0
  #ended = false

  constructor(options: RestoreOptions, staging: string) {
    this.#options = options
    this.#staging = staging
    this.#databases = new RestoredDatabases(staging, options)
  }

  get result(): Restored {
    return { ...this.#start, files: this.#files, rows: this.#rows, heads: this.#heads }
  }

  get #start() {
    if (this.#begun === undefined) throw new BackupRefused('the backup does not begin as one')
    return this.#begun
  }

  async take(line: BackupLine): Promise<void> {
    if (this.#ended) throw new BackupRefused('something stands behind the end of the backup')
    if (line.kind === 'backup') {
      this.#begun = { madeAt: line.made_at, rootKey: line.root_key }
      return
    }
    void this.#start
    switch (line.kind) {
      case 'file':
        this.#files += placeFile(this.#staging, line) ? 1 : 0
        return
      case 'database':
        return this.#open(line)
      case 'table':
        return this.#opened.begin(line)
      case 'rows':
        await this.#opened.add(rowsOf(line))
        this.#rows += line.rows.length
        this.#options.onRow?.(this.#rows)
        return
      case 'end':
        if (line.files !== this.#files || line.rows !== this.#rows)
          throw new BackupRefused('the backup does not hold as much as it says')
        this.#ended = true
    }
  }

  get #opened(): DatabaseRestore {
    if (this.#database === undefined) throw new BackupRefused('rows of the backup belong to no database')
    return this.#database
  }

  async #open({ service, schema, audit_head }: Extract<BackupLine, { kind: 'database' }>): Promise<void> {
    if (audit_head !== null) this.#heads[service] = audit_head
    this.#database = await this.#databases.begin(service, schema)
  }

  /** All databases, now that everything has come: a backup that is cut off leaves none that could be used. */
  async finish(digest: string): Promise<void> {
    if (!this.#ended) throw new BackupRefused('the backup is cut off')
    const madeAt = Date.parse(this.#start.madeAt)
    if (!Number.isSafeInteger(madeAt)) throw new BackupRefused('the backup does not say when it was made')
    await this.#databases.finish({ digest, madeAt, restoredAt: this.#options.now })
  }

  async abandon(): Promise<void> {
    await this.#databases.abandon()
  }
}
