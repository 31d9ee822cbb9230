import { failure } from '@warder/base'
import {
  endedLoginCookie,
  endedSessionCookie,
  loginCookieName,
  openSessions,
  sessionCookie,
  sessionCookieName,
} from '@warder/identity'
import { publicAccess } from '@warder/keys'
import { get, type Operation, post, rawReply } from '@warder/server'
import Type from 'typebox'
import { browserErrors } from './browser-errors.ts'
import { define, type RestServices } from './services.ts'
import { handoverOperations, pagePath } from './ui-handover.ts'
import { samlOperations } from './ui-saml.ts'

const LoginRequest = Type.Object({
  username: Type.String({ maxLength: 256 }),
  password: Type.String({ maxLength: 1024 }),
  totp_code: Type.Optional(Type.String({ maxLength: 64, description: 'A TOTP code or a recovery code.' })),
})

/** `POST /ui/login`: the credentials are checked at the authentication service; the session is a sealed cookie. */
const login = define({
  name: 'ui.login',
  reach: ['make session'],
  route: post('/ui/login'),
  summary: 'Log in for the web page',
  tag: 'Web page',
  access: publicAccess,
  request: LoginRequest,
  bodyLimit: 16 * 1024,
  reply: Type.Object({ next_step: Type.String() }),
  errors: {
    401: 'The credentials are wrong.',
    404: 'Logins are not configured.',
    503: 'The credentials cannot be checked at present.',
  },
  async act({ body }, context) {
    const { passwordLogin, ended } = context.services
    if (passwordLogin === undefined) throw failure('not_found', 'Logins with a password are not configured.')
    // The authentication service knows names in this form only: another spelling must not become another user here.
    const user = passwordLogin.user(body.username.normalize('NFC'))
    // Before the login, so that a revocation from now on ends its session, too.
    const position = ended?.position()
    const { clientAddress } = context.request
    const { nextStep, subjectId, roleClaims } = await passwordLogin.check(
      user,
      body.password,
      body.totp_code,
      clientAddress,
    )
    const { name, realm } = user
    context.audit({ principal: name, auth_method: 'session', realm, details: { next_step: nextStep } })
    if (nextStep !== 'Authenticated') return { next_step: nextStep }
    if (subjectId !== undefined) await context.services.names.claim(name, subjectId)
    const known = {
      ...(subjectId !== undefined && { subjectId }),
      ...(position !== undefined && { position }),
      ...(roleClaims !== undefined && { roleClaims }),
    }
    const cookie = sessionCookie({ ...context.services, log: context.log }, { ...user, ...known })
    return rawReply({ json: { next_step: nextStep }, headers: { 'Set-Cookie': cookie } })
  },
})

const logout = define({
  name: 'ui.logout',
  reach: ['end session'],
  route: post('/ui/logout'),
  summary: 'End the session of the web page',
  description:
    'A session that was handed over by the authentication service also ends at the authentication service. 503: the session has ' +
    'ended here, but the authentication service does not respond; repeat the request to end it there as well.',
  tag: 'Web page',
  access: publicAccess,
  status: 204,
  errors: { 503: 'The session has ended here, but the authentication service does not respond.' },
  async act(_input, context) {
    const { services, request } = context
    const sessions = await openSessions(services, request.cookies(sessionCookieName))
    if (sessions.length > 0) await context.commit(sessions.map(({ end }) => end))
    for (const { realm, logoutHandle } of sessions) {
      if (logoutHandle !== undefined)
        await services.samlLogin?.end({ realm, logoutHandle }, request.clientAddress)
    }
    return rawReply({ status: 204, headers: { 'Set-Cookie': endedSessionCookie } })
  },
})

function requireOidc({ oidcLogin }: RestServices) {
  if (oidcLogin === undefined) throw failure('not_found', 'Logins at an OpenID provider are not configured.')
  return oidcLogin
}

/** `GET /ui/login_flow`: to the OpenID provider, with PKCE S256, state and nonce. */
const loginFlow = define({
  name: 'ui.login_flow',
  reach: ['reveal public'],
  route: get('/ui/login_flow'),
  summary: 'Log in for the web page at the OpenID provider',
  tag: 'Web page',
  access: publicAccess,
  status: 302,
  errors: { 404: 'Logins are not configured.', 503: 'The provider does not respond.' },
  errorShape: browserErrors,
  async act(_input, { services, request }) {
    const { location, cookie } = await requireOidc(services).begin(request.clientAddress)
    return rawReply({ status: 302, headers: { Location: location, 'Set-Cookie': cookie } })
  },
})

/** `GET /ui/callback`: the provider sends the browser back; only the one that began the login can finish it. */
const callback = define({
  name: 'ui.callback',
  reach: ['make session'],
  route: get('/ui/callback'),
  summary: 'Complete a login at the OpenID provider',
  foreignParameters: {
    names: 'any',
    because:
      'The provider sends the browser here; `code`, `state` and `error` are read (RFC 6749 §4.1.2), and it may add others.',
  },
  tag: 'Web page',
  access: publicAccess,
  status: 302,
  errors: {
    401: 'The login did not succeed. `problem`, if this browser did not start it: `not_started`, `expired` or `other_login`.',
    404: 'Logins are not configured.',
    503: 'The provider does not respond.',
  },
  errorShape: browserErrors,
  async act(_input, context) {
    const { services, request } = context
    const oidc = requireOidc(services)
    const user = await oidc.finish(request.query, request.cookies(loginCookieName), request.clientAddress)
    context.audit({ principal: user.name, auth_method: 'session', realm: oidc.issuer })
    const cookie = sessionCookie({ ...services, log: context.log }, { ...user, realm: oidc.issuer })
    return rawReply({
      status: 302,
      headers: { Location: pagePath, 'Set-Cookie': [cookie, endedLoginCookie] },
    })
  },
})

export const uiOperations: readonly Operation<RestServices>[] = [
  login,
  loginFlow,
  callback,
  ...samlOperations,
  ...handoverOperations,
  logout,
]
