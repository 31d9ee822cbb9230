import { failure, type Secret } from '@warder/base'
import { publicAccess } from '@warder/keys'
import type { Outbound, OutboundResponse } from '@warder/outbound'
import {
  defineOperation,
  type ErrorShape,
  errorBody,
  type HttpMethod,
  type IncomingRequest,
  type Operation,
  peerSecretHeader,
  type RawReply,
  rawReply,
  unknownClient,
} from '@warder/server'
import Type from 'typebox'
import { ClientLimiter } from '../places.ts'

interface AuthProxyOptions {
  /** Base address of the authentication service, without a slash at its end. */
  readonly url: string
  /** Bounds time and size of the exchange, and follows no redirect. */
  readonly outbound: Outbound
  /** Authenticates this service, so that the authentication service trusts the forwarded client address. */
  readonly peerSecret: Secret | undefined
}

/**
 * Passes a request on.
 * @throws failure('bad_gateway') when no whole answer comes; failure('overloaded') when too many wait
 */
export type Forward = (request: IncomingRequest) => Promise<RawReply>

/** Requests that may wait for the authentication service at one time. */
const maxWaiting = 64
/** Of a request; everything else (cookies, `Authorization`) stays here. */
const sent = ['content-type', 'x-secret-token', 'x-vault-token', 'x-vault-namespace', 'x-vault-request']
/** Of an answer, in the spelling that is sent on. */
const returned = { 'retry-after': 'Retry-After', 'www-authenticate': 'WWW-Authenticate' }

/** The way of `/v1/auth/…` to the authentication service. Path and query are those of a row: see `routes.ts`. */
export function forwarder({ url, outbound, peerSecret }: AuthProxyOptions): Forward {
  const places = new ClientLimiter(maxWaiting, 'too many requests are waiting for the authentication service')
  const peer = peerSecret?.use((bytes) => ({ [peerSecretHeader]: Buffer.from(bytes).toString('utf8') }))
  return (request) =>
    places.hold(request.clientAddress, async () => {
      const { path, method, body } = request
      const client = {
        'x-forwarded-for': request.clientAddress,
        ...(!request.isAddressKnown && { forwarded: unknownClient }),
      }
      const headers = { ...forwardHeaders(request), ...client, ...peer }
      const query = request.query.toString()
      const address = `${url}${path}${query === '' ? '' : `?${query}`}`
      // That service treats PUT and POST of these paths alike, as Vault does.
      const exchange =
        method === 'GET' ? outbound.get(address, { headers }) : outbound.post(address, body, { headers })
      return toReply(await exchange.catch(failUnanswered))
    })
}

function forwardHeaders(request: IncomingRequest): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const name of sent) {
    const value = request.headers[name]
    if (value !== undefined) headers[name] = value
  }
  return headers
}

function toReply({ status, headers, body }: OutboundResponse): RawReply {
  const kept: Record<string, string> = {}
  for (const [name, spelling] of Object.entries(returned)) {
    const value = headers[name]
    if (value !== undefined) kept[spelling] = value
  }
  const contentType = headers['content-type']
  return rawReply({
    status,
    headers: kept,
    ...(body.length > 0 && { raw: body, ...(contentType !== undefined && { contentType }) }),
  })
}

function failUnanswered(cause: unknown): never {
  throw failure('bad_gateway', 'The authentication service did not respond: try again.', { cause })
}

const define = defineOperation<unknown>()

/**
 * Paths for machines that act for themselves. Administration of roles stays at the authentication service.
 */
const paths = {
  'approle.login': ['/v1/auth/approle/login', 'Log in a machine with its AppRole'],
  'kubernetes.login': ['/v1/auth/kubernetes/login', 'Log in a machine with its service account'],
  'orchestrator.login': ['/v1/auth/orchestrator/login', 'Log in a machine with its service account'],
  'token.lookup_self': ['/v1/auth/token/lookup-self', 'Properties of a machine token'],
  'token.renew_self': ['/v1/auth/token/renew-self', 'Renew a machine token'],
  'token.revoke_self': ['/v1/auth/token/revoke-self', 'Revoke a machine token'],
} as const

/** Clients of Vault read `errors`, a list of sentences. */
const errorShape: ErrorShape = {
  reply: (told, { id }) => ({ json: { ...errorBody(told, id), errors: [told.message] } }),
}

const common = {
  tag: 'Machine logins',
  access: publicAccess,
  errorShape,
  errors: { 502: 'The authentication service did not respond.' },
  bodyLimit: 64 * 1024,
  rawBody: true,
  foreignParameters: {
    names: 'any' as const,
    because: 'The query is forwarded to the authentication service, which refuses unknown parameters.',
  },
}

const writing: readonly HttpMethod[] = ['POST', 'PUT']

/**
 * `/v1/auth/…`: machines log in, look up, renew and end their tokens through this service, whose address is then the
 * only one they need. Paths are listed: a caller cannot choose the target of a request.
 */
export function authProxyRoutes(forward: Forward): readonly Operation<unknown>[] {
  const passed = Object.entries(paths).map(([name, [path, summary]]) =>
    define({
      ...common,
      name: `auth_proxy.${name}`,
      route: { methods: name === 'token.lookup_self' ? ['GET'] : writing, path },
      summary,
      reach: name.endsWith('.login') ? ['make session'] : [],
      act: (_input, { request }) => forward(request),
    }),
  )
  return [...passed, refusesOthers]
}

/** Everything else below `/v1/auth` is refused in the words of the interface; `..` by the router, which is 400. */
const refusesOthers = define({
  ...common,
  name: 'auth_proxy.others',
  route: { methods: ['GET', 'LIST', 'POST', 'PUT', 'DELETE', 'PATCH'], path: '/v1/auth/{path*}' },
  summary: 'Paths that are not forwarded',
  reach: [],
  errors: { 404: 'Not a path for machines.' },
  pathParameters: Type.Object({ path: Type.String() }),
  act({ path }) {
    if (path.path.includes('\\')) throw failure('bad_request', 'The path must not contain a backslash.')
    throw failure(
      'not_found',
      'This path is not forwarded: use the authentication service for administration.',
    )
  },
})
