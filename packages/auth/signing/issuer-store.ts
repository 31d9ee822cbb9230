import { change, type Database, query } from '@warder/storage'

/**
 * Maximum number of issuers. Nodes without an `issuer` setting have one each, and a new one with each new address:
 * the oldest are deleted.
 */
const maxIssuers = 1000

const put = query<[issuer: string, startedAt: number], unknown>(
  `INSERT INTO session_issuer (issuer, started_at) VALUES (?, ?)
    ON CONFLICT (issuer) DO UPDATE SET started_at = excluded.started_at`,
)
const forgetOldest = query<[limit: number], unknown>(
  `DELETE FROM session_issuer WHERE issuer NOT IN
    (SELECT issuer FROM session_issuer ORDER BY started_at DESC, issuer LIMIT ?)`,
)
const all = query<[limit: number], { readonly issuer: string }>(
  'SELECT issuer FROM session_issuer ORDER BY started_at DESC, issuer LIMIT ?',
)

/** Registers that tokens signed with the keys of this database have this `iss`. @param startedAt Unix seconds */
export async function registerIssuer(db: Database, issuer: string, startedAt: number): Promise<void> {
  await db.commit([change(put, [issuer, startedAt]), change(forgetOldest, [maxIssuers])])
}

/** Lists the issuers of all nodes of this database, the most recently started first. */
export async function sessionIssuers(db: Database): Promise<readonly string[]> {
  const rows = await db.all(all, [maxIssuers])
  return rows.map(({ issuer }) => issuer)
}
