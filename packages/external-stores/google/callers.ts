import { failure } from '@warder/base'
import { externalPrincipal } from '@warder/keys'
import type { AuthenticationContext, IncomingRequest, Principal } from '@warder/server'
import { type ExternalStoreServices, recordVendor, type VendorRequest } from '../scope/scope.ts'
import { delegateIn, trialApplication } from './claims.ts'
import type { GoogleScope } from './scope.ts'
import {
  type Authentication,
  type Authorization,
  type Peer,
  verifyAuthentication,
  verifyAuthorization,
  verifyPeer,
} from './tokens.ts'

type Context = AuthenticationContext<ExternalStoreServices>

/** Claims of the verified tokens of a request. The operation determines the required tokens. */
export interface GoogleCaller {
  /** The name that keys are granted to, after `google:`. */
  readonly name: string
  readonly authentication?: Authentication
  readonly authorization?: Authorization
  /** Another key service, in place of a user. */
  readonly peer?: Peer
}

/** Passed from the authenticator to the operation. */
const callers = new WeakMap<IncomingRequest, GoogleCaller>()

function findCaller(request: IncomingRequest): GoogleCaller {
  const caller = callers.get(request)
  if (caller === undefined) throw failure('internal_error', 'the authenticator did not run')
  return caller
}

/** Of operations that need it: @throws failure('internal_error') if the authenticator does not require it */
export function requireAuthorization(
  request: IncomingRequest,
): GoogleCaller & { authorization: Authorization } {
  const caller = findCaller(request)
  const { authorization } = caller
  if (authorization === undefined) throw failure('internal_error', 'no authorization token was asked for')
  return { ...caller, authorization }
}

export function callerNamed(request: IncomingRequest): GoogleCaller {
  return findCaller(request)
}

/** Requires both tokens, of the same user: for operations of users on their own data. */
export function byBothTokens(scope: GoogleScope) {
  return async (context: Context): Promise<Principal | undefined> => {
    const { authentication, authorization } = readTokens(context)
    if (authentication === undefined || authorization === undefined) return undefined
    const sources = scope.sources(context.services)
    const allowed = await verifyAuthorization(authorization, sources)
    try {
      const user = await verifyAuthentication(authentication, sources)
      requireSameUser(user, allowed)
      return rememberCaller(context, { name: user.email, authentication: user, authorization: allowed })
    } catch (error) {
      recordVendor(context, 'google', { ...whatIsAllowed(allowed), principal: undefined })
      throw error
    }
  }
}

/** Requires only Google's token: for operations of Google during a migration. */
export function byAuthorization(scope: GoogleScope) {
  return async (context: Context): Promise<Principal | undefined> => {
    const { authorization } = readTokens(context)
    if (authorization === undefined) return undefined
    const allowed = await verifyAuthorization(authorization, scope.sources(context.services))
    // Google checks `kacls_owner_domain` if it is present. Here only Google authenticates the user, no provider of the
    // owner, so without this check any Google account that was registered with this address would be accepted.
    if (!allowed.isOfOwner && allowed.application !== trialApplication.application)
      throw failure(
        'forbidden',
        'The authorization token names neither the domain of the owner (kacls_owner_domain) nor an address in it.',
      )
    return rememberCaller(context, { name: allowed.email, authorization: allowed })
  }
}

/** Requires a token of the identity provider for an administrator that the settings list. */
export function byAdministrator(scope: GoogleScope) {
  return async (context: Context): Promise<Principal | undefined> => {
    const { authentication } = readTokens(context)
    return authentication === undefined ? undefined : administrator(scope, context, authentication)
  }
}

/** The same, or a token of the key service to which a key is migrated. */
export function byAdministratorOrPeer(scope: GoogleScope) {
  return async (context: Context): Promise<Principal | undefined> => {
    const { authentication } = readTokens(context)
    if (authentication === undefined) return undefined
    const peer = await verifyPeer(authentication, scope.sources(context.services))
    if (peer === undefined) return administrator(scope, context, authentication)
    return rememberCaller(context, { name: peer.kaclsUrl, peer })
  }
}

async function administrator(scope: GoogleScope, context: Context, compact: string): Promise<Principal> {
  const user = await verifyAuthentication(compact, scope.sources(context.services))
  const principal = rememberCaller(context, { name: user.email, authentication: user })
  // Guests, users of a trial, and users who act for another user are not administrators.
  if (user.guests || user.trial || user.delegation !== undefined || !scope.administrators.has(user.email))
    throw failure('forbidden', 'Only administrators of the key service may do this.')
  return principal
}

function readTokens({ request }: Context): {
  readonly authentication: string | undefined
  readonly authorization: string | undefined
} {
  const body = looselyParsed(request.body)
  const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined)
  return { authentication: text(body.authentication), authorization: text(body.authorization) }
}

/**
 * Used only to find the tokens. The request itself is parsed strictly (`parseJsonBody`), which refuses input that two
 * parsers could read differently.
 */
function looselyParsed(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'))
  } catch {
    throw failure('bad_request', 'Invalid request body: it is not valid JSON.')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw failure('bad_request', 'Invalid request body: it is not a JSON object.')
  return value as Readonly<Record<string, unknown>>
}

function rememberCaller(context: Context, caller: GoogleCaller): Principal {
  callers.set(context.request, caller)
  const { authentication, authorization, peer } = caller
  const { requestId, details } = whatIsAllowed(authorization)
  recordVendor(context, 'google', {
    requestId,
    principal: caller.name,
    details: {
      ...details,
      ...(authentication !== undefined && { identity_provider: authentication.issuer }),
      ...(authentication?.delegation !== undefined && { acts_through: authentication.delegation.to }),
      ...(peer !== undefined && { key_service: peer.kaclsUrl }),
    },
  })
  return { name: externalPrincipal('google', caller.name), aliases: listNames(caller), method: 'google_cse' }
}

/** Lists all users whom the tokens name, including both sides of a delegation. */
function listNames({ authentication, authorization }: GoogleCaller): readonly string[] {
  const names = [
    ...(authentication?.otherNames ?? []),
    authentication?.delegation?.to,
    authorization?.email,
    authorization?.delegatedTo,
  ]
  return names.filter((name) => name !== undefined).map((name) => externalPrincipal('google', name))
}

/** Facts from Google's token for audit records. */
function whatIsAllowed(allowed: Authorization | undefined): Omit<VendorRequest, 'principal'> {
  if (allowed === undefined) return { requestId: undefined }
  const { application, role, email, emailType, resourceName, perimeterId, delegatedTo, messageId } = allowed
  return {
    requestId: messageId,
    details: {
      email,
      application,
      role,
      resource_name: resourceName,
      ...(perimeterId !== '' && { perimeter_id: perimeterId }),
      ...(emailType !== 'google' && { email_type: emailType }),
      ...(delegatedTo !== undefined && { delegated_to: delegatedTo }),
    },
  }
}

/**
 * Google's steps "Check that authorization and authentication tokens are for the same user": their addresses, guests by
 * guest providers only, and delegations only for this resource and this delegate.
 * @throws failure('forbidden')
 */
function requireSameUser(user: Authentication, allowed: Authorization): void {
  if (user.email !== allowed.email) throw failure('forbidden', 'The two tokens are for different users.')
  if (user.trial !== (allowed.application === trialApplication.application))
    throw failure('forbidden', 'A trial token is valid only for trial resources.')
  const guest = allowed.emailType !== 'google'
  if (guest !== user.guests)
    throw failure(
      'forbidden',
      guest ? 'Guests are not admitted by this identity provider.' : 'This identity provider is for guests.',
    )
  const { delegation } = user
  if (delegation === undefined) return
  if (
    delegation.to !== delegateIn(allowed.delegatedTo ?? '') ||
    delegation.resourceName !== allowed.resourceName
  )
    throw failure('forbidden', 'The authentication token was delegated for another purpose.')
}
