import Type from 'typebox'

/** The realm of the super administrators. */
export const superRealm = '_'

/** 1 to 64 letters, digits, `_` and `-`. Case counts; nothing is folded, trimmed or decoded a second time. */
export const RealmId = Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' })

/** `?realm=` of a request that names the realm it is about. */
export const RealmQuery = Type.Object({ realm: RealmId })

/** Path of everything that belongs to one realm. */
export const RealmPath = Type.Object({ realm_id: RealmId })
