import { andThen, Failure, failure, type MaybePromise, toFailure } from '@warder/base'
import { activeTrace } from '@warder/outbound/http-client'
import type { HttpMethod, Operation, OperationInput, Principal } from '../operations/types.ts'
import { type Admit, aborted, announcesBody, readBody } from './body.ts'
import { type BodyBudget, BodyReservation, jsonCost } from './body-budget.ts'
import type { Cors } from './cors.ts'
import type { Exchange } from './exchange.ts'
import { type CompiledOperation, findLargeBody, validateInput, validateLargeInput } from './input.ts'
import { type PreparedReply, prepareFailure, prepareFailureInShape, prepareReply } from './reply.ts'
import { checkHead, isServerWide } from './request.ts'
import type { RequestBatcher } from './request-batcher.ts'
import type { Router } from './router.ts'

export interface Dispatcher<Services> {
  readonly router: Router<CompiledOperation<Services>>
  readonly cors: Cors
  readonly budget: BodyBudget
  readonly batcher: RequestBatcher
}

/** Receives the reply, once. undefined: the client disconnected before the request was complete. */
export type Done = (reply: PreparedReply | undefined) => void

/**
 * Processes a request. Every thrown error becomes a reply, and every reply has been audited as the audit mode requires.
 * Steps without I/O run synchronously: most requests pass without a promise.
 */
export function dispatch<Services>(
  dispatcher: Dispatcher<Services>,
  exchange: Exchange<Services>,
  done: Done,
): void {
  let reply: PreparedReply | 'after its body'
  try {
    reply = begin(dispatcher, exchange, done)
  } catch (thrown) {
    reply = replyToFailure(exchange, thrown)
  }
  if (reply !== 'after its body') conclude(exchange, reply, done)
}

function begin<Services>(
  dispatcher: Dispatcher<Services>,
  exchange: Exchange<Services>,
  done: Done,
): PreparedReply | 'after its body' {
  const { message, response, connection } = exchange
  limitRate(exchange)
  checkHead(message, exchange.request, exchange.options.tls !== undefined)
  if (exchange.isOptions) return preflight(dispatcher, exchange)
  const compiled = requireMatch(exchange)
  if (!announcesBody(message)) {
    perform(dispatcher, exchange, compiled, done)
    return 'after its body'
  }
  connection.reading++
  const cost = compiled.checkBody === undefined ? 1 : jsonCost
  const reservation = new BodyReservation(dispatcher.budget, exchange.request.clientAddress, cost)
  const admitLarge: Admit = (refuse) => admitLargeBody(dispatcher, exchange, compiled, refuse)
  readBody(message, response, compiled.bodyLimit, reservation, admitLarge, (outcome) => {
    connection.reading--
    if (outcome === aborted) done(undefined)
    else if (outcome instanceof Failure) conclude(exchange, replyToFailure(exchange, outcome), done)
    else {
      exchange.reservation = reservation
      exchange.request.body = outcome
      perform(dispatcher, exchange, compiled, done)
    }
  })
  return 'after its body'
}

/** Large bodies are read only from authenticated callers, who are authenticated again once the body has arrived. */
function admitLargeBody<Services>(
  dispatcher: Dispatcher<Services>,
  exchange: Exchange<Services>,
  compiled: CompiledOperation<Services>,
  refuse: (why: Failure) => void,
): void {
  const admitted = (): MaybePromise<void> => {
    if (compiled.operation.access.public === true) return
    refuseCrossOriginRequest(dispatcher, exchange)
    return andThen(authenticate(exchange, compiled), requireAuthenticated)
  }
  const refuseThrown = (thrown: unknown): void => refuse(toFailure(thrown))
  try {
    const served = andThen(exchange.options.admit?.(compiled.operation.name), admitted)
    andThen(served, () => undefined, refuseThrown)
  } catch (thrown) {
    refuseThrown(thrown)
  }
}

function requireAuthenticated(principal: Principal | undefined): void {
  if (principal === undefined) throw failure('unauthorized')
}

/** Handles the request and replies to it, in one batch with the other requests that have arrived. */
function perform<Services>(
  dispatcher: Dispatcher<Services>,
  exchange: Exchange<Services>,
  compiled: CompiledOperation<Services>,
  done: Done,
): void {
  const { batcher } = dispatcher
  const doneInTurn: Done = (reply) => batcher.enqueueReply(() => done(reply))
  batcher.enqueue(() => {
    // RFC 9112 §9.6: a request after the reply that ends its connection is not processed.
    if (exchange.connection.closing) doneInTurn(undefined)
    else performNow(dispatcher, exchange, compiled, doneInTurn)
  })
}

function performNow<Services>(
  dispatcher: Dispatcher<Services>,
  exchange: Exchange<Services>,
  compiled: CompiledOperation<Services>,
  done: Done,
): void {
  let reply: MaybePromise<PreparedReply>
  exchange.options.onBegin?.(compiled.operation.name)
  try {
    reply =
      exchange.trace === undefined
        ? answer(dispatcher, exchange, compiled)
        : activeTrace.run(exchange.trace, answer<Services>, dispatcher, exchange, compiled)
  } catch (thrown) {
    reply = replyToFailure(exchange, thrown)
  }
  andThen(
    reply,
    (ready) => conclude(exchange, ready, done),
    (thrown) => conclude(exchange, replyToFailure(exchange, thrown), done),
  )
}

function answer<Services>(
  dispatcher: Dispatcher<Services>,
  exchange: Exchange<Services>,
  compiled: CompiledOperation<Services>,
): MaybePromise<PreparedReply> {
  const requireServed = exchange.options.admit
  if (requireServed === undefined) return admit(dispatcher, exchange, compiled)
  return andThen(requireServed(compiled.operation.name), () => admit(dispatcher, exchange, compiled))
}

function admit<Services>(
  dispatcher: Dispatcher<Services>,
  exchange: Exchange<Services>,
  compiled: CompiledOperation<Services>,
): MaybePromise<PreparedReply> {
  refuseCrossOriginRequest(dispatcher, exchange)
  if (compiled.operation.access.public === true) return validate(exchange, compiled)
  return andThen(authenticate(exchange, compiled), (principal) =>
    requirePrincipal(exchange, compiled, principal),
  )
}

function authenticate<Services>(
  exchange: Exchange<Services>,
  { operation }: CompiledOperation<Services>,
): MaybePromise<Principal | undefined> {
  if (operation.authenticate !== undefined) return operation.authenticate(exchange)
  return exchange.options.authenticate(exchange.request)
}

function requirePrincipal<Services>(
  exchange: Exchange<Services>,
  compiled: CompiledOperation<Services>,
  principal: Principal | undefined,
): MaybePromise<PreparedReply> {
  if (principal === undefined) throw failure('unauthorized')
  exchange.principal = principal
  return validate(exchange, compiled)
}

function validate<Services>(
  exchange: Exchange<Services>,
  compiled: CompiledOperation<Services>,
): MaybePromise<PreparedReply> {
  const { request, parameters = noParameters } = exchange
  const largeBody = findLargeBody(compiled, request)
  if (largeBody === undefined)
    return authorize(exchange, compiled, validateInput(compiled, request, parameters))
  return validateLargeInput(compiled, largeBody, request, parameters).then((input) =>
    authorize(exchange, compiled, input),
  )
}

function authorize<Services>(
  exchange: Exchange<Services>,
  compiled: CompiledOperation<Services>,
  input: OperationInput,
): MaybePromise<PreparedReply> {
  const allowed = compiled.operation.access.check?.(input, exchange)
  return andThen(allowed, () => handle(exchange, compiled.operation, input))
}

function handle<Services>(
  exchange: Exchange<Services>,
  operation: Operation<Services>,
  input: OperationInput,
): MaybePromise<PreparedReply> {
  return andThen(operation.act(input, exchange), (result) => serialize(operation, result))
}

function serialize<Services>(operation: Operation<Services>, result: unknown): PreparedReply {
  return prepareReply(result, operation.status ?? 200, operation.replyContentType)
}

const noParameters: Readonly<Record<string, string>> = Object.freeze(Object.create(null))

function conclude<Services>(exchange: Exchange<Services>, reply: PreparedReply, done: Done): void {
  if (!exchange.audited || exchange.options.audit.mode === 'continue') done(reply)
  else
    recordBeforeReply(exchange, reply).then(done, (thrown: unknown) => done(replyToFailure(exchange, thrown)))
}

/** Every request counts, also those that match no operation. The key is the TCP peer, never a forwarded address. */
function limitRate<Services>({ options, connection }: Exchange<Services>): void {
  const decision = options.rateLimiter?.take(connection.peerAddress)
  if (decision === undefined || decision.allowed) return
  throw failure('rate_limited', undefined, { retryAfterSeconds: decision.retryAfterSeconds })
}

function requireMatch<Services>(exchange: Exchange<Services>): CompiledOperation<Services> {
  const { compiled } = exchange
  if (exchange.routeFailure !== undefined) throw exchange.routeFailure
  if (compiled !== undefined) return compiled
  if (exchange.allow === undefined) throw failure('not_found', 'There is no resource at this path.')
  throw failure('method_not_allowed', undefined, { headers: { Allow: exchange.allow.join(', ') } })
}

const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'LIST'])

/**
 * Refuses cross-origin requests, which could use the cookies or the certificate of the user, or log the user in or out:
 * browsers send `Origin` with every such request, other clients do not.
 */
function refuseCrossOriginRequest<Services>(
  { cors }: Dispatcher<Services>,
  exchange: Exchange<Services>,
): void {
  const { request, operation } = exchange
  const { origin, host } = request.headers
  if (origin === undefined || safeMethods.has(request.method) || operation?.cors !== undefined) return
  if (!cors.permits(origin, host))
    throw failure('forbidden', 'Requests from pages of this origin are refused.')
}

function preflight<Services>(
  { router, cors }: Dispatcher<Services>,
  exchange: Exchange<Services>,
): PreparedReply {
  if (isServerWide(exchange.message)) return noContent({})
  const { origin, host } = exchange.request.headers
  const wanted = exchange.request.headers['access-control-request-method']
  if (origin === undefined || wanted === undefined) {
    if (exchange.allow === undefined) throw failure('not_found', 'There is no resource at this path.')
    return noContent({ Allow: [...exchange.allow, 'OPTIONS'].join(', ') })
  }
  const match = router.find(wanted, exchange.request.path)
  if (match.target === undefined) throw failure('not_found', 'There is no resource at this path.')
  const anyOrigin = match.target.operation.cors === 'any-origin'
  const allow: readonly HttpMethod[] = match.target.operation.route.methods
  const requested = exchange.request.headers['access-control-request-headers']
  const headers = cors.preflight(origin, host, anyOrigin, allow, requested)
  if (headers === undefined) throw failure('forbidden', 'Requests from pages of this origin are refused.')
  exchange.preflightAnyOrigin = anyOrigin
  return noContent(headers)
}

function noContent(headers: Readonly<Record<string, string>>): PreparedReply {
  return { status: 204, body: undefined, contentType: undefined, headers }
}

/** The reply to a failure; the private detail goes to the log, under the request id. */
export function replyToFailure<Services>(exchange: Exchange<Services>, thrown: unknown): PreparedReply {
  const problem = toFailure(thrown)
  const { log, request } = exchange
  const { certificateProblem } = request
  if (certificateProblem !== undefined && problem.kind === 'unauthorized')
    logRefusedCertificate(exchange, certificateProblem)
  // Shed load is not an error of the service, and a flood must not fill the log with errors.
  const loadShed = problem.kind === 'overloaded' && problem.cause === undefined
  if (problem.status >= 500 && !loadShed) {
    const cause = problem.cause instanceof Error ? problem.cause.stack : undefined
    log.error({ kind: problem.kind, detail: problem.detail, cause }, 'a request failed')
  } else if (problem.detail !== undefined) {
    log.info({ kind: problem.kind, detail: problem.detail }, 'a request was refused')
  }
  const { errorShape } = exchange
  if (errorShape === undefined) return prepareFailure(problem, request.id)
  try {
    return prepareFailureInShape(problem, errorShape, request)
  } catch (wrong) {
    log.error({ detail: String(wrong), cause: wrong }, 'an error response could not be formatted')
    return prepareFailure(problem, request.id)
  }
}

/** Logs a refused certificate once for each connection; the audit record of each request states the reason. */
function logRefusedCertificate<Services>(exchange: Exchange<Services>, problem: string): void {
  const { connection, clientAddress } = exchange.request
  exchange.audit({ reason: 'client_certificate_refused', details: { problem } })
  if (connection.certificateRefused) return
  connection.certificateRefused = true
  exchange.log.warn({ detail: problem, client_ip: clientAddress }, 'a client certificate was refused')
}

/** Audit mode `reject`: the record of the outcome is on disk before the reply. */
async function recordBeforeReply<Services>(
  exchange: Exchange<Services>,
  reply: PreparedReply,
): Promise<PreparedReply> {
  const { preparedCommit, recordedStatus: before } = exchange
  if (before === reply.status) {
    preparedCommit?.markResolved()
    return reply
  }
  const commit = preparedCommit && { commit: preparedCommit.id }
  const follows = before === undefined ? undefined : { follows: exchange.outcome, ...commit }
  try {
    await exchange.recordDurably(reply.status, reply.reason, follows)
    preparedCommit?.markResolved()
    return reply
  } catch (thrown) {
    preparedCommit?.markInDoubt()
    const instead = replyToFailure(exchange, thrown)
    // A change that is (or may be) committed cannot be reverted, so the reply must not state that nothing was done; its
    // first record is on disk.
    return exchange.outcome === 'uncommitted' ? instead : reply
  }
}
