import { failure } from '@warder/foundation/errors'
import { rawReply } from '@warder/foundation/http'
import { type Operation, post } from '@warder/foundation/operations'
import Type from 'typebox'
import { endedSessionCookie, sessionCookie } from '../identity/index.ts'
import { anybody, define, type KmsServices } from './services.ts'

const LoginRequest = Type.Object({
  username: Type.String({ maxLength: 256 }),
  password: Type.String({ maxLength: 1024 }),
  totp_code: Type.Optional(Type.String({ maxLength: 16 })),
})

/** `POST /ui/login`: the credentials are checked at the authentication service; the session is a sealed cookie. */
const login = define({
  name: 'ui.login',
  route: post('/ui/login'),
  summary: 'Log in for the web page',
  tag: 'Web page',
  access: anybody,
  request: LoginRequest,
  reply: Type.Object({ next_step: Type.String() }),
  errors: {
    401: 'The credentials are wrong.',
    404: 'Logins are not configured.',
    503: 'Cannot be checked now.',
  },
  async act({ body }, context) {
    const { passwordLogin, seal, clock } = context.services
    if (passwordLogin === undefined) throw failure('not_found', 'Logins with a password are not configured.')
    const step = await passwordLogin.check(body.username, body.password, body.totp_code)
    context.audit({ principal: body.username, auth_method: 'session', details: { next_step: step } })
    if (step !== 'Authenticated') return { next_step: step }
    const cookie = sessionCookie(seal, clock, { name: body.username, realm: passwordLogin.realm })
    return rawReply({ json: { next_step: step }, headers: { 'Set-Cookie': cookie } })
  },
})

const logout = define({
  name: 'ui.logout',
  route: post('/ui/logout'),
  summary: 'Forget the session of the web page',
  tag: 'Web page',
  access: anybody,
  status: 204,
  act: () => rawReply({ status: 204, headers: { 'Set-Cookie': endedSessionCookie } }),
})

export const uiOperations: readonly Operation<KmsServices>[] = [login, logout]
