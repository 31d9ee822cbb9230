import { defineOperation, get, type Operation, type OperationContext, post, rawReply } from '@warder/server'
import { type Change, GuardFailed } from '@warder/storage'
import Type from 'typebox'
import { anyCaller, anySession, requireSession } from '../callers.ts'
import { ClaimsReply } from '../claims.ts'
import { countLogin, countSessions, type LoginOutcome } from '../counting.ts'
import { ensureSubjectId } from '../person-store.ts'
import { RealmQuery } from '../realms/realm.ts'
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
  readCredential,
} from './method.ts'
import { auditRefusal, forgetFailures, takeLogin, throttleLogin } from './throttle-login.ts'

type LoginResult =
  | { readonly nextStep: 'TotpRequired' | 'ChangePassword' }
  | { readonly nextStep: 'Authenticated'; readonly session: Session; readonly cookie: string }

/**
 * Runs a login in this order: address limit, first proof, second proof, password change, session.
 * @throws failure('unauthorized' | 'rate_limited' | 'overloaded')
 */
function logIn<Services extends LoginServices>(
  context: OperationContext<Services>,
  methods: readonly LoginMethod<Services>[],
  realm: string,
  code: string | undefined,
): Promise<LoginResult> {
  const credential = readCredential(context.request)
  context.audit({ realm, auth_method: credential.kind })
  const login = () => prove(context, methods, { realm, credential, code })
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
  given: { readonly realm: string; readonly credential: Credential; readonly code: string | undefined },
): Promise<LoginResult> {
  takeLogin(context)
  const { realm, credential, code } = given
  const first = methods.find((method) => method.first?.takes === credential.kind)?.first
  if (first === undefined) throw auditRefusal(context, realm, new LoginRefused('malformed_credentials'))
  const proof = async (): Promise<Proven> => {
    const found = await findRealm(context.services.db, realm)
    return first.prove(context, { realmId: realm, realm: found, credential })
  }
  const withCode = code !== undefined
  const claimed = first.nameOf?.(credential)
  if (claimed !== undefined) {
    return throttleLogin(context, { realm, username: claimed, withCode }, async () =>
      finish(context, methods, await proof(), code),
    )
  }
  const proven = await proof().catch((error: unknown) => {
    throw error instanceof LoginRefused ? auditRefusal(context, realm, error) : error
  })
  const { username } = proven.subject
  return throttleLogin(context, { realm, username, withCode }, () => finish(context, methods, proven, code))
}

/** Finishes a login after the first proof, for every endpoint. @throws LoginRefused */
async function finish(
  context: OperationContext<LoginServices>,
  methods: readonly MethodFacts[],
  proven: Proven,
  code: string | undefined,
): Promise<LoginResult> {
  const { services } = context
  const { realm, subject } = proven
  const { username, scheme } = subject
  const second = await proveSecond(methods, services, { realm: realm.id, username }, code)
  if (second.missing !== undefined) {
    const { nextStep } = second.missing
    context.audit({ principal: username, auth_method: scheme, details: { next_step: nextStep } })
    return { nextStep }
  }
  context.audit({ principal: username, auth_method: scheme })
  if (proven.nextStep !== undefined) {
    context.audit({ details: { next_step: proven.nextStep } })
    if (second.proofs.length > 0) await commitProofs(context, second.proofs)
    return { nextStep: proven.nextStep }
  }
  const subjectId = await ensureSubjectId(services.db, realm.id, username, services.now())
  const { session, cookie, insertion } = services.sessions.create({ ...subject, subjectId }, realm)
  context.audit({ object: session.id, details: { next_step: 'Authenticated' } })
  await commitProofs(context, [...second.proofs, ...proven.proofs], insertion)
  countSessions(services.metrics, 'begun')
  await forgetFailures(context, realm.id, username)
  return { nextStep: 'Authenticated', session, cookie }
}

/** Commits the session under the conditions of the proofs. @throws LoginRefused when one is no longer met */
async function commitProofs(
  context: OperationContext<LoginServices>,
  proofs: readonly Proof[],
  ...allowed: readonly Change[]
): Promise<void> {
  try {
    await context.commit([...proofs.map(({ holds }) => holds), ...allowed])
  } catch (error) {
    if (!(error instanceof GuardFailed)) throw error
    context.audit({ principal: 'unauthenticated' })
    throw proofs[error.index]?.lost() ?? credentialChanged()
  }
}

const tag = 'Login'
const smallBody = 64 * 1024
const Code = Type.Optional(Type.Union([Type.String({ maxLength: 64 }), Type.Null()]))

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
        'providers, or a client certificate. Users with TOTP send the code in the body.',
      tag,
      access: anyCaller,
      security: ['basic', 'bearer', 'certificate'],
      queryParameters: RealmQuery,
      request: Type.Object({ totp_code: Code }),
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
      }),
      errors: { 401: 'The credentials are missing or not valid.', 503: 'Too many logins at once.' },
      async act({ query, body }, context) {
        const code = (body as { totp_code?: string | null } | undefined)?.totp_code ?? undefined
        const result = await logIn(context, methods, query.realm, code)
        if (result.nextStep !== 'Authenticated') return { next_step: result.nextStep, session_id: null }
        const { session, cookie } = result
        return rawReply({
          json: { next_step: 'Authenticated', session_id: session.id },
          headers: { 'Set-Cookie': setSessionCookie(cookie, session.maxAge) },
        })
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
