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

/** Credentials of the caller. */
export interface AuthCredentials {
  /** Token of a session. Not in a browser, which stores the session as a cookie. */
  readonly session?: string | undefined
  /** Token of an issuer that the realm trusts, for the login. */
  readonly bearer?: string | undefined
  /** A machine token. */
  readonly secretToken?: string | undefined
  /** PEM of a certificate and its private key. Not in a browser, which manages its own certificates. */
  readonly certificate?: { readonly cert: string; readonly key: string } | undefined
}

export interface AuthClientOptions extends ClientOptions {
  /** Without credentials: in a browser, the session of its cookie. */
  readonly credentials?: AuthCredentials
}

/** The user who logs in. Without a name, the token or the certificate of the client is used. */
export interface LoginRequest {
  readonly realm: string
  readonly username?: string
  readonly password?: string
  /** Code of the second factor, or a recovery code. */
  readonly totpCode?: string
  /** Result of `navigator.credentials.get()` as JSON, for the options of `TotpRequired`. */
  readonly passkey?: Passkey
}

type Passkey = NonNullable<NonNullable<AuthInput<'login'>['body']>['passkey']>

/** Result of a login step. */
export type LoginStep =
  | {
      readonly step: 'Authenticated'
      readonly sessionId: string
      /** The token to use at a key management service; undefined in a browser, which stores it as a cookie. */
      readonly token: string | undefined
    }
  | {
      /** Log in again with a code or a passkey. */
      readonly step: 'TotpRequired'
      /** Second factors of the user, one of which suffices: `totp`, `passkey`. */
      readonly factors: readonly string[]
      /** For `passkey`: PublicKeyCredentialRequestOptionsJSON. */
      readonly passkeyOptions?: unknown
    }
  /** Change the password first. */
  | { readonly step: 'ChangePassword' }

/** The authentication service. */
export interface AuthClient extends ServiceClient<Operations> {
  /** @throws ClientError `unauthorized` when the login is refused */
  login(request: LoginRequest): Promise<LoginStep>
  /** Changes the password; the old one is the proof. @throws ClientError */
  changePassword(request: LoginRequest & { readonly newPassword: string }): Promise<void>
}

/** Safe to retry: the service refuses logins as busy before it does anything. */
const repeatable: ReadonlySet<string> = new Set(['login'])

/** @throws TypeError as `kmsClient`, and for a session in a browser */
export function authClientOver(network: Network, options: AuthClientOptions): AuthClient {
  const { certificate, session, ...tokens } = options.credentials ?? {}
  if (session !== undefined && network.keepsCookies)
    throw new TypeError('a browser stores the session as a cookie: omit session')
  const identity = {
    ...tokenHeaders(tokens),
    ...(session !== undefined && { cookie: `_ea_=${headerToken(session)}` }),
  }
  const parts = { routes, repeatable, identity, certificate, sendCookies: true }
  const { client, send } = serviceClient<Operations>(network, options, parts)
  /** Uses the name and password if given, else the credentials of the client. */
  const selectIdentity = ({ username, password }: LoginRequest): Readonly<Record<string, string>> => {
    if (username === undefined && password === undefined) return identity
    if (username === undefined || password === undefined || username.includes(':'))
      throw new TypeError('a login requires a name without a colon and a password')
    return { authorization: `Basic ${toBase64(new TextEncoder().encode(`${username}:${password}`))}` }
  }
  return {
    ...client,
    async login(request) {
      const { realm } = request
      const input = { query: { realm }, body: secondFactor(request) }
      const { reply, headers } = await send('login', input, selectIdentity(request))
      const { next_step: step, session_id: sessionId, ...rest } = reply as AuthReply<'login'>
      if (step === 'TotpRequired')
        return { step, factors: rest.second_factors ?? ['totp'], passkeyOptions: rest.passkey_options }
      if (step === 'ChangePassword') return { step }
      const token = sessionIn(headers)
      if (sessionId === null || (token === undefined && !network.keepsCookies))
        throw new ClientError({
          kind: 'unexpected_reply',
          description: 'the reply to the login contains no session',
        })
      return { step, sessionId, token }
    },
    async changePassword(request) {
      const { realm, newPassword: new_password } = request
      const body = { new_password, ...secondFactor(request) }
      await send('password.change', { query: { realm }, body }, selectIdentity(request))
    },
  }
}

/** Members of a body. */
function secondFactor({ totpCode: totp_code, passkey }: LoginRequest) {
  return { ...(totp_code !== undefined && { totp_code }), ...(passkey !== undefined && { passkey }) }
}

function sessionIn(headers: Answer['headers']): string | undefined {
  const cookies = [headers['set-cookie'] ?? []].flat()
  return cookies.map((cookie) => /^_ea_=([^;]+)/.exec(cookie)?.[1]).find((value) => value !== undefined)
}
