import { failure } from '@warder/base'
import { defineOperation, del, type Operation, type OperationContext, post } from '@warder/server'
import { type Change, GuardFailed, openText, type Seal, sealText } from '@warder/storage'
import Type, { type Static } from 'typebox'
import {
  anyCaller,
  realmAdmin,
  recentSession,
  requireSecondFactorHere,
  requireSession,
} from '../../callers.ts'
import { type LoginServices, type MethodFacts, userChanged } from '../../login/method.ts'
import { renewRecoveryCodes, uselessCodesRemoval } from '../../login/recovery-code-store.ts'
import { takeLogin } from '../../login/throttle-login.ts'
import { type Realm, UserPath } from '../../realms/realm.ts'
import { findRealm, realmOrThrow } from '../../realms/realm-store.ts'
import { announceCredential } from '../../revocations/feed-store.ts'
import { matchingStep, readCodeParams } from './code.ts'
import { newSecret, reportUserChange, requireUser, toOtpauthUrl } from './enrollment.ts'
import {
  type EnrollmentLink,
  enrollmentLinkUse,
  findEnrollmentLink,
  hashToken,
  newEnrollmentLink,
} from './enrollment-link-store.ts'
import { findTotp, totpEnrollment, totpRemoval } from './totp-store.ts'

type Context = OperationContext<LoginServices>

const define = defineOperation<LoginServices>()
const tag = 'TOTP'
/** Seconds from the secret to the code that confirms it. */
const enrollmentSeconds = 600
const bodyLimit = 16 * 1024

/** An enrollment that waits for its first code. The caller holds it, sealed. */
interface Pending {
  readonly realm: string
  readonly username: string
  /** The session or the link that permits it. */
  readonly permit: string
  /** Base64. */
  readonly secret: string
  /** Unix seconds. */
  readonly expiresAt: number
}

const sealContext = { table: 'totp_enrollment', row: 'pending', column: 'value' } as const

/** @throws failure('bad_request') */
async function openPending(seal: Seal, text: string): Promise<Pending> {
  const pending = await openText(seal, sealContext, text)
  if (pending === undefined) throw failure('bad_request', 'enrollment: is not a value from the options.')
  return JSON.parse(pending) as Pending
}

const OptionsReply = Type.Object({
  secret_base32: Type.String(),
  otpauth_url: Type.String({ description: 'For the QR code.' }),
  enrollment: Type.String({ description: 'For the confirmation, within ten minutes.' }),
})
const Confirmation = {
  enrollment: Type.String({ minLength: 1, maxLength: 4096 }),
  code: Type.String({ maxLength: 64, description: 'The present code of the app.' }),
}
const CodesReply = Type.Object({
  recovery_codes: Type.Array(Type.String(), {
    description: 'Codes that replace a lost second factor, each once. They are never shown again.',
  }),
})

/** A user who enrolls, and the session or link that permits it. */
interface Enrolling {
  readonly realm: Realm
  readonly username: string
  readonly permit: string
}

/** Returns a new secret; nothing is stored. Replies are not cached, as everywhere (`Cache-Control: no-store`). */
function createOptions(
  { seal, now }: LoginServices,
  { realm, username, permit }: Enrolling,
): Static<typeof OptionsReply> {
  const { bytes, base32 } = newSecret()
  const secret = Buffer.from(bytes).toString('base64')
  const pending: Pending = {
    ...{ realm: realm.id, username, permit, secret },
    expiresAt: now() + enrollmentSeconds,
  }
  return {
    secret_base32: base32,
    otpauth_url: toOtpauthUrl(realm, username, base32),
    enrollment: sealText(seal, sealContext, JSON.stringify(pending)),
  }
}

/**
 * Enrolls the user of a pending enrollment.
 * @param changes guards and further changes of the commit
 * @returns the recovery codes
 * @throws failure('bad_request')
 */
async function confirm(
  context: Context,
  enrolling: Enrolling,
  given: { readonly enrollment: string; readonly code: string },
  changes: readonly Change[],
): Promise<Static<typeof CodesReply>> {
  const { services } = context
  const { realm, username, permit } = enrolling
  const pending = await openPending(services.seal, given.enrollment)
  const isOwn = pending.realm === realm.id && pending.username === username && pending.permit === permit
  if (!isOwn || pending.expiresAt <= services.now())
    throw failure(
      'bad_request',
      'enrollment: has expired or belongs to another user or session: start again.',
    )
  const params = readCodeParams(realm)
  const secret = Buffer.from(pending.secret, 'base64')
  const lastStep = matchingStep(secret, given.code, services.now(), params)
  if (lastStep === undefined)
    throw failure('bad_request', 'code: does not match the secret: check the clock of the device.')
  const recovery = renewRecoveryCodes(realm.id, username, services.now())
  const enrollment = { realm: realm.id, username, ...params, lastStep }
  await context.commit([...changes, totpEnrollment(services.seal, enrollment, secret), ...recovery.changes])
  return { recovery_codes: [...recovery.codes] }
}

/** Requires that the second factor of the caller is enrolled here. @throws failure('conflict') */
async function requireOwn(context: Context): Promise<Enrolling> {
  const { id, realm: realmId, username, scheme } = requireSession(context).session
  context.audit({ realm: realmId, object: username })
  requireSecondFactorHere(scheme)
  return { realm: await realmOrThrow(context.services.db, realmId), username, permit: id }
}

const ownOptions = define({
  name: 'totp.enroll_options',
  reach: [],
  route: post('/account/totp/options'),
  summary: 'A new TOTP secret for the caller; nothing is stored',
  tag,
  access: recentSession,
  reply: OptionsReply,
  errors: { 409: 'The user has no second factor here.' },
  act: async (_input, context) => createOptions(context.services, await requireOwn(context)),
})

const ownConfirmation = (methods: readonly MethodFacts[]): Operation<LoginServices> =>
  define({
    name: 'totp.enroll',
    reach: ['make credential'],
    route: post('/account/totp'),
    summary: 'Confirm a TOTP secret of the caller with a code; replaces an earlier one',
    tag,
    access: recentSession,
    request: Type.Object(Confirmation),
    bodyLimit,
    reply: CodesReply,
    errors: { 409: 'The user has no second factor here, or was changed concurrently.' },
    async act({ body }, context) {
      const enrolling = await requireOwn(context)
      const userGuard = await requireUser(methods, context.services, enrolling.realm, enrolling.username)
      return reportUserChange(confirm(context, enrolling, body, [userGuard]))
    },
  })

const removeOwn = define({
  name: 'totp.leave',
  reach: ['end credential'],
  route: del('/account/totp'),
  summary:
    'Remove the TOTP enrollment of the caller, and the recovery codes if it was the last second factor',
  tag,
  access: recentSession,
  status: 204,
  errors: { 409: 'The user has no second factor here.' },
  async act(_input, context) {
    const { realm, username } = await requireOwn(context)
    if ((await findTotp(context.services.db, realm.id, username)) === undefined) return
    await context.commit([totpRemoval(realm.id, username), uselessCodesRemoval(realm.id, username)])
  },
})

const oneDay = 86_400
const Token = Type.String({ pattern: '^[A-Za-z0-9_-]{43}$', description: 'The token of the link.' })

const createLink = (methods: readonly MethodFacts[]): Operation<LoginServices> =>
  define({
    name: 'totp.link',
    reach: ['make credential'],
    route: post('/realms/{realm_id}/totp/{username}/link'),
    summary: 'A one-time token with which a user enrolls TOTP; the administrator never sees the secret',
    description:
      'For users without a session, such as those who have lost their second factor. It invalidates earlier tokens of the user, and ' +
      'an enrollment with it replaces an earlier one.',
    tag,
    access: realmAdmin,
    pathParameters: UserPath,
    request: Type.Object({
      expires_in_seconds: Type.Optional(
        Type.Integer({ minimum: 60, maximum: 7 * oneDay, description: 'Default: one day.' }),
      ),
    }),
    bodyOptional: true,
    bodyLimit,
    status: 201,
    reply: Type.Object({ token: Type.String(), expires_at: Type.Integer() }),
    errors: { 404: 'There is no such realm or user.', 409: 'The user was changed concurrently.' },
    async act({ path, body }, context) {
      const { services } = context
      const realm = await realmOrThrow(services.db, path.realm_id)
      const { username } = path
      const userGuard = await requireUser(methods, services, realm, username)
      const seconds = (body as { expires_in_seconds?: number } | undefined)?.expires_in_seconds ?? oneDay
      const expiresAt = services.now() + seconds
      context.audit({ realm: realm.id, object: username, details: { expires_at: expiresAt } })
      const { token, changes } = newEnrollmentLink({ realm: realm.id, username, expiresAt })
      await reportUserChange(context.commit([userGuard, ...changes]))
      return { token, expires_at: expiresAt }
    },
  })

const invalidLink = () =>
  failure('unauthorized', 'The link was used, has expired, or was replaced by another one.')

/** @throws failure('unauthorized') */
async function requireLink(context: Context, token: string): Promise<Enrolling> {
  takeLogin(context)
  const { db, now } = context.services
  const link: EnrollmentLink | undefined = await findEnrollmentLink(db, token, now())
  const realm = link && (await findRealm(db, link.realm))
  if (link === undefined || realm === undefined) {
    context.audit({ reason: 'enrollment_link' })
    throw invalidLink()
  }
  context.audit({ realm: link.realm, object: link.username, auth_method: 'enrollment_link' })
  const permit = Buffer.from(hashToken(token)).toString('base64')
  return { realm, username: link.username, permit }
}

const linkOptions = define({
  name: 'totp.link_options',
  reach: [],
  route: post('/totp/enroll/options'),
  summary: 'A new TOTP secret for the user of a one-time link; nothing is stored',
  tag,
  access: anyCaller,
  request: Type.Object({ token: Token }),
  bodyLimit,
  reply: Type.Object({ ...OptionsReply.properties, realm_id: Type.String(), username: Type.String() }),
  errors: { 401: 'The link is not valid.' },
  async act({ body }, context) {
    const enrolling = await requireLink(context, body.token)
    const { realm, username } = enrolling
    return { ...createOptions(context.services, enrolling), realm_id: realm.id, username }
  },
})

const linkConfirmation = (methods: readonly MethodFacts[]): Operation<LoginServices> =>
  define({
    name: 'totp.link_enroll',
    reach: ['make credential'],
    route: post('/totp/enroll'),
    summary: 'Confirm the TOTP secret of a one-time link with a code; uses the link up',
    tag,
    access: anyCaller,
    request: Type.Object({ token: Token, ...Confirmation }),
    bodyLimit,
    reply: CodesReply,
    errors: { 401: 'The link is not valid.', 404: 'The user was deleted.' },
    async act({ body }, context) {
      const { db, now } = context.services
      const enrolling = await requireLink(context, body.token)
      const { realm, username } = enrolling
      const userGuard = await requireUser(methods, context.services, realm, username)
      try {
        return await confirm(context, enrolling, body, [
          enrollmentLinkUse(body.token, now()),
          userGuard,
          ...announceCredential(db, realm.id, username, now()),
        ])
      } catch (error) {
        if (!(error instanceof GuardFailed)) throw error
        context.audit({ reason: 'enrollment_link' })
        throw error.index === 0 ? invalidLink() : userChanged()
      }
    },
  })

/** @param methods the whole table: users of each may enroll */
export function ownTotpOperations(methods: readonly MethodFacts[]): readonly Operation<LoginServices>[] {
  return [
    ownOptions,
    ownConfirmation(methods),
    removeOwn,
    createLink(methods),
    linkOptions,
    linkConfirmation(methods),
  ]
}
