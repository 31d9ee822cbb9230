import { failure } from '@warder/base'
import type { OperationContext } from '@warder/server'
import type { Seal } from '@warder/storage'
import { countSessions } from '../../../counting/counting.ts'
import { takeLogin } from '../../../login/throttle-login.ts'
import { sessionsEnd } from '../../../sessions/session-end-store.ts'
import type { SamlServices } from '../realm/services.ts'
import { idpSessionRemoval } from '../store/idp-session-store.ts'

const sealContext = (realm: string) => ({ table: 'saml_handover', row: realm, column: 'logout_handle' })

/**
 * Creates a handle that ends a session that was handed over and has no other use. Its holder need not store the
 * token. It is the sealed id of the session.
 * @returns base64url
 */
export function sealLogoutHandle(seal: Seal, realm: string, sessionId: string): string {
  return Buffer.from(seal.seal(sealContext(realm), Buffer.from(sessionId))).toString('base64url')
}

/**
 * Ends the session of a handle. Does nothing when it has already ended.
 * @throws failure('unauthorized') for a value that is not a handle of the realm
 */
export async function endByHandle(
  context: OperationContext<SamlServices>,
  realm: string,
  handle: string,
): Promise<void> {
  const { services } = context
  takeLogin(context)
  context.audit({ realm, auth_method: 'saml' })
  const id = await openLogoutHandle(services.seal, realm, handle)
  context.audit({ object: id })
  const session = await services.sessions.use(id)
  if (session === undefined) return
  context.audit({ principal: session.username, auth_method: 'sa' })
  await context.commit([
    ...sessionsEnd(services.db, [id], { at: services.now(), reason: 'logged_out' }).flat(),
    idpSessionRemoval(id),
  ])
  countSessions(services.metrics, 'logged_out')
}

async function openLogoutHandle(seal: Seal, realm: string, handle: string): Promise<string> {
  try {
    return Buffer.from(await seal.open(sealContext(realm), Buffer.from(handle, 'base64url'))).toString('utf8')
  } catch (cause) {
    throw failure('unauthorized', 'The logout handle belongs to another realm.', { cause })
  }
}
