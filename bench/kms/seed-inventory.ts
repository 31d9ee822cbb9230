import { type Database, query } from '@warder/storage'

const dayMs = 86_400_000
const block = 10_000

interface SeedOptions {
  readonly keys: number
  /** SQL expression over the number of a row, `i`. */
  readonly owner: string
  /** Unix milliseconds. */
  readonly now: number
}

/**
 * Inserts rows directly into the database: nothing is sealed, so these keys cannot be used. One in a thousand is RSA, in
 * another state, tagged or near its end; the days of creation and of use are spread over three years.
 */
export async function seedInventory(db: Database, { keys, owner, now }: SeedOptions): Promise<void> {
  const isSqlite = db.dialect === 'sqlite'
  const today = Math.floor(now / dayMs)
  const series = isSqlite
    ? 'WITH RECURSIVE n(i) AS (SELECT CAST(? AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < ?)'
    : 'WITH n AS (SELECT i FROM generate_series(CAST(? AS BIGINT), CAST(? AS BIGINT)) AS g(i))'
  const id = isSqlite ? "printf('%012d', i)" : "lpad(CAST(i AS TEXT), 12, '0')"
  const rows = query<[number, number]>(`${series} INSERT INTO managed_object
    (id, object_type, algorithm, bits, state, owner, usage_mask, created_at, changed_at, activation_at, deactivation_at,
     last_used_day, form, version)
    SELECT ${id}, 'SymmetricKey', CASE i % 1000 WHEN 1 THEN 'RSA' ELSE 'AES' END, 256,
      CASE i % 1000 WHEN 2 THEN 'Compromised' ELSE 'Active' END, ${owner},
      12, ${now - 1095 * dayMs} + i * 94, ${now}, ${now - 1095 * dayMs} + i * 94,
      CASE i % 1000 WHEN 4 THEN ${now} + (i % 365) * ${dayMs} END,
      CASE i % 10 WHEN 0 THEN NULL ELSE ${today} - (i % 1000) END, '{}', 1 FROM n`)
  const tags = query<[number, number]>(`${series} INSERT INTO object_tag (object_id, tag)
    SELECT ${id}, 'payments' FROM n WHERE i % 1000 = 6`)
  for (let from = 0; from < keys; from += block) {
    const params: [number, number] = [from, Math.min(from + block, keys) - 1]
    await db.commit([
      { query: rows as never, params },
      { query: tags as never, params },
    ])
  }
  // As autovacuum does a minute later. Without statistics PostgreSQL reads the whole table for some filters.
  if (!isSqlite) await db.commit([{ query: query<[]>('ANALYZE'), params: [] }])
}
