/** The first realm, whose users are known by their plain names. */
const firstRealm = '_'
const realmId = /^[A-Za-z0-9_-]{1,64}$/
/** A name that could be read as that of a user of another realm. */
const withRealm = /^[A-Za-z0-9_-]{1,64}\//

export function isRealmId(text: string): boolean {
  return realmId.test(text)
}

/**
 * Name of a user of the authentication service at this service: users of the first realm by their names, users of other
 * realms as `realm/name`, since equal names in two realms are two users. A name of the first realm that could be read
 * as the latter is also prefixed with its realm, so that names are unique.
 * @param only the one realm that is accepted, whose names are plain; undefined = every realm is
 */
export function userName(realm: string, username: string, only: string | undefined): string {
  if (realm === only) return username
  if (realm === firstRealm && !withRealm.test(username)) return username
  return `${realm}/${username}`
}

/** Whether a user of the realm may have this name at this service. */
export function isNameOfRealm(name: string, realm: string, only: string | undefined): boolean {
  const isPlain = realm === only || (realm === firstRealm && !withRealm.test(name))
  return isPlain || name.startsWith(`${realm}/`)
}

/** Parses a typed user name: `realm/name`, or a name in the accepted realm or else in the first one. */
export function parseTypedUser(
  text: string,
  only: string | undefined,
): { readonly realm: string; readonly username: string } {
  if (only !== undefined) return { realm: only, username: text }
  if (!withRealm.test(text)) return { realm: firstRealm, username: text }
  const slash = text.indexOf('/')
  return { realm: text.slice(0, slash), username: text.slice(slash + 1) }
}
