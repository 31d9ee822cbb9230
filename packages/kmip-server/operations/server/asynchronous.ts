import { setTimeout as wait } from 'node:timers/promises'
import { Enumeration, Tag, valueByName } from '@warder/kmip-codec'
import {
  cancelPending,
  findPending,
  listPending,
  type PendingRow,
  type PendingSummary,
} from '../../asynchronous/pending-store.ts'
import { maxPerUser } from '../../asynchronous/put-off.ts'
import {
  correlationValue,
  decryptResult,
  parseCorrelation,
  readSubmissionTime,
} from '../../asynchronous/result.ts'
import { defineOperation, signedIn } from '../../engine/operation.ts'
import { type KmipContext, WholeAnswer } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import {
  type DecodedPayload,
  definePayload,
  field,
  noMembers,
  repeated,
  required,
} from '../../payloads/payload.ts'

const correlation = required(field.bytes(Tag.AsynchronousCorrelationValue))

/** A request about a deferred one. */
const pendingRequest = definePayload({ correlation })

/**
 * Poll (KMIP 2.1 §6.1.38): the answer to a deferred request, the same as for a synchronous request; OperationPending
 * while there is none. It can be fetched again until it expires.
 */
export const poll = defineOperation({
  name: 'Poll',
  reach: [],
  access: signedIn,
  request: pendingRequest,
  // That of the deferred operation.
  reply: noMembers,
  async handle(request, context) {
    const row = await requirePending(request, context)
    if (row.result === null)
      return new WholeAnswer({
        status: 'OperationPending',
        asynchronousCorrelationValue: correlationValue(row.id),
      })
    return new WholeAnswer(await decryptResult(context.services.seal, row.id, row.operation, row.result))
  },
})

/** Cancel (KMIP 2.1 §6.1.5): a request that is not done yet is not executed. */
export const cancel = defineOperation({
  name: 'Cancel',
  reach: [],
  access: signedIn,
  request: pendingRequest,
  reply: definePayload({ correlation, result: required(field.named('CancellationResult')) }),
  async handle(request, context) {
    const row = await requirePending(request, context)
    if (row.result === null) context.objects.also(cancelPending(row.id))
    const result = row.result === null ? ('Canceled' as const) : ('Completed' as const)
    return { correlation: correlationValue(row.id), result }
  },
})

/** The caller's request with this correlation value. @throws kmipFailure InvalidAsynchronousCorrelationValue */
async function requirePending(
  { correlation }: DecodedPayload<typeof pendingRequest>,
  context: KmipContext,
): Promise<PendingRow> {
  const id = parseCorrelation(correlation)
  const { services, principal, now } = context
  const row = id === undefined ? undefined : await findPending(services.db, id, principal.name, now)
  if (row === undefined)
    throw kmipFailure('InvalidAsynchronousCorrelationValue', 'There is no request with this value.')
  return row
}

/** Number and interval of checks whether another worker is done: 30 seconds in all. */
const rounds = 1200
const roundMilliseconds = 25

/**
 * Process (KMIP 2.1 §6.1.39): executes a deferred request now, with the items before it in its batch. The answer is
 * sent when it is done, so that the next Poll returns the result.
 */
export const process = defineOperation({
  name: 'Process',
  reach: [],
  access: signedIn,
  request: pendingRequest,
  reply: noMembers,
  async handle(request, context) {
    const { id, result } = await requirePending(request, context)
    if (result !== null) return {}
    const hurried = context.jobs.hurry(id)
    if (hurried === 'already')
      throw kmipFailure(
        'DuplicateProcessRequest',
        'The request is already being processed: use Poll to get its result.',
      )
    await (hurried ?? executeElsewhere(id, context))
    return {}
  },
})

/** Waits for the worker that has the request in its queue. @throws kmipFailure when it is not done in time */
async function executeElsewhere(id: string, { services, principal }: KmipContext): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    const row = await findPending(services.db, id, principal.name, services.clock.now())
    // The request was cancelled meanwhile, or is done.
    if (row === undefined || row.result !== null) return
    await wait(roundMilliseconds)
  }
  throw kmipFailure('GeneralFailure', 'The request is not finished yet: use Poll to get its result.')
}

/** QueryAsynchronousRequests (KMIP 2.1 §6.1.41): the deferred requests of the caller, and their states. */
export const queryAsynchronousRequests = defineOperation({
  name: 'QueryAsynchronousRequests',
  reach: [],
  access: signedIn,
  request: definePayload({
    correlations: field.group(Tag.AsynchronousCorrelationValues, {
      values: repeated(field.bytes(Tag.AsynchronousCorrelationValue)),
    }),
    operations: field.group(Tag.Operations, { codes: repeated(field.code(Tag.Operation)) }),
  }),
  reply: definePayload({
    requests: repeated(
      field.group(Tag.AsynchronousRequest, {
        correlation: required(field.bytes(Tag.AsynchronousCorrelationValue)),
        operation: required(field.code(Tag.Operation)),
        submissionDate: required(field.date(Tag.SubmissionDate)),
        stage: required(field.named('ProcessingStage')),
      }),
    ),
  }),
  async handle(asked, { services, principal, jobs, now }) {
    // undefined: all.
    const ids = asked.correlations && new Set(asked.correlations.values.map(parseCorrelation))
    const operations = asked.operations && listNames(asked.operations.codes)
    // Concurrent batches of a user may exceed the limit.
    const rows = await listPending(services.db, principal.name, now, maxPerUser * 2)
    const requests = rows
      .filter(({ id, operation: name }) => ids?.has(id) !== false && operations?.has(name) !== false)
      .map((row) => describePending(row, jobs.stageOf(row.id) === 'running'))
    return { requests }
  },
})

function listNames(codes: readonly number[]): ReadonlySet<string> {
  return new Set(
    Object.entries(Enumeration.Operation).flatMap(([name, code]) => (codes.includes(code) ? [name] : [])),
  )
}

function describePending({ id, operation: name, done }: PendingSummary, isRunning: boolean) {
  const ongoing = isRunning ? 'InProcess' : 'Submitted'
  return {
    correlation: correlationValue(id),
    operation: valueByName('Operation', name) ?? 0,
    submissionDate: readSubmissionTime(id),
    stage: Number(done) === 1 ? 'Completed' : ongoing,
  } as const
}
