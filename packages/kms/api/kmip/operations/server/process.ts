import { setTimeout as wait } from 'node:timers/promises'
import { Enumeration, Tag, valueByName } from '@warder/kmip/tables'
import {
  byteString,
  dateTime,
  enumeration,
  findMembers,
  optionalStructure,
  requireType,
  type StructureNode,
  structure,
} from '@warder/kmip/ttlv'
import { findPending, listPending, type PendingSummary } from '../../asynchronous/pending-store.ts'
import { maxPerUser } from '../../asynchronous/put-off.ts'
import { correlationValue, parseCorrelation, readSubmissionTime } from '../../asynchronous/result.ts'
import { type KmipContext, type KmipOperation, kmipFailure, signedIn } from '../../engine/index.ts'
import { requirePending } from './poll.ts'

/** Number and interval of checks whether another worker is done: 30 seconds in all. */
const rounds = 1200
const roundMilliseconds = 25

/**
 * Process (KMIP 2.1 §6.1.39): executes a deferred request now, with the items before it in its batch. The answer is
 * sent when it is done, so that the next Poll returns the result.
 */
export const process: KmipOperation = {
  name: 'Process',
  access: signedIn,
  async act(payload, context) {
    const { id, result } = await requirePending(payload, context)
    if (result !== null) return []
    const hurried = context.jobs.hurry(id)
    if (hurried === 'already')
      throw kmipFailure('DuplicateProcessRequest', 'The request is being processed already: poll for it.')
    await (hurried ?? executeElsewhere(id, context))
    return []
  },
}

/** Waits for the worker that has the request in its queue. @throws kmipFailure when it is not done in time */
async function executeElsewhere(id: string, { services, principal }: KmipContext): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    const row = await findPending(services.db, id, principal.name, services.clock.now())
    // The request was cancelled meanwhile, or is done.
    if (row === undefined || row.result !== null) return
    await wait(roundMilliseconds)
  }
  throw kmipFailure('GeneralFailure', 'The request is not done yet: poll for it.')
}

/** QueryAsynchronousRequests (KMIP 2.1 §6.1.41): the deferred requests of the caller, and their states. */
export const queryAsynchronousRequests: KmipOperation = {
  name: 'QueryAsynchronousRequests',
  access: signedIn,
  async act(payload, { services, principal, jobs, now }) {
    const ids = readRequestedIds(payload)
    const operations = readRequestedOperations(payload)
    // Concurrent batches of a user may exceed the limit.
    const rows = await listPending(services.db, principal.name, now, maxPerUser * 2)
    return rows
      .filter(({ id, operation }) => ids?.has(id) !== false && operations?.has(operation) !== false)
      .map((row) => requestNode(row, jobs.stageOf(row.id) === 'running'))
  },
}

/** undefined: all. */
function readRequestedIds(payload: StructureNode): ReadonlySet<string | undefined> | undefined {
  const values = optionalStructure(payload, Tag.AsynchronousCorrelationValues)
  if (values === undefined) return undefined
  return new Set(
    findMembers(values, Tag.AsynchronousCorrelationValue).map((node) =>
      parseCorrelation(requireType(node, 'ByteString').value),
    ),
  )
}

/** undefined: all. */
function readRequestedOperations(payload: StructureNode): ReadonlySet<string> | undefined {
  const list = optionalStructure(payload, Tag.Operations)
  if (list === undefined) return undefined
  const codes = new Set(
    findMembers(list, Tag.Operation).map((node) => requireType(node, 'Enumeration').value),
  )
  return new Set(
    Object.entries(Enumeration.Operation).flatMap(([name, code]) => (codes.has(code) ? [name] : [])),
  )
}

function requestNode({ id, operation, done }: PendingSummary, running: boolean): StructureNode {
  const { Completed, InProcess, Submitted } = Enumeration.ProcessingStage
  const stage = Number(done) === 1 ? Completed : running ? InProcess : Submitted
  return structure(Tag.AsynchronousRequest, [
    byteString(Tag.AsynchronousCorrelationValue, correlationValue(id)),
    enumeration(Tag.Operation, valueByName('Operation', operation) ?? 0),
    dateTime(Tag.SubmissionDate, readSubmissionTime(id)),
    enumeration(Tag.ProcessingStage, stage),
  ])
}
