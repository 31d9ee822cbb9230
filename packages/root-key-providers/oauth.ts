import { constants, createPrivateKey, type KeyObject, sign } from 'node:crypto'
import { StartupError } from '@warder/base'
import type { Outbound } from '@warder/outbound'
import { RootKeyUnavailable } from '@warder/storage'
import { CredentialCache, type Expiring, isTemporary, type Reply, receive, toPhrase } from './cloud.ts'

/** A bearer token (RFC 6750). */
export interface AccessToken extends Expiring {
  readonly token: string
}

/** A source of tokens. */
export interface TokenSource {
  /** An account, a file or a service, for error messages. */
  readonly description: string
  /** @throws RootKeyUnavailable, StartupError */
  fetch(): Promise<AccessToken>
}

/**
 * Requests a token (RFC 6749 §4.4 with the client authentication of RFC 7523, or RFC 8693).
 * @param advice what to do if it is refused
 * @throws RootKeyUnavailable, StartupError
 */
export async function requestToken(
  outbound: Outbound,
  url: string,
  form: Readonly<Record<string, string>>,
  { now, advice }: { readonly now: () => number; readonly advice: string },
): Promise<AccessToken> {
  const body = Buffer.from(new URLSearchParams(form).toString())
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  return readToken(url, await receive(url, outbound.post(url, body, { headers })), { now, advice })
}

/**
 * Creates a function that sends requests with a token of the source, and once more with a new one if it is refused (401).
 * Its parameters are the URL, and the members of a POST request; undefined: GET.
 * @param server names it in errors
 */
export function createBearerClient(
  server: string,
  source: TokenSource,
  { outbound, now }: { readonly outbound: Outbound; readonly now: () => number },
): (url: string, members: object | undefined) => Promise<Reply> {
  const tokens = new CredentialCache(() => source.fetch(), now)
  return (url, members) =>
    tokens.use(
      ({ token }) => {
        const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
        const sent =
          members === undefined
            ? outbound.get(url, { headers })
            : outbound.post(url, Buffer.from(JSON.stringify(members)), { headers })
        return receive(server, sent)
      },
      ({ status }) => status === 401,
    )
}

/** Reads the reply of a token endpoint or of a metadata service. @throws RootKeyUnavailable, StartupError */
export function readToken(
  server: string,
  { status, json }: Reply,
  { now, advice }: { readonly now: () => number; readonly advice: string },
): AccessToken {
  if (status !== 200) {
    const error = typeof json?.error === 'string' ? json.error : undefined
    const said = [status, toPhrase(error), toPhrase(json?.error_description)].filter((part) => part !== '')
    if (isTemporary(status)) throw new RootKeyUnavailable(`${server} replied with ${said.join(' ')}`)
    throw new StartupError(`${server} refused the token request with ${said.join(' ')}; ${advice}`)
  }
  const seconds = Number(json?.expires_in)
  const token = json?.access_token
  if (!isToken(token) || !Number.isFinite(seconds) || seconds <= 0)
    throw new StartupError(`${server} replied without an access token and its lifetime`)
  return { token, expiresAt: now() + seconds * 1000 }
}

export function isToken(value: unknown): value is string {
  return typeof value === 'string' && /^[\x21-\x7e]{1,16384}$/.test(value)
}

/** Reads the private RSA key of a file. @throws StartupError */
export function readSigningKey(pem: string, what: string): KeyObject {
  let key: KeyObject | undefined
  try {
    key = createPrivateKey(pem)
  } catch {
    // The reason of OpenSSL adds nothing, and the text is a secret.
  }
  if (key?.asymmetricKeyType !== 'rsa') throw new StartupError(`${what} contains no private RSA key in PEM`)
  return key
}

/** A JWT (RFC 7519) by which a client authenticates, signed with RS256 or PS256 (RFC 7518 §3.3, §3.5). */
export function signAssertion(
  key: KeyObject,
  header: { readonly alg: 'RS256' | 'PS256' } & Readonly<Record<string, string>>,
  claims: Readonly<Record<string, string | number>>,
): string {
  const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url')
  const signed = `${encode(header)}.${encode(claims)}`
  const pss = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
  const signature = sign('sha256', Buffer.from(signed), { key, ...(header.alg === 'PS256' && pss) })
  return `${signed}.${signature.toString('base64url')}`
}
