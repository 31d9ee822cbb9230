import Type from 'typebox'

/** The realm of the super administrators. */
export const superRealm = '_'

/** 1 to 64 letters, digits, `_` and `-`. Case-sensitive; not folded, trimmed or decoded twice. */
export const RealmId = Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' })

/** `?realm=` of a request that names a realm. */
export const RealmQuery = Type.Object({ realm: RealmId })

/** Path of everything that belongs to one realm. */
export const RealmPath = Type.Object({ realm_id: RealmId })
