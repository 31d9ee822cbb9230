import { createHash } from 'node:crypto'
import { type Database, openTemporaryDatabase, query, type SqlValue } from '@warder/storage'
import { groupPrefix } from './grantee-store.ts'
import { toMemberRow } from './group-store.ts'
import type { RightChange, RightKind } from './rights-journal-store.ts'

// Rights of a moment in the past, in tables of the names and columns that the report of rights reads.

type Row = Readonly<Record<string, SqlValue>>

const tables = [
  `CREATE TABLE managed_object (id TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL, chain_id TEXT) STRICT`,
  `CREATE TABLE object_grant (object_id TEXT NOT NULL, user_id TEXT NOT NULL, operation TEXT NOT NULL,
    PRIMARY KEY (object_id, user_id, operation)) STRICT, WITHOUT ROWID`,
  `CREATE TABLE object_tag (object_id TEXT NOT NULL, tag TEXT NOT NULL, PRIMARY KEY (object_id, tag)) STRICT, WITHOUT ROWID`,
  `CREATE TABLE tag_grant (owner TEXT NOT NULL, tag TEXT NOT NULL, user_id TEXT NOT NULL, operation TEXT NOT NULL,
    PRIMARY KEY (owner, tag, user_id, operation)) STRICT, WITHOUT ROWID`,
  `CREATE TABLE access_group_member (group_id TEXT NOT NULL, member TEXT NOT NULL, lookup TEXT NOT NULL, head TEXT NOT NULL,
    tail TEXT NOT NULL, PRIMARY KEY (group_id, member)) STRICT, WITHOUT ROWID`,
  `CREATE TABLE access_membership (lookup TEXT NOT NULL, group_id TEXT NOT NULL, head TEXT NOT NULL, tail TEXT NOT NULL,
    PRIMARY KEY (lookup, group_id, head, tail)) STRICT, WITHOUT ROWID`,
  `CREATE TABLE object_use (object_id TEXT NOT NULL, user_id TEXT NOT NULL, day INTEGER NOT NULL,
    PRIMARY KEY (object_id, user_id)) STRICT, WITHOUT ROWID`,
  `CREATE TABLE undone (digest BLOB NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID`,
]

const indexes = [
  'CREATE INDEX managed_object_by_owner ON managed_object (owner, id)',
  'CREATE INDEX object_grant_by_user ON object_grant (user_id, object_id)',
  'CREATE INDEX object_tag_by_tag ON object_tag (tag, object_id)',
  'CREATE INDEX tag_grant_by_user ON tag_grant (user_id, owner, tag)',
  'CREATE INDEX access_membership_by_group ON access_membership (group_id, lookup)',
]

/** The members of each group with those of its groups, three in a chain (`group-store.ts`). */
const derive = `INSERT OR IGNORE INTO access_membership (lookup, group_id, head, tail)
  SELECT d.lookup, g.root, d.head, d.tail FROM (
      SELECT group_id AS root, group_id AS part FROM access_group_member
      UNION SELECT a.group_id, a.member FROM access_group_member a
      UNION SELECT a.group_id, b.member FROM access_group_member a JOIN access_group_member b ON b.group_id = a.member
    ) g JOIN access_group_member d ON d.group_id = g.part
    WHERE substr(d.lookup, 1, ${groupPrefix.length}) <> '${groupPrefix}'`

interface PastTable {
  readonly table: string
  readonly columns: readonly string[]
  /** Columns of the primary key, which is also the order in which the rows are copied. */
  readonly key: number
  /** Rows of the service's database that are rights. */
  readonly where?: string
}

const pastTables: Readonly<Record<RightKind, PastTable>> = {
  key: {
    table: 'managed_object',
    columns: ['id', 'owner'],
    key: 1,
    where: '(chain_id IS NULL OR chain_id = id)',
  },
  grant: { table: 'object_grant', columns: ['object_id', 'user_id', 'operation'], key: 3 },
  tag: { table: 'object_tag', columns: ['object_id', 'tag'], key: 2, where: "substr(tag, 1, 1) <> '_'" },
  tag_grant: { table: 'tag_grant', columns: ['owner', 'tag', 'user_id', 'operation'], key: 4 },
  member: {
    table: 'access_group_member',
    columns: ['group_id', 'member', 'lookup', 'head', 'tail'],
    key: 2,
  },
}
export const rightKinds = Object.keys(pastTables) as readonly RightKind[]

const pages = Object.fromEntries(
  Object.entries(pastTables).map(([kind, { table, columns, key, where }]) => {
    const order = columns.slice(0, key).join(', ')
    const after = columns
      .slice(0, key)
      .map(() => '?')
      .join(', ')
    return [
      kind,
      query<readonly SqlValue[], Row>(
        `SELECT ${columns.join(', ')} FROM ${table} WHERE (${order}) > (${after})${where === undefined ? '' : ` AND ${where}`} ORDER BY ${order} LIMIT ?`,
      ),
    ]
  }),
)

/** Reads the present rights of a kind, `limit` at a time. */
export async function* readPresentRights(
  db: Pick<Database, 'all'>,
  kind: RightKind,
  limit: number,
): AsyncGenerator<readonly (readonly SqlValue[])[]> {
  const { columns, key } = pastTables[kind]
  const page = pages[kind] as (typeof pages)[string]
  for (let after: readonly SqlValue[] = Array(key).fill(''); ; ) {
    const rows = (await db.all(page, [...after, limit])).map((row) =>
      columns.map((name) => row[name] ?? null),
    )
    if (rows.length > 0) yield rows
    if (rows.length < limit) return
    after = rows.at(-1)?.slice(0, key) ?? after
  }
}

/** Tables that begin with present rights, from which newer changes are then undone. */
export interface PastTables {
  add(kind: RightKind, rows: readonly (readonly SqlValue[])[]): void
  /**
   * Undoes changes, the newest first.
   * @param strict requires that each change is visible in the present rows
   * @returns the first change that contradicts the rows
   */
  undo(changes: readonly RightChange[], strict: boolean): RightChange | undefined
  /** Whether all of these changes were undone. */
  hasUndone(changes: readonly RightChange[]): boolean
  /** All changes are undone: the tables can be read. */
  finish(): void
  all(text: string, params: readonly SqlValue[]): readonly Row[]
  close(): void
}

const digest = (one: RightChange): Uint8Array => createHash('sha256').update(JSON.stringify(one)).digest()

export function createPastTables(): PastTables {
  const db = openTemporaryDatabase()
  for (const text of tables) db.exec(text)
  db.exec('BEGIN')
  const insert = (kind: RightKind, values: readonly SqlValue[]): number => {
    const { table, columns } = pastTables[kind]
    const marks = columns.map(() => '?').join(', ')
    const text = `INSERT OR IGNORE INTO ${table} (${columns.join(', ')}) VALUES (${marks})`
    return db.run(text, values)
  }
  const remove = (kind: RightKind, values: readonly SqlValue[]): number => {
    const { table, columns } = pastTables[kind]
    const where = values.map((_, index) => `${columns[index]} = ?`).join(' AND ')
    return db.run(`DELETE FROM ${table} WHERE ${where}`, values)
  }
  const undoOne = ([, name, ...values]: RightChange): number => {
    const kind = name.slice(1) as RightKind
    if (name.startsWith('+')) return remove(kind, values)
    return insert(kind, kind === 'member' ? [values[0] ?? '', ...toMemberRow(values[1] ?? '')] : values)
  }
  return {
    add(kind, rows) {
      for (const row of rows) insert(kind, row)
    },
    undo(changes, strict) {
      for (const one of changes) {
        db.run('INSERT OR IGNORE INTO undone (digest) VALUES (?)', [digest(one)])
        if (one[1] !== '+restore' && undoOne(one) !== 1 && strict) return one
      }
      return undefined
    },
    hasUndone: (changes) =>
      changes.every(
        (one) => db.all('SELECT 1 AS found FROM undone WHERE digest = ?', [digest(one)]).length > 0,
      ),
    finish() {
      db.exec(derive)
      for (const text of indexes) db.exec(text)
      db.exec('COMMIT')
    },
    all: (text, params) => db.all(text, params),
    close: () => db.close(),
  }
}
