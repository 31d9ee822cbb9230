import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { readPasswordFile, readPrivateFile } from '@warder/base'

/** Sources of a password, in order of precedence. */
export interface PasswordSources {
  /** `database_password_file`, absolute: the whole file, without the line end. */
  readonly file: string | undefined
  /** Of the address. */
  readonly given: string | undefined
  /** `passfile` of the address, absolute. */
  readonly passfile: string | undefined
  readonly env: Readonly<Record<string, string | undefined>>
}

/** A login, as a line of a password file names it. */
interface PostgresLogin {
  readonly host: string
  readonly port: number
  readonly database: string
  readonly user: string
}

/**
 * The password for a connection. Files are read each time, so that a new password counts without a restart.
 * @throws StartupError for a file that cannot be read, or that others can read
 */
export function readPassword(sources: PasswordSources, login: PostgresLogin): string | undefined {
  const { file, given, passfile, env } = sources
  if (file !== undefined) return readPasswordFile(file, 'database_password_file')
  if (given !== undefined) return given
  if (passfile !== undefined) return findPassword(readPrivateFile(passfile, 'passfile').toString(), login)
  if (env.PGPASSWORD !== undefined) return env.PGPASSWORD
  const defaultFile = env.PGPASSFILE ?? join(homedir(), '.pgpass')
  return existsSync(defaultFile)
    ? findPassword(readPrivateFile(defaultFile, 'the password file').toString(), login)
    : undefined
}

/**
 * The first line that fits (PostgreSQL 18 §32.16): `host:port:database:user:password`, `*` fits everything,
 * `\` escapes a `:` or `\`. The folder of a Unix socket is also `localhost`.
 */
export function findPassword(text: string, login: PostgresLogin): string | undefined {
  const expected = [[login.host, ...(login.host.startsWith('/') ? ['localhost'] : [])]]
  for (const value of [String(login.port), login.database, login.user]) expected.push([value])
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith('#')) continue
    const fields = splitFields(line)
    if (fields.length < 5) continue
    if (expected.every((values, at) => fields[at] === wildcard || values.includes(fields[at] ?? '')))
      return fields[4]
  }
  return undefined
}

/** A `*` without `\` before it. */
const wildcard = '\0*'

/** The four fields of the place and all of the rest: a `:` needs no `\` in a password. */
function splitFields(line: string): readonly string[] {
  const fields: string[] = []
  let field = ''
  for (let at = 0; at < line.length; at += 1) {
    const letter = line[at] ?? ''
    if (letter === '\\' && at + 1 < line.length) {
      at += 1
      field += line[at]
    } else if (letter === ':' && fields.length < 4) {
      fields.push(field === '*' && line[at - 2] !== '\\' ? wildcard : field)
      field = ''
    } else field += letter
  }
  return [...fields, field]
}
