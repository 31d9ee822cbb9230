import { randomBytes } from 'node:crypto'
import { failure } from '@warder/base'
import { defineOperation, del, type Operation, post } from '@warder/server'
import { type Change, GuardFailed } from '@warder/storage'
import Type from 'typebox'
import { realmAdmin } from '../../callers.ts'
import {
  type LoginMethod,
  LoginRefused,
  type LoginServices,
  type MethodFacts,
  type SecondProof,
  type SecondProofServices,
} from '../../login/method.ts'
import { type Realm, RealmPath } from '../../realms/realm.ts'
import { realmOrThrow } from '../../realms/realm-store.ts'
import { announceCredential } from '../../revocations/feed-store.ts'
import { checkUsername, Username } from '../../texts.ts'
import { type CodeParams, fromBase32, matchingStep, readCodeParams, toBase32, totpSettings } from './code.ts'
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
/** RFC 4226 §4 R6: 160 bits recommended, 128 required. */
const newSecretBytes = 20
const secretBytes = { min: 16, max: 64 }
const Issuer = Type.Optional(Type.Union([Type.String({ maxLength: 256 }), Type.Null()]))

/**
 * Formats the label of a Key URI. Apps decode it and take the text before its first colon as the issuer, so neither
 * name may contain a colon. An issuer with a colon is only in the parameter `issuer`, which apps prefer. A username
 * with a colon needs an issuer in front of it, whose colons are replaced.
 */
function formatLabel(issuer: string, username: string): string {
  if (!issuer.includes(':')) return `${encodeURIComponent(issuer)}:${encodeURIComponent(username)}`
  if (!username.includes(':')) return encodeURIComponent(username)
  const plain = issuer.replaceAll(':', ' ').replaceAll(/\s+/g, ' ').trim()
  return `${encodeURIComponent(plain)}:${encodeURIComponent(username)}`
}

/** Key URI for authenticator apps. */
function otpauthUrl(issuer: string, username: string, secret: string, params: CodeParams): string {
  const label = formatLabel(issuer, username)
  const { algorithm, period } = params
  return `otpauth://totp/${label}?secret=${secret}&issuer=${encodeURIComponent(issuer)}&algorithm=${algorithm}&digits=6&period=${period}`
}

/**
 * Requires a user whom one of the login methods knows or may know.
 * @returns guards for the commit that enrolls the user, so that no secret is left when the user is deleted meanwhile
 * @throws failure('not_found')
 */
async function requireUser(
  methods: readonly MethodFacts[],
  { db }: LoginServices,
  realm: Realm,
  username: string,
): Promise<Change> {
  checkUsername(username)
  for (const method of methods) {
    const holds = await method.user?.(db, realm, username)
    if (holds !== undefined) return holds
  }
  throw failure('not_found', 'There is no such user in the realm.')
}

/** @param methods the whole table: users of each may enroll */
function totpOperations(methods: readonly MethodFacts[]): readonly Operation<LoginServices>[] {
  return [generateSecret(methods), enrollUser(methods), removeEnrollment]
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
      const secret = toBase32(randomBytes(newSecretBytes))
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
      const stillThere = await requireUser(methods, services, realm, body.username)
      context.audit({ realm: realm.id, object: body.username })
      const secret = fromBase32(body.secret)
      if (secret === undefined || secret.length < secretBytes.min || secret.length > secretBytes.max) {
        throw failure('bad_request', 'secret: must be base32 of 16 to 64 bytes.')
      }
      const params = readCodeParams(realm)
      const step = matchingStep(secret, body.token, services.now(), params)
      if (step === undefined) throw failure('bad_request', 'token: does not match the secret.')
      const enrollment = { realm: realm.id, username: body.username, ...params, lastStep: step }
      try {
        await context.commit([
          stillThere,
          totpEnrollment(services.seal, enrollment, secret),
          ...announceCredential(services.db, realm.id, body.username, services.now()),
        ])
      } catch (error) {
        if (error instanceof GuardFailed)
          throw failure('conflict', 'The user was changed concurrently; try again.')
        throw error
      }
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
  pathParameters: Type.Intersect([RealmPath, Type.Object({ username: Username })]),
  async act({ path }, context) {
    context.audit({ realm: path.realm_id, object: path.username })
    const { db, now } = context.services
    const isEnrolled = (await findTotp(db, path.realm_id, path.username)) !== undefined
    await context.commit([
      totpRemoval(path.realm_id, path.username),
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
        return [{ holds: totpStepUse(realm, username, step), lost: wrongCode }]
      },
    }
  },
  refused: wrongCode,
  removal: (realm, username) => [totpRemoval(realm, username)],
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
