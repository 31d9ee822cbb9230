import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Terminal } from '@warder/command-line'

/**
 * Writes a line of a service process: plain text on a terminal, or else a JSON object like those of the log, so that a
 * log collector reads only JSON lines.
 */
export function writeServiceLine(
  terminal: Terminal,
  level: 'info' | 'warn' | 'error',
  message: string,
  fields: Readonly<Record<string, unknown>> = {},
): void {
  const isInfo = level === 'info'
  const write = isInfo ? terminal.out : terminal.err
  const isRead = isInfo ? terminal.isTerminal?.out : terminal.isTerminal?.err
  if (isRead === true) write(message)
  else write(jsonLine(level, message, fields))
}

function jsonLine(level: string, msg: string, fields: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ level, time: new Date().toISOString(), service: 'warder', ...fields, msg })
}

/**
 * Returns a line with the password of the first administrator; only for a terminal, because a log would store it.
 * @param notices notices of the start; one of them names the file if this start created it
 */
export function readFirstPassword(home: string, notices: readonly string[]): readonly string[] {
  const file = join(home, 'initial-admin-password')
  if (!notices.some((notice) => notice.includes(file)) || !existsSync(file)) return []
  return [`Password: ${readFileSync(file, 'utf8').trim()}`]
}
