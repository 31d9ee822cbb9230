import { StartupError } from '@warder/base'
import { formatTime, printable } from '../cli/table.ts'
import type { HttpsClient } from '../client/https-client.ts'
import { fetchSession } from './claims.ts'
import { fetchMachine } from './machine.ts'
import { formatLoginCommand, formatUserName, type LoginFacts, type StoredLogin } from './stored-login.ts'

/** A stored login has ended: one line with its user and the command to log in again. */
export class LoginEnded extends StartupError {}

function createEndedError(facts: LoginFacts, when: string): LoginEnded {
  return new LoginEnded(
    printable(
      `the login of ${formatUserName(facts)} ${when}: log in again with ${formatLoginCommand(facts)}`,
    ),
  )
}

/** @param now Unix seconds @throws LoginEnded for an expired login */
export function requireUnexpired(facts: LoginFacts, now: number): void {
  const { expiresAt } = facts
  if (expiresAt !== undefined && expiresAt <= now)
    throw createEndedError(facts, `ended at ${formatTime(expiresAt)}`)
}

/**
 * Checks at the authentication service that a login is still valid; tokens of other issuers are not checked.
 * @throws LoginEnded; StartupError when the service cannot be reached
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
  if (found === undefined) throw createEndedError(facts, 'was ended at the authentication service')
}
