import { createHash, timingSafeEqual } from 'node:crypto'
import { failure } from '@warder/base'
import type { OperationContext } from '@warder/server'
import { GuardFailed } from '@warder/storage'
import { takeLogin } from '../../../login/throttle-login.ts'
import type { Session } from '../../../sessions/session.ts'
import type { SamlServices } from '../realm/services.ts'
import { findHandover, handoverUse } from './handover-store.ts'
import { sealLogoutHandle } from './logout-handle.ts'

/**
 * Gives the session of a finished login, once, to the holder of the verifier. A wrong verifier does not consume the
 * code, so that a third party who has seen the code cannot block the redemption.
 * @throws failure('unauthorized'), the same for every reason; the reason is in the audit log
 */
export async function redeem(
  context: OperationContext<SamlServices>,
  realm: string,
  { code, verifier }: { readonly code: string; readonly verifier: string },
): Promise<{ readonly session: Session; readonly cookie: string; readonly logoutHandle: string }> {
  const { services } = context
  takeLogin(context)
  context.audit({ realm, auth_method: 'saml' })
  const refuse = (reason: string) => {
    context.audit({ principal: 'unauthenticated', reason: `saml_handover_${reason}` })
    return failure('unauthorized', 'The code is wrong, expired or used, or it is not for this caller.')
  }
  const now = services.now()
  const handover = await findHandover(services.db, { code, realm }, now)
  if (handover === undefined) throw refuse('unknown')
  const given = createHash('sha256').update(verifier).digest()
  const wanted = Buffer.from(handover.challenge, 'base64url')
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) throw refuse('verifier')
  try {
    await context.commit([handoverUse(code, now)])
  } catch (error) {
    if (error instanceof GuardFailed) throw refuse('used')
    throw error
  }
  // The session may have ended meanwhile, through a logout at the identity provider or a change of the realm.
  const session = await services.sessions.use(handover.sessionId)
  const cookie = session && (await services.sessions.readCookie(session.id))
  if (session === undefined || cookie === undefined) throw refuse('ended')
  context.audit({ principal: session.username, auth_method: 'sa', object: session.id })
  return { session, cookie, logoutHandle: sealLogoutHandle(services.seal, realm, session.id) }
}
