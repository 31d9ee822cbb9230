import { createHash, randomBytes } from 'node:crypto'
import { StartupError } from '@warder/base'
import type { HttpsClient } from '../https-client.ts'
import { createRefused, readSessionToken, send } from './exchange.ts'
import { openLoopback } from './loopback.ts'

export interface SamlLogin {
  readonly realm: string
  /** Time limit for the login at the identity provider. */
  readonly withinMs: number
  /** Shows the address for the browser. */
  show(url: string): void
}

/**
 * Logs in at the identity provider of a realm with a browser (RFC 8252; docs/adr/saml.md): the browser returns a code to a
 * loopback port, and the code is exchanged for the session with a verifier that never appears in an address.
 * @returns the value of the session cookie
 * @throws StartupError that names the cause
 */
export async function logInWithSaml(
  auth: HttpsClient,
  { realm, withinMs, show }: SamlLogin,
): Promise<string> {
  const at = `/saml/${encodeURIComponent(realm)}`
  const page = await fetchLoginPage(auth, at)
  const [verifier, state] = [createRandomText(), createRandomText()]
  const loopback = await openLoopback(state, withinMs)
  try {
    const query = new URLSearchParams({
      ...{ return_to: loopback.url, state },
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    })
    // Checked before the browser is opened, so that a missing setting is reported at once.
    const begun = await send(auth, `${at}/login?${query}`, {})
    if (begun.status !== 302) {
      const { message } = createRefused(begun)
      const help = /return origin/.test(message)
        ? `: an administrator must add http://127.0.0.1 to allowed_return_origins of ${realm}`
        : ''
      throw new StartupError(`${message}${help}`)
    }
    show(`${page}?${query}`)
    const json = { code: await loopback.code(), code_verifier: verifier }
    const answer = await send(auth, `${at}/session`, { json })
    if (answer.status !== 200) throw createRefused(answer)
    const token = readSessionToken(answer)
    if (token === undefined) throw new StartupError('the service returned no session and no reason')
    return token
  } finally {
    loopback.close()
  }
}

/**
 * Fetches the login page for browsers: on the host of the assertion consumer service, because the login cookie belongs to
 * that host, which may differ from the address that the command uses.
 */
async function fetchLoginPage(auth: HttpsClient, at: string): Promise<string> {
  const answer = await send(auth, `${at}/metadata`, {})
  if (answer.status !== 200) throw createRefused(answer)
  const page = /AssertionConsumerService[^>]* Location="(https:\/\/[^"&<>\s]+\/)acs"/.exec(answer.text)?.[1]
  if (page === undefined)
    throw new StartupError(
      'the metadata of the service contain no login address: check that it has the same version as this command',
    )
  return `${page}login`
}

/** Creates 256 random bits in base64url. */
function createRandomText(): string {
  return randomBytes(32).toString('base64url')
}
