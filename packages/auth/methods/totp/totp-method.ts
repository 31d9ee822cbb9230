import { failure } from '@warder/base'
import { defineOperation, del, type Operation, post } from '@warder/server'
import Type from 'typebox'
import { fromBase32 } from '../../base32.ts'
import { realmAdmin } from '../../callers.ts'
import {
  type LoginMethod,
  LoginRefused,
  type LoginServices,
  type MethodFacts,
  type SecondProof,
  type SecondProofServices,
} from '../../login/method.ts'
import { recoveryCodesRemoval, uselessCodesRemoval } from '../../login/recovery-code-store.ts'
import { RealmPath, UserPath } from '../../realms/realm.ts'
import { realmOrThrow } from '../../realms/realm-store.ts'
import { announceCredential } from '../../revocations/feed-store.ts'
import { Username } from '../../texts.ts'
import { matchingStep, readCodeParams, totpSettings } from './code.ts'
import { newSecret, otpauthUrl, reportUserChange, requireUser } from './enrollment.ts'
import { enrollmentLinksRemoval } from './enrollment-link-store.ts'
import { ownTotpOperations } from './own-totp.ts'
import {
  findTotp,
  openTotpSecret,
  type TotpEnrollment,
  totpEnrollment,
  totpRemoval,
  totpStepUse,
} from './totp-store.ts'

const define = defineOperation<LoginServices>()
const tag = 'TOTP'
const secretBytes = { min: 16, max: 64 }
const Issuer = Type.Optional(Type.Union([Type.String({ maxLength: 256 }), Type.Null()]))

/** @param methods the whole table: users of each may enroll */
function totpOperations(methods: readonly MethodFacts[]): readonly Operation<LoginServices>[] {
  return [generateSecret(methods), enrollUser(methods), removeEnrollment, ...ownTotpOperations(methods)]
}

function generateSecret(methods: readonly MethodFacts[]): Operation<LoginServices> {
  return define({
    name: 'totp.generate',
    reach: ['make credential'],
    route: post('/realms/{realm_id}/totp/generate'),
    summary: 'Generate a TOTP secret for a user; nothing is stored',
    tag,
    access: realmAdmin,
    pathParameters: RealmPath,
    request: Type.Object({ username: Username, issuer: Issuer }),
    reply: Type.Object({ secret_base32: Type.String(), otpauth_url: Type.String() }),
    errors: { 404: 'There is no such realm or user.' },
    async act({ path, body }, context) {
      const realm = await realmOrThrow(context.services.db, path.realm_id)
      await requireUser(methods, context.services, realm, body.username)
      context.audit({ realm: realm.id, object: body.username })
      const { base32: secret } = newSecret()
      const issuer = body.issuer || realm.id
      return {
        secret_base32: secret,
        otpauth_url: otpauthUrl(issuer, body.username, secret, readCodeParams(realm)),
      }
    },
  })
}

function enrollUser(methods: readonly MethodFacts[]): Operation<LoginServices> {
  return define({
    name: 'totp.verify',
    reach: ['make credential'],
    route: post('/realms/{realm_id}/totp/verify'),
    summary: 'Enroll a user after proof of possession of the secret',
    tag,
    access: realmAdmin,
    pathParameters: RealmPath,
    request: Type.Object({
      username: Username,
      token: Type.String({ maxLength: 64 }),
      secret: Type.String({ maxLength: 256 }),
      issuer: Issuer,
    }),
    errors: { 404: 'There is no such realm or user.' },
    async act({ path, body }, context) {
      const { services } = context
      const realm = await realmOrThrow(services.db, path.realm_id)
      const userGuard = await requireUser(methods, services, realm, body.username)
      context.audit({ realm: realm.id, object: body.username })
      const secret = fromBase32(body.secret)
      if (secret === undefined || secret.length < secretBytes.min || secret.length > secretBytes.max) {
        throw failure('bad_request', 'secret: must be base32 of 16 to 64 bytes.')
      }
      const params = readCodeParams(realm)
      const step = matchingStep(secret, body.token, services.now(), params)
      if (step === undefined) throw failure('bad_request', 'token: does not match the secret.')
      const enrollment = { realm: realm.id, username: body.username, ...params, lastStep: step }
      await reportUserChange(
        context.commit([
          userGuard,
          totpEnrollment(services.seal, enrollment, secret),
          ...announceCredential(services.db, realm.id, body.username, services.now()),
        ]),
      )
    },
  })
}

const removeEnrollment = define({
  name: 'totp.disable',
  reach: ['end credential'],
  route: del('/realms/{realm_id}/totp/{username}'),
  summary: 'Remove the TOTP enrollment of a user',
  tag,
  access: realmAdmin,
  pathParameters: UserPath,
  async act({ path }, context) {
    context.audit({ realm: path.realm_id, object: path.username })
    const { db, now } = context.services
    const isEnrolled = (await findTotp(db, path.realm_id, path.username)) !== undefined
    await context.commit([
      totpRemoval(path.realm_id, path.username),
      uselessCodesRemoval(path.realm_id, path.username),
      ...(isEnrolled ? announceCredential(db, path.realm_id, path.username, now()) : []),
    ])
  },
})

const wrongCode = () => new LoginRefused('wrong_totp_code', 'code')

/**
 * The code of an enrolled user, required whatever the settings of the realm. Each step is accepted once: the commit
 * marks it as used.
 */
const totpProof: SecondProof = {
  name: 'totp',
  member: 'totp_code',
  schema: Type.Optional(Type.Union([Type.String({ maxLength: 64 }), Type.Null()])),
  async find({ services }, realm, username) {
    const enrollment = await findTotp(services.db, realm, username)
    if (enrollment === undefined) return undefined
    return {
      async check(code) {
        const step = await findUnusedStep(services, enrollment, String(code))
        return [{ guard: totpStepUse(realm, username, step), createRefusal: wrongCode }]
      },
    }
  },
  createRefusal: wrongCode,
  removal: (realm, username) => [
    totpRemoval(realm, username),
    enrollmentLinksRemoval(realm, username),
    recoveryCodesRemoval(realm, username),
  ],
}

/** Finds the unused step of a code. @throws LoginRefused */
async function findUnusedStep(
  services: SecondProofServices,
  enrollment: TotpEnrollment,
  code: string,
): Promise<number> {
  const secret = await openTotpSecret(services.seal, enrollment)
  const step = matchingStep(secret, code, services.now(), enrollment)
  secret.fill(0)
  if (step === undefined || step <= enrollment.lastStep) throw wrongCode()
  return step
}

/** Second factor: a code of an authenticator app, after the first proof of any other method. */
export const totp: LoginMethod<LoginServices> = {
  name: 'totp',
  settings: totpSettings,
  second: totpProof,
  operations: totpOperations,
}
