import { failure } from '@warder/base'
import {
  defineOperation,
  type Operation,
  type OperationContext,
  peerSecretHeader,
  post,
} from '@warder/server'
import { openText, type Seal, sealText } from '@warder/storage'
import Type from 'typebox'
import { anyCaller, anySession, requireSession } from '../../callers.ts'
import { takeLogin } from '../../login/throttle-login.ts'
import { findRealm } from '../../realms/realm-store.ts'
import type { Session } from '../../sessions/session.ts'
import type { PasskeyServices } from '../passkey/relying-party.ts'
import { challengePattern, handoverSeconds, newCode, peers, statePattern, urlWithCode } from './handover.ts'
import { handoverInsertion } from './pending-store.ts'
import type { SamlServices } from './saml-realm.ts'
import { isLoopback, samlSettings } from './settings.ts'

/** Services of hand-overs. Passkeys belong to the origin at which browsers reach this service. */
export type HandoverServices = SamlServices & Pick<PasskeyServices, 'passkeys'>

const define = defineOperation<HandoverServices>()
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
  /** Of a program on the computer of the user, which anyone could have started: the user confirms. */
  readonly isProgram?: true
}

const sealContext = { table: 'saml_handover', row: 'request', column: 'value' } as const

/** @throws failure('bad_request') */
async function openRequest(seal: Seal, text: string, now: number): Promise<Requested> {
  const json = await openText(seal, sealContext, text)
  const requested = json === undefined ? undefined : (JSON.parse(json) as Requested)
  if (requested !== undefined && requested.expiresAt > now) return requested
  throw failure('bad_request', 'request: was not issued to a service of the installation, or has expired.')
}

/**
 * Sessions of an identity provider are for programs only if the realm allows it, as in logins by SAML.
 * @throws failure('forbidden')
 */
async function requireAllowedProgram(
  { services }: OperationContext<HandoverServices>,
  { realm: id, scheme }: Pick<Session, 'realm' | 'scheme'>,
  returnTo: string,
): Promise<void> {
  if (scheme !== 'sa') return
  const realm = await findRealm(services.db, id)
  const settings = realm && samlSettings.of(realm)
  const { origin } = new URL(returnTo)
  if (settings?.allowed_return_origins.includes(origin.replace(/:\d+$/, '')) === true) return
  throw failure(
    'forbidden',
    `Programs cannot use sessions of the identity provider of ${id}: an administrator must add http://127.0.0.1 to ` +
      'allowed_return_origins of the realm.',
  )
}

/** What proves that the caller who redeems the code is the one that requested it. */
const proof = {
  state: Type.String({ pattern: statePattern, description: 'Returned together with the code.' }),
  code_challenge: Type.String({
    pattern: challengePattern,
    description: 'BASE64URL(SHA-256(verifier)) (RFC 7636, S256).',
  }),
}

interface RequestBody {
  readonly return_to: string
  readonly state: string
  readonly code_challenge: string
}

function sealRequest(
  { seal, now }: HandoverServices,
  { return_to: returnTo, state, code_challenge: challenge }: RequestBody,
  more: Pick<Requested, 'isProgram'> = {},
): { readonly request: string; readonly expires_at: number } {
  const requested: Requested = { returnTo, state, challenge, expiresAt: now() + requestSeconds, ...more }
  return { request: sealText(seal, sealContext, JSON.stringify(requested)), expires_at: requested.expiresAt }
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
export const sessionHandovers: readonly Operation<HandoverServices>[] = [
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
      ...proof,
    }),
    bodyLimit: 8192,
    reply: Type.Object({ request: Type.String(), expires_at: Type.Integer() }),
    audited: false,
    authenticate: ({ request, services }) =>
      services.isPeer(request.headers[peerSecretHeader]) ? { name: 'kms', method: 'peer_secret' } : undefined,
    act({ body }, { services }) {
      requireReturnUrl(body.return_to)
      return sealRequest(services, body)
    },
  }),
  define({
    name: 'handover.request_program',
    reach: [],
    route: post('/handover/program'),
    summary: 'Request the hand-over of a session to a program on the computer of the user',
    description:
      'For commands, as `warder login --browser` (RFC 8252). The program opens `page` in a browser, where the user logs in by ' +
      'any method and confirms. It receives the code, the state and the realm at a loopback address, and redeems the code with ' +
      'its verifier at `POST /saml/{realm_id}/session`. Nothing is stored.',
    tag,
    access: anyCaller,
    request: Type.Object({
      return_to: Type.String({
        maxLength: 2048,
        description:
          'Address to which the browser returns: `http://127.0.0.1:PORT/…` or `http://[::1]:PORT/…`.',
      }),
      ...proof,
    }),
    bodyLimit: 8192,
    reply: Type.Object({
      request: Type.String(),
      expires_at: Type.Integer(),
      page: Type.Union([Type.String(), Type.Null()], {
        description:
          'Address for the browser; null if this service does not know the one by which browsers reach it.',
      }),
    }),
    audited: false,
    act({ body }, context) {
      takeLogin(context)
      const { services } = context
      if (body.return_to.includes('?') || !isLoopback(body.return_to))
        throw failure('bad_request', 'return_to: must have the form http://127.0.0.1:PORT/PATH.')
      const sealed = sealRequest(services, body, { isProgram: true })
      const [origin] = services.passkeys.relyingParty?.origins ?? []
      const query = new URLSearchParams({ request: sealed.request })
      return { ...sealed, page: origin === undefined ? null : `${origin}/ui/handover?${query}` }
    },
  }),
  define({
    name: 'handover.give',
    reach: ['make session'],
    route: post('/account/handover'),
    summary: 'Hand the session of this request over to the service that requested it',
    description:
      'The browser goes to `location`, which contains a code for 60 seconds, the state and the realm. The service redeems ' +
      'the code once, with its verifier, at `POST /saml/{realm_id}/session`. Both then use one session: its end ends both. ' +
      'For a program on the computer of the user the first reply has `confirm` and no code: the page asks the user, and ' +
      'repeats the request with `confirmed`.',
    tag,
    access: anySession,
    request: Type.Object({
      request: Type.String({ minLength: 1, maxLength: 8192 }),
      confirmed: Type.Optional(
        Type.Boolean({ description: 'true: the user wants a program on this computer to use the session.' }),
      ),
    }),
    bodyLimit: 16_384,
    reply: Type.Object({
      location: Type.Optional(Type.String()),
      confirm: Type.Optional(
        Type.Literal('program', { description: 'Instead of `location`: ask the user.' }),
      ),
    }),
    errors: { 403: 'The realm does not allow programs to use sessions of its identity provider.' },
    async act({ body }, context) {
      takeLogin(context)
      const { seal, now } = context.services
      const { session } = requireSession(context)
      const { id: sessionId, realm } = session
      const { returnTo, state, challenge, isProgram } = await openRequest(seal, body.request, now())
      if (isProgram) await requireAllowedProgram(context, session, returnTo)
      if (isProgram && body.confirmed !== true) {
        context.audit({
          realm,
          object: sessionId,
          details: { to: new URL(returnTo).origin, step: 'confirm' },
        })
        return { confirm: 'program' }
      }
      context.audit({ realm, object: sessionId, details: { to: new URL(returnTo).origin } })
      const code = newCode()
      const expiresAt = now() + handoverSeconds
      await context.commit([handoverInsertion(code, { sessionId, realm, challenge, expiresAt })])
      return { location: `${urlWithCode(returnTo, code, state)}&realm=${realm}` }
    },
  }),
]
