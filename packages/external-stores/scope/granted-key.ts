import { failure } from '@warder/base'
import {
  type AccessServices,
  asObjectId,
  type Blocks,
  type ExternalStoreName,
  everyPrincipal,
  externalPrefix,
  externalPrincipal,
  findRightsForAny,
  hasGrantWithPrefix,
  isGrantedToAny,
  type Key,
  keyNotFound,
  normalizeName,
  type ObjectId,
  type Right,
} from '@warder/keys'
import { createUnchangedRows, type Database, type UnchangedRows } from '@warder/storage'

/** Names of a cloud principal in grants: its own, which can be blocked, and those of all principals of the store. */
export interface Grantee {
  readonly store: ExternalStoreName
  readonly names: readonly string[]
  readonly allUsers: readonly string[]
  /** Prefix of the names of the store; AWS has several stores, and a store must not learn about keys of the others. */
  readonly beginning: string
  readonly except?: string
}

/** @param principal name of the caller at the vendor */
export function granteeNamed(store: ExternalStoreName, principal: string): Grantee {
  const written = externalPrincipal(store, principal)
  const normal = normalizeName(written)
  return {
    store,
    // Grants made before names were normalized are found as they were written.
    names: normal === written ? [normal] : [normal, written],
    allUsers: [externalPrincipal(store, everyPrincipal)],
    beginning: externalPrefix(store),
  }
}

/** Rights granted to principals of clouds, as long as nothing in the database changes. */
export type KnownGrants = UnchangedRows<ReadonlySet<string>>

interface Services extends Pick<AccessServices, 'db' | 'keys'> {
  readonly external: { readonly grants: KnownGrants }
  readonly blocks: Blocks
}

const maxGrants = 10_000

export function createKnownGrants(db: Database): KnownGrants {
  return createUnchangedRows(db, maxGrants)
}

/**
 * Finds the key with this id, if `right` on it was granted to this principal of the store (`aws:arn:…`) or to all of
 * them (`aws:*`). Nothing else counts: neither ownership, nor roles, nor grants to all users, so that a cloud uses only
 * the keys that were granted to it (docs/adr/cloud-key-stores.md).
 * @throws failure('not_found') when there is none, or no principal of the store has a right on it;
 *   failure('forbidden') when other principals have one, or this one another right; and for a blocked principal
 */
export async function requireGrantedKey(
  services: Services,
  grantee: Grantee,
  kid: string,
  right: Right,
): Promise<Key> {
  const id = asObjectId(kid)
  if (id === undefined) throw keyNotFound()
  const { store, names } = grantee
  const [name = '', ...aliases] = names
  await services.blocks.require({ name, aliases, method: store })
  const key = await services.keys.get(id)
  if (key === undefined) throw keyNotFound()
  const rights = await findGrants(services, grantee, id)
  return rights?.has(right) === true ? key : refuse(services, grantee, id)
}

/**
 * Whether `right` on a key was granted to any of these principals of a store, or to all of the store: for callers with
 * many names, such as the groups of a token.
 */
export function grantedToAny(
  { db }: Pick<Services, 'db'>,
  store: ExternalStoreName,
  principals: readonly string[],
  id: ObjectId,
  right: Right,
): Promise<boolean> {
  const names = [...principals, everyPrincipal].map((principal) =>
    normalizeName(externalPrincipal(store, principal)),
  )
  return isGrantedToAny(db, id, right, names)
}

function findGrants(
  { db, external }: Services,
  { names, allUsers }: Grantee,
  id: ObjectId,
): Promise<ReadonlySet<string> | undefined> {
  const all = [...names, ...allUsers]
  // Ids contain no control characters, so a line end separates the id from the names.
  return external.grants.get(`${id}\n${JSON.stringify(all)}`, () => findRightsForAny(db, id, all))
}

async function refuse({ db }: Services, { beginning, except }: Grantee, id: ObjectId): Promise<never> {
  if (await hasGrantWithPrefix(db, id, beginning, except))
    throw failure('forbidden', 'This use of the key was not granted to this principal.')
  throw keyNotFound()
}
