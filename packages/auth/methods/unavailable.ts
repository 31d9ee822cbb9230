import { failure } from '@warder/foundation/errors'
import Type from 'typebox'
import type { RealmMember } from '../realms/index.ts'

/** A member of `auth_params` for a method that this server does not have. */
export function unavailable(member: string, what: string): RealmMember {
  return {
    member,
    schema: Type.Optional(Type.Unknown()),
    read() {
      throw failure('bad_request', `auth_params.${member}: ${what} is not available on this server.`)
    },
  }
}
