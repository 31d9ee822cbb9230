import { failure } from '@warder/base'
import { defineOperation, get, type Operation, type OperationContext, rawReply } from '@warder/server'
import { UniqueViolation } from '@warder/storage'
import Type from 'typebox'
import { anyCaller, anySession, requireSession } from '../../callers.ts'
import { countSamlLogout, countSessions } from '../../counting.ts'
import { takeLogin } from '../../login/throttle-login.ts'
import { RealmPath } from '../../realms/realm.ts'
import { setSessionCookie } from '../../sessions/session.ts'
import { sessionsEnd } from '../../sessions/session-end-store.ts'
import { loginSeconds, newRequestId } from './browser.ts'
import { maxAssertionAgeSeconds, skewSeconds } from './checks.ts'
import {
  findIdpSession,
  type IdpName,
  type IdpSession,
  idpSessionRemoval,
  listIdpSessions,
} from './idp-session-store.ts'
import { findPending, messageUse, pendingInsertion, pendingUse } from './pending-store.ts'
import { type RedirectMessage, readRedirect, redirectUrl } from './redirect.ts'
import { type SamlServices, samlRealm } from './saml-realm.ts'
import { returnUrl, type SamlSettings } from './settings.ts'
import { readPublicKeys } from './signature.ts'
import {
  children,
  escapeXml,
  isNamed,
  namespaces,
  onlyChild,
  readAttribute,
  readText,
  readTime,
  readXml,
  success,
  writeTime,
  type XmlElement,
} from './xml.ts'
import { XmlRefused } from './xml-gate.ts'

interface MessageFields {
  readonly id: string
  readonly destination: string
  readonly spEntityId: string
  /** Unix seconds. */
  readonly now: number
}

/** A LogoutRequest (SAML 2.0 core §3.7.1). */
export function logoutRequest(sent: MessageFields, nameId: IdpName, sessionIndex: string | null): string {
  const qualifiers = {
    NameQualifier: nameId.nameQualifier,
    SPNameQualifier: nameId.spNameQualifier,
    Format: nameId.format,
  }
  const attributes = Object.entries(qualifiers).map(([name, value]) =>
    value === null ? '' : ` ${name}="${escapeXml(value)}"`,
  )
  const index =
    sessionIndex === null ? '' : `<samlp:SessionIndex>${escapeXml(sessionIndex)}</samlp:SessionIndex>`
  const name = `<saml:NameID${attributes.join('')}>${escapeXml(nameId.value)}</saml:NameID>`
  return message('LogoutRequest', sent, '', name + index)
}

/** A LogoutResponse with the status Success (§3.7.2). */
export function logoutResponse(sent: MessageFields, inResponseTo: string): string {
  const status = `<samlp:Status><samlp:StatusCode Value="${success}"/></samlp:Status>`
  return message('LogoutResponse', sent, ` InResponseTo="${escapeXml(inResponseTo)}"`, status)
}

function message(
  name: string,
  { id, destination, spEntityId, now }: MessageFields,
  more: string,
  inside: string,
): string {
  const attributes = ` ID="${id}" Version="2.0" IssueInstant="${writeTime(now)}" Destination="${escapeXml(destination)}"${more}`
  const issuer = `<saml:Issuer>${escapeXml(spEntityId)}</saml:Issuer>`
  return `<samlp:${name} xmlns:samlp="${namespaces.protocol}" xmlns:saml="${namespaces.assertion}"${attributes}>${issuer}${inside}</samlp:${name}>`
}

/** Contents of a LogoutRequest. */
interface LogoutRequest {
  readonly id: string
  /** Unix seconds. */
  readonly issuedAt: number
  readonly name: string
  readonly format: string | null
  /** Empty: every session of the name. */
  readonly sessionIndexes: readonly string[]
}

interface Expected {
  readonly settings: Pick<SamlSettings, 'idp_entity_id'>
  /** URL at which the message arrived. */
  readonly destination: string
  readonly now: number
}

/** @param xml of a message whose signature is valid. @throws XmlRefused */
function readLogoutRequest(xml: string, expected: Expected): LogoutRequest {
  const { root } = readXml(xml)
  const { id, issuedAt } = checkHead(root, 'LogoutRequest', expected)
  const end = readAttribute(root, 'NotOnOrAfter')
  const endsAt = end === undefined ? undefined : readTime(end)
  if (end !== undefined && (endsAt === undefined || expected.now >= endsAt + skewSeconds))
    throw new XmlRefused('the LogoutRequest has expired')
  const nameId = onlyChild(root, 'assertion', 'NameID')
  const name = nameId && readText(nameId)
  if (nameId === undefined || name === undefined || name === '')
    throw new XmlRefused('the LogoutRequest has no NameID')
  const sessionIndexes = children(root, 'protocol', 'SessionIndex').map((one) => readText(one) ?? '')
  return { id, issuedAt, name, format: readAttribute(nameId, 'Format') ?? null, sessionIndexes }
}

/** @returns the ID of the LogoutRequest that was answered. @throws XmlRefused */
function readLogoutResponse(xml: string, expected: Expected): string {
  const { root } = readXml(xml)
  checkHead(root, 'LogoutResponse', expected)
  return readAttribute(root, 'InResponseTo') ?? ''
}

function checkHead(
  root: XmlElement,
  name: string,
  { settings, destination, now }: Expected,
): { readonly id: string; readonly issuedAt: number } {
  if (!isNamed(root, 'protocol', name) || readAttribute(root, 'Version') !== '2.0')
    throw new XmlRefused(`it is not a ${name} of SAML 2.0`)
  const issuer = onlyChild(root, 'assertion', 'Issuer')
  if (issuer === undefined || readText(issuer) !== settings.idp_entity_id)
    throw new XmlRefused('its Issuer is not the IdP of the realm')
  // SAML 2.0 bindings §3.4.5.2: a signed message names its destination.
  if (readAttribute(root, 'Destination') !== destination)
    throw new XmlRefused('its Destination is not this service')
  const id = readAttribute(root, 'ID') ?? ''
  const issuedAt = readTime(readAttribute(root, 'IssueInstant') ?? '')
  if (id === '' || issuedAt === undefined) throw new XmlRefused('it lacks ID or IssueInstant')
  if (now - issuedAt > maxAssertionAgeSeconds || issuedAt - now > skewSeconds)
    throw new XmlRefused('its IssueInstant is too old or in the future')
  return { id, issuedAt }
}

type Context = OperationContext<SamlServices>

interface LogoutRealm {
  readonly id: string
  readonly settings: SamlSettings
}

/** URL for logout messages, as in the metadata. */
export function logoutUrl({ sp_acs_url }: Pick<SamlSettings, 'sp_acs_url'>): string {
  return sp_acs_url.replace(/acs$/, 'slo')
}

/**
 * Ends a session, and asks the identity provider to end its own session and all others that depend on it.
 * @returns where to send the browser
 */
async function beginLogout(
  context: Context,
  realm: LogoutRealm,
  sessionId: string,
  returnUrl: string,
): Promise<string> {
  const { services } = context
  const { settings } = realm
  const known = await findIdpSession(services.db, sessionId, realm.id)
  const ending = [
    ...sessionsEnd(services.db, [sessionId], { at: services.now(), reason: 'logged_out' }).flat(),
    idpSessionRemoval(sessionId),
  ]
  const destination = settings.idp_slo_url
  const now = services.now()
  const requestId = newRequestId()
  const pending = {
    purpose: 'logout',
    requestId,
    realm: realm.id,
    returnUrl,
    expiresAt: now + loginSeconds,
    recipient: undefined,
  } as const
  const isAsked = known !== undefined && destination !== undefined
  await context.commit(isAsked ? [...ending, pendingInsertion(pending)] : ending)
  countSessions(services.metrics, 'logged_out')
  if (!isAsked) return returnUrl
  const sent = { id: requestId, destination, spEntityId: settings.sp_entity_id, now }
  const xml = logoutRequest(sent, known.nameId, known.sessionIndex)
  const [{ privateKey }] = await services.spKeys.list()
  return redirectUrl(destination, { field: 'SAMLRequest', xml, relayState: requestId }, privateKey)
}

/**
 * Handles a logout message of the identity provider.
 * @param query of the URL, as it was sent
 * @returns where to send the browser
 * @throws failure('unauthorized')
 */
async function takeLogoutMessage(context: Context, realm: LogoutRealm, query: string): Promise<string> {
  const { metrics } = context.services
  try {
    const message = await readRedirect(query, readPublicKeys(realm.settings.idp_signing_certificates))
    const target =
      message.field === 'SAMLRequest'
        ? await endRequestedSessions(context, realm, message)
        : await finishLogout(context, realm, message)
    countSamlLogout(metrics, message.field === 'SAMLRequest' ? 'by_idp' : 'answered')
    return target
  } catch (error) {
    if (!(error instanceof XmlRefused)) throw error
    countSamlLogout(metrics, 'refused')
    context.audit({ reason: 'saml_logout', details: { check: error.message } })
    throw failure('unauthorized', `SAML error: rejected logout message: ${error.message}`)
  }
}

async function endRequestedSessions(
  context: Context,
  realm: LogoutRealm,
  message: RedirectMessage,
): Promise<string> {
  const { services } = context
  const { settings } = realm
  const now = services.now()
  const asked = readLogoutRequest(message.xml, { settings, destination: logoutUrl(settings), now })
  const target = settings.idp_slo_response_url ?? settings.idp_slo_url
  if (target === undefined) throw new XmlRefused('the realm has no SingleLogoutService of the IdP')
  const sessions = (await listIdpSessions(services.db, realm.id, asked.name)).filter((session) =>
    isMeant(session, asked),
  )
  const forgetAt = asked.issuedAt + maxAssertionAgeSeconds + skewSeconds + 1
  const ids = sessions.map(({ id }) => id)
  const groups = sessionsEnd(services.db, ids, { at: now, reason: 'logged_out' })
  try {
    const results = await context.commit([
      messageUse(realm.id, asked.id, forgetAt),
      ...ids.map(idpSessionRemoval),
      ...groups.flat(),
    ])
    let ended = 0
    let last = ids.length
    for (const group of groups) {
      last += group.length
      // The last change of a group deletes its sessions.
      ended += results[last]?.changes ?? 0
    }
    countSessions(services.metrics, 'logged_out', ended)
    context.audit({ details: { sessions: ended } })
  } catch (error) {
    if (error instanceof UniqueViolation) throw new XmlRefused('it was already used')
    throw error
  }
  const sent = { id: newRequestId(), destination: target, spEntityId: settings.sp_entity_id, now }
  const [{ privateKey }] = await services.spKeys.list()
  const answer = {
    field: 'SAMLResponse',
    xml: logoutResponse(sent, asked.id),
    relayState: message.relayState,
  } as const
  return redirectUrl(target, answer, privateKey)
}

/** SAML 2.0 core §3.7.3.2. A name without format matches one with a format. */
function isMeant({ nameId, sessionIndex }: IdpSession, asked: LogoutRequest): boolean {
  const isName = asked.format === null || nameId.format === null || asked.format === nameId.format
  const isSession =
    asked.sessionIndexes.length === 0 ||
    (sessionIndex !== null && asked.sessionIndexes.includes(sessionIndex))
  return isName && isSession
}

/** Handles the response to our LogoutRequest: the browser returns to its destination. */
async function finishLogout(context: Context, realm: LogoutRealm, message: RedirectMessage): Promise<string> {
  const { services } = context
  const { settings } = realm
  const now = services.now()
  const requestId = readLogoutResponse(message.xml, { settings, destination: logoutUrl(settings), now })
  const pending = await findPending(services.db, { purpose: 'logout', requestId, realm: realm.id }, now)
  if (pending === undefined) throw new XmlRefused('unknown or expired logout request')
  await context.commit([pendingUse(pending, now)])
  return pending.returnUrl
}

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
    reach: ['end session'],
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
    reach: ['end session'],
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
