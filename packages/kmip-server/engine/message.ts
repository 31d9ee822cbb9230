import type { Logger, Metrics } from '@warder/base'
import type { KmipVersion, OperationName } from '@warder/kmip-codec'
import type { Principal, Tracer } from '@warder/server'
import { BatchData } from './batch-data.ts'
import { BatchIdentifiers } from './identifiers.ts'
import type { Jobs } from './jobs.ts'
import { ResponseRoom } from './response-room.ts'
import type { KmipServices } from './services.ts'
import type { KmipCaller, KmipOperation } from './types.ts'

/** Options of the engine. */
export interface KmipEngineOptions {
  readonly services: KmipServices
  readonly operations: ReadonlyMap<OperationName, KmipOperation>
  readonly log: Logger
  readonly metrics: Metrics
  /** undefined = messages are not traced. */
  readonly tracer?: Tracer | undefined
}

/** State shared by the items of one message on their way through the engine. */
export interface Message {
  readonly options: KmipEngineOptions
  readonly caller: KmipCaller
  readonly principal: Principal
  readonly version: KmipVersion
  /** Size in bytes of the buffer that contains the message; a deferred request keeps all of it. */
  readonly size: number
  readonly identifiers: BatchIdentifiers
  readonly data: BatchData
  /** Number of items in the data of its batch items so far. */
  readonly dataItems: { count: number }
  /** Deferred requests of this worker. */
  readonly jobs: Jobs
  /** undefined: the client set no MaximumResponseSize. */
  readonly room: ResponseRoom | undefined
}

/** Options in the header of a message. */
interface Asked {
  readonly version: KmipVersion
  readonly size: number
  readonly maximumResponseSize: number | undefined
  readonly clientCorrelationValue: string | undefined
}

export function newMessage(
  options: KmipEngineOptions,
  jobs: Jobs,
  caller: KmipCaller,
  principal: Principal,
  asked: Asked,
): Message {
  const { maximumResponseSize } = asked
  return {
    options,
    jobs,
    caller,
    principal,
    version: asked.version,
    size: asked.size,
    identifiers: new BatchIdentifiers(),
    data: new BatchData(),
    dataItems: { count: 0 },
    room:
      maximumResponseSize === undefined
        ? undefined
        : new ResponseRoom(maximumResponseSize, {
            version: asked.version,
            clientCorrelationValue: asked.clientCorrelationValue,
            serverCorrelationValue: serverCorrelationFor(asked, caller.requestId),
          }),
  }
}

/**
 * The ServerCorrelationValue of an answer: the request's id in the log. A server may omit it (KMIP 1.4 §6.18, 2.1
 * §9.18), and must for some clients: PyKMIP 0.10.0 supports 1.4 and 2.0 but cannot read an answer that contains it.
 * Clients that send their own value can read it, and so can 2.1 clients: the published 2.1 test cases contain it in
 * answers to requests without one (BL-M-1-21).
 */
export function serverCorrelationFor(
  { version, clientCorrelationValue }: Pick<Asked, 'version' | 'clientCorrelationValue'>,
  requestId: string,
): string | undefined {
  return version === '2.1' || clientCorrelationValue !== undefined ? requestId : undefined
}
