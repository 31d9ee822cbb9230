import { defineOperation, get, type Operation } from '@warder/server'
import type { Database } from '@warder/storage'
import Type from 'typebox'
import { roleOfEntity } from '../machines/entity.ts'
import { forPeers, type RevocationServices } from '../revocations/operations.ts'
import { isKnownRole, isKnownUser } from './known-store.ts'
import { personOperations } from './persons.ts'

interface KnownServices extends Pick<RevocationServices, 'isPeer'> {
  readonly db: Database
}

const define = defineOperation<KnownServices>()

const Question = Type.Object({
  realm: Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' }),
  username: Type.String({ minLength: 1, maxLength: 512 }),
  entity: Type.String({ minLength: 1, maxLength: 512, description: 'Entity of a machine.' }),
})

/** Reports whether a name is known, so that a service can detect a mistyped name before it creates a grant. */
const knownOperations: readonly Operation<KnownServices>[] = [
  define({
    name: 'names.known',
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
