import { failure } from '@warder/base'
import { defineOperation, del, get, type Operation, put } from '@warder/server'
import { retryOnGuard } from '@warder/storage'
import Type, { type Static } from 'typebox'
import { realmAdmin } from '../../callers/access.ts'
import { countSessions } from '../../counting/counting.ts'
import type { LoginServices } from '../../login/services.ts'
import { listReply } from '../../paging/list-reply.ts'
import { type Page, PageQuery, readPage } from '../../paging/page.ts'
import { personEnd } from '../../persons/person-store.ts'
import { RealmPath } from '../../realms/realm-id.ts'
import { realmOrThrow, realmUnchanged } from '../../realms/realm-store.ts'
import { announceCredential } from '../../revocations/feed-store.ts'
import {
  countEndedSessions,
  jwtSessionsEnd,
  otherIssuersSessionsEnd,
} from '../../sessions/session-end-store.ts'
import { checkNewUsername, Username } from '../../texts/username.ts'
import type { IdentityProviders } from './identity-providers.ts'
import { listIssuers } from './settings.ts'
import {
  findSubject,
  type JwtSubject,
  listSubjects,
  subjectAssignment,
  subjectRemoval,
  subjectTaken,
} from './subject-store.ts'

const define = defineOperation<JwtServices>()
const tag = 'Identity providers'
const SubjectPath = Type.Intersect([RealmPath, Type.Object({ subject: Username })])

const Issuer = Type.String({
  minLength: 1,
  maxLength: 2048,
  description: 'One of the identity providers that the realm lists.',
})

const SubjectReply = Type.Object({
  subject: Type.String({ description: '`sub` of the tokens; the username in the realm.' }),
  jwt_issuer_uri: Type.String({ description: 'Identity provider that the name is bound to.' }),
  assigned: Type.Boolean({
    description: 'True if an administrator assigned it; false if the provider was the first to use it.',
  }),
  created_at: Type.Integer({ description: 'Unix seconds.' }),
})

function describeSubject({ subject, issuer, assigned, createdAt }: JwtSubject): Static<typeof SubjectReply> {
  return { subject, jwt_issuer_uri: issuer, assigned, created_at: createdAt }
}

const describeOrNull = (subject: JwtSubject | undefined): Static<typeof SubjectReply> | null =>
  subject === undefined ? null : describeSubject(subject)

/**
 * Operations on the assignment of names to the identity providers of a realm. Logins claim free names; administrators
 * assign them.
 */
export const subjectOperations: readonly Operation<JwtServices>[] = [
  define({
    name: 'jwt_subjects.list',
    route: get('/realms/{realm_id}/jwt-subjects'),
    summary: 'Names of a realm that are bound to its identity providers',
    description: 'Ordered by name; `after` is a name.',
    tag,
    access: realmAdmin,
    pathParameters: RealmPath,
    queryParameters: PageQuery,
    paged: true,
    reply: Type.Array(SubjectReply),
    errors: { 404: 'There is no such realm.' },
    async act({ path, query }, { services }) {
      await realmOrThrow(services.db, path.realm_id)
      const read = (page: Page) => listSubjects(services.db, path.realm_id, page)
      return listReply(readPage(query), read, ({ subject }) => subject, describeSubject)
    },
  }),
  define({
    name: 'jwt_subjects.assign',
    route: put('/realms/{realm_id}/jwt-subjects/{subject}'),
    summary: 'Assign a name to one of the identity providers of a realm',
    description: 'Ends the sessions of the name if it was bound to another provider before.',
    tag,
    access: realmAdmin,
    pathParameters: SubjectPath,
    request: Type.Object({ jwt_issuer_uri: Issuer }),
    reply: SubjectReply,
    errors: { 400: 'The realm does not have this identity provider.', 404: 'There is no such realm.' },
    async act({ path, body }, context) {
      const { db, metrics, now } = context.services
      const { realm_id: realmId, subject } = path
      checkNewUsername(subject)
      return retryOnGuard(5, async () => {
        const realm = await realmOrThrow(db, realmId)
        if (!listIssuers(realm).includes(body.jwt_issuer_uri)) {
          throw failure('bad_request', 'jwt_issuer_uri: must be that of an identity provider of the realm.')
        }
        const before = await findSubject(db, realmId, subject)
        const after = {
          realm: realmId,
          subject,
          issuer: body.jwt_issuer_uri,
          assigned: true,
          createdAt: now(),
        }
        const details = { before: describeOrNull(before), after: describeSubject(after) }
        context.audit({ realm: realmId, object: subject, details })
        const end = { at: now(), reason: 'reassigned' } as const
        const ended = otherIssuersSessionsEnd(db, realmId, subject, after.issuer, end)
        // A user of another provider is another person.
        const another = before !== undefined && before.issuer !== after.issuer
        const person = another ? [subjectTaken(before), ...personEnd(db, realmId, subject, end)] : []
        const results = await context.commit([
          realmUnchanged(realm),
          ...ended,
          ...person,
          subjectAssignment(after),
          ...(before?.issuer === after.issuer ? [] : announceCredential(db, realmId, subject, end.at)),
        ])
        countSessions(metrics, 'revoked', countEndedSessions(results.slice(0, 1 + ended.length)))
        return describeSubject(after)
      })
    },
  }),
  define({
    name: 'jwt_subjects.release',
    route: del('/realms/{realm_id}/jwt-subjects/{subject}'),
    summary: 'Release a name from its identity provider and end its sessions',
    description: 'The next login with this name binds it to the provider of that login.',
    tag,
    access: realmAdmin,
    pathParameters: SubjectPath,
    status: 204,
    async act({ path }, context) {
      const { db, metrics, now } = context.services
      const { realm_id: realm, subject } = path
      const before = await findSubject(db, realm, subject)
      context.audit({ realm, object: subject, details: { before: describeOrNull(before) } })
      // Removes the name first: a concurrent login either waits for it, or the next statements find its
      // session.
      const end = { at: now(), reason: 'released' } as const
      const results = await context.commit([
        subjectRemoval(realm, subject),
        ...personEnd(db, realm, subject, end),
        ...(before === undefined ? [] : announceCredential(db, realm, subject, end.at)),
        ...jwtSessionsEnd(db, realm, subject, end),
      ])
      countSessions(metrics, 'revoked', countEndedSessions(results))
    },
  }),
]

export interface JwtServices extends LoginServices {
  readonly providers: IdentityProviders
}
