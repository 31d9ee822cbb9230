import { closeSync, constants, fdatasync, fstatSync, ftruncateSync, openSync, statSync, write } from 'node:fs'

/** An open log file. Tests replace it by one that fails on demand. */
export interface LogFile {
  readonly size: number
  /** Appends all bytes; on failure the file is cut back (at the latest before the next append). */
  append(bytes: Uint8Array): Promise<void>
  sync(): Promise<void>
  /** Truncates the file to an earlier size: data written after it were never acknowledged. */
  cutTo(size: number): void
  /** Describes changes of the file by another program (such as logrotate) since it was opened; undefined = none. */
  changed(): string | undefined
  close(): void
}

export type OpenLogFile = (path: string) => LogFile

/** Opens a file with O_APPEND and mode 0600. */
export const openLogFile: OpenLogFile = (path) => {
  const descriptor = openSync(path, constants.O_CREAT | constants.O_APPEND | constants.O_RDWR, 0o600)
  const opened = fstatSync(descriptor)
  let { size } = opened
  let ragged = false
  const writeSome = (bytes: Uint8Array): Promise<number> =>
    new Promise((resolve, reject) => {
      write(descriptor, bytes, 0, bytes.length, null, (error, written) =>
        error === null ? resolve(written) : reject(error),
      )
    })
  const cutTo = (wanted: number): void => {
    size = wanted
    ragged = true
    ftruncateSync(descriptor, wanted)
    ragged = false
  }
  return {
    get size() {
      return size
    },
    async append(bytes) {
      // Repeats a cut that failed: nothing may follow half a record.
      if (ragged) cutTo(size)
      let rest = bytes
      try {
        while (rest.length > 0) rest = rest.subarray(await writeSome(rest))
      } catch (error) {
        // A part may have been written (full disk).
        cutTo(size)
        throw error
      }
      size += bytes.length
    },
    sync: () =>
      new Promise((resolve, reject) => {
        fdatasync(descriptor, (error) => (error === null ? resolve() : reject(error)))
      }),
    cutTo,
    changed() {
      const there = statSync(path, { throwIfNoEntry: false })
      if (there === undefined) return 'it was removed or moved'
      if (there.ino !== opened.ino || there.dev !== opened.dev) return 'it was replaced'
      if (ragged || there.size === size) return undefined
      return there.size < size ? 'it was cut' : 'another program wrote into it'
    },
    close: () => closeSync(descriptor),
  }
}
