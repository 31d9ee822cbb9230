import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The line with the first administrator's password, for a terminal: a log keeps what is written to it.
 * @param notices of a start; one of them names the file when this start made it
 */
export function readFirstPassword(home: string, notices: readonly string[]): readonly string[] {
  const file = join(home, 'initial-admin-password')
  if (!notices.some((notice) => notice.includes(file)) || !existsSync(file)) return []
  return [`Password: ${readFileSync(file, 'utf8').trim()}`]
}
