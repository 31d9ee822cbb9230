import { failure } from '@warder/base'
import { defineOperation, get, type Operation, rawReply } from '@warder/server'
import Type from 'typebox'
import { anyCaller, anySession } from '../../../callers/access.ts'
import { requireSession } from '../../../callers/callers.ts'
import { takeLogin } from '../../../login/throttle-login.ts'
import { RealmPath } from '../../../realms/realm-id.ts'
import { setSessionCookie } from '../../../sessions/cookie.ts'
import { samlRealm } from '../realm/saml-realm.ts'
import type { SamlServices } from '../realm/services.ts'
import { returnUrl } from '../settings/return-to.ts'
import { beginLogout, takeLogoutMessage } from './logout.ts'

const define = defineOperation<SamlServices>()
const tag = 'SAML'

/** Of addresses that the metadata names. */
export const fromIdentityProvider = {
  names: 'any',
  because: 'The request comes from an identity provider, directly or through a browser.',
} as const

export const logoutOperations: readonly Operation<SamlServices>[] = [
  define({
    name: 'saml.logout',
    route: get('/saml/{realm_id}/logout'),
    summary: 'End the session, here and at the identity provider',
    description:
      'For browsers: redirects to the identity provider, or to return_to if the provider has no single logout.',
    tag,
    access: anySession,
    pathParameters: RealmPath,
    queryParameters: Type.Object({
      return_to: Type.Optional(Type.String({ description: 'As for the login.' })),
    }),
    status: 302,
    errors: { 400: 'The session is not a SAML session of this realm, or return_to is not allowed.' },
    async act({ path, query }, context) {
      const { session, claims } = requireSession(context)
      const { settings } = await samlRealm(context, path.realm_id)
      if (session.scheme !== 'sa' || session.realm !== path.realm_id)
        throw failure('bad_request', 'The session did not begin at the identity provider of this realm.')
      const back = returnUrl(query.return_to, settings)
      context.audit({ realm: path.realm_id, object: claims.jti })
      const location = await beginLogout(context, { id: path.realm_id, settings }, claims.jti, back)
      return rawReply({ status: 302, headers: { Location: location, 'Set-Cookie': setSessionCookie('', 0) } })
    },
  }),
  define({
    name: 'saml.slo',
    route: get('/saml/{realm_id}/slo'),
    summary: 'Receive a logout message of the identity provider',
    description: 'HTTP-Redirect: a signed LogoutRequest, which ends the named sessions, or a LogoutResponse.',
    tag,
    access: anyCaller,
    pathParameters: RealmPath,
    status: 302,
    errors: { 401: 'The message was refused: SAML error and the reason.' },
    foreignParameters: fromIdentityProvider,
    async act({ path }, context) {
      takeLogin(context)
      context.audit({ realm: path.realm_id, auth_method: 'saml' })
      const { settings } = await samlRealm(context, path.realm_id)
      const location = await takeLogoutMessage(
        context,
        { id: path.realm_id, settings },
        context.request.rawQuery,
      )
      return rawReply({ status: 302, headers: { Location: location } })
    },
  }),
]
