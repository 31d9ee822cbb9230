import { defineOperation, get, type Operation, post, rawReply } from '@warder/server'
import Type from 'typebox'
import { anyCaller } from '../../callers/access.ts'
import { takeLogin } from '../../login/throttle-login.ts'
import { RealmPath } from '../../realms/realm-id.ts'
import { setSessionCookie } from '../../sessions/cookie.ts'
import { authnRequest } from './binding/authn-request.ts'
import {
  confirmationPage,
  forwardingPage,
  loginCookie,
  loginSeconds,
  newRequestId,
  pageHeaders,
  removedLoginCookie,
} from './binding/browser.ts'
import { redirectUrl } from './binding/redirect.ts'
import { dryRunOperations } from './dry-run/operations.ts'
import { handoverOperations } from './handover/operations.ts'
import { challengePattern, readRecipient, statePattern } from './handover/recipient.ts'
import { finishLogin } from './login.ts'
import { logoutUrl } from './logout/logout.ts'
import { fromIdentityProvider, logoutOperations } from './logout/operations.ts'
import { spMetadata } from './metadata/sp-metadata.ts'
import { samlRealm } from './realm/saml-realm.ts'
import type { SamlServices } from './realm/services.ts'
import { renewalOperations } from './renewal/operations.ts'
import { codeReturnUrl, isLoopback, returnUrl } from './settings/return-to.ts'
import { pendingInsertion } from './store/pending-store.ts'

const define = defineOperation<SamlServices>()
const tag = 'SAML'
const errors = { 400: 'There is no such realm, or it does not use SAML.' }
const metadataType = 'application/samlmetadata+xml'
const pageType = 'text/html; charset=utf-8'
/** The response of a user with hundreds of groups has about 60 KiB. */
const formLimit = 262_144

export const samlOperations: readonly Operation<SamlServices>[] = [
  define({
    name: 'saml.login',
    route: get('/saml/{realm_id}/login'),
    summary: 'Log in at the identity provider of a realm',
    description: 'For browsers: redirects to the identity provider with a signed AuthnRequest.',
    tag,
    access: anyCaller,
    pathParameters: RealmPath,
    queryParameters: Type.Object({
      return_to: Type.Optional(
        Type.String({ description: 'An https URL under one of the allowed return origins of the realm.' }),
      ),
      state: Type.Optional(
        Type.String({
          pattern: statePattern,
          description: 'With `code_challenge`: returned together with the code.',
        }),
      ),
      code_challenge: Type.Optional(
        Type.String({
          pattern: challengePattern,
          description:
            'BASE64URL(SHA-256(verifier)) (RFC 7636, S256): the browser gets no session but a code for ' +
            '`return_to`; the holder of the verifier redeems it.',
        }),
      ),
    }),
    status: 302,
    errors: { 400: 'There is no such realm, it does not use SAML, or return_to is not allowed.' },
    async act({ path, query }, context) {
      const { services } = context
      takeLogin(context)
      context.audit({ realm: path.realm_id, auth_method: 'saml' })
      const { settings } = await samlRealm(context, path.realm_id)
      const recipient = readRecipient(query)
      const back =
        recipient === undefined || query.return_to === undefined
          ? returnUrl(query.return_to, settings)
          : codeReturnUrl(query.return_to, settings)
      const requestId = newRequestId()
      const now = services.now()
      const [{ privateKey }] = await services.spKeys.list()
      const message = {
        field: 'SAMLRequest',
        xml: authnRequest(settings, requestId, now),
        relayState: requestId,
      } as const
      const location = await redirectUrl(settings.idp_sso_url, message, privateKey)
      const pending = {
        purpose: 'login',
        requestId,
        realm: path.realm_id,
        returnUrl: back,
        expiresAt: now + loginSeconds,
        recipient,
      } as const
      await context.commit([pendingInsertion(pending)])
      await services.samlPendingLimiter.count()
      return rawReply({ status: 302, headers: { Location: location, 'Set-Cookie': loginCookie(requestId) } })
    },
  }),
  define({
    name: 'saml.acs',
    route: post('/saml/{realm_id}/acs'),
    summary: 'Receive the response of an identity provider and create a session',
    description:
      'A form with the fields SAMLResponse and RelayState, sent by the browser that started the login.',
    tag,
    access: anyCaller,
    pathParameters: RealmPath,
    bodyLimit: formLimit,
    rawBody: true,
    replyContentType: pageType,
    errors: {
      ...errors,
      401: 'The response was refused: SAML error and the reason.',
      415: 'The body is not a form.',
      503: 'Too many responses at once.',
    },
    foreignParameters: fromIdentityProvider,
    cors: 'foreign-forms',
    async act({ path }, context) {
      const { session, cookie, returnUrl: back } = await finishLogin(context, path.realm_id)
      const cookies = cookie === undefined ? [] : [setSessionCookie(cookie, session.maxAge)]
      return rawReply({
        raw: isLoopback(back) ? confirmationPage(back, session.username) : forwardingPage(back),
        contentType: pageType,
        headers: { ...pageHeaders, 'Set-Cookie': [...cookies, removedLoginCookie] },
      })
    },
  }),
  define({
    name: 'saml.metadata',
    route: get('/saml/{realm_id}/metadata'),
    summary: 'Service provider metadata of a realm, for its identity provider',
    tag,
    access: anyCaller,
    pathParameters: RealmPath,
    replyContentType: metadataType,
    foreignParameters: fromIdentityProvider,
    errors,
    audited: false,
    async act({ path }, context) {
      const { settings } = await samlRealm(context, path.realm_id)
      const keys = await context.services.spKeys.list()
      const certificates = keys.map(({ certificate }) => certificate)
      return rawReply({
        raw: spMetadata({
          settings,
          certificates,
          logoutUrl: settings.idp_slo_url === undefined ? undefined : logoutUrl(settings),
        }),
        contentType: metadataType,
      })
    },
  }),
  ...handoverOperations,
  ...logoutOperations,
  ...dryRunOperations,
  ...renewalOperations,
]
