import { StartupError } from '@warder/foundation/errors'

/** A file that cannot be read, opened or written as asked: one line for the person who asked. */
export class FileRefused extends StartupError {
  override readonly name = 'FileRefused'
}

/** The same for what the file system says: `ENOENT: no such file …`. Other errors stay as they are. */
export function refusalOf(error: unknown): unknown {
  return error instanceof Error && 'syscall' in error
    ? new FileRefused(error.message, { cause: error })
    : error
}
