import { createHash } from 'node:crypto'
import { BoundedMap } from '@warder/base'
import { listGrantees, type ObjectId } from '@warder/keys'
import { derElements, type ParsedCertificate, readAuthorityKeyIdentifier } from '@warder/pki'
import type { Caller } from '@warder/server'
import {
  type Change,
  change,
  type Database,
  insertInto,
  type Query,
  query,
  queryOfText,
  type SqlValue,
} from '@warder/storage'
import { issuerId, parseOnce } from './certificates.ts'
import type { AuthoritySettings } from './settings.ts'

/** Topic of `Database.changed` for issuers: their authorities and responders. */
export const issuerTopic = 'pki_issuer'

/** An authority as it is stored. Times in Unix milliseconds. */
export interface StoredAuthority {
  /** Of its certificate. */
  readonly id: ObjectId
  /** See `issuerId`. */
  readonly issuer: string
  readonly keyId: ObjectId
  /** DER. */
  readonly certificate: Uint8Array
  /** DER of the certificates above it, the next one first. */
  readonly chain: readonly Uint8Array[]
  readonly settings: AuthoritySettings
  readonly createdAt: number
}

interface Row {
  readonly certificate_id: string
  readonly issuer: string
  readonly key_id: string
  readonly certificate: Uint8Array
  readonly chain: Uint8Array
  readonly settings: string
  readonly created_at: number
}

const columns = 'a.certificate_id, a.issuer, a.key_id, a.certificate, a.chain, a.settings, a.created_at'
const byId = query<[id: string], Row>(`SELECT ${columns} FROM pki_authority a WHERE a.certificate_id = ?`)
const ofIssuer = query<[issuer: string], Row>(
  `SELECT ${columns} FROM pki_authority a WHERE a.issuer = ? ORDER BY a.created_at DESC, a.certificate_id DESC LIMIT 16`,
)
const withKey = query<[keyHash: string], { readonly certificate_id: string }>(
  'SELECT certificate_id FROM pki_authority WHERE key_hash = ? LIMIT 1',
)
/** Without limits the settings are empty. An authority whose certificate was removed counts as one of another owner. */
const limitedOfOthers = query<[keyHash: string, owner: string], { readonly certificate_id: string }>(
  `SELECT a.certificate_id FROM pki_authority a LEFT JOIN managed_object o ON o.id = a.certificate_id
     WHERE a.key_hash = ? AND a.settings <> '{}' AND COALESCE(o.owner, '') <> ? LIMIT 1`,
)
const insertAuthority = insertInto<
  [string, string, string, string, Uint8Array, Uint8Array, string, number, number]
>('pki_authority', [
  'certificate_id',
  'issuer',
  'key_id',
  'key_hash',
  'certificate',
  'chain',
  'settings',
  'created_at',
  'version',
])
const insertIssuer = query<[id: string, now: number, now2: number], unknown>(
  `INSERT INTO pki_issuer (id, crl_number, crl_due_at, responder_due_at, version) VALUES (?, 0, ?, ?, 1)
     ON CONFLICT (id) DO NOTHING`,
)
const insertHash = query<[hash: string, issuer: string], unknown>(
  'INSERT INTO pki_issuer_hash (hash, issuer) VALUES (?, ?) ON CONFLICT (hash) DO NOTHING',
)
const holderOfName = query<[name: string], { readonly issuer: string }>(
  'SELECT issuer FROM pki_issuer_hash WHERE hash = ?',
)
const touchIssuer = query<[id: string], unknown>('UPDATE pki_issuer SET version = version + 1 WHERE id = ?')
const issuerOfHash = query<[hash: string], { readonly issuer: string; readonly version: number }>(
  'SELECT h.issuer, i.version FROM pki_issuer_hash h JOIN pki_issuer i ON i.id = h.issuer WHERE h.hash = ?',
)
/** What an authority has published and issued. Times in Unix milliseconds. */
export interface AuthorityState {
  readonly crl:
    | { readonly number: number; readonly thisUpdate: number; readonly nextUpdate: number }
    | undefined
  /** Certificates in its register that have not expired, counted up to `maxCounted`. */
  readonly unexpired: number
}

interface StateRow {
  readonly number: number | null
  readonly this_update: number | null
  readonly next_update: number | null
  readonly unexpired: number
}

/** A register can have millions of entries. */
export const maxCounted = 1000
const stateColumns = `c.number, c.this_update, c.next_update, (SELECT COUNT(*) FROM (SELECT 1 FROM pki_issued i
  WHERE i.authority_id = a.certificate_id AND i.not_after > ? LIMIT ${maxCounted}) AS page) AS unexpired`
const stateById = query<[now: number, id: string], StateRow>(
  `SELECT ${stateColumns} FROM pki_authority a LEFT JOIN pki_crl c ON c.issuer = a.issuer WHERE a.certificate_id = ?`,
)

/** @param grantees SQL for all names under which the caller is a grantee */
function queryVisible(grantees: string): Query<readonly SqlValue[], Row & StateRow> {
  return queryOfText(
    `SELECT ${columns}, ${stateColumns} FROM pki_authority a JOIN managed_object o ON o.id = a.certificate_id
       LEFT JOIN pki_crl c ON c.issuer = a.issuer
       WHERE a.certificate_id > ? AND (? = 1 OR o.owner = ? OR EXISTS (
         SELECT 1 FROM object_grant g WHERE g.object_id = a.certificate_id AND g.user_id IN (${grantees}))
       OR EXISTS (SELECT 1 FROM object_tag k JOIN tag_grant t ON t.tag = k.tag
         WHERE k.object_id = a.certificate_id AND t.owner = o.owner AND t.user_id IN (${grantees})))
       ORDER BY a.certificate_id LIMIT ?`,
  )
}

/** Cached without expiry, because rows of authorities are never changed or removed. */
const known = new WeakMap<Database, Map<string, StoredAuthority>>()
const maxKnown = 1000

export async function readAuthority(db: Database, id: string): Promise<StoredAuthority | undefined> {
  const authorities = known.get(db) ?? new BoundedMap<string, StoredAuthority>(maxKnown)
  known.set(db, authorities)
  const before = authorities.get(id)
  if (before !== undefined) return before
  const row = await db.get(byId, [id])
  if (row === undefined) return undefined
  const authority = toAuthority(row)
  authorities.set(id, authority)
  return authority
}

/** The authorities with one name and key, the newest first. */
export async function listAuthorities(db: Database, issuer: string): Promise<readonly StoredAuthority[]> {
  return (await db.all(ofIssuer, [issuer])).map(toAuthority)
}

/** Is this the key of an authority? @param keyHash see `hashPublicKey` */
export async function isAuthorityKey(db: Database, keyHash: string): Promise<boolean> {
  return (await db.get(withKey, [keyHash])) !== undefined
}

/** Is this the key of an authority with limits that another user owns? @param keyHash see `hashPublicKey` */
export async function isLimitedByOthers(db: Database, keyHash: string, owner: string): Promise<boolean> {
  return (await db.get(limitedOfOthers, [keyHash, owner])) !== undefined
}

/**
 * A page of the authorities that the caller owns or has a right on, in the order of ids.
 * @param all authorities of all users
 * @param now Unix milliseconds
 */
export async function visibleAuthorities(
  db: Database,
  request: { caller: Caller; all: boolean; after: string; limit: number; now: number },
): Promise<readonly (readonly [StoredAuthority, AuthorityState])[]> {
  const { caller, all, after, limit, now } = request
  const { text, params } = listGrantees(caller)
  const values = [now, after, all ? 1 : 0, caller.name, ...params, ...params, limit]
  return (await db.all(queryVisible(text), values)).map((row) => [toAuthority(row), toState(row)])
}

/** @param now Unix milliseconds */
export async function readAuthorityState(db: Database, id: string, now: number): Promise<AuthorityState> {
  const row = await db.get(stateById, [now, id])
  return row === undefined ? { crl: undefined, unexpired: 0 } : toState(row)
}

function toState({ number, this_update, next_update, unexpired }: StateRow): AuthorityState {
  const isPublished = number !== null && this_update !== null && next_update !== null
  return {
    crl: isPublished ? { number, thisUpdate: this_update, nextUpdate: next_update } : undefined,
    unexpired,
  }
}

/**
 * Finds the authorities of this service that issued these authorities: those with the certificate above theirs, or else
 * the newest with its name and key. Roots, and authorities below those of other services, have none.
 * @returns identifiers by those of the authorities that they issued
 */
export async function findIssuers(
  db: Database,
  authorities: readonly Pick<StoredAuthority, 'id' | 'chain'>[],
): Promise<ReadonlyMap<string, ObjectId>> {
  const above = authorities.flatMap(({ id, chain: [certificate] }) => {
    if (certificate === undefined) return []
    const { subject: name, spki } = parseOnce(certificate)
    return [{ id, certificate, issuer: issuerId({ name, spki }) }]
  })
  const known = new Map<string, readonly StoredAuthority[]>()
  for (const issuer of new Set(above.map((each) => each.issuer)))
    known.set(issuer, await listAuthorities(db, issuer))
  return new Map(
    above.flatMap(({ id, certificate, issuer }) => {
      const candidates = known.get(issuer) ?? []
      const found =
        candidates.find((each) => Buffer.compare(each.certificate, certificate) === 0) ?? candidates[0]
      return found === undefined ? [] : [[id, found.id] as const]
    }),
  )
}

/** The first authority of a name, as its `issuerId`. @param name see `hashName` */
export async function findNameHolder(db: Database, name: string): Promise<string | undefined> {
  return (await db.get(holderOfName, [name]))?.issuer
}

/** Remembers the first authority of a name. @param name see `hashName` */
export function holdName(name: string, issuer: string): Change {
  return change(insertHash, [name, issuer])
}

/** Reserves a name that no authority has; the commit fails if another request reserved it meanwhile. */
export function takeFreeName(name: string, issuer: string): Change {
  return change(insertHash, [name, issuer], 1)
}

/** The issuer that a CertID identifies, with a version that increases when its authorities or its responder change. */
export const issuerByHash = issuerOfHash

/**
 * Changes that make a certificate an authority. Its issuer is due for a CRL and a responder at once.
 * @param hashes under which OCSP finds the issuer
 */
export function authorityChanges(
  db: Database,
  authority: StoredAuthority,
  keyHash: string,
  hashes: readonly string[],
): Change[] {
  const { id, issuer, keyId, certificate, chain, settings, createdAt } = authority
  return [
    change(insertIssuer, [issuer, createdAt, createdAt]),
    change(
      insertAuthority,
      [
        id,
        issuer,
        keyId,
        keyHash,
        certificate,
        Buffer.concat(chain),
        JSON.stringify(settings),
        createdAt,
        createdAt,
      ],
      1,
    ),
    ...hashes.map((hash) => change(insertHash, [hash, issuer])),
    ...issuerChanges(db, issuer),
  ]
}

/** Marks the issuer as changed, so that its OCSP responders read it again. */
export function issuerChanges(db: Database, issuer: string): Change[] {
  return [change(touchIssuer, [issuer], 1), db.changed(issuerTopic, issuer)]
}

function toAuthority(row: Row): StoredAuthority {
  return {
    id: row.certificate_id as ObjectId,
    issuer: row.issuer,
    keyId: row.key_id as ObjectId,
    certificate: row.certificate,
    chain: derElements(row.chain, 'The chain').map(({ whole }) => whole),
    settings: JSON.parse(row.settings) as AuthoritySettings,
    createdAt: row.created_at,
  }
}

/**
 * The authorities of this service that may have issued a certificate, by the issuer name and key identifier in it. Its
 * signature is not verified. An issuer whose key identifier is not the SHA-1 of its key (RFC 5280 §4.2.1.2, method 1)
 * is not found.
 */
export async function possibleIssuers(
  db: Database,
  { issuer, extensions }: Pick<ParsedCertificate, 'issuer' | 'extensions'>,
): Promise<readonly StoredAuthority[]> {
  const key = readAuthorityKeyIdentifier(extensions)
  if (key === undefined) return []
  const name = createHash('sha1').update(issuer).digest('hex')
  const found = await db.get(issuerByHash, [`sha1:${name}:${Buffer.from(key).toString('hex')}`])
  return found === undefined ? [] : listAuthorities(db, found.issuer)
}
