import {
  type Access,
  defineOperation,
  get,
  type Operation,
  peerSecretHeader,
  post,
  rawReply,
} from '@warder/server'
import Type from 'typebox'
import { anyCaller } from '../../../callers/access.ts'
import { RealmPath } from '../../../realms/realm-id.ts'
import { listRealms } from '../../../realms/realm-store.ts'
import { setSessionCookie } from '../../../sessions/cookie.ts'
import type { SamlServices } from '../realm/services.ts'
import { isAllowedReturn } from '../settings/return-to.ts'
import { samlSettings } from '../settings/settings.ts'
import { endByHandle } from './logout-handle.ts'
import { redeem } from './redeem.ts'

const define = defineOperation<SamlServices>()
const tag = 'SAML'
/** Services of the installation, which send the peer secret. The operation authenticates them itself. */
const peers: Access<unknown> = { name: 'service of the installation', check: () => undefined }
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
