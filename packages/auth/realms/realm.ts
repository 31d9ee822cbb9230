import { failure } from '@warder/base'
import Type, { type Static } from 'typebox'
import { type AuthParams, authParamsSchema, type RealmMember, readAuthParams } from './method-settings.ts'
import { RealmId } from './realm-id.ts'

/** Ages are added to the current time; 100 years is far beyond any use and far below any overflow. */
export const maxSessionAgeSeconds = 100 * 366 * 86_400
const Age = Type.Integer({ minimum: 1, maximum: maxSessionAgeSeconds })
const defaultCertificateAge = 365 * 86_400

/**
 * A realm in a request. `id` may be omitted where the path contains it.
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
