import { createHash, randomBytes } from 'node:crypto'
import { StartupError } from '@warder/foundation/errors'
import type { HttpsClient } from '../client/index.ts'
import { createRefused, send } from './exchange.ts'
import { openLoopback } from './loopback.ts'

export interface SamlLogin {
  readonly realm: string
  /** How long a person may take at the identity provider. */
  readonly withinMs: number
  /** Is given the address that a browser has to open. */
  show(url: string): void
}

/**
 * Logs somebody in at the identity provider of a realm, with a browser (RFC 8252; docs/adr/saml.md): the browser brings
 * a code to a port of this computer, and the code and a verifier that was never in an address give the session.
 * @returns the value of the session cookie
 * @throws StartupError with one line that helps
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
    // Asked here first: a realm that is not set up for it is told in the terminal, and nobody waits.
    const begun = await send(auth, `${at}/login?${query}`, {})
    if (begun.status !== 302) {
      const { message } = createRefused(begun)
      const help = /return origin/.test(message)
        ? `: an administrator has to put http://127.0.0.1 into allowed_return_origins of ${realm}`
        : ''
      throw new StartupError(`${message}${help}`)
    }
    show(`${page}?${query}`)
    const json = { code: await loopback.code(), code_verifier: verifier }
    const answer = await send(auth, `${at}/session`, { json })
    if (answer.status !== 200) throw createRefused(answer)
    const token = /^_ea_=([^;]+)/.exec([answer.headers['set-cookie']].flat()[0] ?? '')?.[1]
    if (token === undefined) throw new StartupError('the service let nobody in and did not say why')
    return token
  } finally {
    loopback.close()
  }
}

/**
 * Where browsers begin: beside the address to which the identity provider sends them back, because the cookie of a login
 * is of that host. The command may know the service by another one.
 */
async function fetchLoginPage(auth: HttpsClient, at: string): Promise<string> {
  const answer = await send(auth, `${at}/metadata`, {})
  if (answer.status !== 200) throw createRefused(answer)
  const page = /AssertionConsumerService[^>]* Location="(https:\/\/[^"&<>\s]+\/)acs"/.exec(answer.text)?.[1]
  if (page === undefined)
    throw new StartupError('the service did not say where browsers log in: is it of this version?')
  return `${page}login`
}

/** 256 bits. */
function createRandomText(): string {
  return randomBytes(32).toString('base64url')
}
