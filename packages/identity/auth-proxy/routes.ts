import { failure } from '@warder/base'
import { publicAccess } from '@warder/keys'
import { defineOperation, type ErrorShape, errorBody, type HttpMethod, type Operation } from '@warder/server'
import Type from 'typebox'
import type { Forward } from './forward.ts'

const define = defineOperation<unknown>()

/** Paths that machines use for themselves. Administration of roles stays at the authentication service. */
const paths = {
  'approle.login': ['/v1/auth/approle/login', 'Log a machine in by its role'],
  'kubernetes.login': ['/v1/auth/kubernetes/login', 'Log a machine in by its service account'],
  'orchestrator.login': ['/v1/auth/orchestrator/login', 'Log a machine in by its service account'],
  'token.lookup_self': ['/v1/auth/token/lookup-self', 'What a machine token is'],
  'token.renew_self': ['/v1/auth/token/renew-self', 'Renew a machine token'],
  'token.revoke_self': ['/v1/auth/token/revoke-self', 'End a machine token'],
} as const

/** Clients of Vault read `errors`, a list of sentences. */
const errorShape: ErrorShape = {
  reply: (told, { id }) => ({ json: { ...errorBody(told, id), errors: [told.message] } }),
}

const common = {
  tag: 'Machine logins',
  access: publicAccess,
  errorShape,
  errors: { 502: 'The authentication service did not answer.' },
  bodyLimit: 64 * 1024,
  rawBody: true,
  foreignParameters: {
    names: 'any' as const,
    because: 'The query is passed on to the authentication service, which refuses what it does not know.',
  },
}

const writing: readonly HttpMethod[] = ['POST', 'PUT']

/**
 * `/v1/auth/…`: machines log in, look up, renew and end their tokens through this service, whose address is then the
 * only one they need. Paths are listed: nothing that a caller writes chooses where a request goes.
 */
export function authProxyRoutes(forward: Forward): readonly Operation<unknown>[] {
  const passed = Object.entries(paths).map(([name, [path, summary]]) =>
    define({
      ...common,
      name: `auth_proxy.${name}`,
      route: { methods: name === 'token.lookup_self' ? ['GET'] : writing, path },
      summary,
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
  summary: 'Paths that are not passed on',
  errors: { 404: 'Not a path of machines.' },
  pathParameters: Type.Object({ path: Type.String() }),
  act({ path }) {
    if (path.path.includes('\\')) throw failure('bad_request', 'The path must not have a backslash.')
    throw failure('not_found', 'This path is not passed on: administration is at the authentication service.')
  },
})
