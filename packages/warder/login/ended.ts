import { StartupError } from '@warder/foundation/errors'
import { formatTime, printable } from '../cli/table.ts'
import type { HttpsClient } from '../client/index.ts'
import { fetchSession } from './claims.ts'
import { fetchMachine } from './machine.ts'
import { formatLoginCommand, formatUserName, type LoginFacts, type StoredLogin } from './stored-login.ts'

/** A kept login that is none any more: one line that says whose, and what to do. */
export class LoginEnded extends StartupError {}

function createEndedError(facts: LoginFacts, when: string): LoginEnded {
  return new LoginEnded(
    printable(
      `the login of ${formatUserName(facts)} ${when}: log in again with ${formatLoginCommand(facts)}`,
    ),
  )
}

/** @param now Unix seconds @throws LoginEnded for one whose time is over */
export function requireUnexpired(facts: LoginFacts, now: number): void {
  const { expiresAt } = facts
  if (expiresAt !== undefined && expiresAt <= now)
    throw createEndedError(facts, `ended at ${formatTime(expiresAt)}`)
}

/**
 * Asks the authentication service whether a login goes on; of tokens of others it knows nothing.
 * @throws LoginEnded; StartupError when it cannot be asked
 */
export async function requireLive(
  auth: HttpsClient,
  login: Pick<StoredLogin, 'token'> & { readonly facts: LoginFacts },
): Promise<void> {
  const { facts, token } = login
  const found =
    facts.kind === 'session'
      ? await fetchSession(auth, facts.realm ?? '_', token)
      : facts.kind === 'app'
        ? await fetchMachine(auth, token)
        : facts
  if (found === undefined) throw createEndedError(facts, 'has been ended at the authentication service')
}
