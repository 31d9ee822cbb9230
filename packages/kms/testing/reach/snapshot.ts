import { query } from '@warder/storage'
import { owners } from './holders.ts'
import type { World } from './world.ts'

export type Row = Readonly<Record<string, unknown>>

/** The state of everything that owners have. */
export interface Snapshot {
  readonly objects: ReadonlyMap<string, Row>
  readonly grants: ReadonlySet<string>
  readonly tags: ReadonlySet<string>
  /** Grants by tag of the owners. */
  readonly tagGrants: ReadonlySet<string>
  /** Members and owners of the owners' groups, as rows have them. */
  readonly groups: ReadonlySet<string>
  readonly aliases: ReadonlySet<string>
  /** The directory of ACME of the authority, with its credentials and accounts. */
  readonly acme: ReadonlySet<string>
  readonly issued: ReadonlyMap<string, Row>
  readonly foreign: readonly Row[]
}

const objectRows = query<string[], Row>(
  `SELECT * FROM managed_object WHERE owner IN (${owners.map(() => '?').join(', ')})`,
)
const foreignRows = query<[], Row>('SELECT id, owner FROM managed_object')
const grantRows = query<[], Row>('SELECT object_id, user_id, operation FROM object_grant')
const tagRows = query<[], Row>('SELECT object_id, tag FROM object_tag')
const tagGrantRows = query<[], Row>('SELECT owner, tag, user_id, operation FROM tag_grant')
const memberRows = query<[], Row>('SELECT group_id, member FROM access_group_member')
const groupOwnerRows = query<[], Row>('SELECT group_id, owner FROM access_group_owner')
const directoryRows = query<[], Row>('SELECT authority_id, settings, opened_by FROM acme_directory')
const credentialRows = query<[], Row>('SELECT authority_id, id, owner, expires_at FROM acme_credential')
const accountRows = query<[], Row>('SELECT authority_id, id, status, thumbprint, owner FROM acme_account')
const aliasRows = query<[], Row>('SELECT * FROM key_alias')
const issuedRows = query<[], Row>(
  'SELECT id, authority_id, certificate_id, fingerprint, reason FROM pki_issued',
)

export function formatValue(value: unknown): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value)
}

/** Reads the rows of the database: the service is not asked. */
export async function readSnapshot(world: World): Promise<Snapshot> {
  const { db } = world.kms.environment
  const objects = await db.all(objectRows, [...owners])
  const all = await db.all(foreignRows, [])
  return {
    objects: new Map(objects.map((row) => [String(row.id), row])),
    foreign: all.filter(({ owner }) => !owners.some((one) => one === owner)),
    grants: new Set(
      (await db.all(grantRows, [])).map(({ object_id, user_id, operation }) =>
        JSON.stringify([object_id, user_id, operation]),
      ),
    ),
    tags: new Set((await db.all(tagRows, [])).map(({ object_id, tag }) => JSON.stringify([object_id, tag]))),
    tagGrants: new Set(
      (await db.all(tagGrantRows, []))
        .filter(({ owner }) => owners.some((one) => one === owner))
        .map(({ owner, tag, user_id, operation }) => JSON.stringify([owner, tag, user_id, operation])),
    ),
    groups: new Set(
      [...(await db.all(memberRows, [])), ...(await db.all(groupOwnerRows, []))]
        .filter(({ group_id }) => world.groups.some(({ id }) => id === group_id))
        .map(({ group_id, ...entry }) => JSON.stringify([group_id, entry])),
    ),
    aliases: new Set(
      (await db.all(aliasRows, []))
        .filter(({ owner }) => owners.some((one) => one === owner))
        .map((row) => JSON.stringify(Object.values(row).map(formatValue))),
    ),
    acme: new Set(
      (await Promise.all([directoryRows, credentialRows, accountRows].map((rows) => db.all(rows, []))))
        .flat()
        .filter(({ authority_id }) => authority_id === world.authority.id)
        .map((row) => JSON.stringify(Object.values(row).map(formatValue))),
    ),
    issued: new Map((await db.all(issuedRows, [])).map((row) => [String(row.id), row])),
  }
}
