import type { OperationContext } from '@warder/foundation/operations'
import { type Change, GuardFailed } from '@warder/foundation/sql'
import { countedLogin, countSessions, type LoginOutcome } from '../counting/index.ts'
import { credentialUnchanged } from '../credentials/index.ts'
import { realmExists } from '../realms/index.ts'
import type { AuthServices } from '../services.ts'
import type { Session } from '../sessions/index.ts'
import { findTotp, totpStepUse } from '../totp/index.ts'
import { type Authorization, readAuthorization } from './authorization.ts'
import { type Proven, provePrimary } from './primary.ts'
import { LoginRefused } from './refusal.ts'
import { proveCode } from './second-factor.ts'
import { forgetFailures, refused, takeLogin, throttled } from './throttled.ts'

export type LoginResult =
  | { readonly nextStep: 'TotpRequired' | 'ChangePassword' }
  | { readonly nextStep: 'Authenticated'; readonly session: Session; readonly cookie: string }

type Context = OperationContext<AuthServices>

/**
 * A login, in its order: address limit, first proof, second proof, change of password, session.
 * @throws failure('unauthorized' | 'rate_limited' | 'overloaded')
 */
export function logIn(context: Context, realm: string, code: string | undefined): Promise<LoginResult> {
  const authorization = readAuthorization(context.request.headers.authorization)
  const method = authorization?.kind ?? 'certificate'
  context.audit({ realm, auth_method: method })
  const login = () => prove(context, realm, authorization, code)
  return countedLogin(context.services.metrics, method, login, ({ nextStep }) => outcomes[nextStep])
}

const outcomes = {
  Authenticated: 'authenticated',
  TotpRequired: 'totp_required',
  ChangePassword: 'change_password',
} as const satisfies Record<LoginResult['nextStep'], LoginOutcome>

async function prove(
  context: Context,
  realm: string,
  authorization: Authorization | undefined,
  code: string | undefined,
): Promise<LoginResult> {
  takeLogin(context)
  const primary = (): Promise<Proven> => provePrimary(context.services, realm, authorization, context.request)
  const withCode = code !== undefined
  if (authorization?.kind === 'basic') {
    return throttled(context, { realm, username: authorization.username, withCode }, async () =>
      finish(context, await primary(), code),
    )
  }
  const proven = await primary().catch((error: unknown) => {
    throw error instanceof LoginRefused ? refused(context, realm, error) : error
  })
  const { issuer, subject } = proven
  if (issuer !== undefined) context.audit({ details: { issuer } })
  const { username } = subject
  return throttled(context, { realm, username, withCode }, () => finish(context, proven, code))
}

async function finish(context: Context, proven: Proven, code: string | undefined): Promise<LoginResult> {
  const { services } = context
  const { realm, subject, credential } = proven
  const { username, scheme } = subject
  const changes: Change[] = []
  const enrollment = await findTotp(services.db, realm.id, username)
  if (enrollment !== undefined) {
    if (code === undefined) {
      context.audit({ principal: username, auth_method: scheme, details: { next_step: 'TotpRequired' } })
      return { nextStep: 'TotpRequired' }
    }
    const step = await proveCode(services, enrollment, code)
    changes.push(totpStepUse(realm.id, username, step))
  }
  context.audit({ principal: username, auth_method: scheme })
  const expired =
    credential?.changePassword === true &&
    realm.auth_params.username_password_params?.allow_expired_passwords !== true
  if (expired) {
    context.audit({ details: { next_step: 'ChangePassword' } })
    if (changes.length > 0) await commitProof(context, changes, true)
    return { nextStep: 'ChangePassword' }
  }
  const { session, cookie, insertion } = services.sessions.begin(subject, realm)
  changes.push(credential === undefined ? realmExists(realm.id) : credentialUnchanged(credential), insertion)
  context.audit({ object: session.id, details: { next_step: 'Authenticated' } })
  await commitProof(context, changes, enrollment !== undefined)
  countSessions(services.metrics, 'begun')
  await forgetFailures(context, realm.id, username)
  return { nextStep: 'Authenticated', session, cookie }
}

/** A guard that fails means that a proof no longer holds: the code was used, or the credential changed meanwhile. */
async function commitProof(context: Context, changes: readonly Change[], codeFirst: boolean): Promise<void> {
  try {
    await context.commit(changes)
  } catch (error) {
    if (!(error instanceof GuardFailed)) throw error
    context.audit({ principal: 'unauthenticated' })
    throw new LoginRefused(error.index === 0 && codeFirst ? 'wrong_totp_code' : 'credential_changed')
  }
}
