import { failure } from '@warder/base'
import { defineOperation, get, type Operation, post, rawReply } from '@warder/server'
import Type from 'typebox'
import { adminsNamingSaml } from '../../admins/admin-store.ts'
import { anyCaller } from '../../callers.ts'
import type { LoginMethod } from '../../login/method.ts'
import { takeLogin } from '../../login/throttle-login.ts'
import { providerPersonsEnd, providerPersonsMove } from '../../person-store.ts'
import { type Realm, RealmPath } from '../../realms/realm.ts'
import type { EndingServices, RealmEndings } from '../../realms/realm-store.ts'
import { setSessionCookie } from '../../sessions/session.ts'
import { schemeSessionsEnd } from '../../sessions/session-end-store.ts'
import {
  confirmationPage,
  forwardingPage,
  loginCookie,
  loginSeconds,
  newRequestId,
  pageHeaders,
  removedLoginCookie,
} from './browser.ts'
import { dryRunOperations } from './dry-run.ts'
import { challengePattern, handoverOperations, readRecipient, statePattern } from './handover.ts'
import { finishLogin } from './login.ts'
import { fromIdentityProvider, logoutOperations, logoutUrl } from './logout.ts'
import { spMetadata } from './metadata.ts'
import { pendingInsertion } from './pending-store.ts'
import { authnRequest, redirectUrl } from './redirect.ts'
import { renewalOperations } from './renewal.ts'
import { type SamlServices, samlRealm } from './saml-realm.ts'
import { type HandoverServices, sessionHandovers } from './session-handover.ts'
import { codeReturnUrl, isLoopback, returnUrl, type SamlSettings, samlSettings } from './settings.ts'

const define = defineOperation<SamlServices>()
const tag = 'SAML'
const errors = { 400: 'There is no such realm, or it does not use SAML.' }
const metadataType = 'application/samlmetadata+xml'
const pageType = 'text/html; charset=utf-8'
/** The response of a user with hundreds of groups has about 60 KiB. */
const formLimit = 262_144

const samlOperations: readonly Operation<HandoverServices>[] = [
  define({
    name: 'saml.login',
    reach: [],
    route: get('/saml/{realm_id}/login'),
    summary: 'Log in at the identity provider of a realm',
    description: 'For browsers: redirects to the identity provider with a signed AuthnRequest.',
    tag,
    access: anyCaller,
    pathParameters: RealmPath,
    queryParameters: Type.Object({
      return_to: Type.Optional(
        Type.String({
          description:
            'An https URL under one of the allowed return origins of the realm, or a path below /ui/ of this service.',
        }),
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
    reach: ['make session'],
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
    reach: ['reveal public'],
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
  ...sessionHandovers,
  ...logoutOperations,
  ...dryRunOperations,
  ...renewalOperations,
]

/**
 * Finds the previous settings if user names no longer mean the same users: the realm has another identity provider or
 * none, or reads names from another attribute. undefined: users stay the same.
 */
function findReplacedSettings(before: Realm, after: Realm): SamlSettings | undefined {
  const [old, next] = [samlSettings.of(before), samlSettings.of(after)]
  const isSame =
    old?.idp_entity_id === next?.idp_entity_id && old?.subject_attribute === next?.subject_attribute
  return isSame ? undefined : old
}

const isContinued = (old: SamlSettings, next: SamlSettings | undefined): next is SamlSettings =>
  next?.predecessor_entity_ids?.includes(old.idp_entity_id) === true

function endings({ db, now }: EndingServices, before: Realm, after: Realm): RealmEndings {
  const old = findReplacedSettings(before, after)
  if (old === undefined) return { sessions: [], others: [] }
  const [next, at] = [samlSettings.of(after), now()]
  return {
    sessions: [schemeSessionsEnd(db, before.id, 'sa', { at, reason: 'provider_removed' })],
    others: isContinued(old, next)
      ? [providerPersonsMove(before.id, old.idp_entity_id, next.idp_entity_id)]
      : providerPersonsEnd(db, before.id, old.idp_entity_id, at),
  }
}

/** An Admin refers to a subject by its name, which must not come to mean another user. */
async function checkChange({ db }: SamlServices, before: Realm, after: Realm): Promise<void> {
  const old = findReplacedSettings(before, after)
  if (old === undefined || isContinued(old, samlSettings.of(after))) return
  const named = await adminsNamingSaml(db, before.id)
  if (named.length > 0)
    throw failure(
      'conflict',
      `Admins refer to users of the replaced identity provider (saml of ${named.join(', ')}).`,
    )
}

/** Single sign-on at a SAML 2.0 identity provider. */
export const saml: LoginMethod<SamlServices> = {
  name: 'saml',
  scheme: 'sa',
  settings: samlSettings,
  vouches: true,
  opens: (_services, realm) => samlSettings.of(realm) !== undefined,
  endings,
  checkChange,
  operations: () => samlOperations,
}
