import { type Change, change, type Database, insertInto, query } from '@warder/storage'
import { inSome, marks } from '../objects/inventory-store.ts'
import type { ObjectId } from '../objects/object-id.ts'
import type { AliasName } from './alias-name.ts'

/** Topic of `Database.changed` for rows of `key_alias`. */
export const aliasTopic = 'key_alias'

interface AliasRow {
  readonly owner: string
  readonly name: string
  readonly key_id: string
  readonly created_at: number
  readonly changed_at: number
  readonly version: number
}

const columns = 'owner, name, key_id, created_at, changed_at, version'
export const aliasVersion = query<[id: string], { readonly version: number }>(
  'SELECT version FROM key_alias WHERE id = ?',
)
const byId = query<[id: string], AliasRow>(`SELECT ${columns} FROM key_alias WHERE id = ?`)
const ofOwner = query<[owner: string, after: string, most: number], AliasRow>(
  `SELECT ${columns} FROM key_alias WHERE owner = ? AND name > ? ORDER BY name LIMIT ?`,
)
const ofKey = query<[key: string, owner: string, most: number], AliasRow>(
  `SELECT ${columns} FROM key_alias WHERE key_id = ? AND owner = ? ORDER BY name LIMIT ?`,
)
const ofKeys = query<string[], Pick<AliasRow, 'key_id' | 'owner' | 'name'>>(
  `SELECT key_id, owner, name FROM key_alias WHERE key_id IN (${marks}) ORDER BY key_id, name`,
)
const ofName = query<[name: string, most: number], AliasRow>(
  `SELECT ${columns} FROM key_alias WHERE name = ? ORDER BY owner LIMIT ?`,
)
const count = query<[owner: string], { readonly count: number }>(
  'SELECT COUNT(*) AS count FROM key_alias WHERE owner = ?',
)
const insert = insertInto<
  [id: string, owner: string, name: string, key: string, created: number, changed: number, version: number]
>('key_alias', ['id', 'owner', 'name', 'key_id', 'created_at', 'changed_at', 'version'])
const move = query<[key: string, now: number, id: string, version: number], unknown>(
  'UPDATE key_alias SET key_id = ?, changed_at = ?, version = version + 1 WHERE id = ? AND version = ?',
)
const remove = query<[id: string, version: number], unknown>(
  'DELETE FROM key_alias WHERE id = ? AND version = ?',
)
const give = query<[id: string, owner: string, now: number, id: string, version: number], unknown>(
  `UPDATE key_alias SET id = ?, owner = ?, changed_at = ?, version = version + 1
     WHERE id = ? AND version = ?`,
)

/** An alias and its current target key. Times in Unix milliseconds. */
export interface Alias extends AliasName {
  readonly keyId: ObjectId
  readonly createdAt: number
  readonly changedAt: number
  readonly version: number
}

/** The key of the row: no name holds `@`. */
export function aliasId({ owner, name }: AliasName): string {
  return `${name}@${owner}`
}

function toAlias(row: AliasRow): Alias {
  const { owner, name, key_id, created_at, changed_at, version } = row
  return { owner, name, keyId: key_id as ObjectId, createdAt: created_at, changedAt: changed_at, version }
}

export async function findAlias(db: Database, id: string): Promise<Alias | undefined> {
  const row = await db.get(byId, [id])
  return row === undefined ? undefined : toAlias(row)
}

/** In the order of names. */
/** Aliases of this name, of all owners: for commands that work on the files and have no caller. */
export async function aliasesNamed(
  db: Database,
  name: string,
  most: number,
): Promise<readonly { readonly owner: string; readonly name: string; readonly keyId: string }[]> {
  const rows = await db.all(ofName, [name, most])
  return rows.map(({ owner, name: alias, key_id }) => ({ owner, name: alias, keyId: key_id }))
}

export async function listAliases(
  db: Database,
  owner: string,
  after: string,
  most: number,
): Promise<readonly Alias[]> {
  return (await db.all(ofOwner, [owner, after, most])).map(toAlias)
}

/** The aliases of one owner for a key. */
export async function aliasesOfKey(
  db: Database,
  owner: string,
  keyId: string,
  most: number,
): Promise<readonly Alias[]> {
  return (await db.all(ofKey, [keyId, owner, most])).map(toAlias)
}

/** Aliases that the owners of keys have for them, without the owner: of many keys at once. */
export async function ownAliasesOfMany(
  db: Database,
  keys: readonly { readonly id: ObjectId; readonly owner: string }[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const owners = new Map(keys.map(({ id, owner }) => [id as string, owner]))
  const names = new Map<string, string[]>()
  for (const { key_id: id, owner, name } of await inSome(db, ofKeys, [...owners.keys()])) {
    // Aliases of other users are not shown to the user who lists the key.
    if (owners.get(id) !== owner) continue
    const own = names.get(id)
    if (own === undefined) names.set(id, [name])
    else own.push(name)
  }
  return names
}

/** How many an owner has. */
export async function countAliases(db: Database, owner: string): Promise<number> {
  return (await db.get(count, [owner]))?.count ?? 0
}

/**
 * Makes an alias. The first version is the time in microseconds, so that one that is made again under the same name
 * continues above. @throws UniqueViolation by the commit, when the owner has it already
 */
export function aliasCreation(db: Database, alias: AliasName, keyId: ObjectId, now: number): Change[] {
  const id = aliasId(alias)
  const { owner, name } = alias
  return [change(insert, [id, owner, name, keyId, now, now, now * 1000], 1), db.changed(aliasTopic, id)]
}

/** Points an alias to another key, if the alias was not changed since it was read. */
export function aliasMove(db: Database, alias: Alias, keyId: ObjectId, now: number): Change[] {
  const id = aliasId(alias)
  return [change(move, [keyId, now, id, alias.version], 1), db.changed(aliasTopic, id)]
}

export function aliasRemoval(db: Database, alias: Alias): Change[] {
  const id = aliasId(alias)
  return [change(remove, [id, alias.version], 1), db.changed(aliasTopic, id)]
}

/** Transfers an alias to another owner, who has none of that name. */
export function aliasTransfer(db: Database, alias: Alias, to: string, now: number): Change[] {
  const [from, id] = [aliasId(alias), aliasId({ ...alias, owner: to })]
  return [
    change(give, [id, to, now, from, alias.version], 1),
    db.changed(aliasTopic, from),
    db.changed(aliasTopic, id),
  ]
}
