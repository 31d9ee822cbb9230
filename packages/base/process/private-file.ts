import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { StartupError } from '../errors.ts'

/**
 * Reads a file that others must not read, by libpq's rule for private keys: mode 0600 or less, or 0640 or less if it
 * belongs to root (a secret that is mounted for a group).
 * @param what the setting that names it
 * @throws StartupError
 */
export function readPrivateFile(path: string, what: string): Buffer {
  let file: number
  try {
    file = openSync(path, 'r')
  } catch (error) {
    throw new StartupError(`${what}: cannot read ${path}: ${(error as Error).message}`)
  }
  try {
    const { mode, uid } = fstatSync(file)
    const forbidden = uid === 0 ? 0o037 : 0o077
    if (process.platform !== 'win32' && (mode & forbidden) !== 0) {
      const shown = (mode & 0o777).toString(8).padStart(4, '0')
      throw new StartupError(`${what}: ${path} can be read by others (mode ${shown}): chmod 600 ${path}`)
    }
    return readFileSync(file)
  } finally {
    closeSync(file)
  }
}

/**
 * The password in such a file, without the line end.
 * @throws StartupError, also for a file with more lines or none
 */
export function readPasswordFile(path: string, what: string): string {
  const password = readPrivateFile(path, what)
    .toString()
    .replace(/\r?\n$/, '')
  if (password === '' || /[\r\n\0]/.test(password))
    throw new StartupError(`${what}: ${path} must contain exactly one line, the password`)
  return password
}
