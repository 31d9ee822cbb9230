import { type Database, query } from '@warder/storage'

interface Answer {
  readonly known: number
}
type Name = [realm: string, username: string]

const standings = query<[...Name, ...Name, ...Name], { readonly what: keyof Standing }>(
  `SELECT 'password' AS what FROM credential WHERE realm_id = ? AND username = ?
   UNION ALL SELECT 'provider' AS what FROM jwt_subject WHERE realm_id = ? AND subject = ?
   UNION ALL SELECT 'person' AS what FROM person WHERE realm_id = ? AND username = ?`,
)
const role = query<[name: string, realm: string], Answer>(
  'SELECT 1 AS known FROM approle_role WHERE name = ? AND realm_id = ?',
)

/** Use of a user name. */
export interface Standing {
  /** Registered with a password. */
  readonly password: boolean
  /** An identity provider of the realm has the name. */
  readonly provider: boolean
  /** A user has logged in with it, by any scheme: users of SAML and of certificates are not registered. */
  readonly person: boolean
}

export async function readStanding(db: Database, realm: string, username: string): Promise<Standing> {
  const rows = await db.all(standings, [realm, username, realm, username, realm, username])
  const found = new Set(rows.map(({ what }) => what))
  return { password: found.has('password'), provider: found.has('provider'), person: found.has('person') }
}

/** Whether the name is registered, or a user has logged in with it. */
export async function isKnownUser(db: Database, realm: string, username: string): Promise<boolean> {
  const { password, provider, person } = await readStanding(db, realm, username)
  return password || provider || person
}

/** Whether a role of machines has this name in the realm. */
export async function isKnownRole(db: Database, realm: string, name: string): Promise<boolean> {
  return (await db.get(role, [name, realm])) !== undefined
}
