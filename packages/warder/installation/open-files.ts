import { readFileSync } from 'node:fs'
import { StartupError } from '@warder/base'

/** A service with its database, logs and listeners needs about fifty; each connection needs one. */
export const minOpenFiles = 256

/** @throws StartupError when this process may open too few files to serve */
export function requireOpenFiles(limit = readLimit()): void {
  if (limit === undefined || limit >= minOpenFiles) return
  throw new StartupError(
    `this process may open ${limit} files, but a service requires at least ${minOpenFiles}, including one for each connection: raise the limit (ulimit -n in a shell, LimitNOFILE for systemd, nofile for a container)`,
  )
}

/** undefined = no limit, or not known on this system. Node raises the soft limit to the hard limit. */
function readLimit(): number | undefined {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined
  }
}
