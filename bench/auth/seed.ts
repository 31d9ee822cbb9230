import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'

/** Number of rows that the seed creates, by kind. */
export interface SeedSize {
  readonly realms: number
  readonly credentials: number
  readonly sessions: number
  readonly tokens: number
}

export const fullSize: SeedSize = {
  realms: 10_000,
  credentials: 1_000_000,
  sessions: 1_000_000,
  tokens: 2_000_000,
}

/** One in so many sessions and tokens has ended: the first sweep finds them. */
const endedShare = 100
const roles = 1000
/** `correct horse` */
const passwordHash =
  '$argon2id$v=19$m=65536,t=3,p=4$SZ8k9fzwBgGDi6bF619UnA$XTCnYZMBRmOx0cO4C1m1zHjxAo/vsGcagcrf9GtAFRs'
const authParams = '{"username_password_params":{"allow_expired_passwords":false}}'

/**
 * Fills the SQLite database of a stopped authentication service with realms, users, sessions and machine tokens, by
 * statements of the database alone: no hash is computed and no token signed, so that a million rows take seconds.
 * They cannot be used: they only increase the number of rows.
 * @param home `WARDER_HOME` of an installation that has run once
 */
export function seed(home: string, size: SeedSize): void {
  const db = new DatabaseSync(join(home, 'auth.db'))
  try {
    db.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -400000; PRAGMA temp_store = MEMORY')
    db.exec('BEGIN IMMEDIATE')
    const now = Math.floor(Date.now() / 1000)
    const ends = `CASE WHEN i % ${endedShare} = 0 THEN ${now - 60} ELSE ${now + 86_400} END`
    fill(db, size.realms, 'realm', `printf('seed%06d', i), '${authParams}', 3600, 600, 31536000, 1`)
    const realm = `printf('seed%06d', i % ${size.realms})`
    fill(
      db,
      size.credentials,
      'credential',
      `${realm}, printf('user%08d', i), '${passwordHash}', 0, '["member"]', NULL, 1`,
    )
    const id =
      "printf('%08x-%04x-4%03x-8%03x-%012x', (i * 2654435761) & 4294967295, i & 65535, i & 4095, i & 4095, i)"
    fill(
      db,
      size.sessions,
      'session (session_id, realm_id, username, auth_scheme, certificate_sha256, sealed_cookie, created_at, max_age, max_stale_age, ends_at)',
      `${id}, ${realm}, printf('user%08d', i), 'up', NULL, randomblob(500), ${now}, 172800, 172800, ${ends}`,
    )
    fill(
      db,
      roles,
      'approle_role',
      `printf('seed%06d', i), printf('role%032d', i), ${realm}, 3600, 0, '[]', 1, 1`,
    )
    const role = `printf('seed%06d', i % ${roles})`
    fill(
      db,
      size.tokens,
      'app_token (token_hash, entity, realm_id, policies, renewable, lease_duration, expires_at, created_at, role_kind, role_name)',
      `randomblob(32), ${role}, ${realm}, '["read"]', 1, 3600, ${ends}, ${now}, 'approle', ${role}`,
    )
    db.exec('COMMIT')
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  } finally {
    db.close()
  }
}

/** Sorted by the first column, which is the key: a tree is built from its one end. */
function fill(db: DatabaseSync, rows: number, into: string, values: string): void {
  if (rows === 0) return
  const numbers = `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ${rows})`
  db.exec(`INSERT INTO ${into} ${numbers} SELECT ${values} FROM n ORDER BY 1, 2`)
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      home: { type: 'string' },
      realms: { type: 'string', default: String(fullSize.realms) },
      credentials: { type: 'string', default: String(fullSize.credentials) },
      sessions: { type: 'string', default: String(fullSize.sessions) },
      tokens: { type: 'string', default: String(fullSize.tokens) },
    },
  })
  if (values.home === undefined) {
    process.stderr.write(
      'usage: node bench/auth/seed.ts --home WARDER_HOME [--realms N] [--credentials N] …\n',
    )
    process.exit(2)
  }
  const began = performance.now()
  seed(values.home, {
    realms: Number(values.realms),
    credentials: Number(values.credentials),
    sessions: Number(values.sessions),
    tokens: Number(values.tokens),
  })
  process.stdout.write(`seeded in ${((performance.now() - began) / 1000).toFixed(1)} s\n`)
}
