import { failure } from '@warder/base'
import {
  endedHandoverCookie,
  type HandedUser,
  handoverCallbackPath,
  handoverCookieName,
  sessionCookie,
} from '@warder/identity'
import { publicAccess } from '@warder/keys'
import { get, type Operation, type OperationContext, rawReply } from '@warder/server'
import Type from 'typebox'
import { browserErrors } from './browser-errors.ts'
import { define, type RestServices } from './services.ts'

const tag = 'Web page'
/** Path of the console, to which the browser is redirected after a login. */
export const pagePath = '/ui/'
const maxTargetLength = 512

function requireHandover({ handoverLogin }: RestServices) {
  if (handoverLogin === undefined)
    throw failure(
      'not_found',
      'Logins with a session of the authentication service are not configured: set auth_verifier_url, and the same WARDER_PEER_SECRET for both services.',
    )
  return handoverLogin
}

/**
 * Checks a path to which the browser is redirected after a login: a page of this service in the form in which browsers
 * send it, also after a proxy has decoded it.
 * @throws failure('bad_request')
 */
function requireOwnPage(to: string): string {
  const url = URL.parse(to, 'https://service.invalid')
  const isNormal = url !== null && `${url.pathname}${url.search}${url.hash}` === to
  const path = isNormal ? decode(url.pathname) : undefined
  const isOwn =
    to.startsWith(pagePath) &&
    !to.includes('//') &&
    path !== undefined &&
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
    !/\/\/|\\|[\u0000-\u001f\u007f]|(?:^|\/)\.{1,2}(?:\/|$)/.test(path)
  if (isOwn) return to
  throw failure(
    'bad_request',
    'to: must be a path of this page: /ui/ and what follows, without //, \\ and ..',
  )
}

function decode(path: string): string | undefined {
  try {
    return decodeURIComponent(path)
  } catch {
    return undefined
  }
}

/**
 * Begins the session of a user whose session at the authentication service was handed over.
 * @param position of the revocation feed before the session was fetched, so that a revocation from then on ends it
 * @returns `Set-Cookie`
 */
export async function beginHandedSession(
  context: OperationContext<RestServices>,
  user: HandedUser,
  position: number | undefined,
): Promise<string> {
  const { services, log } = context
  const { name, realm, username, subjectId, sessionId, logoutHandle, roleClaims, until } = user
  context.audit({ principal: name, auth_method: 'session', realm, details: { session: sessionId } })
  if (subjectId !== undefined) await services.names.claim(name, subjectId)
  const known = {
    sessionId,
    logoutHandle,
    ...(subjectId !== undefined && { subjectId }),
    ...(position !== undefined && { position }),
    ...(roleClaims !== undefined && { roleClaims }),
  }
  return sessionCookie({ ...services, log }, { name, realm, username, ...known }, until)
}

/** `GET /ui/login_handover`: to the page of the authentication service, where users log in. */
const begin = define({
  name: 'ui.login_handover',
  reach: ['reveal public'],
  route: get('/ui/login_handover'),
  summary: 'Log in for the web page at the authentication service',
  description:
    'For browsers. The page of the authentication service logs the user in, if necessary, and redirects back here with a ' +
    'code that only this service can redeem, for the browser that started the login. Both services then share one session.',
  tag,
  access: publicAccess,
  queryParameters: Type.Object({
    to: Type.Optional(
      Type.String({
        maxLength: maxTargetLength,
        description: 'Path below `/ui/` to which the browser goes afterwards; default `/ui/`.',
      }),
    ),
  }),
  status: 302,
  errors: {
    404: 'Logins in this way are not configured.',
    503: 'The authentication service does not respond.',
  },
  errorShape: browserErrors,
  async act({ query }, { services, request }) {
    const to = requireOwnPage(query.to ?? pagePath)
    const { host } = request.headers
    const { location, cookie } = await requireHandover(services).begin({ to, host }, request.clientAddress)
    return rawReply({ status: 302, headers: { Location: location, 'Set-Cookie': cookie } })
  },
})

/** `GET /ui/handover_callback`: only the browser that began the login can finish it. */
const callback = define({
  name: 'ui.handover_callback',
  reach: ['make session'],
  route: get(handoverCallbackPath),
  summary: 'Complete a login at the authentication service',
  tag,
  access: publicAccess,
  queryParameters: Type.Object({
    code: Type.Optional(Type.String()),
    state: Type.Optional(Type.String()),
    realm: Type.Optional(Type.String()),
  }),
  status: 302,
  errors: {
    401: 'The login did not succeed. `problem`, if this browser did not start it: `not_started`, `expired` or `other_login`.',
    403: 'Users of the realm cannot log in here.',
    404: 'Logins in this way are not configured.',
    503: 'The authentication service does not respond.',
  },
  errorShape: browserErrors,
  async act(_input, context) {
    const { services, request } = context
    const handover = requireHandover(services)
    const position = services.ended?.position()
    const cookies = request.cookies(handoverCookieName)
    const { user, to } = await handover.finish(request.query, cookies, request.clientAddress)
    const cookie = await beginHandedSession(context, user, position)
    return rawReply({
      status: 302,
      headers: { Location: to, 'Set-Cookie': [cookie, endedHandoverCookie] },
    })
  },
})

export const handoverOperations: readonly Operation<RestServices>[] = [begin, callback]
