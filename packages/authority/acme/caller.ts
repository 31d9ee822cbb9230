import { failure, parseStrictObject } from '@warder/base'
import { endedPrefix } from '@warder/keys'
import { type AuthenticationContext, type IncomingRequest, type Principal, rawReply } from '@warder/server'
import { type Change, type Commit, GuardFailed } from '@warder/storage'
import { type Account, findAccount } from './account-store.ts'
import { type Directory, findDirectory } from './directory-store.ts'
import { type AcmeEnvironment, type AcmeServices, AcmeUrls } from './environment.ts'
import {
  headerText,
  type Jws,
  readJwsBody,
  readSigningKey,
  requireSignature,
  type SigningKey,
} from './jws.ts'
import { acmeProblem } from './problem.ts'

/** Commits changes to rows that were read before. @throws conflict when one of them has changed since */
export async function commitOrConflict(commit: Commit, changes: readonly Change[]): Promise<void> {
  try {
    await commit(changes)
  } catch (error) {
    if (error instanceof GuardFailed)
      throw acmeProblem('conflict', 'Another request changed the same data concurrently: try again.')
    throw error
  }
}

/** The account that signed a request, and the contents of the request. */
export interface AcmeCaller {
  readonly directory: Directory
  readonly urls: AcmeUrls
  readonly key: SigningKey
  /** undefined: the request is signed with the key in its header. */
  readonly account: Account | undefined
  readonly payload: Buffer
}

type Context = AuthenticationContext<AcmeServices>

/** Callers by request: the authenticator passes them to the handler of the same request. */
const callers = new WeakMap<IncomingRequest, AcmeCaller>()

/** Larger bodies are refused before they are read: no ACME resource needs more. */
const maxBodyBytes = 65_536

/** The caller that the authenticator found. */
export function readCaller({ request }: { readonly request: IncomingRequest }): AcmeCaller {
  const caller = callers.get(request)
  if (caller === undefined) throw failure('internal_error', 'the authenticator of ACME did not run')
  return caller
}

/** The caller of an operation that requires an account. */
export function accountCaller(context: { readonly request: IncomingRequest }): AcmeCaller & {
  readonly account: Account
} {
  const caller = readCaller(context)
  const { account } = caller
  if (account === undefined) throw failure('internal_error', 'the request was not signed by an account')
  return { ...caller, account }
}

/** The directory that a path names. @throws notFound when the authority is not open for ACME */
export async function directoryAt(
  { db, baseUrl }: AcmeEnvironment,
  { path }: IncomingRequest,
): Promise<{ readonly directory: Directory; readonly urls: AcmeUrls }> {
  const id = decodeSegment(path.split('/')[2] ?? '')
  const directory = id === undefined ? undefined : await findDirectory(db, id)
  if (directory === undefined) throw acmeProblem('notFound', 'No such authority is open for ACME.')
  return { directory, urls: new AcmeUrls(baseUrl, directory.authorityId) }
}

function decodeSegment(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** A request that an account signed (RFC 8555 §6.2, `kid`). */
export function byAccount(environment: AcmeEnvironment) {
  return async (context: Context): Promise<Principal> => {
    const caller = await verify(environment, context, ['kid'])
    return admit(context, toPrincipal(context, caller, caller.account?.owner ?? ''))
  }
}

/**
 * A request that is signed with the key in its header, or by an account if the operation permits it (RFC 8555 §6.2,
 * `jwk`).
 * @param owner the user that such a request acts for
 */
export function byKey(
  environment: AcmeEnvironment,
  accepted: readonly ('jwk' | 'kid')[],
  owner: (caller: AcmeCaller, context: Context) => Promise<string>,
) {
  return async (context: Context): Promise<Principal> => {
    const caller = await verify(environment, context, accepted)
    // Requests for a suspended user are refused, whichever key signed them. A deleted user may have left a key that
    // others know.
    if (caller.account === undefined)
      return context.services.blocks.require(toPrincipal(context, caller, await owner(caller, context)))
    return admit(context, toPrincipal(context, caller, caller.account.owner))
  }
}

/**
 * Returns the principal, unless the user of the account is suspended or deleted. After the user's objects are
 * transferred, the account acts for their new owner.
 * @throws unauthorized, failure('forbidden')
 */
export async function admit({ services }: Context, principal: Principal): Promise<Principal> {
  if (principal.name.startsWith(endedPrefix))
    throw acmeProblem('unauthorized', 'The user of this account was deleted.')
  return services.blocks.require(principal)
}

function toPrincipal({ request, audit }: Context, caller: AcmeCaller, name: string): Principal {
  callers.set(request, caller)
  const { account, directory } = caller
  audit({
    object: directory.authorityId,
    details: account === undefined ? { acme_key: caller.key.thumbprint } : { acme_account: account.id },
  })
  return { name, method: 'acme' }
}

async function verify(
  environment: AcmeEnvironment,
  { request }: Context,
  accepted: readonly ('jwk' | 'kid')[],
): Promise<AcmeCaller> {
  requireContentType(request.headers['content-type'])
  const { directory, urls } = await directoryAt(environment, request)
  const jws = readJwsBody(request.body)
  const signer = signerIn(jws, accepted)
  // RFC 8555 §6.4
  const query = request.query.size === 0 ? '' : `?${request.query}`
  if (headerText(jws, 'url') !== `${environment.baseUrl}${request.path}${query}`)
    throw acmeProblem('unauthorized', "'url' in the header is not the address of this request.")
  const nonce = headerText(jws, 'nonce')
  if (nonce === undefined) throw acmeProblem('badNonce', "The header has no 'nonce'.")
  environment.nonces.check(nonce)
  const account =
    'kid' in signer ? await findCallerAccount(environment, directory, urls, signer.kid) : undefined
  const key = 'jwk' in signer ? readSigningKey(signer.jwk) : readSigningKey(JSON.parse(account?.jwk ?? '{}'))
  requireSignature(jws, key.key)
  await environment.nonces.use(nonce)
  if (account !== undefined && account.status !== 'valid')
    throw acmeProblem('unauthorized', `The account is ${account.status}.`)
  return { directory, urls, key, account, payload: jws.payload }
}

function requireContentType(type: string | undefined): void {
  if (type === undefined || !/^application\/jose\+json[ \t]*(;|$)/i.test(type))
    throw failure('unsupported_media_type', 'The content type of a request must be application/jose+json.')
}

/** Exactly one of `jwk` and `kid` (RFC 8555 §6.2). */
function signerIn(
  jws: Jws,
  accepted: readonly ('jwk' | 'kid')[],
): { readonly kid: string } | { readonly jwk: unknown } {
  const kid = headerText(jws, 'kid')
  const { jwk } = jws.header
  if ((kid === undefined) === (jwk === undefined))
    throw acmeProblem('malformed', "The header must have either 'kid' or 'jwk'.")
  const has = kid === undefined ? 'jwk' : 'kid'
  if (!accepted.includes(has))
    throw acmeProblem('malformed', `This request must have '${accepted.join("' or '")}' in its header.`)
  return kid === undefined ? { jwk } : { kid }
}

async function findCallerAccount(
  { db }: AcmeEnvironment,
  { authorityId }: Directory,
  urls: AcmeUrls,
  kid: string,
): Promise<Account> {
  const prefix = urls.account('')
  const id = kid.startsWith(prefix) ? kid.slice(prefix.length) : undefined
  const account = id === undefined ? undefined : await findAccount(db, authorityId, id)
  if (account === undefined)
    throw acmeProblem('accountDoesNotExist', "'kid' is not the address of an account.")
  return account
}

/** The payload as a JSON object. @throws malformed */
export function payloadObject({ payload }: AcmeCaller): Readonly<Record<string, unknown>> {
  const members = parseStrictObject(payload)
  if (members === undefined)
    throw acmeProblem('malformed', 'The payload is not a JSON object without repeated members.')
  return members
}

/** RFC 8555 §6.3: the payload of a POST-as-GET request is empty. @throws malformed */
export function requirePostAsGet({ payload }: AcmeCaller): void {
  if (payload.length > 0)
    throw acmeProblem('malformed', 'This resource must be read with an empty payload (POST-as-GET).')
}

/** Common part of the rows of all resources. */
export function resourceRow({ errorShape }: AcmeEnvironment) {
  return {
    tag: 'ACME',
    bodyLimit: maxBodyBytes,
    rawBody: true,
    errorShape,
    security: ['acme'],
    foreignParameters: {
      names: 'any',
      because:
        'ACME clients sign the address including its query (RFC 8555 §6.4), which is compared as a whole.',
    },
    replyContentType: 'application/json',
  } as const
}

/** The authenticator has verified the signature of the request. The handler checks what the account may access. */
export const signedByAcme = { name: 'ACME account' } as const

export const resourceErrors = {
  400: 'The request, its nonce or its signature is invalid.',
  403: 'The account is not permitted to do this.',
  404: 'There is no such resource of this account.',
  413: 'The body is larger than 64 KiB.',
  415: 'The content type must be application/jose+json.',
} as const

interface ResourceReply {
  readonly status?: number
  readonly json?: unknown
  /** PEM instead of JSON. */
  readonly pem?: string
  readonly location?: string
  /** Pairs of link relation and address. */
  readonly links?: readonly (readonly [rel: string, url: string])[]
  readonly retryAfterSeconds?: number
}

/** A reply with the headers that every response has (RFC 8555 §6.5, §7.1). */
export function resourceReply({ nonces }: AcmeEnvironment, urls: AcmeUrls, reply: ResourceReply) {
  const links = [['index', urls.directory] as const, ...(reply.links ?? [])]
  return rawReply({
    status: reply.status ?? 200,
    ...(reply.json !== undefined && { json: reply.json }),
    ...(reply.pem !== undefined && { raw: reply.pem, contentType: 'application/pem-certificate-chain' }),
    headers: {
      'Replay-Nonce': nonces.issue(),
      Link: links.map(([rel, url]) => `<${url}>;rel="${rel}"`),
      ...(reply.location !== undefined && { Location: reply.location }),
      ...(reply.retryAfterSeconds !== undefined && { 'Retry-After': String(reply.retryAfterSeconds) }),
    },
  })
}
