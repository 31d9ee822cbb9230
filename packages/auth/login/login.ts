import { defineOperation, get, type Operation, type OperationContext, post, rawReply } from '@warder/server'
import { type Change, GuardFailed } from '@warder/storage'
import Type from 'typebox'
import { anyCaller, anySession, requireSession } from '../callers.ts'
import { ClaimsReply } from '../claims.ts'
import { countLogin, countSessions, type LoginOutcome } from '../counting.ts'
import { ensureSubjectId } from '../person-store.ts'
import { type Realm, RealmPath, RealmQuery } from '../realms/realm.ts'
import { findRealm } from '../realms/realm-store.ts'
import { type Session, setSessionCookie } from '../sessions/session.ts'
import {
  type Credential,
  credentialChanged,
  type LoginMethod,
  LoginRefused,
  type LoginServices,
  type MethodFacts,
  type Proof,
  type Proven,
  proveSecond,
  readAnswers,
  readCredential,
  type SecondAnswers,
  type SecondCheck,
  type SecondProof,
  secondMembers,
} from './method.ts'
import { auditRefusal, forgetFailures, takeLogin, throttleLogin } from './throttle-login.ts'

type LoginResult =
  | {
      readonly nextStep: 'TotpRequired'
      readonly factors: readonly (SecondProof & SecondCheck)[]
    }
  | { readonly nextStep: 'ChangePassword' }
  | { readonly nextStep: 'Authenticated'; readonly session: Session; readonly cookie: string }

/**
 * Runs a login in this order: address limit, first proof, second proof, password change, session.
 * @throws failure('unauthorized' | 'rate_limited' | 'overloaded')
 */
function logIn<Services extends LoginServices>(
  context: OperationContext<Services>,
  methods: readonly LoginMethod<Services>[],
  realm: string,
  answers: SecondAnswers,
): Promise<LoginResult> {
  const credential = readCredential(context.request)
  context.audit({ realm, auth_method: credential.kind })
  const login = () => prove(context, methods, { realm, credential, answers })
  return countLogin(
    context.services.metrics,
    credential.kind,
    login,
    ({ nextStep }): LoginOutcome => outcomes[nextStep],
  )
}

const outcomes = {
  Authenticated: 'authenticated',
  TotpRequired: 'totp_required',
  ChangePassword: 'change_password',
} as const satisfies Record<LoginResult['nextStep'], LoginOutcome>

async function prove<Services extends LoginServices>(
  context: OperationContext<Services>,
  methods: readonly LoginMethod<Services>[],
  given: { readonly realm: string; readonly credential: Credential; readonly answers: SecondAnswers },
): Promise<LoginResult> {
  takeLogin(context)
  const { realm, credential, answers } = given
  const first = methods.find((method) => method.first?.takes === credential.kind)?.first
  if (first === undefined) throw auditRefusal(context, realm, new LoginRefused('malformed_credentials'))
  const proof = async (): Promise<Proven> => {
    const found = await findRealm(context.services.db, realm)
    return first.prove(context, { realmId: realm, realm: found, credential })
  }
  const withCode = Object.keys(answers).length > 0
  const claimed = first.getUsername?.(credential)
  if (claimed !== undefined) {
    return throttleLogin(context, { realm, username: claimed, withCode }, async () =>
      finish(context, methods, await proof(), answers),
    )
  }
  const proven = await proof().catch((error: unknown) => {
    throw error instanceof LoginRefused ? auditRefusal(context, realm, error) : error
  })
  const { username } = proven.subject
  return throttleLogin(context, { realm, username, withCode }, () =>
    finish(context, methods, proven, answers),
  )
}

/** Finishes a login after the first proof. @throws LoginRefused */
async function finish(
  context: OperationContext<LoginServices>,
  methods: readonly MethodFacts[],
  proven: Proven,
  answers: SecondAnswers,
): Promise<LoginResult> {
  const { realm, subject } = proven
  const { username, scheme } = subject
  const second = await proveSecond(methods, context, { realm: realm.id, username }, answers)
  if (second.missing !== undefined) {
    context.audit({ principal: username, auth_method: scheme, details: { next_step: 'TotpRequired' } })
    return { nextStep: 'TotpRequired', factors: second.missing }
  }
  context.audit({ principal: username, auth_method: scheme })
  if (proven.nextStep !== undefined) {
    context.audit({ details: { next_step: proven.nextStep } })
    if (second.proofs.length > 0) await commitProofs(context, second.proofs)
    return { nextStep: proven.nextStep }
  }
  return { nextStep: 'Authenticated', ...(await beginSession(context, proven, second.proofs)) }
}

/**
 * Creates the session of a user whose proofs are complete.
 * @throws LoginRefused when a proof no longer holds
 */
export async function beginSession(
  context: OperationContext<LoginServices>,
  { realm, subject, proofs }: Proven,
  seconds: readonly Proof[] = [],
): Promise<{ readonly session: Session; readonly cookie: string }> {
  const { services } = context
  const { username, scheme } = subject
  context.audit({ principal: username, auth_method: scheme })
  const subjectId = await ensureSubjectId(services.db, realm.id, username, services.now())
  const { session, cookie, insertion } = services.sessions.create({ ...subject, subjectId }, realm)
  context.audit({ object: session.id, details: { next_step: 'Authenticated' } })
  await commitProofs(context, [...seconds, ...proofs], insertion)
  countSessions(services.metrics, 'begun')
  await forgetFailures(context, realm.id, username)
  return { session, cookie }
}

/** Commits the session under the conditions of the proofs. @throws LoginRefused when one is no longer met */
async function commitProofs(
  context: OperationContext<LoginServices>,
  proofs: readonly Proof[],
  ...allowed: readonly Change[]
): Promise<void> {
  try {
    await context.commit([...proofs.map(({ guard }) => guard), ...allowed])
  } catch (error) {
    if (!(error instanceof GuardFailed)) throw error
    context.audit({ principal: 'unauthenticated' })
    throw proofs[error.index]?.createRefusal() ?? credentialChanged()
  }
}

const tag = 'Login'
const smallBody = 64 * 1024

/** The reply of a login that created a session, for endpoints of methods. */
export function sessionReply(session: Session, cookie: string, ...cookies: readonly string[]) {
  return rawReply({
    json: { next_step: 'Authenticated', session_id: session.id },
    headers: { 'Set-Cookie': [setSessionCookie(cookie, session.maxAge), ...cookies] },
  })
}

/**
 * The reply to a login without a second factor: which ones the user has, and what a client needs for them. For users
 * who have only TOTP it is the reply of the specification.
 */
function secondFactorReply(factors: readonly (SecondProof & SecondCheck)[]) {
  const asked = factors.flatMap(({ ask }) => (ask === undefined ? [] : [ask()]))
  const names = factors.map(({ name }) => name)
  const members = names.every((name) => name === 'totp') ? {} : { second_factors: names }
  return rawReply({
    json: {
      ...{ next_step: 'TotpRequired', session_id: null, ...members },
      ...Object.assign({}, ...asked.map(({ reply }) => reply)),
    },
    ...(asked.length > 0 && { headers: { 'Set-Cookie': asked.map(({ cookie }) => cookie) } }),
  })
}

/** The reply for a realm that does not exist, so that callers cannot tell which realms exist. */
const typicalRealm = (id: string): Realm => ({
  id,
  auth_params: { username_password_params: { allow_expired_passwords: false }, fido2_params: {} },
  session_max_age_seconds: 1,
  session_max_stale_age_seconds: 1,
  certificate_max_age_seconds: 1,
})

/** @param methods the whole table */
export function loginOperations<Services extends LoginServices>(
  methods: readonly LoginMethod<Services>[],
): readonly Operation<Services>[] {
  const define = defineOperation<Services>()
  return [
    define({
      name: 'login',
      reach: ['make session'],
      route: post('/login'),
      summary: 'Log in to a realm',
      description:
        'Credentials: `Authorization: Basic`, `Authorization: Bearer` with a token of one of the realm’s identity ' +
        'providers, or a client certificate. If the user has a second factor and the body contains none, `next_step` is ' +
        '`TotpRequired`: repeat the request with a member of the body for one of `second_factors`.',
      tag,
      access: anyCaller,
      security: ['basic', 'bearer', 'certificate'],
      queryParameters: RealmQuery,
      request: Type.Object({ ...secondMembers(methods) }),
      bodyOptional: true,
      anyContentType: true,
      bodyLimit: smallBody,
      reply: Type.Object({
        next_step: Type.Union([
          Type.Literal('Authenticated'),
          Type.Literal('TotpRequired'),
          Type.Literal('ChangePassword'),
        ]),
        session_id: Type.Union([Type.String(), Type.Null()]),
        second_factors: Type.Optional(
          Type.Array(Type.String(), {
            description:
              'With `TotpRequired`: the factors of the user, one of which suffices. Absent: `totp`.',
          }),
        ),
        passkey_options: Type.Optional(
          Type.Unknown({ description: 'For the factor `passkey`: PublicKeyCredentialRequestOptionsJSON.' }),
        ),
      }),
      errors: { 401: 'The credentials are missing or not valid.', 503: 'Too many logins at once.' },
      async act({ query, body }, context) {
        const result = await logIn(context, methods, query.realm, readAnswers(methods, body))
        if (result.nextStep === 'TotpRequired') return secondFactorReply(result.factors)
        if (result.nextStep !== 'Authenticated') return { next_step: result.nextStep, session_id: null }
        return sessionReply(result.session, result.cookie)
      },
    }),
    define({
      name: 'login.methods',
      reach: ['reveal public'],
      route: get('/public/realms/{realm_id}/logins'),
      summary: 'Methods of login that a realm has',
      description:
        'For login pages. For a realm that does not exist the reply is that of a realm with passwords and passkeys.',
      tag,
      access: anyCaller,
      pathParameters: RealmPath,
      reply: Type.Object({
        methods: Type.Array(Type.String(), { description: methods.map(({ name }) => name).join(', ') }),
      }),
      audited: false,
      async act({ path }, { services }) {
        const realm = (await findRealm(services.db, path.realm_id)) ?? typicalRealm(path.realm_id)
        return {
          methods: methods.filter(({ opens }) => opens?.(services, realm) === true).map(({ name }) => name),
        }
      },
    }),
    define({
      name: 'whoami',
      reach: ['reveal attributes'],
      route: get('/whoami'),
      summary: 'The claims of the session',
      tag,
      access: anySession,
      reply: ClaimsReply,
      audited: false,
      act: (_input, context) => requireSession(context).claims,
    }),
  ]
}
