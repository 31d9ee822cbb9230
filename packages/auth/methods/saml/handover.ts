import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { failure } from '@warder/base'
import {
  type Access,
  defineOperation,
  get,
  type Operation,
  type OperationContext,
  peerSecretHeader,
  post,
  rawReply,
} from '@warder/server'
import { GuardFailed, openText, type Seal, sealText } from '@warder/storage'
import Type from 'typebox'
import { anyCaller } from '../../callers.ts'
import { countSessions } from '../../counting.ts'
import { takeLogin } from '../../login/throttle-login.ts'
import { RealmPath } from '../../realms/realm.ts'
import { listRealms } from '../../realms/realm-store.ts'
import { type Session, setSessionCookie } from '../../sessions/session.ts'
import { sessionsEnd } from '../../sessions/session-end-store.ts'
import { idpSessionRemoval } from './idp-session-store.ts'
import { findHandover, handoverUse, type Recipient } from './pending-store.ts'
import type { SamlServices } from './saml-realm.ts'
import { isAllowedReturn, samlSettings } from './settings.ts'

/** Lifetime of a code in seconds, from the response of the identity provider. */
export const handoverSeconds = 60

export const statePattern = '^[A-Za-z0-9_-]{16,256}$'
/** Of 32 bytes in base64url. */
export const challengePattern = '^[A-Za-z0-9_-]{43}$'

/** @throws failure('bad_request') when one of the parameters is missing */
export function readRecipient(query: {
  readonly return_to?: string
  readonly state?: string
  readonly code_challenge?: string
}): Recipient | undefined {
  const { return_to, state, code_challenge: challenge } = query
  if (state === undefined && challenge === undefined) return undefined
  if (state === undefined || challenge === undefined || return_to === undefined)
    throw failure('bad_request', 'return_to, state and code_challenge must be given together.')
  return { challenge, state }
}

/** 256 random bits. */
export function newCode(): string {
  return randomBytes(32).toString('base64url')
}

/** URL that delivers the code to the recipient. @param url without a fragment */
export function urlWithCode(url: string, code: string, state: string): string {
  return `${url}${url.includes('?') ? '&' : '?'}code=${code}&state=${state}`
}

const sealContext = (realm: string) => ({ table: 'saml_handover', row: realm, column: 'logout_handle' })

/**
 * Creates a handle that ends a session that was handed over and has no other use. Its holder need not store the
 * token. It is the sealed id of the session.
 * @returns base64url
 */
export function sealLogoutHandle(seal: Seal, realm: string, sessionId: string): string {
  return sealText(seal, sealContext(realm), sessionId)
}

/**
 * Ends the session of a handle. Does nothing when it has already ended.
 * @throws failure('unauthorized') for a value that is not a handle of the realm
 */
async function endByHandle(
  context: OperationContext<SamlServices>,
  realm: string,
  handle: string,
): Promise<void> {
  const { services } = context
  takeLogin(context)
  context.audit({ realm, auth_method: 'saml' })
  const id = await openLogoutHandle(services.seal, realm, handle)
  context.audit({ object: id })
  const session = await services.sessions.use(id)
  if (session === undefined) return
  context.audit({ principal: session.username, auth_method: session.scheme })
  await context.commit([
    ...sessionsEnd(services.db, [id], { at: services.now(), reason: 'logged_out' }).flat(),
    idpSessionRemoval(id),
  ])
  countSessions(services.metrics, 'logged_out')
}

async function openLogoutHandle(seal: Seal, realm: string, handle: string): Promise<string> {
  const sessionId = await openText(seal, sealContext(realm), handle)
  if (sessionId !== undefined) return sessionId
  throw failure('unauthorized', 'The logout handle belongs to another realm.')
}

const define = defineOperation<SamlServices>()
const tag = 'SAML'
/** Services of the installation, which send the peer secret. The operation authenticates them itself. */
export const peers: Access<unknown> = { name: 'service of the installation', check: () => undefined }
const realmsAtOnce = 100
const maxRealms = 200

const Redemption = Type.Object({
  code: Type.String({ minLength: 1, maxLength: 256 }),
  code_verifier: Type.String({
    pattern: '^[A-Za-z0-9._~-]{43,128}$',
    description: 'The secret that `code_challenge` was derived from (RFC 7636 §4.1).',
  }),
})

export const handoverOperations: readonly Operation<SamlServices>[] = [
  define({
    name: 'saml.redeem',
    reach: ['make session'],
    route: post('/saml/{realm_id}/session'),
    summary: 'Redeem the session of a login that was started with a code challenge',
    description:
      'For the service or program that started the login, not for its browser: sends the code that the browser returned, and ' +
      'the verifier that never left the caller. The code can be redeemed once, within 60 seconds.',
    tag,
    access: anyCaller,
    pathParameters: RealmPath,
    request: Redemption,
    bodyLimit: 4096,
    reply: Type.Object({
      next_step: Type.Literal('Authenticated'),
      session_id: Type.String(),
      logout_handle: Type.String({
        description:
          'Handle for ending the session (`POST /saml/{realm_id}/session/end`); it has no other use.',
      }),
    }),
    errors: { 401: 'The code is wrong, expired or used, or the verifier is wrong.' },
    async act({ path, body }, context) {
      const { code, code_verifier: verifier } = body
      const { session, cookie, logoutHandle } = await redeem(context, path.realm_id, { code, verifier })
      return rawReply({
        json: { next_step: 'Authenticated', session_id: session.id, logout_handle: logoutHandle },
        headers: { 'Set-Cookie': setSessionCookie(cookie, session.maxAge) },
      })
    },
  }),
  define({
    name: 'saml.end',
    reach: ['end session'],
    route: post('/saml/{realm_id}/session/end'),
    summary: 'End a session that was handed over',
    description:
      'For the service that redeemed the session without storing its token. The session at the identity provider continues.',
    tag,
    access: anyCaller,
    pathParameters: RealmPath,
    request: Type.Object({ logout_handle: Type.String({ minLength: 1, maxLength: 512 }) }),
    bodyLimit: 4096,
    status: 204,
    errors: { 401: 'The logout handle belongs to another realm.' },
    async act({ path, body }, context) {
      await endByHandle(context, path.realm_id, body.logout_handle)
    },
  }),
  define({
    name: 'saml.realms',
    reach: ['reveal existence'],
    route: get('/saml/realms'),
    summary: 'Realms with SAML that allow an address as the return URL',
    description:
      'For services of the installation (`X-Warder-Peer`), whose login pages offer these realms. A realm is listed if its ' +
      `\`allowed_return_origins\` contain the address; the first ${maxRealms} by name.`,
    tag,
    access: peers,
    security: ['peerSecret'],
    queryParameters: Type.Object({ return_to: Type.String({ description: 'As for the login.' }) }),
    reply: Type.Object({
      realms: Type.Array(Type.Object({ realm_id: Type.String(), login_url: Type.String() })),
    }),
    audited: false,
    authenticate: ({ request, services }) =>
      services.isPeer(request.headers[peerSecretHeader]) ? { name: 'kms', method: 'peer_secret' } : undefined,
    async act({ query }, { services }) {
      const realms: { realm_id: string; login_url: string }[] = []
      for (let after = ''; ; ) {
        const page = await listRealms(services.db, { after, limit: realmsAtOnce })
        for (const realm of page) {
          const settings = samlSettings.of(realm)
          if (settings === undefined || !isAllowedReturn(query.return_to, settings)) continue
          realms.push({ realm_id: realm.id, login_url: settings.sp_acs_url.replace(/acs$/, 'login') })
          if (realms.length === maxRealms) return { realms }
        }
        const last = page.at(-1)
        if (last === undefined || page.length < realmsAtOnce) return { realms }
        after = last.id
      }
    },
  }),
]

/**
 * Gives the session of a finished login, once, to the holder of the verifier. A wrong verifier does not consume the
 * code, so that a third party who has seen the code cannot block the redemption.
 * @throws failure('unauthorized'), the same for every reason; the reason is in the audit log
 */
async function redeem(
  context: OperationContext<SamlServices>,
  realm: string,
  { code, verifier }: { readonly code: string; readonly verifier: string },
): Promise<{ readonly session: Session; readonly cookie: string; readonly logoutHandle: string }> {
  const { services } = context
  takeLogin(context)
  context.audit({ realm, auth_method: 'saml' })
  const refuse = (reason: string) => {
    context.audit({ principal: 'unauthenticated', reason: `saml_handover_${reason}` })
    return failure('unauthorized', 'The code is wrong, expired or used, or it is not for this caller.')
  }
  const now = services.now()
  const handover = await findHandover(services.db, { code, realm }, now)
  if (handover === undefined) throw refuse('unknown')
  const given = createHash('sha256').update(verifier).digest()
  const wanted = Buffer.from(handover.challenge, 'base64url')
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) throw refuse('verifier')
  try {
    await context.commit([handoverUse(code, now)])
  } catch (error) {
    if (error instanceof GuardFailed) throw refuse('used')
    throw error
  }
  // The session may have ended meanwhile, through a logout at the identity provider or a change of the realm.
  const session = await services.sessions.use(handover.sessionId)
  const cookie = session && (await services.sessions.readCookie(session.id))
  if (session === undefined || cookie === undefined) throw refuse('ended')
  context.audit({ principal: session.username, auth_method: session.scheme, object: session.id })
  return { session, cookie, logoutHandle: sealLogoutHandle(services.seal, realm, session.id) }
}
