import { CodedError } from '@warder/base'
import { TooLarge } from './http-client.ts'

export type OutboundCode = 'url' | 'name' | 'address' | 'redirect' | 'time' | 'size' | 'connection'

/** An outbound request that was refused or failed. For the log only: callers never receive the URL. */
export class OutboundError extends CodedError<OutboundCode> {
  override readonly name = 'OutboundError'
}

/** Turns a failed exchange into one of these errors. */
export function toOutboundError(error: unknown, deadline: AbortSignal): OutboundError {
  if (error instanceof OutboundError) return error
  if (error instanceof TooLarge)
    return new OutboundError('size', `the peer ${error.message}`, { cause: error })
  if (deadline.aborted) return new OutboundError('time', 'the deadline has passed', { cause: error })
  return new OutboundError('connection', error instanceof Error ? error.message : 'the connection failed', {
    cause: error,
  })
}
