import { closeSync, constants, fdatasync, fstatSync, ftruncateSync, openSync, write } from 'node:fs'

/** An open log file, appended to. A test puts one in its place that fails on demand. */
export interface LogFile {
  readonly size: number
  /** Appends all of the bytes; on failure `size` bytes of earlier records are still whole (cut back if need be). */
  append(bytes: Uint8Array): Promise<void>
  sync(): Promise<void>
  close(): void
}

export type OpenLogFile = (path: string) => LogFile

/** The real thing: O_APPEND, mode 0600. */
export const openLogFile: OpenLogFile = (path) => {
  const descriptor = openSync(path, constants.O_CREAT | constants.O_APPEND | constants.O_RDWR, 0o600)
  let size = fstatSync(descriptor).size
  const writeSome = (bytes: Uint8Array): Promise<number> =>
    new Promise((resolve, reject) => {
      write(descriptor, bytes, 0, bytes.length, null, (error, written) =>
        error === null ? resolve(written) : reject(error),
      )
    })
  return {
    get size() {
      return size
    },
    async append(bytes) {
      let rest = bytes
      try {
        while (rest.length > 0) rest = rest.subarray(await writeSome(rest))
        size += bytes.length
      } catch (error) {
        // A part may have been written (full disk): the file ends with its last whole record again.
        ftruncateSync(descriptor, size)
        throw error
      }
    },
    sync: () =>
      new Promise((resolve, reject) => {
        fdatasync(descriptor, (error) => (error === null ? resolve() : reject(error)))
      }),
    close: () => closeSync(descriptor),
  }
}
