import { type Change, change, type Database, insertInto, query } from '@warder/storage'

/** Name of a user at an identity provider. */
export interface IdpName {
  readonly value: string
  readonly format: string | null
  readonly nameQualifier: string | null
  readonly spNameQualifier: string | null
}

/** A session that was created by a login at an identity provider, with the data of a single logout. */
export interface IdpSession {
  /** Id of the session of this service. */
  readonly id: string
  readonly realm: string
  readonly nameId: IdpName
  readonly sessionIndex: string | null
}

interface SessionRow {
  readonly session_id: string
  readonly name_id: string
  readonly name_id_format: string | null
  readonly name_qualifier: string | null
  readonly sp_name_qualifier: string | null
  readonly session_index: string | null
}

const columns = 'session_id, name_id, name_id_format, name_qualifier, sp_name_qualifier, session_index'
const byId = query<[id: string, realm: string], SessionRow>(
  `SELECT ${columns} FROM saml_session WHERE session_id = ? AND realm_id = ?`,
)
const byName = query<[realm: string, name: string, limit: number], SessionRow>(
  `SELECT ${columns} FROM saml_session WHERE realm_id = ? AND name_id = ? LIMIT ?`,
)
const insert = insertInto<
  [string, string, string, string | null, string | null, string | null, string | null, number]
>('saml_session', [
  'session_id',
  'realm_id',
  'name_id',
  'name_id_format',
  'name_qualifier',
  'sp_name_qualifier',
  'session_index',
  'ends_at',
])
const remove = query<[id: string], unknown>('DELETE FROM saml_session WHERE session_id = ?')

/** Maximum number of sessions of one name in a logout. */
const maxSessions = 1000

const toSession = (realm: string, row: SessionRow): IdpSession => ({
  id: row.session_id,
  realm,
  nameId: {
    value: row.name_id,
    format: row.name_id_format,
    nameQualifier: row.name_qualifier,
    spNameQualifier: row.sp_name_qualifier,
  },
  sessionIndex: row.session_index,
})

export async function findIdpSession(
  db: Database,
  id: string,
  realm: string,
): Promise<IdpSession | undefined> {
  const row = await db.get(byId, [id, realm])
  return row && toSession(realm, row)
}

/** Lists the sessions of a name, whatever its format. */
export async function listIdpSessions(
  db: Database,
  realm: string,
  name: string,
): Promise<readonly IdpSession[]> {
  return (await db.all(byName, [realm, name, maxSessions])).map((row) => toSession(realm, row))
}

/** @param endsAt Unix seconds: the session has ended by then */
export function idpSessionInsertion({ id, realm, nameId, sessionIndex }: IdpSession, endsAt: number): Change {
  const { value, format, nameQualifier, spNameQualifier } = nameId
  return change(insert, [id, realm, value, format, nameQualifier, spNameQualifier, sessionIndex, endsAt])
}

export function idpSessionRemoval(id: string): Change {
  return change(remove, [id])
}
