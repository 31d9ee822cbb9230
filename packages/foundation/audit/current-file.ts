import type { Clock } from '../clock/clock.ts'
import type { LogFile, OpenLogFile } from './files.ts'
import { formatLogFileName, syncFolder } from './folder.ts'

export interface CurrentFileOptions {
  readonly folder: string
  readonly rotateBytes: number
  /** Age of a file at which the log goes on in a new one, in milliseconds; absent = the size alone counts. */
  readonly rotateMs?: number
  /** Unix milliseconds: the first record of the file that is there. */
  readonly begunAt?: number
  readonly clock: Clock
  readonly openFile: OpenLogFile
  /** New files are named so: see `createEncryptingOpener`. */
  readonly encrypted?: boolean
  /** The log goes on in a new file: the one before is written no more. */
  onNewFile?(): void
}

/** The file in which a log goes on. */
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

  /** By the wall clock; one that jumps ends a file too early or too late, and nothing else. */
  #isOld(): boolean {
    const { clock, rotateMs } = this.#options
    if (this.#file.size === 0 || rotateMs === undefined) return false
    const now = clock.now()
    this.#begunAt ??= this.#options.begunAt ?? now
    return now - this.#begunAt >= rotateMs
  }

  /**
   * The log goes on in a new file, and the one before is closed.
   * @throws when it cannot be made, or is there already; the present one stays
   */
  beginNext(firstSeq: number): void {
    const { openFile, folder, encrypted, clock, onNewFile } = this.#options
    const path = formatLogFileName(folder, firstSeq, encrypted)
    const next = openFile(path)
    if (next.size > 0) {
      next.close()
      throw new Error(`${path} is there already, and is not of this service`)
    }
    this.#file.close()
    this.#file = next
    this.#path = path
    this.#begunAt = clock.now()
    syncFolder(folder)
    onNewFile?.()
  }
}
