import { failure } from '@warder/base'
import { endedSamlCookie, samlCallbackPath, samlCookieName } from '@warder/identity'
import { publicAccess } from '@warder/keys'
import { get, type Operation, rawReply } from '@warder/server'
import Type from 'typebox'
import { browserErrors } from './browser-errors.ts'
import { define, type RestServices } from './services.ts'
import { beginHandedSession, pagePath } from './ui-handover.ts'

const tag = 'Web page'

function requireSaml({ samlLogin }: RestServices) {
  if (samlLogin === undefined)
    throw failure('not_found', 'Logins with an identity provider are not configured.')
  return samlLogin
}

/** `GET /ui/login_saml`: to the identity provider of a realm, by way of the authentication service. */
const begin = define({
  name: 'ui.login_saml',
  reach: ['reveal public'],
  route: get('/ui/login_saml'),
  summary: 'Log in for the web page at the identity provider of a realm',
  description:
    'For browsers. The authentication service redirects to the identity provider, and back here with a code that only ' +
    'this service can redeem, for the browser that started the login.',
  tag,
  access: publicAccess,
  queryParameters: Type.Object({ realm: Type.String({ minLength: 1, maxLength: 64 }) }),
  status: 302,
  errors: {
    404: 'Logins are not configured, or the realm does not permit them here.',
    503: 'The authentication service does not respond.',
  },
  errorShape: browserErrors,
  async act({ query }, { services, request }) {
    const { location, cookie } = await requireSaml(services).begin(query.realm, request.clientAddress)
    return rawReply({ status: 302, headers: { Location: location, 'Set-Cookie': cookie } })
  },
})

/** `GET /ui/saml_callback`: only the browser that began the login can finish it. */
const callback = define({
  name: 'ui.saml_callback',
  reach: ['make session'],
  route: get(samlCallbackPath),
  summary: 'Complete a login at the identity provider of a realm',
  tag,
  access: publicAccess,
  queryParameters: Type.Object({ code: Type.Optional(Type.String()), state: Type.Optional(Type.String()) }),
  status: 302,
  errors: {
    401: 'The login did not succeed. `problem`, if this browser did not start it: `not_started`, `expired` or `other_login`.',
    404: 'Logins are not configured.',
    503: 'The authentication service does not respond.',
  },
  errorShape: browserErrors,
  async act(_input, context) {
    const { services, request } = context
    const saml = requireSaml(services)
    const position = services.ended?.position()
    const cookies = request.cookies(samlCookieName)
    const user = await saml.finish(request.query, cookies, request.clientAddress)
    const cookie = await beginHandedSession(context, user, position)
    return rawReply({
      status: 302,
      headers: { Location: pagePath, 'Set-Cookie': [cookie, endedSamlCookie] },
    })
  },
})

export const samlOperations: readonly Operation<RestServices>[] = [begin, callback]
