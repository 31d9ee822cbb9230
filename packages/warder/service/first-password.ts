import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Returns a line with the password of the first administrator; only for a terminal, because a log would store it.
 * @param notices notices of the start; one of them names the file if this start created it
 */
export function readFirstPassword(home: string, notices: readonly string[]): readonly string[] {
  const file = join(home, 'initial-admin-password')
  if (!notices.some((notice) => notice.includes(file)) || !existsSync(file)) return []
  return [`Password: ${readFileSync(file, 'utf8').trim()}`]
}
