import type { OperationContext } from '@warder/foundation/operations'
import { type Change, GuardFailed } from '@warder/foundation/sql'
import { countedLogin, countSessions, type LoginOutcome } from '../counting/index.ts'
import { credentialUnchanged } from '../credentials/index.ts'
import { realmExists, realmUnchanged } from '../realms/index.ts'
import type { AuthServices } from '../services.ts'
import type { Session } from '../sessions/index.ts'
import { findSubject, subjectClaim } from '../subjects/index.ts'
import { findTotp, totpStepUse } from '../totp/index.ts'
import { type Authorization, readAuthorization } from './authorization.ts'
import { type Proven, provePrimary } from './primary.ts'
import { LoginRefused, type RefusalReason } from './refusal.ts'
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
  const proven = await primaryWithName(context, primary).catch((error: unknown) => {
    throw error instanceof LoginRefused ? refused(context, realm, error) : error
  })
  const { username } = proven.subject
  return throttled(context, { realm, username, withCode }, () => finish(context, proven, code))
}

/** Of an identity provider's user, the name has to be that provider's in the realm, or free. @throws LoginRefused */
async function primaryWithName(context: Context, primary: () => Promise<Proven>): Promise<Proven> {
  const proven = await primary()
  const { realm, subject, issuer } = proven
  if (issuer === undefined) return proven
  context.audit({ details: { issuer } })
  const holder = await findSubject(context.services.db, realm.id, subject.username)
  if (holder === undefined || holder.issuer === issuer) return proven
  context.audit({ object: subject.username })
  throw new LoginRefused('subject_of_another_provider')
}

async function finish(context: Context, proven: Proven, code: string | undefined): Promise<LoginResult> {
  const { services } = context
  const { realm, subject, credential } = proven
  const { username, scheme } = subject
  const proofs: Proof[] = []
  const enrollment = await findTotp(services.db, realm.id, username)
  if (enrollment !== undefined) {
    if (code === undefined) {
      context.audit({ principal: username, auth_method: scheme, details: { next_step: 'TotpRequired' } })
      return { nextStep: 'TotpRequired' }
    }
    const step = await proveCode(services, enrollment, code)
    proofs.push({ holds: totpStepUse(realm.id, username, step), lost: 'wrong_totp_code' })
  }
  context.audit({ principal: username, auth_method: scheme })
  const expired =
    credential?.changePassword === true &&
    realm.auth_params.username_password_params?.allow_expired_passwords !== true
  if (expired) {
    context.audit({ details: { next_step: 'ChangePassword' } })
    if (proofs.length > 0) await commitProofs(context, proofs)
    return { nextStep: 'ChangePassword' }
  }
  proofs.push(...identityProofs(proven, services.now()))
  const { session, cookie, insertion } = services.sessions.begin(subject, realm)
  context.audit({ object: session.id, details: { next_step: 'Authenticated' } })
  await commitProofs(context, proofs, insertion)
  countSessions(services.metrics, 'begun')
  await forgetFailures(context, realm.id, username)
  return { nextStep: 'Authenticated', session, cookie }
}

/** What was proven before the commit and has to hold when it is made; `lost` is what it means when it does not. */
interface Proof {
  readonly holds: Change
  readonly lost: RefusalReason
}

/** Who logs in is still whom the realm lets in under this name. */
function identityProofs({ realm, subject, credential, issuer }: Proven, now: number): readonly Proof[] {
  if (credential !== undefined)
    return [{ holds: credentialUnchanged(credential), lost: 'credential_changed' }]
  if (issuer === undefined) return [{ holds: realmExists(realm.id), lost: 'credential_changed' }]
  const claim = subjectClaim({ realm: realm.id, subject: subject.username, issuer, createdAt: now })
  return [
    { holds: realmUnchanged(realm), lost: 'credential_changed' },
    { holds: claim, lost: 'subject_of_another_provider' },
  ]
}

/** Commits what the proofs allow. @throws LoginRefused when one no longer holds */
async function commitProofs(
  context: Context,
  proofs: readonly Proof[],
  ...allowed: readonly Change[]
): Promise<void> {
  try {
    await context.commit([...proofs.map(({ holds }) => holds), ...allowed])
  } catch (error) {
    if (!(error instanceof GuardFailed)) throw error
    context.audit({ principal: 'unauthenticated' })
    throw new LoginRefused(proofs[error.index]?.lost ?? 'credential_changed')
  }
}
