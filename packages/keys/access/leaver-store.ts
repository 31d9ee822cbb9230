import { type Database, query } from '@warder/storage'
import { findGroupsByPattern } from './grantee-store.ts'

/** Max names that an item lists; its count is whole. */
const maxNames = 100

interface Listed {
  readonly name: string
}

type ByName = readonly [name: string, limit: number]

/** Things of a user: a list of names, and their count. */
interface Source {
  readonly names: ReturnType<typeof query<ByName, Listed>>
  readonly count: ReturnType<typeof query<readonly [name: string], { readonly total: number }>>
}

/** @param rows the end of a statement, from its FROM on, with one parameter: the name of the user */
function source(name: string, rows: string, distinct = ''): Source {
  return {
    names: query(`SELECT ${distinct} ${name} AS name ${rows} ORDER BY ${name} LIMIT ?`),
    count: query(
      `SELECT COUNT(*) AS total FROM (SELECT ${distinct} ${name} AS name ${rows} LIMIT 1000000) AS owned`,
    ),
  }
}

const soleOwner = `NOT EXISTS (SELECT 1 FROM access_group_owner other
  WHERE other.group_id = a.group_id AND other.owner <> a.owner)`
const unfinished = "state IN ('open', 'approved')"

const sources = {
  keys: source(
    'o.id',
    'FROM managed_object o WHERE o.owner = ? AND (o.chain_id IS NULL OR o.chain_id = o.id)',
  ),
  aliases: source('name', 'FROM key_alias WHERE owner = ?'),
  grants: source('object_id', "FROM object_grant WHERE user_id = ? AND object_id <> '*'", 'DISTINCT'),
  general_rights: source('operation', "FROM object_grant WHERE user_id = ? AND object_id = '*'"),
  tag_grants: source('tag', 'FROM tag_grant WHERE user_id = ?', 'DISTINCT'),
  own_tag_grants: source('tag', 'FROM tag_grant WHERE owner = ?', 'DISTINCT'),
  memberships: source('group_id', 'FROM access_group_member WHERE member = ?'),
  sole_groups: source('a.group_id', `FROM access_group_owner a WHERE a.owner = ? AND ${soleOwner}`),
  shared_groups: source('a.group_id', `FROM access_group_owner a WHERE a.owner = ? AND NOT ${soleOwner}`),
  approval_requests: source('id', `FROM approval_request WHERE requester = ? AND ${unfinished}`),
  votes: source(
    'r.id',
    `FROM approval_vote v JOIN approval_request r ON r.id = v.request_id WHERE v.user_id = ? AND r.${unfinished}`,
  ),
  access_keys: source('id', 'FROM aws_access_key WHERE created_by = ?'),
  acme_accounts: source('id', 'FROM acme_account WHERE owner = ?'),
  activations: source('ceremony_id', 'FROM officer_activation WHERE user_id = ? AND ended_at IS NULL'),
} as const satisfies Readonly<Record<string, Source>>
export type LeavingKind = keyof typeof sources | 'patterns'

/** Things of one kind that a user has. */
export interface Leaving {
  readonly kind: LeavingKind
  readonly count: number
  /** At most 100, sorted. */
  readonly names: readonly string[]
}

/** All that a user has at this service, without kinds of which there is nothing. */
export async function findLeaving(db: Database, user: string): Promise<readonly Leaving[]> {
  const leaving: Leaving[] = []
  for (const [kind, { names, count }] of Object.entries(sources) as [keyof typeof sources, Source][]) {
    const listed = await db.all(names, [user, maxNames])
    if (listed.length === 0) continue
    const total = listed.length < maxNames ? listed.length : Number((await db.get(count, [user]))?.total)
    leaving.push({ kind, count: total, names: listed.map(({ name }) => name) })
  }
  const fitting = await findGroupsByPattern(db, user)
  if (fitting.length > 0)
    leaving.push({ kind: 'patterns', count: fitting.length, names: fitting.slice(0, maxNames) })
  return leaving
}
