import { readFileSync } from 'node:fs'
import { getSystemErrorMessage } from 'node:util'
import { describeFullDisk, StartupError } from '@warder/base'
import { type PemLabel, PkiError, pemText } from '@warder/pki'

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

/** Reads a secret from a file, without a line end at its end. @throws StartupError */
export function readSecretFile(file: string, what = 'the password'): string {
  let text: string
  try {
    text = readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    throw toFileRefused(error, file === '-' ? 'standard input' : file)
  }
  const secret = text.replace(/^\ufeff/, '').replace(/\r?\n$/, '')
  if (secret === '' || /[\r\n]/.test(secret)) {
    const source = file === '-' ? 'standard input' : file
    throw new StartupError(`${source}: must contain exactly one line, ${what}`)
  }
  return secret
}

/** Reads a token from a file. @throws StartupError for characters that a header cannot contain */
export function readTokenFile(file: string): string {
  const token = readSecretFile(file, 'the token').trim()
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new StartupError(
      `${file === '-' ? 'standard input' : file}: contains characters that a token cannot have`,
    )
  return token
}

/** Reads a PEM or DER file. @returns PEM @throws StartupError */
export function readPemFile(file: string, label: PemLabel): string {
  try {
    return pemText(readFileSync(file), label)
  } catch (error) {
    throw toFileRefused(error, file)
  }
}
