import { createHash, randomBytes } from 'node:crypto'
import { StartupError } from '@warder/base'
import type { HttpsClient } from '../https-client.ts'
import { createRefused, readSessionToken, send } from './exchange.ts'
import { openLoopback } from './loopback.ts'

/** A login with a browser (RFC 8252; docs/adr/saml.md). */
interface BrowserLogin {
  /** Time limit for the user. */
  readonly withinMs: number
  /** Shows the address for the browser. */
  show(url: string): void
}

/** What the browser carries: the verifier of `challenge` never appears in an address. */
interface Proof {
  readonly return_to: string
  readonly state: string
  readonly code_challenge: string
}

/**
 * Logs in at the identity provider of a realm with a browser.
 * @returns the value of the session cookie
 * @throws StartupError that names the cause
 */
export async function logInWithSaml(
  auth: HttpsClient,
  { realm, ...login }: BrowserLogin & { readonly realm: string },
): Promise<string> {
  const at = `/saml/${encodeURIComponent(realm)}`
  const page = await fetchLoginPage(auth, at)
  const { token } = await exchangeCode(auth, { ...login, realm }, async (proof) => {
    const query = new URLSearchParams({ ...proof })
    // Checked before the browser is opened, so that a missing setting is reported at once.
    const begun = await send(auth, `${at}/login?${query}`, {})
    if (begun.status === 302) return `${page}?${query}`
    const { message } = createRefused(begun)
    const help = /return origin/.test(message)
      ? `: an administrator must add http://127.0.0.1 to allowed_return_origins of ${realm}`
      : ''
    throw new StartupError(`${message}${help}`)
  })
  return token
}

/**
 * Logs in with a browser at the page of the authentication service. Every method of the realm works there, including
 * passkeys.
 * @param login.realm undefined: the user chooses it
 * @param login.authUrl address for the browser, if the service does not know its own
 * @throws StartupError that names the cause
 */
export function logInAtPage(
  auth: HttpsClient,
  login: BrowserLogin & { readonly realm: string | undefined; readonly authUrl: string },
): Promise<{ readonly token: string; readonly realm: string }> {
  return exchangeCode(auth, login, async (proof) => {
    const answer = await send(auth, '/handover/program', { json: proof })
    if (answer.status === 404)
      throw new StartupError('the service has no login for browsers: it is older than this command')
    if (answer.status !== 200) throw createRefused(answer)
    const { request, page } = (answer.json ?? {}) as { request?: unknown; page?: unknown }
    if (typeof request !== 'string') throw createRefused(answer)
    const url = new URL(typeof page === 'string' ? page : `${login.authUrl}/ui/handover`)
    if (url.protocol !== 'https:') throw createRefused(answer)
    url.searchParams.set('request', request)
    if (login.realm !== undefined) url.searchParams.set('realm', login.realm)
    return url.href
  })
}

/** Receives a code at a loopback port, and exchanges it for the session. @param begin returns the address for the browser */
async function exchangeCode(
  auth: HttpsClient,
  { realm: expected, withinMs, show }: BrowserLogin & { readonly realm: string | undefined },
  begin: (proof: Proof) => Promise<string>,
): Promise<{ readonly token: string; readonly realm: string }> {
  const [verifier, state] = [createRandomText(), createRandomText()]
  const loopback = await openLoopback(state, withinMs)
  try {
    const code_challenge = createHash('sha256').update(verifier).digest('base64url')
    show(await begin({ return_to: loopback.url, state, code_challenge }))
    const { code, realm = expected } = await loopback.receive()
    if (realm === undefined) throw new StartupError('the browser returned without a realm')
    if (expected !== undefined && realm !== expected)
      throw new StartupError(
        `the browser is logged in to the realm ${realm}, not to ${expected}: choose "Log in as another user" there`,
      )
    const json = { code, code_verifier: verifier }
    const answer = await send(auth, `/saml/${encodeURIComponent(realm)}/session`, { json })
    if (answer.status !== 200) throw createRefused(answer)
    const token = readSessionToken(answer)
    if (token === undefined) throw new StartupError('the service returned no session and no reason')
    return { token, realm }
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
