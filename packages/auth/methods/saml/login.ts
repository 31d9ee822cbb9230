import { failure } from '@warder/base'
import { bucketKey, type OperationContext } from '@warder/server'
import { type Change, GuardFailed, UniqueViolation } from '@warder/storage'
import { countLogin, countSamlResponse, countSessions } from '../../counting.ts'
import { takeLogin } from '../../login/throttle-login.ts'
import { ensureSubjectId, personKnownThrough } from '../../person-store.ts'
import type { Realm } from '../../realms/realm.ts'
import { realmUnchanged } from '../../realms/realm-store.ts'
import type { Session } from '../../sessions/session.ts'
import type { Assertion } from './assertion.ts'
import { matchRequest, readForm, textOfField } from './browser.ts'
import { maxAssertionAgeSeconds, SamlRefused, skewSeconds } from './checks.ts'
import { handoverSeconds, newCode, urlWithCode } from './handover.ts'
import { idpSessionInsertion } from './idp-session-store.ts'
import {
  findPending,
  handoverInsertion,
  messageUse,
  type PendingRequest,
  pendingUse,
} from './pending-store.ts'
import { type SamlRealm, type SamlServices, samlRealm } from './saml-realm.ts'
import type { SamlSettings } from './settings.ts'
import { mapSubject, tooLarge } from './subject.ts'

type Context = OperationContext<SamlServices>

export interface SamlLogin {
  readonly session: Session
  /** undefined: the session is for the recipient, who redeems the code in `returnUrl`, not for the browser. */
  readonly cookie: string | undefined
  readonly returnUrl: string
}

/**
 * Finishes a login at an identity provider: validates the response in the order of the checks, then creates the
 * session.
 * @throws failure('unauthorized') with the check that failed; failure('bad_request' | 'rate_limited' | 'overloaded')
 */
export function finishLogin(context: Context, realmId: string): Promise<SamlLogin> {
  const { metrics } = context.services
  context.audit({ realm: realmId, auth_method: 'saml' })
  const login = async (): Promise<SamlLogin> => {
    takeLogin(context)
    try {
      const result = await accept(context, realmId)
      countSamlResponse(metrics, 'accepted')
      return result
    } catch (error) {
      if (!(error instanceof SamlRefused)) throw error
      countSamlResponse(metrics, error.code)
      context.audit({
        principal: 'unauthenticated',
        reason: `saml_${error.code}`,
        details: { check: error.message },
      })
      throw failure('unauthorized', `SAML error: ${error.message}`)
    }
  }
  return countLogin(metrics, 'saml', login, () => 'authenticated')
}

async function accept(context: Context, realmId: string): Promise<SamlLogin> {
  const { services, request } = context
  // The realm is checked first, before the form (400 before 401).
  const { realm, settings } = await samlRealm(context, realmId)
  const fields = readForm(request)
  const requestId = matchRequest(request, textOfField(fields.get('RelayState')))
  if (requestId === undefined)
    throw new SamlRefused('browser', 'this sign-in was not started from this browser')
  const pending = await findPending(
    services.db,
    { purpose: 'login', requestId, realm: realmId },
    services.now(),
  )
  if (pending === undefined) throw unknownRequest()
  const assertion = await validateLogin(context, settings, pending, fields.get('SAMLResponse'))
  return begin(context, { realm, settings }, pending, assertion)
}

const unknownRequest = () => new SamlRefused('request', 'unknown or expired sign-in request')

async function validateLogin(
  { services, request }: Context,
  settings: SamlSettings,
  { requestId, realm }: PendingRequest,
  field: Uint8Array | undefined,
): Promise<Assertion> {
  const keys = await services.spKeys.list()
  const result = await services.samlVerification.validate(
    { client: bucketKey(request.clientAddress), tenant: realm },
    {
      // A copy, because it is transferred to the thread.
      field: new Uint8Array(field ?? []),
      expected: {
        idpEntityId: settings.idp_entity_id,
        idpCertificates: settings.idp_signing_certificates,
        spEntityId: settings.sp_entity_id,
        acsUrl: settings.sp_acs_url,
        requestId,
        now: services.now(),
        decryptionKeys: keys.map(({ privateKey }) => privateKey),
      },
    },
  )
  if ('assertion' in result) return result.assertion
  throw new SamlRefused(result.refused.check, result.refused.sentence)
}

/** RFC 6265 §6.1: the cookie size that every browser stores. */
const maxCookieBytes = 4096

async function begin(
  context: Context,
  { realm, settings }: SamlRealm,
  pending: PendingRequest,
  assertion: Assertion,
): Promise<SamlLogin> {
  const { services } = context
  const subject = mapSubject(assertion, settings)
  if (services.sessions.cookieSize(subject, realm.id) > maxCookieBytes) throw tooLarge()
  const now = services.now()
  const subjectId = await ensureSubjectId(services.db, realm.id, subject.username, now)
  const { session, cookie, insertion } = services.sessions.create(
    { ...subject, subjectId },
    limitSessionAge(realm, assertion, now),
  )
  context.audit({ principal: subject.username, auth_method: 'sa', object: session.id })
  const { returnUrl, changes } = prepareHandover(session, pending, now)
  const forgetAt = assertion.issuedAt + maxAssertionAgeSeconds + skewSeconds + 1
  try {
    await context.commit([
      pendingUse(pending, now),
      realmUnchanged(realm),
      personKnownThrough({ realm: realm.id, username: subject.username, subjectId }, settings.idp_entity_id),
      messageUse(realm.id, assertion.id, forgetAt),
      insertion,
      ...idpSession(session, settings, assertion),
      ...changes,
    ])
  } catch (error) {
    if (error instanceof UniqueViolation) throw new SamlRefused('replay', 'assertion has already been used')
    if (!(error instanceof GuardFailed)) throw error
    throw error.index === 0
      ? unknownRequest()
      : new SamlRefused('realm', 'the realm or the user was changed meanwhile')
  }
  countSessions(services.metrics, 'begun')
  return { session, cookie: pending.recipient === undefined ? cookie : undefined, returnUrl }
}

/** Returns the URL for the browser, and the change that stores the handover for the recipient of the session. */
function prepareHandover(
  { id, realm }: Session,
  { recipient, returnUrl }: PendingRequest,
  now: number,
): { readonly returnUrl: string; readonly changes: readonly Change[] } {
  if (recipient === undefined) return { returnUrl, changes: [] }
  const code = newCode()
  const { challenge, state } = recipient
  const handover = { sessionId: id, realm, challenge, expiresAt: now + handoverSeconds }
  return {
    returnUrl: urlWithCode(returnUrl, code, state),
    changes: [handoverInsertion(code, handover)],
  }
}

/** Stores the data of a single logout, if the identity provider supports it. */
function idpSession(session: Session, settings: SamlSettings, assertion: Assertion): readonly Change[] {
  const { nameId, sessionIndex } = assertion
  if (settings.idp_slo_url === undefined || nameId === undefined) return []
  const { id, realm, createdAt, maxAge } = session
  return [idpSessionInsertion({ id, realm, nameId, sessionIndex: sessionIndex ?? null }, createdAt + maxAge)]
}

/**
 * Limits the age of the session: it ends at the latest with the session at the identity provider (SAML 2.0 core
 * §2.7.2).
 */
function limitSessionAge(realm: Realm, { sessionEndsAt }: Assertion, now: number): Realm {
  if (sessionEndsAt === undefined) return realm
  return { ...realm, session_max_age_seconds: Math.min(realm.session_max_age_seconds, sessionEndsAt - now) }
}
