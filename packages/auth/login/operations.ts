import { defineOperation, get, type Operation, post, rawReply } from '@warder/server'
import Type from 'typebox'
import { anyCaller, anySession } from '../callers/access.ts'
import { requireSession } from '../callers/callers.ts'
import { ClaimsReply } from '../identity/claims.ts'
import { RealmQuery } from '../realms/realm-id.ts'
import { setSessionCookie } from '../sessions/cookie.ts'
import { logIn } from './login.ts'
import type { LoginMethod } from './method.ts'
import type { LoginServices } from './services.ts'

const tag = 'Login'
const smallBody = 64 * 1024
const Code = Type.Optional(Type.Union([Type.String({ maxLength: 64 }), Type.Null()]))

/** @param methods the whole table */
export function loginOperations<Services extends LoginServices>(
  methods: readonly LoginMethod<Services>[],
): readonly Operation<Services>[] {
  const define = defineOperation<Services>()
  return [
    define({
      name: 'login',
      route: post('/login'),
      summary: 'Log in to a realm',
      description:
        'Credentials: `Authorization: Basic`, `Authorization: Bearer` with a token of one of the realm’s identity ' +
        'providers, or a client certificate. Users with TOTP send the code in the body.',
      tag,
      access: anyCaller,
      security: ['basic', 'bearer', 'certificate'],
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
        const result = await logIn(context, methods, query.realm, code)
        if (result.nextStep !== 'Authenticated') return { next_step: result.nextStep, session_id: null }
        const { session, cookie } = result
        return rawReply({
          json: { next_step: 'Authenticated', session_id: session.id },
          headers: { 'Set-Cookie': setSessionCookie(cookie, session.maxAge) },
        })
      },
    }),
    define({
      name: 'whoami',
      route: get('/whoami'),
      summary: 'The claims of the session',
      tag,
      access: anySession,
      reply: ClaimsReply,
      audited: false,
      act: (_input, context) => requireSession(context).claims,
    }),
  ]
}
