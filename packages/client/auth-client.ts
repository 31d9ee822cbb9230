import { type Operations, routes } from './auth.gen.ts'
import { toBase64 } from './base64url.ts'
import { ClientError } from './error.ts'
import {
  type ClientOptions,
  headerToken,
  type InputOf,
  type ReplyOf,
  type ServiceClient,
  serviceClient,
  tokenHeaders,
} from './service-client.ts'
import type { Answer, Network } from './transport.ts'

export type AuthOperationName = keyof Operations
export type AuthInput<Name extends AuthOperationName> = InputOf<Operations, Name>
export type AuthReply<Name extends AuthOperationName> = ReplyOf<Operations, Name>

/** How the caller proves who they are. */
export interface AuthCredentials {
  /** Token of a session. Not in a browser, which keeps the session as a cookie. */
  readonly session?: string | undefined
  /** Token of an issuer that the realm trusts, to log in with. */
  readonly bearer?: string | undefined
  /** A machine token. */
  readonly secretToken?: string | undefined
  /** PEM of a certificate and of its private key. Not in a browser, which has certificates of its own. */
  readonly certificate?: { readonly cert: string; readonly key: string } | undefined
}

export interface AuthClientOptions extends ClientOptions {
  /** Without any: in a browser the session that it has a cookie of. */
  readonly credentials?: AuthCredentials
}

/** The user who logs in. Without a name: by the token or the certificate of the client's credentials. */
export interface LoginRequest {
  readonly realm: string
  readonly username?: string
  readonly password?: string
  /** Code of the second factor. */
  readonly totpCode?: string
}

/** How far a login has come. */
export type LoginStep =
  | {
      readonly step: 'Authenticated'
      readonly sessionId: string
      /** For the bearer of a key management service. undefined in a browser, which keeps it as a cookie. */
      readonly token: string | undefined
    }
  /** `TotpRequired`: log in again with a code. `ChangePassword`: the password has to be changed first. */
  | { readonly step: 'TotpRequired' | 'ChangePassword' }

/** The authentication service. */
export interface AuthClient extends ServiceClient<Operations> {
  /** @throws ClientError `unauthorized` when nobody is let in */
  login(request: LoginRequest): Promise<LoginStep>
  /** Chooses a new password, by the one before. @throws ClientError */
  changePassword(request: LoginRequest & { readonly newPassword: string }): Promise<void>
}

/** Logins are refused as busy before anything is done. */
const repeatable: ReadonlySet<string> = new Set(['login'])

/** @throws TypeError as `kmsClient`, and for a session in a browser */
export function authClientOver(network: Network, options: AuthClientOptions): AuthClient {
  const { certificate, session, ...tokens } = options.credentials ?? {}
  if (session !== undefined && network.keepsCookies)
    throw new TypeError('a browser keeps the session as a cookie: leave session out')
  const identity = {
    ...tokenHeaders(tokens),
    ...(session !== undefined && { cookie: `_ea_=${headerToken(session)}` }),
  }
  const parts = { routes, repeatable, identity, certificate, sendCookies: true }
  const { client, send } = serviceClient<Operations>(network, options, parts)
  /** By name and password where they are given, else by the credentials of the client. */
  const selectIdentity = ({ username, password }: LoginRequest): Readonly<Record<string, string>> => {
    if (username === undefined && password === undefined) return identity
    if (username === undefined || password === undefined || username.includes(':'))
      throw new TypeError('a login takes a name without a colon, and a password')
    return { authorization: `Basic ${toBase64(new TextEncoder().encode(`${username}:${password}`))}` }
  }
  return {
    ...client,
    async login(request) {
      const { realm, totpCode: totp_code } = request
      const body = totp_code === undefined ? {} : { totp_code }
      const { reply, headers } = await send('login', { query: { realm }, body }, selectIdentity(request))
      const { next_step: step, session_id: sessionId } = reply as AuthReply<'login'>
      if (step !== 'Authenticated') return { step }
      const token = sessionIn(headers)
      if (sessionId === null || (token === undefined && !network.keepsCookies))
        throw new ClientError({ kind: 'unexpected_reply', description: 'the login gave no session' })
      return { step, sessionId, token }
    },
    async changePassword(request) {
      const { realm, newPassword: new_password, totpCode: totp_code } = request
      const body = { new_password, ...(totp_code !== undefined && { totp_code }) }
      await send('password.change', { query: { realm }, body }, selectIdentity(request))
    },
  }
}

function sessionIn(headers: Answer['headers']): string | undefined {
  const cookies = [headers['set-cookie'] ?? []].flat()
  return cookies.map((cookie) => /^_ea_=([^;]+)/.exec(cookie)?.[1]).find((value) => value !== undefined)
}
