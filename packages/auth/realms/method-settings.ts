import Type, { type Static, type TSchema } from 'typebox'
import { type WithoutUnset, withoutUnset } from './without-unset.ts'

/** `auth_params` of a realm as kept and answered: checked, unset members absent. A member is what one method made of it. */
export type AuthParams = Readonly<Record<string, unknown>>

/** One member of `auth_params`. */
export interface RealmMember {
  readonly member: string
  /** As published; absent and null are allowed, and leave the method closed. */
  readonly schema: TSchema
  /**
   * What is kept of a value that the schema let through.
   * @throws failure('bad_request') that names the member
   */
  read(input: unknown, saved: SavedRealm): unknown
}

/** The realm whose settings are being saved. */
export interface SavedRealm {
  readonly realmId: string
  /** Unix seconds. */
  readonly now: number
}

/** The settings that a method has in each realm. */
export interface MethodSettings<Kept> extends RealmMember {
  /** Those of one realm; undefined where the realm does not offer the method. */
  of(realm: { readonly auth_params: AuthParams }): Kept | undefined
}

/**
 * Declares the settings of a method, once: what is kept, and its type, follow from the schema of the object. Unknown
 * members and those that are null are dropped.
 * @param check what the schema cannot say, and defaults. Its second parameter names the member in sentences
 */
export function methodSettings<Schema extends TSchema, Kept = WithoutUnset<Static<Schema>>>(
  member: string,
  schema: Schema,
  check?: (settings: WithoutUnset<Static<Schema>>, at: string, saved: SavedRealm) => Kept,
): MethodSettings<Kept> {
  return {
    member,
    schema: nullable(schema),
    read(input, saved) {
      const settings = withoutUnset(schema, input) as WithoutUnset<Static<Schema>>
      return check === undefined ? settings : check(settings, `auth_params.${member}`, saved)
    },
    // Values in the database were read by this very declaration before they were stored.
    of: ({ auth_params }) => auth_params[member] as Kept | undefined,
  }
}

/** A member that may be left out or null. */
export const nullable = <T extends TSchema>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]))

/** The schema of `auth_params` with these members. */
export function authParamsSchema(members: readonly RealmMember[]) {
  return Type.Object(Object.fromEntries(members.map(({ member, schema }) => [member, schema])))
}

/**
 * Checks what the schema cannot say and drops what is unknown or unset.
 * @throws failure('bad_request') that names the member
 */
export function readAuthParams(
  members: readonly RealmMember[],
  input: AuthParams,
  saved: SavedRealm,
): AuthParams {
  const given = members.filter(({ member }) => (input[member] ?? null) !== null)
  return Object.fromEntries(given.map(({ member, read }) => [member, read(input[member], saved)]))
}
