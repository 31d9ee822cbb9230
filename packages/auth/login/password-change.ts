import { failure } from '@warder/foundation/errors'
import type { OperationContext } from '@warder/foundation/operations'
import { type Change, GuardFailed } from '@warder/foundation/sql'
import { countSessions } from '../counting/index.ts'
import { checkChosenPassword, credentialUpdate, hashOwner, normalPassword } from '../credentials/index.ts'
import { findRealm } from '../realms/index.ts'
import type { AuthServices } from '../services.ts'
import { passwordSessionsRemoval } from '../sessions/index.ts'
import { findTotp, totpStepUse } from '../totp/index.ts'
import { readAuthorization } from './authorization.ts'
import { provePassword } from './primary.ts'
import { LoginRefused } from './refusal.ts'
import { proveCode } from './second-factor.ts'
import { forgetFailures, refused, takeLogin, throttled } from './throttled.ts'

/**
 * Somebody changes their own password: proves the old one (and a code, where enrolled), and ends every session that
 * began with it.
 * @throws failure('unauthorized' | 'bad_request' | 'rate_limited' | 'overloaded')
 */
export async function changePassword(
  context: OperationContext<AuthServices>,
  realm: string,
  chosen: string,
  code: string | undefined,
): Promise<void> {
  takeLogin(context)
  const authorization = readAuthorization(context.request.headers.authorization)
  if (authorization?.kind !== 'basic') {
    const reason = authorization === undefined ? 'no_credentials' : 'malformed_credentials'
    throw refused(context, realm, new LoginRefused(reason))
  }
  const { username, password } = authorization
  checkChosenPassword(chosen, username)
  if (normalPassword(chosen) === normalPassword(password)) {
    throw failure('bad_request', 'new_password: must differ from the old one.')
  }
  await throttled(context, { realm, username, withCode: code !== undefined }, async () => {
    const { db, hasher } = context.services
    const owner = hashOwner(context.request, realm)
    const found = await findRealm(db, realm)
    const proven = await provePassword(context.services, found, { username, password, owner })
    const changes: Change[] = []
    const enrollment = await findTotp(db, realm, username)
    if (enrollment !== undefined) {
      if (code === undefined) throw new LoginRefused('wrong_totp_code')
      changes.push(totpStepUse(realm, username, await proveCode(context.services, enrollment, code)))
    }
    const passwordHash = await hasher.hash(normalPassword(chosen), owner)
    changes.push(
      credentialUpdate({ ...proven.credential, passwordHash, changePassword: false }),
      passwordSessionsRemoval(realm, username),
    )
    context.audit({ principal: username, auth_method: 'up', realm, object: username })
    try {
      const results = await context.commit(changes)
      countSessions(context.services.metrics, 'revoked', results.at(-1)?.changes ?? 0)
    } catch (error) {
      if (!(error instanceof GuardFailed)) throw error
      throw new LoginRefused('credential_changed')
    }
  })
  await forgetFailures(context, realm, username)
}
