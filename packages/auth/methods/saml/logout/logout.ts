import { failure } from '@warder/base'
import type { OperationContext } from '@warder/server'
import { UniqueViolation } from '@warder/storage'
import { countSamlLogout, countSessions } from '../../../counting/counting.ts'
import { sessionsEnd } from '../../../sessions/session-end-store.ts'
import { loginSeconds, newRequestId } from '../binding/browser.ts'
import { type RedirectMessage, readRedirect, redirectUrl } from '../binding/redirect.ts'
import type { SamlServices } from '../realm/services.ts'
import { maxAssertionAgeSeconds, skewSeconds } from '../response/expected.ts'
import type { SamlSettings } from '../settings/settings.ts'
import { readPublicKeys } from '../signature/verify.ts'
import {
  findIdpSession,
  type IdpSession,
  idpSessionRemoval,
  listIdpSessions,
} from '../store/idp-session-store.ts'
import { findPending, messageUse, pendingInsertion, pendingUse } from '../store/pending-store.ts'
import { XmlRefused } from '../xml/xml-refused.ts'
import {
  type LogoutRequest,
  logoutRequest,
  logoutResponse,
  readLogoutRequest,
  readLogoutResponse,
} from './messages.ts'

type Context = OperationContext<SamlServices>

export interface LogoutRealm {
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
export async function beginLogout(
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
export async function takeLogoutMessage(
  context: Context,
  realm: LogoutRealm,
  query: string,
): Promise<string> {
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
