import { failure } from '@warder/base'
import Type, { type Static, type TSchema } from 'typebox'
import { Username } from '../texts.ts'

/** The realm of the super administrators. */
export const superRealm = '_'

/** 1 to 64 letters, digits, `_` and `-`. Case-sensitive; not folded, trimmed or decoded twice. */
export const RealmId = Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' })

/** `?realm=` of a request that names a realm. */
export const RealmQuery = Type.Object({ realm: RealmId })

/** Path of everything that belongs to one realm. */
export const RealmPath = Type.Object({ realm_id: RealmId })

/** Path of everything that belongs to one user of a realm. */
export const UserPath = Type.Intersect([RealmPath, Type.Object({ username: Username })])

/**
 * Stored `auth_params` of a realm: validated, without unset members. Each member is the result of its method's check.
 */
export type AuthParams = Readonly<Record<string, unknown>>

/** One member of `auth_params`. */
export interface RealmMember {
  readonly member: string
  /** The published schema; absent and null are allowed, and disable the method. */
  readonly schema: TSchema
  /**
   * Returns the value to store for a value that matches the schema.
   * @throws failure('bad_request') that names the member
   */
  read(input: unknown, saved: SavedRealm): unknown
}

/** The realm whose settings are being saved. */
interface SavedRealm {
  readonly realmId: string
  /** Unix seconds. */
  readonly now: number
}

/** The settings that a method has in each realm. */
interface MethodSettings<Kept> extends RealmMember {
  /** Settings of one realm; undefined when the method is disabled there. */
  of(realm: { readonly auth_params: AuthParams }): Kept | undefined
}

/**
 * Declares the settings of a method in one place: the stored value and its type follow from the schema. Unknown and
 * null members are dropped.
 * @param check applies the rules and defaults that the schema cannot express. Its second parameter names the member
 *   in error messages
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
    // The database contains only values that this declaration has validated.
    of: ({ auth_params }) => auth_params[member] as Kept | undefined,
  }
}

/** A member that may be left out or null. */
export const nullable = <T extends TSchema>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]))

/** The schema of `auth_params` with these members. */
function authParamsSchema(members: readonly RealmMember[]) {
  return Type.Object(Object.fromEntries(members.map(({ member, schema }) => [member, schema])))
}

/**
 * Checks the rules that the schema cannot express, and drops unknown and unset members.
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

/** A value of a schema without its null members: members that may be null become optional. */
type WithoutUnset<T> = T extends readonly (infer Item)[]
  ? readonly WithoutUnset<Item>[]
  : T extends object
    ? { readonly [Name in keyof T]: WithoutUnset<Exclude<T[Name], null>> }
    : T

interface SchemaParts {
  readonly type?: string
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly items?: TSchema
  readonly anyOf?: readonly TSchema[]
}

/**
 * Drops null members and those that the schema does not know, at every level, in the order of the schema. A union
 * consists of one schema and null.
 * @param value one that matches the schema
 */
function withoutUnset(schema: TSchema, value: unknown): unknown {
  const { properties, items, anyOf } = schema as SchemaParts
  const [one, ...others] = (anyOf ?? []).filter((option) => (option as SchemaParts).type !== 'null')
  if (others.length > 0) throw new Error('settings of a realm: a union may only be one of a schema and null')
  if (one !== undefined) return withoutUnset(one, value)
  if (items !== undefined) return (value as readonly unknown[]).map((item) => withoutUnset(items, item))
  if (properties === undefined) return value
  const given = value as Readonly<Record<string, unknown>>
  const set = Object.entries(properties).filter(
    ([name]) => Object.hasOwn(given, name) && (given[name] ?? null) !== null,
  )
  return Object.fromEntries(set.map(([name, member]) => [name, withoutUnset(member, given[name])]))
}

/** Ages are added to the current time; 100 years is far beyond any use and far below any overflow. */
export const maxSessionAgeSeconds = 100 * 366 * 86_400
const Age = Type.Integer({ minimum: 1, maximum: maxSessionAgeSeconds })
const defaultCertificateAge = 365 * 86_400

/**
 * A realm in a request. `id` may be omitted if the path contains it.
 * @param members of its `auth_params`
 */
export function realmInput(members: readonly RealmMember[]) {
  return Type.Object({
    id: Type.Optional(RealmId),
    auth_params: authParamsSchema(members),
    session_max_age_seconds: Age,
    session_max_stale_age_seconds: Age,
    certificate_max_age_seconds: Type.Optional(Type.Union([Age, Type.Null()])),
  })
}

export interface Realm {
  readonly id: string
  readonly auth_params: AuthParams
  readonly session_max_age_seconds: number
  readonly session_max_stale_age_seconds: number
  readonly certificate_max_age_seconds: number
}

export const RealmReply = Type.Object({
  id: RealmId,
  auth_params: Type.Record(Type.String(), Type.Unknown()),
  session_max_age_seconds: Type.Integer(),
  session_max_stale_age_seconds: Type.Integer(),
  certificate_max_age_seconds: Type.Integer(),
})

/**
 * @param now Unix seconds
 * @throws failure('bad_request') when a member is invalid
 */
export function readRealm(
  members: readonly RealmMember[],
  id: string | undefined,
  input: Static<ReturnType<typeof realmInput>>,
  now: number,
): Realm {
  if (id === undefined) throw failure('bad_request', 'Invalid request body: id: is required.')
  return {
    id,
    auth_params: readAuthParams(members, input.auth_params, { realmId: id, now }),
    session_max_age_seconds: input.session_max_age_seconds,
    session_max_stale_age_seconds: input.session_max_stale_age_seconds,
    certificate_max_age_seconds: input.certificate_max_age_seconds ?? defaultCertificateAge,
  }
}
