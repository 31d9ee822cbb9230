import { failure } from '@warder/base'
import { defineOperation, del, get, type Operation, put } from '@warder/server'
import { retryOnGuard } from '@warder/storage'
import Type, { type Static } from 'typebox'
import { realmAdmin } from '../../callers.ts'
import { countSessions } from '../../counting.ts'
import {
  credentialChanged,
  firstProof,
  type LoginMethod,
  LoginRefused,
  type LoginServices,
  methodNotEnabled,
  unknownRealm,
} from '../../login/method.ts'
import { listReply, type Page, PageQuery, readPage } from '../../paging.ts'
import { issuerPersonsEnd, personEnd } from '../../person-store.ts'
import { type Realm, RealmPath } from '../../realms/realm.ts'
import {
  type EndingServices,
  findRealm,
  type RealmEndings,
  realmExists,
  realmOrThrow,
  realmUnchanged,
} from '../../realms/realm-store.ts'
import { announceCredential } from '../../revocations/feed-store.ts'
import {
  countEndedSessions,
  issuerSessionsEnd,
  jwtSessionsEnd,
  otherIssuersSessionsEnd,
} from '../../sessions/session-end-store.ts'
import { checkNewUsername, isNewUsername, Username } from '../../texts.ts'
import { type IdentityProviders, jwtSettings, listIssuers } from './identity-providers.ts'
import {
  findSubject,
  issuerSubjectsRemoval,
  type JwtSubject,
  listSubjects,
  subjectAssignment,
  subjectClaim,
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
const subjectOperations: readonly Operation<JwtServices>[] = [
  define({
    name: 'jwt_subjects.list',
    reach: ['reveal attributes'],
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
    reach: ['change names'],
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
    reach: ['change names'],
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

const anotherProvider = () => new LoginRefused('subject_of_another_provider')

/**
 * Proves a login by the token of an `Authorization: Bearer` header. The name must belong to the provider of the token
 * in the realm, or be free.
 */
const tokenProof = firstProof<JwtServices, 'bearer'>({
  takes: 'bearer',
  async prove(context, { realm, credential }) {
    const { db, providers, now } = context.services
    if (realm === undefined) throw unknownRealm()
    const settings = jwtSettings.of(realm)
    if (settings === undefined) throw methodNotEnabled()
    const found = await providers.verifySubject(settings, credential.token)
    if (found === undefined || !isNewUsername(found.subject)) throw new LoginRefused('invalid_token')
    const { subject: username, issuer } = found
    context.audit({ details: { issuer } })
    const holder = await findSubject(db, realm.id, username)
    if (holder !== undefined && holder.issuer !== issuer) {
      context.audit({ object: username })
      throw anotherProvider()
    }
    const claim = subjectClaim({ realm: realm.id, subject: username, issuer, createdAt: now() })
    return {
      realm,
      subject: { username, scheme: 'jwt', certificateSha256: undefined, roles: [], extraClaims: undefined },
      proofs: [
        { guard: realmUnchanged(realm), createRefusal: credentialChanged },
        { guard: claim, createRefusal: anotherProvider },
      ],
    }
  },
})

/** Removes the names and sessions of identity providers that a realm no longer lists. */
function endings({ db, now }: EndingServices, before: Realm, after: Realm): RealmEndings {
  const stay = new Set(listIssuers(after))
  const dropped = listIssuers(before).filter((issuer) => !stay.has(issuer))
  return {
    sessions: dropped.map((issuer) =>
      issuerSessionsEnd(db, before.id, issuer, { at: now(), reason: 'provider_removed' }),
    ),
    others: dropped.flatMap((issuer) => [
      ...issuerPersonsEnd(db, before.id, issuer, now()),
      issuerSubjectsRemoval(before.id, issuer),
    ]),
  }
}

/** A token of an identity provider that the realm lists. */
export const jwt: LoginMethod<JwtServices> = {
  name: 'jwt',
  scheme: 'jwt',
  settings: jwtSettings,
  vouches: true,
  first: tokenProof,
  opens: (_services, realm) => listIssuers(realm).length > 0,
  async user(_db, realm, username) {
    if (jwtSettings.of(realm) === undefined) return undefined
    checkNewUsername(username)
    return realmExists(realm.id)
  },
  endings,
  /**
   * With several identity providers, any of them may be the first to use a name. The name is certain only for the
   * provider that the realm lists first, or to which an administrator assigned the name.
   */
  async nameIsCertain(db, { realm: id, username }) {
    const holder = await findSubject(db, id, username)
    if (holder === undefined || holder.assigned) return holder !== undefined
    const realm = await findRealm(db, id)
    return realm !== undefined && listIssuers(realm)[0] === holder.issuer
  },
  operations: () => subjectOperations,
}
