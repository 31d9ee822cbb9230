import { failure, type Metrics } from '@warder/base'
import { defineOperation, del, get, type Operation } from '@warder/server'
import type { Database } from '@warder/storage'
import Type from 'typebox'
import { Factors, readFactors } from './account.ts'
import { realmAdmin } from './callers.ts'
import { countSessions } from './counting.ts'
import { roleOfEntity } from './machines/token-store.ts'
import { isKnownRole, isKnownUser, personEnd, readStanding } from './person-store.ts'
import { UserPath } from './realms/realm.ts'
import { realmOrThrow } from './realms/realm-store.ts'
import { forPeers, type RevocationServices } from './revocations/operations.ts'
import { countEndedSessions, externalSessionsEnd } from './sessions/session-end-store.ts'

interface PersonServices {
  readonly db: Database
  readonly metrics: Metrics
  /** Unix seconds. */
  readonly now: () => number
}

const define = defineOperation<PersonServices>()
const tag = 'Persons'
const access = realmAdmin

/**
 * Users of a realm, whatever scheme they log in with. After the removal, the next login with the name creates another
 * person.
 */
const personOperations = [
  define({
    name: 'persons.get',
    reach: ['reveal attributes'],
    route: get('/realms/{realm_id}/persons/{username}'),
    summary: 'Use of a user name, and the state of the second factors',
    tag,
    access,
    pathParameters: UserPath,
    reply: Type.Object({
      username: Type.String(),
      password: Type.Boolean({ description: 'Registered with a password.' }),
      provider: Type.Boolean({
        description: 'The name is bound to an identity provider (JWT) of the realm.',
      }),
      person: Type.Boolean({ description: 'A user has logged in with the name, with any scheme.' }),
      ...Factors.properties,
    }),
    errors: { 404: 'The name is not in use.' },
    async act({ path: { realm_id: realm, username } }, { services: { db } }) {
      await realmOrThrow(db, realm)
      const standing = await readStanding(db, realm, username)
      if (!Object.values(standing).includes(true)) throw failure('not_found', 'The name is not in use.')
      return { username, ...standing, ...(await readFactors(db, realm, username)) }
    },
  }),
  define({
    name: 'persons.end',
    reach: ['end session', 'end credential'],
    route: del('/realms/{realm_id}/persons/{username}'),
    summary: 'Remove the person of an unregistered name, and end their sessions',
    description:
      'For users of SAML and of certificates, who are not registered. The next login with the name creates another person, ' +
      'also when the same user still has an account at the identity provider, or a certificate.',
    tag,
    access,
    pathParameters: UserPath,
    status: 204,
    errors: {
      404: 'There is no such realm.',
      409: 'The name is registered: delete the credential or release the name.',
    },
    async act({ path: { realm_id: realm, username } }, context) {
      const { db, metrics, now } = context.services
      await realmOrThrow(db, realm)
      const { password, provider } = await readStanding(db, realm, username)
      context.audit({ realm, object: username })
      if (password || provider)
        throw failure('conflict', 'The name is registered: first delete the credential or release the name.')
      const end = { at: now(), reason: 'deleted' } as const
      const results = await context.commit([
        ...personEnd(db, realm, username, end),
        ...externalSessionsEnd(db, realm, username, end),
      ])
      countSessions(metrics, 'revoked', countEndedSessions(results))
    },
  }),
]

interface KnownServices extends Pick<RevocationServices, 'isPeer'> {
  readonly db: Database
}

const defineForServices = defineOperation<KnownServices>()

const Question = Type.Object({
  realm: Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' }),
  username: Type.String({ minLength: 1, maxLength: 512 }),
  entity: Type.String({ minLength: 1, maxLength: 512, description: 'Entity of a machine.' }),
})

/** Reports whether a name is known, so that a service can detect a mistyped name before it creates a grant. */
const knownOperations: readonly Operation<KnownServices>[] = [
  defineForServices({
    name: 'names.known',
    reach: ['reveal existence'],
    route: get('/known'),
    summary: 'Whether a user and a machine of this name are known',
    description:
      'For services of the installation (`X-Warder-Peer`). `machine` is null for accounts of orchestrators, which are ' +
      'not registered in this service.',
    tag: 'Sessions',
    ...forPeers,
    queryParameters: Question,
    reply: Type.Object({ user: Type.Boolean(), machine: Type.Union([Type.Boolean(), Type.Null()]) }),
    audited: false,
    async act({ query: { realm, username, entity } }, { services: { db } }) {
      const role = roleOfEntity(entity)
      return {
        user: await isKnownUser(db, realm, username),
        machine: role === undefined ? null : await isKnownRole(db, role.realm, role.name),
      }
    },
  }),
]

export const userOperations = [...knownOperations, ...personOperations]
