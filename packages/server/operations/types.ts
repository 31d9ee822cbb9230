import type { X509Certificate } from 'node:crypto'
import type { Failure, Logger, MaybePromise } from '@warder/base'
import type { Commit } from '@warder/storage'
import type { Static, TSchema } from 'typebox'
import type { Effect } from './reach.ts'

/** LIST is that of Vault's clients: a GET for the names below a path. */
export type HttpMethod = 'GET' | 'LIST' | 'POST' | 'PUT' | 'DELETE' | 'PATCH' | 'HEAD'

/** The caller. `name` is the name that rights, ownership and the audit log use. */
export interface Principal {
  readonly name: string
  /** e.g. 'session', 'jwt', 'tls_auth', 'app_token', 'api_token', 'default_username' */
  readonly method: string
  readonly realm?: string
  /** Further names of the same caller: a suspension of any of them refuses the caller. */
  readonly aliases?: readonly string[]
  /** Roles that arrived with the credential, as grants name them: `role:SOURCE/NAME`. */
  readonly roles?: readonly string[]
}

/** The caller whose rights are checked. Work that runs later for a user knows only the name: roles count in the user's own requests. */
export type Caller = Pick<Principal, 'name' | 'roles'>

/** The request for the dispatcher and the authenticators, read once into plain values. */
export interface IncomingRequest {
  readonly id: string
  readonly method: HttpMethod
  /** Path without query, not decoded. */
  readonly path: string
  readonly query: URLSearchParams
  /** The text after `?`, or empty. */
  readonly rawQuery: string
  /** Lower-case name -> value; repeated headers are joined as node:http does. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** Values of all `Cookie` members with this name (duplicates are for the caller to refuse). */
  cookies(name: string): readonly string[]
  /** TCP peer, or the client behind a trusted proxy. */
  readonly clientAddress: string
  /** false: `clientAddress` is that of a proxy, behind which the client is not known. */
  readonly isAddressKnown: boolean
  /** TCP peer, always. */
  readonly peerAddress: string
  /**
   * Verified client certificate of the TLS connection (chain checked against the client CA), if any.
   * @throws failure('unauthorized') when one was presented that does not verify
   */
  readonly peerCertificate: () => X509Certificate | undefined
  /**
   * The client certificate, if it verified under an authority of this partner: it counts for the interface of that
   * partner alone.
   */
  readonly partnerCertificate?: (partner: string) => X509Certificate | undefined
  /**
   * The connection it came over: one object for all of its requests, used as a key for data that last as long
   * as the connection.
   */
  readonly connection: object
  /** Raw body bytes; empty when none. */
  readonly body: Uint8Array
}

/** Everything a handler gets besides its input. */
export interface OperationContext<Services> {
  readonly services: Services
  readonly request: IncomingRequest
  readonly principal: Principal | undefined
  /** The only way for a handler to write: in audit mode `reject` the record is on disk before the commit. */
  readonly commit: Commit
  readonly log: Logger
  /** Result of the access check, kept for the handler; only the access that stored it reads it. */
  found: unknown
  /** Adds to the audit record of this request (object id, algorithm, before and after …). Never secrets. */
  audit(fields: AuditFields): void
  /** From here on the handler writes the audit records itself (one for each item of a batch). */
  recorded?(): void
}

/** Context of an operation's authenticator: the context before there is a principal and an input. */
export type AuthenticationContext<Services> = Pick<
  OperationContext<Services>,
  'services' | 'request' | 'log' | 'audit'
>

export interface AuditFields {
  readonly principal?: string
  readonly auth_method?: string
  readonly realm?: string
  readonly object?: string
  readonly algorithm?: string
  readonly reason?: string
  readonly details?: Readonly<Record<string, unknown>>
}

/**
 * Access rule of an operation. Declared in the operation, enforced by the dispatcher before `act` runs. `public` is the only
 * access that needs no principal; everything else is denied when `check` does not return.
 */
export interface Access<Services> {
  readonly name: string // shown in openapi.yaml and in the authorization matrix, e.g. 'key right: encrypt'
  readonly public?: true
  /**
   * Security schemes of openapi.yaml whose callers it may admit; undefined = all that the service's authenticator
   * accepts.
   */
  readonly credentials?: readonly string[]
  /** Throws failure('forbidden' | 'unauthorized' | 'not_found') to deny. `input` has passed validation. */
  check?(input: OperationInput, context: OperationContext<Services>): MaybePromise<void>
}

/** Path parameters, query parameters and JSON body, each checked by its schema. */
export interface OperationInput {
  readonly path: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  readonly body: unknown
  /** Bytes of the member that a `LargeBody` has taken out of `body`; undefined for smaller bodies. */
  readonly large?: Uint8Array | undefined
}

/** How large JSON bodies are read outside of the event loop. */
export interface LargeBody {
  /** Bodies from this size on. */
  readonly fromBytes: number
  /**
   * Takes the bytes over: they must not be used again. `value` is the JSON value with an empty text in place of the
   * large member, and `large` the value of that text.
   * @throws failure('bad_request'); failure('overloaded')
   */
  read(body: Uint8Array): Promise<{ readonly value: unknown; readonly large: Uint8Array | undefined }>
}

/** A reply that is not plain JSON with the operation's status. */
export interface RawReply {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  /** Bytes or text as they are; undefined = empty body. */
  readonly raw?: Uint8Array | string
  readonly contentType?: string
  /** JSON body instead of `raw`. */
  readonly json?: unknown
  /** Text that is sent as it comes, instead of `raw`. When it fails, the connection is cut: the body has no end then. */
  readonly stream?: AsyncIterable<string>
}

/** The part of a failure that is sent to callers; its detail and its cause stay private. */
export type PublicError = Pick<Failure, 'kind' | 'status' | 'message' | 'members' | 'retryAfterSeconds'>

/**
 * The form of an operation's error replies. It covers every failure of the request: those of the handler, and those before
 * it (rate limit, head, credentials, body). Unknown paths below the operation use it, too.
 */
export interface ErrorShape {
  /** The body in openapi.yaml; undefined: the default one, `Error`. */
  readonly documented?: { readonly contentType: string; readonly schema?: TSchema }
  /** Whether its body has all members of the default one. */
  readonly addsToDefault?: true
  /**
   * The reply; its status, if it has one, must be an error (400 or more). `Retry-After`, `Allow` and `WWW-Authenticate`
   * are added unless its headers have them. When it throws, the default shape is used.
   */
  reply(failure: PublicError, request: IncomingRequest): RawReply
}

/** Members of a body, at every depth, or query parameters that are ignored. */
export interface ForeignMembers {
  /** 'any': every member that the schema does not declare. */
  readonly names: 'any' | readonly string[]
  /** The clients that send them, and the clause or manual that permits ignoring them: a sentence for the reference. */
  readonly because: string
}

export interface RouteDeclaration {
  readonly methods: readonly HttpMethod[]
  /** e.g. `/v1/crypto/keys/{kid}`; a last segment `{name*}` matches the whole tail, `{name**}` as it was sent. */
  readonly path: string
}

export interface Operation<Services = never> {
  /** Audit name, metric label, OpenAPI operationId: `crypto.encrypt`. Unique. */
  readonly name: string
  readonly route: RouteDeclaration
  readonly summary: string
  readonly description?: string
  readonly tag: string
  readonly access: Access<Services>
  /** Its possible effects on objects with all the rights that it checks; empty: none. */
  readonly reach: readonly Effect[]
  /** Rights on objects that `act` checks besides that of `access`, at least for some requests. */
  readonly asks?: readonly string[]
  readonly pathParameters?: TSchema
  readonly queryParameters?: TSchema
  /** JSON body schema; undefined = the body is not read as JSON. */
  readonly request?: TSchema
  /**
   * Members of the body that are accepted without effect though the schema does not declare them: clients of another
   * product send them. Default: none.
   */
  readonly foreignMembers?: ForeignMembers
  /** The same of query parameters. */
  readonly foreignParameters?: ForeignMembers
  /** true: without `request`, the operation reads the bytes of the body itself. Otherwise it accepts no body. */
  readonly rawBody?: boolean
  /** true: an absent or empty body is `undefined` instead of 400; with a schema it is then not checked. */
  readonly bodyOptional?: boolean
  /** true: the body is JSON regardless of its Content-Type (Vault-compatible logins). */
  readonly anyContentType?: boolean
  /** Maximum bytes of the body, if it is below that of the service, `body_limit_bytes`. */
  readonly bodyLimit?: number
  /** undefined = bodies of every size are read in the event loop. */
  readonly largeBody?: LargeBody
  /** Success status; default 200. 204 sends no body. */
  readonly status?: number
  readonly reply?: TSchema
  readonly replyContentType?: string
  /**
   * Other successes than `status`, which the handler returns as raw replies in JSON, for openapi.yaml and the client.
   */
  readonly otherReplies?: Readonly<Record<number, { readonly description: string; readonly reply: TSchema }>>
  /** Statuses besides success that it can answer, for openapi.yaml; common ones (400, 401, 429, 500 …) are added. */
  readonly errors?: Readonly<Record<number, string>>
  /** Its reply is a page; `X-Next-After` is the start of the next one (`pageReply`). */
  readonly paged?: true
  /** false: not audited (health, version, documents). Default true. */
  readonly audited?: boolean
  /** The form of error replies; undefined = a JSON body with `error` and `description`. */
  readonly errorShape?: ErrorShape
  /**
   * Authenticates the caller instead of the service's authenticator; not called if the access is public. Bodies over 64
   * KiB are read only from authenticated callers: it is called first with an empty body and again with the whole one.
   * An authenticator that checks the body (a signature over it) therefore needs a `bodyLimit` below that.
   */
  authenticate?(context: AuthenticationContext<Services>): MaybePromise<Principal | undefined>
  /**
   * Security schemes of openapi.yaml that `authenticate` or, of a public operation, `act` accepts; default: those of
   * `access`.
   */
  readonly security?: readonly string[]
  /**
   * 'any-origin': permissive CORS without credentials. 'foreign-forms': forms of pages of any origin are taken, and no
   * page of another origin may read the reply; the operation itself must determine the user of a form. Default:
   * same-origin plus the configured list.
   */
  readonly cors?: 'any-origin' | 'foreign-forms'
  /** Overrides `Cache-Control: no-store`. */
  readonly cacheControl?: string
  act(input: OperationInput, context: OperationContext<Services>): unknown
}

/** Typed form used to declare operations; `input.body`, `.path` and `.query` have their schemas' static types. */
export interface OperationDeclaration<
  Services,
  Body extends TSchema | undefined,
  Path extends TSchema | undefined,
  Query extends TSchema | undefined,
> extends Omit<Operation<Services>, 'act' | 'request' | 'pathParameters' | 'queryParameters' | 'access'> {
  readonly access: Access<Services>
  readonly request?: Body
  readonly pathParameters?: Path
  readonly queryParameters?: Query
  act(
    input: {
      readonly body: Body extends TSchema ? Static<Body> : undefined
      readonly path: Path extends TSchema ? Static<Path> : Readonly<Record<string, never>>
      readonly query: Query extends TSchema ? Static<Query> : Readonly<Record<string, string>>
    },
    context: OperationContext<Services>,
  ): unknown
}

/** Authenticates the caller. Returns undefined when the request carries no known credential. */
export type Authenticate = (request: IncomingRequest) => MaybePromise<Principal | undefined>
