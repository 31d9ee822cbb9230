import { failure } from '@warder/foundation/errors'
import { defineOperation, del, get } from '@warder/foundation/operations'
import type { Database } from '@warder/foundation/sql'
import type { Metrics } from '@warder/foundation/telemetry'
import Type from 'typebox'
import { realmAdmin } from '../callers/index.ts'
import { countSessions } from '../counting/index.ts'
import { personEnd } from '../persons/index.ts'
import { RealmPath, realmOrThrow } from '../realms/index.ts'
import { countEndedSessions, externalSessionsEnd } from '../sessions/index.ts'
import { Username } from '../texts/index.ts'
import { readStanding } from './known-store.ts'

interface PersonServices {
  readonly db: Database
  readonly metrics: Metrics
  /** Unix seconds. */
  readonly now: () => number
}

const define = defineOperation<PersonServices>()
const tag = 'Persons'
const PersonPath = Type.Intersect([RealmPath, Type.Object({ username: Username })])
const access = realmAdmin

/** Users of a realm, however they log in. A name that is ended here is another person's when it is used next. */
export const personOperations = [
  define({
    name: 'persons.get',
    route: get('/realms/{realm_id}/persons/{username}'),
    summary: 'How somebody has a name',
    tag,
    access,
    pathParameters: PersonPath,
    reply: Type.Object({
      username: Type.String(),
      password: Type.Boolean({ description: 'Registered with a password.' }),
      provider: Type.Boolean({ description: 'An identity provider (JWT) of the realm has the name.' }),
      person: Type.Boolean({ description: 'Has logged in with it, by whatever scheme.' }),
    }),
    errors: { 404: 'Nobody has the name.' },
    async act({ path: { realm_id: realm, username } }, { services: { db } }) {
      await realmOrThrow(db, realm)
      const standing = await readStanding(db, realm, username)
      if (!Object.values(standing).includes(true)) throw failure('not_found', 'Nobody has this name.')
      return { username, ...standing }
    },
  }),
  define({
    name: 'persons.end',
    route: del('/realms/{realm_id}/persons/{username}'),
    summary: 'End whoever has a name that is not registered, and their sessions',
    description:
      'For users of SAML and of certificates, whom nobody registers. Whoever logs in with the name next is another person; ' +
      'who can still log in at their identity provider, or has a certificate, is that person.',
    tag,
    access,
    pathParameters: PersonPath,
    status: 204,
    errors: {
      404: 'There is no such realm.',
      409: 'The name is registered: delete the credential, release the name.',
    },
    async act({ path: { realm_id: realm, username } }, context) {
      const { db, metrics, now } = context.services
      await realmOrThrow(db, realm)
      const { password, provider } = await readStanding(db, realm, username)
      context.audit({ realm, object: username })
      if (password || provider)
        throw failure(
          'conflict',
          'The name is registered: delete the credential, or release the name, first.',
        )
      const end = { at: now(), reason: 'deleted' } as const
      const results = await context.commit([
        ...personEnd(db, realm, username, end),
        ...externalSessionsEnd(db, realm, username, end),
      ])
      countSessions(metrics, 'revoked', countEndedSessions(results))
    },
  }),
]
