import { rawReply } from '@warder/foundation/http'
import { defineOperation, get, type Operation, post } from '@warder/foundation/operations'
import Type from 'typebox'
import { anySession, everybody, sessionOf } from '../callers.ts'
import { RealmQuery } from '../realms/index.ts'
import type { AuthServices } from '../services.ts'
import { ClaimsReply, setSessionCookie } from '../sessions/index.ts'
import { logIn } from './login.ts'
import { changePassword } from './password-change.ts'

const define = defineOperation<AuthServices>()
const tag = 'Login'
const smallBody = 64 * 1024
const Code = Type.Optional(Type.Union([Type.String({ maxLength: 64 }), Type.Null()]))

export const loginOperations: readonly Operation<AuthServices>[] = [
  define({
    name: 'login',
    route: post('/login'),
    summary: 'Log in to a realm',
    description:
      'Credentials: `Authorization: Basic`, `Authorization: Bearer` with a token of one of the realm’s identity ' +
      'providers, or a client certificate. Users with TOTP send the code in the body.',
    tag,
    access: everybody,
    queryParameters: RealmQuery,
    request: Type.Object({ totp_code: Code }),
    bodyOptional: true,
    anyContentType: true,
    bodyLimit: smallBody,
    reply: Type.Object({
      next_step: Type.Union([
        Type.Literal('Authenticated'),
        Type.Literal('TotpRequired'),
        Type.Literal('ChangePassword'),
      ]),
      session_id: Type.Union([Type.String(), Type.Null()]),
    }),
    errors: { 401: 'The credentials are missing or not valid.', 503: 'Too many logins at once.' },
    async act({ query, body }, context) {
      const code = (body as { totp_code?: string | null } | undefined)?.totp_code ?? undefined
      const result = await logIn(context, query.realm, code)
      if (result.nextStep !== 'Authenticated') return { next_step: result.nextStep, session_id: null }
      const { session, cookie } = result
      return rawReply({
        json: { next_step: 'Authenticated', session_id: session.id },
        headers: { 'Set-Cookie': setSessionCookie(cookie, session.maxAge) },
      })
    },
  }),
  define({
    name: 'password.change',
    route: post('/password'),
    summary: 'Change one’s own password',
    description:
      'Proved by the old password (`Authorization: Basic`) and, with TOTP, a code. Ends all sessions.',
    tag,
    access: everybody,
    queryParameters: RealmQuery,
    request: Type.Object({ new_password: Type.String({ maxLength: 8192 }), totp_code: Code }),
    bodyLimit: smallBody,
    status: 204,
    errors: { 401: 'The credentials are missing or not valid.', 503: 'Too many logins at once.' },
    act: ({ query, body }, context) =>
      changePassword(context, query.realm, body.new_password, body.totp_code ?? undefined),
  }),
  define({
    name: 'whoami',
    route: get('/whoami'),
    summary: 'The claims of the session',
    tag,
    access: anySession,
    reply: ClaimsReply,
    audited: false,
    act: (_input, context) => sessionOf(context).claims,
  }),
]
