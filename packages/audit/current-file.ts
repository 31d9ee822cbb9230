import type { Clock } from '@warder/base'
import type { LogFile, OpenLogFile } from './files.ts'
import { formatLogFileName, syncFolder } from './folder.ts'

export interface CurrentFileOptions {
  readonly folder: string
  readonly rotateBytes: number
  /** Age of a file at which the log continues in a new one, in milliseconds; absent = only the size counts. */
  readonly rotateMs?: number
  /** Unix milliseconds: the first record of the file that is there. */
  readonly begunAt?: number
  readonly clock: Clock
  readonly openFile: OpenLogFile
  /** New files are named so: see `createEncryptingOpener`. */
  readonly encrypted?: boolean
  /** Called when the log continues in a new file: the previous one is closed. */
  onNewFile?(): void
}

/** The file that a log is written to. */
export class CurrentFile {
  readonly #options: CurrentFileOptions
  #path: string
  #file: LogFile
  /** Unix milliseconds: when the file got its first record; undefined = not known yet. */
  #begunAt: number | undefined

  constructor(options: CurrentFileOptions, path: string) {
    this.#options = options
    this.#path = path
    this.#file = options.openFile(path)
  }

  get path(): string {
    return this.#path
  }

  /** Bytes and their ends; of the present file, whichever that is. */
  get file(): LogFile {
    return this.#file
  }

  isFull(): boolean {
    return this.#file.size >= this.#options.rotateBytes || this.#isOld()
  }

  /** Uses the wall clock; a jump only ends a file too early or too late. */
  #isOld(): boolean {
    const { clock, rotateMs } = this.#options
    if (this.#file.size === 0 || rotateMs === undefined) return false
    const now = clock.now()
    this.#begunAt ??= this.#options.begunAt ?? now
    return now - this.#begunAt >= rotateMs
  }

  /**
   * Continues the log in a new file and closes the previous one.
   * @throws when the file cannot be created, or exists already; the current one stays
   */
  beginNext(firstSeq: number): void {
    const { openFile, folder, encrypted, clock, onNewFile } = this.#options
    const path = formatLogFileName(folder, firstSeq, encrypted)
    const next = openFile(path)
    if (next.size > 0) {
      next.close()
      throw new Error(`${path} already exists and was not written by this service`)
    }
    this.#file.close()
    this.#file = next
    this.#path = path
    this.#begunAt = clock.now()
    syncFolder(folder)
    onNewFile?.()
  }
}
