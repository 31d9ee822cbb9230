import { StartupError } from '@warder/foundation/errors'
import { printable, timeOf } from '../cli/table.ts'
import type { HttpsClient } from '../client/index.ts'
import { sessionFacts } from './claims.ts'
import { type KeptLogin, type LoginFacts, loginAgain, nameOf } from './kept-login.ts'
import { machineFacts } from './machine.ts'

/** A kept login that is none any more: one line that says whose, and what to do. */
export class LoginEnded extends StartupError {}

function endedLogin(facts: LoginFacts, when: string): LoginEnded {
  return new LoginEnded(
    printable(`the login of ${nameOf(facts)} ${when}: log in again with ${loginAgain(facts)}`),
  )
}

/** @param now Unix seconds @throws LoginEnded for one whose time is over */
export function requireTime(facts: LoginFacts, now: number): void {
  const { expiresAt } = facts
  if (expiresAt !== undefined && expiresAt <= now) throw endedLogin(facts, `ended at ${timeOf(expiresAt)}`)
}

/**
 * Asks the authentication service whether a login goes on; of tokens of others it knows nothing.
 * @throws LoginEnded; StartupError when it cannot be asked
 */
export async function requireLive(
  auth: HttpsClient,
  login: Pick<KeptLogin, 'token'> & { readonly facts: LoginFacts },
): Promise<void> {
  const { facts, token } = login
  const found =
    facts.kind === 'session'
      ? await sessionFacts(auth, facts.realm ?? '_', token)
      : facts.kind === 'app'
        ? await machineFacts(auth, token)
        : facts
  if (found === undefined) throw endedLogin(facts, 'has been ended at the authentication service')
}
