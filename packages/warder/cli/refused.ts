import { getSystemErrorMessage } from 'node:util'
import { describeFullDisk, StartupError } from '@warder/base'
import { PkiError } from '@warder/pki'

/** A file cannot be read, opened or written: one line for the user. */
export class FileRefused extends StartupError {
  override readonly name = 'FileRefused'
  /** The message contains the name of the file. */
  readonly namesFile: boolean

  constructor(message: string, options: { readonly cause?: unknown; readonly namesFile?: boolean } = {}) {
    super(message, options)
    this.namesFile = options.namesFile ?? false
  }
}

/**
 * Adds the name of the file to an error, also of the file system: `report.pdf: no such file or directory`. Returns other
 * errors unchanged.
 * @param name name of the file, for errors that do not contain it
 */
export function toFileRefused(error: unknown, name?: string): unknown {
  if (error instanceof FileRefused && name !== undefined && !error.namesFile && !error.message.includes(name))
    return new FileRefused(`${name}: ${error.message}`, { cause: error })
  if (error instanceof PkiError && name !== undefined)
    return new FileRefused(`${name}: ${error.message}`, { cause: error })
  if (!(error instanceof Error) || !('syscall' in error)) return error
  const { errno, path = name } = error as NodeJS.ErrnoException
  const full = path === undefined ? undefined : describeFullDisk(error, path)
  if (full !== undefined)
    return new FileRefused(`${path} cannot be written: ${full}; free disk space and run the command again`, {
      cause: error,
    })
  const what = errno === undefined ? error.message : getSystemErrorMessage(errno)
  return new FileRefused(path === undefined ? what : `${path}: ${what}`, { cause: error })
}
