import { type Failure, failure } from '@warder/base'
import { externalPrincipal, foldEmail } from '@warder/keys'
import {
  type AuthenticationContext,
  bearerToken,
  type ExpectedToken,
  type IncomingRequest,
  JwtRejected,
  type KeySet,
  type PeekedToken,
  type Principal,
  peekToken,
  verifyToken,
} from '@warder/server'
import { type ExternalStoreServices, recordVendor } from '../scope/scope.ts'
import type { MicrosoftScope } from './scope.ts'

/** Claims of a verified token of Entra about its user. */
export interface MicrosoftCaller {
  /** `email`, else `upn`, folded; undefined if the token has neither. */
  readonly email: string | undefined
  /** App roles and groups. */
  readonly roles: readonly string[]
  /** It is a trial token, which decrypts only with the trial key. */
  readonly trial: boolean
}

const callers = new WeakMap<IncomingRequest, MicrosoftCaller>()

export function readCaller(request: IncomingRequest): MicrosoftCaller {
  const caller = callers.get(request)
  if (caller === undefined) throw failure('internal_error', 'the authenticator did not run')
  return caller
}

/** Max roles and groups of one token that are evaluated. */
const maxRoles = 200
const leewaySeconds = 60

/**
 * The authenticator: `Authorization: Bearer` with a token of Entra for this service. For clients without a token, the
 * response names its issuer in the header that Office reads.
 */
export function byEntraToken(scope: MicrosoftScope) {
  return async (context: AuthenticationContext<ExternalStoreServices>): Promise<Principal> => {
    const { request, services } = context
    const compact = bearerToken(request)
    if (compact === undefined) throw challenge(scope)
    try {
      const { caller, name, otherNames } = await verifySignature(compact, scope, services)
      callers.set(request, caller)
      const requestId = request.headers['client-request-id'] ?? request.headers['x-ms-client-request-id']
      recordVendor(context, 'microsoft', { requestId, principal: name })
      const aliases = otherNames.map((other) => externalPrincipal('microsoft', other))
      return { name: externalPrincipal('microsoft', name), aliases, method: 'ms_dke' }
    } catch (error) {
      if (error instanceof JwtRejected) throw challenge(scope, error)
      throw error
    }
  }
}

/** As in Microsoft's sample, `resource` and `realm` are the audience (Startup.cs, `options.Challenge`). */
function challenge({ audience, authorization }: MicrosoftScope, cause?: JwtRejected): Failure {
  const headers = {
    'WWW-Authenticate': `Bearer resource="${audience}", authorization="${authorization}", realm="${audience}"`,
    resource: audience,
    authorization,
  }
  return failure('unauthorized', undefined, {
    headers,
    ...(cause !== undefined && { detail: `bearer token: ${cause.message}`, cause }),
  })
}

interface Verified {
  readonly caller: MicrosoftCaller
  /** Name in records: the address, or the id of the object in the tenant. */
  readonly name: string
  /** Further names of the user in the token, which grant no right but can be blocked. */
  readonly otherNames: readonly string[]
}

async function verifySignature(
  compact: string,
  scope: MicrosoftScope,
  services: ExternalStoreServices,
): Promise<Verified> {
  const token = peekToken(compact)
  const { issuer } = token
  if (issuer === undefined) throw new JwtRejected('no iss')
  if (scope.trialKeys !== undefined && issuer === `${scope.serviceUrl}/trial`)
    return ofTrial(token, issuer, scope, scope.trialKeys(services), services)
  const known = listIssuers(scope).find((one) => one.issuer === issuer)
  if (known === undefined) throw new JwtRejected('another issuer')
  const expected = expectToken(issuer, scope.audience, ['exp', 'iat', 'tid'])
  const { claims } = await verifyToken(token, scope.keysAt(known.keySet), expected, services.clock)
  if (claims.tid !== known.tenant) throw new JwtRejected('another tenant')
  const roles = [...readTexts(claims.roles), ...readTexts(claims.groups)]
  const caller = {
    email: readEmail(claims),
    roles: roles.slice(0, maxRoles),
    trial: false,
  }
  return {
    caller,
    name: caller.email ?? `${known.tenant}/${readObjectId(claims)}`,
    otherNames: getOtherNames(claims, known.tenant, roles),
  }
}

function expectToken(issuer: string, audience: string, requiredClaims: readonly string[]): ExpectedToken {
  return { issuer, audience: [audience], requiredClaims, leewaySeconds, algorithms: ['RS256'] }
}

/** Issuers of both versions of tokens, with the key set of each ("Access tokens in the Microsoft identity platform"). */
function listIssuers({ tenants, tokenIssuer, authority }: MicrosoftScope) {
  return tenants.flatMap((tenant) => [
    { tenant, issuer: `${tokenIssuer}/${tenant}/`, keySet: `${authority}/${tenant}/discovery/keys` },
    {
      tenant,
      issuer: `${authority}/${tenant}/v2.0`,
      keySet: `${authority}/${tenant}/discovery/v2.0/keys`,
    },
  ])
}

async function ofTrial(
  token: PeekedToken,
  issuer: string,
  scope: MicrosoftScope,
  keys: KeySet,
  { clock }: ExternalStoreServices,
): Promise<Verified> {
  const expected = expectToken(issuer, scope.audience, ['exp', 'iat'])
  const { claims } = await verifyToken(token, keys, expected, clock)
  const email = readEmail(claims)
  if (email === undefined) throw new JwtRejected('no email')
  return { caller: { email, roles: [], trial: true }, name: email, otherNames: getOtherNames(claims, '', []) }
}

type Claims = Readonly<Record<string, unknown>>

/** The sample accepts `email` or `upn`, depending on which the token has (EmailAuthorizer.cs). */
function readEmail(claims: Claims): string | undefined {
  const claim = claims.email ?? claims.upn
  if (claim === undefined) return undefined
  const email = foldEmail(typeof claim === 'string' ? claim.trim() : claim)
  if (email === undefined) throw new JwtRejected('email or upn is not an address')
  return email
}

function readObjectId({ oid, sub }: Claims): string {
  const object = oid ?? sub
  if (typeof object !== 'string' || object === '') throw new JwtRejected('no email, upn, oid or sub')
  return object
}

/** Claims that name the user, or the requesting application ("Access token claims reference"). */
const nameClaims = [
  'email',
  'upn',
  'preferred_username',
  'unique_name',
  'oid',
  'sub',
  'appid',
  'azp',
] as const

/** Collects all names: a token may omit the name by which its user was blocked, but not all of them. */
function getOtherNames(claims: Claims, tenant: string, roles: readonly string[]): readonly string[] {
  const names = nameClaims.map((claim) => claims[claim]).filter((name) => typeof name === 'string')
  const objects = [claims.oid, claims.sub].filter((name) => typeof name === 'string')
  return [
    ...names,
    ...objects.map((object) => `${tenant}/${object}`),
    ...roles.map((role) => `role:${role}`),
  ].filter((name) => name !== '')
}

function readTexts(claim: unknown): readonly string[] {
  return Array.isArray(claim)
    ? claim.filter((one): one is string => typeof one === 'string' && one !== '' && one.length <= 200)
    : []
}
