import {
  decodeRequest,
  type Encoding,
  encodeResponse,
  KmipDecodeError,
  type KmipVersion,
  parseRoot,
  type RequestMessage,
  type ResponseItem,
  Tag,
  toErrorResponse,
} from '@warder/kmip-codec'
import type { Principal } from '@warder/server'
import { canBePutOff, defer } from './asynchronous/put-off.ts'
import { recordOrRefuse, runBatch } from './engine/batch.ts'
import { checkCredentials, isPasswordOnly } from './engine/credentials.ts'
import { recordItems } from './engine/data-items.ts'
import type { AnsweredItem } from './engine/item.ts'
import { createJobs, type JobLimits, type Jobs } from './engine/jobs.ts'
import { type KmipEngineOptions, type Message, newMessage, serverCorrelationFor } from './engine/message.ts'
import { type Told, traceRequest } from './engine/traced.ts'
import type { KmipAnswerOptions, KmipCaller, KmipEngine } from './engine/types.ts'
import { failureIn, kmipFailure, toPublicFailure } from './failure/failure.ts'

interface Engine extends KmipEngineOptions {
  readonly jobs: Jobs
}

/** A decoded message that is being answered. */
interface Exchange {
  readonly request: RequestMessage
  readonly encoding: Encoding
  readonly caller: KmipCaller
  readonly told: Told
}

/**
 * Limits of deferred requests of one worker: how many run at a time, and how many wait. A request of maximum size fits
 * in the memory limit of a user.
 */
const jobsAtOnce = 4
const jobLimits: JobLimits = { waiting: 1000, bytes: 256 * 2 ** 20, bytesOfOwner: 96 * 2 ** 20 }

/** The engine over a table of operations. */
export function createKmipEngine(given: KmipEngineOptions): KmipEngine {
  const jobs = createJobs(jobsAtOnce, jobLimits, (error) =>
    given.log.error({ detail: String(error) }, 'a KMIP request that was put off could not be answered'),
  )
  const options: Engine = { ...given, jobs }
  return {
    get unfinished() {
      return jobs.unfinished
    },
    async answer(bytes, encoding, caller, answerOptions = {}) {
      let request: RequestMessage
      try {
        request = decodeRequest(bytes, encoding, { ...answerOptions, draft: options.services.kmipDraft })
        refuseTwins(request)
      } catch (thrown) {
        if (thrown instanceof KmipDecodeError)
          return unreadable(options, thrown, bytes, encoding, caller, answerOptions)
        throw thrown
      }
      const size = bytes.buffer.byteLength
      const { restoreGate } = options.services
      return await traceRequest(options.tracer, request, caller, async (told) => {
        const exchange: Exchange = { request, encoding, caller, told }
        const problem = await restoreGate?.problem()
        if (problem !== undefined) return refuseRequest(options, exchange, problem)
        return await answerAs(options, exchange, await authenticate(options, request, caller), size)
      })
    },
  }
}

/** KMIP 2.1 §9.21: answers are matched to items by these ids. */
function refuseTwins({ items, version }: RequestMessage): void {
  if (items.length < 2) return
  const seen = new Set<string>()
  for (const { uniqueBatchItemId } of items) {
    if (uniqueBatchItemId === undefined) continue
    const id = Buffer.from(uniqueBatchItemId).toString('latin1')
    if (seen.has(id)) {
      const [major, minor] = version.split('.').map(Number)
      throw new KmipDecodeError('repeated_member', 'Two batch items have the same UniqueBatchItemID.', {
        major: major ?? 1,
        minor: minor ?? 0,
      })
    }
    seen.add(id)
  }
}

/**
 * Authenticates the sender of the message: the principal of the transport, unless the header has credentials, which
 * must then be valid. With `kmip_ignore_header_password`, passwords are ignored when there is a client certificate.
 */
async function authenticate(
  options: KmipEngineOptions,
  request: RequestMessage,
  caller: KmipCaller,
): Promise<Principal | undefined> {
  const { authentication } = request.header
  if (authentication === undefined) return caller.principal
  const { ignoreHeaderPassword } = options.services
  if (ignoreHeaderPassword && caller.principal?.method === 'tls_auth' && isPasswordOnly(authentication))
    return caller.principal
  try {
    return await checkCredentials(options.services, authentication, caller.clientAddress)
  } catch (thrown) {
    const { failure: told } = toPublicFailure(thrown)
    options.log.info({ request_id: caller.requestId, detail: told.detail }, 'KMIP credentials were refused')
    return undefined
  }
}

async function answerAs(
  options: Engine,
  exchange: Exchange,
  principal: Principal | undefined,
  size: number,
): Promise<Uint8Array> {
  const { request, caller } = exchange
  if (principal === undefined) {
    const problem = kmipFailure('AuthenticationNotSuccessful', 'Authentication did not succeed.')
    return refuseRequest(options, exchange, problem)
  }
  noteDevice(options, exchange, principal)
  const { header, version } = request
  const message = (): Message =>
    newMessage(options, options.jobs, caller, principal, {
      version,
      size,
      maximumResponseSize: header.maximumResponseSize,
      clientCorrelationValue: header.clientCorrelationValue,
    })
  const { batchErrorContinuation } = header
  const later = header.asynchronous === 'Mandatory' && canBePutOff(request.items)
  const answers = await (later
    ? defer(message(), request.items, batchErrorContinuation)
    : runBatch(message, request.items, batchErrorContinuation))
  return await conclude(options, exchange, answers)
}

/** Devices are the clients with a client certificate. The version of a message that only negotiates it is not theirs. */
function noteDevice(
  { services: { clock, sightings } }: Engine,
  { request, encoding, caller: { certificate } }: Exchange,
  { name, method }: Principal,
): void {
  if (certificate === undefined) return
  const negotiates = request.items.every(({ operation }) => operation === 'DiscoverVersions')
  const version = negotiates ? undefined : request.version
  sightings.note(
    { name, at: clock.now(), version, encoding },
    method === 'tls_auth' ? certificate : undefined,
  )
}

/** Records the outcome and encodes the answer. */
async function conclude(
  options: KmipEngineOptions,
  exchange: Exchange,
  answers: readonly AnsweredItem[],
): Promise<Uint8Array> {
  const { audit } = options.services
  exchange.told(answers)
  for (const { event } of answers) options.metrics.operation(event.operation, event.status, event.duration_ms)
  if (audit.mode === 'continue') {
    for (const { event, recorded } of answers) if (!recorded) audit.record(event)
    const items = answers.flatMap((answered) => answered.items)
    if (items.length > 0) await recordItems(audit, items)
    return writeResponse(options, exchange, answers)
  }
  const recorded = await Promise.all(answers.map((answered) => recordOrRefuse(options, answered)))
  return writeResponse(options, exchange, recorded)
}

/** @throws Failure for a bare operation that failed */
function writeResponse(
  { services, log }: KmipEngineOptions,
  { request, encoding, caller }: Exchange,
  answers: readonly AnsweredItem[],
): Uint8Array {
  const { version, bare } = request
  const { clientCorrelationValue } = request.header
  if (bare) {
    const problem = bareProblem(version, answers[0])
    if (problem !== undefined) throw problem
  }
  const encodeItems = (items: readonly ResponseItem[]): Uint8Array =>
    encodeResponse(
      {
        version,
        bare,
        timeStamp: Math.floor(services.clock.now() / 1000),
        clientCorrelationValue,
        serverCorrelationValue: serverCorrelationFor({ version, clientCorrelationValue }, caller.requestId),
        items,
      },
      encoding,
      { fetchForm: caller.fetchForm },
    )
  try {
    return encodeItems(answers.map(({ response }) => response))
  } catch (thrown) {
    // A defect of an operation: its answer cannot be encoded.
    const told = toPublicFailure(thrown)
    log.error(
      { request_id: caller.requestId, detail: told.failure.detail },
      'a KMIP answer cannot be written',
    )
    if (bare) throw failureIn(version, told.failure)
    const { reason, message } = told
    return encodeItems(
      answers.map(({ response: { operation, uniqueBatchItemId } }) => ({
        operation,
        uniqueBatchItemId,
        status: 'OperationFailed',
        reason,
        message,
      })),
    )
  }
}

/** The failure of a bare operation, whose answer has no member for a status. */
function bareProblem(version: KmipVersion, answered: AnsweredItem | undefined): Error | undefined {
  if (answered === undefined || answered.response.status === 'Success') return undefined
  const { reason = 'GeneralFailure', message = 'The request is not done yet: poll again.' } =
    answered.response
  const told = answered.failure ?? toPublicFailure(kmipFailure(reason, message)).failure
  return failureIn(version, told, answered.response.operation)
}

const unauthenticated: Principal = { name: 'unauthenticated', method: 'none' }

/** Answers each item with this problem and executes none, for failed authentication or while the server is held. */
async function refuseRequest(
  options: KmipEngineOptions,
  exchange: Exchange,
  problem: Error,
): Promise<Uint8Array> {
  const { request, caller } = exchange
  const told = toPublicFailure(problem)
  const answers = request.items.map(
    ({ operation, uniqueBatchItemId }): AnsweredItem => ({
      response: {
        operation,
        uniqueBatchItemId,
        status: 'OperationFailed',
        reason: told.reason,
        message: told.message,
      },
      event: {
        time: options.services.clock.now(),
        request_id: caller.requestId,
        operation: `kmip.${operation}`,
        principal: unauthenticated.name,
        auth_method: unauthenticated.method,
        client_ip: caller.clientAddress,
        outcome: 'failure',
        status: told.failure.status,
        reason: told.reason,
        duration_ms: 0,
      },
      items: [],
      recorded: false,
      outputs: [],
      failure: told.failure,
    }),
  )
  return conclude(options, exchange, answers)
}

/** The answer to an invalid message. @throws Failure when it was meant to be a bare operation */
async function unreadable(
  options: KmipEngineOptions,
  error: KmipDecodeError,
  bytes: Uint8Array,
  encoding: Encoding,
  caller: KmipCaller,
  { bareVersion }: KmipAnswerOptions,
): Promise<Uint8Array> {
  const { audit, clock, kmipDraft } = options.services
  const told = toErrorResponse(error, Math.floor(clock.now() / 1000), kmipDraft)
  const reason = told.items[0]?.reason ?? 'InvalidMessage'
  const problem = toPublicFailure(kmipFailure(reason, error.message))
  const event = {
    time: clock.now(),
    request_id: caller.requestId,
    operation: 'kmip.unreadable',
    principal: (caller.principal ?? unauthenticated).name,
    auth_method: (caller.principal ?? unauthenticated).method,
    client_ip: caller.clientAddress,
    outcome: 'failure',
    status: problem.failure.status,
    reason,
    duration_ms: 0,
  } as const
  options.metrics.operation(event.operation, event.status, 0)
  const answer = (): Uint8Array => {
    if (bareVersion !== undefined && !isMessage(bytes)) throw failureIn(bareVersion, problem.failure)
    return encodeResponse(told, encoding)
  }
  if (audit.mode === 'continue') audit.record(event)
  else await audit.recordDurably(event)
  return answer()
}

/** Is the root of this JSON a RequestMessage, even if its contents are invalid? */
function isMessage(bytes: Uint8Array): boolean {
  try {
    return parseRoot(bytes).tag === Tag.RequestMessage
  } catch {
    return false
  }
}
