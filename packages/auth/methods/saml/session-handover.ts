import { failure } from '@warder/base'
import { defineOperation, type Operation, peerSecretHeader, post } from '@warder/server'
import { openText, type Seal, sealText } from '@warder/storage'
import Type from 'typebox'
import { anySession, requireSession } from '../../callers.ts'
import { takeLogin } from '../../login/throttle-login.ts'
import { challengePattern, handoverSeconds, newCode, peers, statePattern, urlWithCode } from './handover.ts'
import { handoverInsertion } from './pending-store.ts'
import type { SamlServices } from './saml-realm.ts'

const define = defineOperation<SamlServices>()
const tag = 'Account'
/** Seconds that a user has to log in here. */
const requestSeconds = 600

/** A hand-over that a service of the installation has requested for one of its browsers. */
interface Requested {
  readonly returnTo: string
  readonly state: string
  readonly challenge: string
  /** Unix seconds. */
  readonly expiresAt: number
}

const sealContext = { table: 'saml_handover', row: 'request', column: 'value' } as const

/** @throws failure('bad_request') */
async function openRequest(seal: Seal, text: string, now: number): Promise<Requested> {
  const json = await openText(seal, sealContext, text)
  const requested = json === undefined ? undefined : (JSON.parse(json) as Requested)
  if (requested !== undefined && requested.expiresAt > now) return requested
  throw failure('bad_request', 'request: was not issued to a service of the installation, or has expired.')
}

/** @throws failure('bad_request') */
function requireReturnUrl(text: string): void {
  const url = URL.parse(text)
  const isPlain = url?.protocol === 'https:' && url.username === '' && url.password === '' && url.hash === ''
  if (!isPlain)
    throw failure('bad_request', 'return_to: must be an https URL without user name and fragment.')
}

/**
 * A login at this service, by any method, can be used by a page of another service of the installation. That service
 * requests the hand-over with its peer secret, so no other site can choose the address, and redeems the code as after a
 * login by SAML.
 */
export const sessionHandovers: readonly Operation<SamlServices>[] = [
  define({
    name: 'handover.request',
    reach: [],
    route: post('/handover'),
    summary: 'Request the hand-over of a session to a service of the installation',
    description:
      'For services of the installation (`X-Warder-Peer`). They send their browser here with `request`; nothing is stored.',
    tag,
    access: peers,
    security: ['peerSecret'],
    request: Type.Object({
      return_to: Type.String({ maxLength: 2048, description: 'https URL to which the browser returns.' }),
      state: Type.String({ pattern: statePattern, description: 'Returned together with the code.' }),
      code_challenge: Type.String({
        pattern: challengePattern,
        description: 'BASE64URL(SHA-256(verifier)) (RFC 7636, S256).',
      }),
    }),
    bodyLimit: 8192,
    reply: Type.Object({ request: Type.String(), expires_at: Type.Integer() }),
    audited: false,
    authenticate: ({ request, services }) =>
      services.isPeer(request.headers[peerSecretHeader]) ? { name: 'kms', method: 'peer_secret' } : undefined,
    act({ body }, { services: { seal, now } }) {
      requireReturnUrl(body.return_to)
      const { return_to: returnTo, state, code_challenge: challenge } = body
      const requested: Requested = { returnTo, state, challenge, expiresAt: now() + requestSeconds }
      const sealed = sealText(seal, sealContext, JSON.stringify(requested))
      return { request: sealed, expires_at: requested.expiresAt }
    },
  }),
  define({
    name: 'handover.give',
    reach: ['make session'],
    route: post('/account/handover'),
    summary: 'Hand the session of this request over to the service that requested it',
    description:
      'The browser goes to `location`, which contains a code for 60 seconds, the state and the realm. The service redeems ' +
      'the code once, with its verifier, at `POST /saml/{realm_id}/session`. Both then use one session: its end ends both.',
    tag,
    access: anySession,
    request: Type.Object({ request: Type.String({ minLength: 1, maxLength: 8192 }) }),
    bodyLimit: 16_384,
    reply: Type.Object({ location: Type.String() }),
    async act({ body }, context) {
      takeLogin(context)
      const { seal, now } = context.services
      const { id: sessionId, realm } = requireSession(context).session
      const { returnTo, state, challenge } = await openRequest(seal, body.request, now())
      context.audit({ realm, object: sessionId, details: { to: new URL(returnTo).origin } })
      const code = newCode()
      const expiresAt = now() + handoverSeconds
      await context.commit([handoverInsertion(code, { sessionId, realm, challenge, expiresAt })])
      return { location: `${urlWithCode(returnTo, code, state)}&realm=${realm}` }
    },
  }),
]
