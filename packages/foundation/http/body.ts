import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Failure, failure } from '../errors/index.ts'
import type { BodyMessage } from './body-message.ts'
import { emptyBody } from './request.ts'

/** The caller went away before the request was complete: there is nobody to answer. */
export const aborted = Symbol('aborted')

/** Bytes of bodies that are being held at the same time, across all requests of this process. */
export class BodyBudget {
  readonly #limit: number
  #held = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** False when it would be too much. */
  take(bytes: number): boolean {
    if (this.#held + bytes > this.#limit) return false
    this.#held += bytes
    return true
  }

  give(bytes: number): void {
    this.#held -= bytes
  }

  get held(): number {
    return this.#held
  }
}

/** Whether the head announces a body (RFC 9112 §6.3). */
export function announcesBody(message: IncomingMessage): boolean {
  const length = message.headers['content-length']
  return (length !== undefined && length !== '0') || message.headers['transfer-encoding'] !== undefined
}

/**
 * Reads the whole body, at most `limit` bytes. A declared length over the limit is refused before anything is read;
 * a chunked body is counted as it comes. `done` is called once: with the bytes, with failure('payload_too_large') or
 * failure('overloaded'), or with `aborted` when the connection ends first. Bytes stay counted in `budget` until
 * `budget.give`.
 */
export function readBody(
  message: BodyMessage,
  response: ServerResponse,
  limit: number,
  budget: BodyBudget,
  done: (outcome: Uint8Array | Failure | typeof aborted) => void,
): void {
  if (Number(message.headers['content-length'] ?? 0) > limit) {
    done(failure('payload_too_large'))
    return
  }
  // RFC 9110 §15.2: a client of HTTP/1.0 would take an interim reply for the final one.
  if (message.headers.expect !== undefined && message.httpVersion !== '1.0') response.writeContinue()
  let first: Uint8Array | undefined
  let rest: Uint8Array[] | undefined
  let size = 0
  const refuse = (kind: 'payload_too_large' | 'overloaded'): void => {
    message.leaveBody()
    budget.give(size)
    done(failure(kind, undefined, kind === 'overloaded' ? { retryAfterSeconds: 1 } : {}))
  }
  const keep = (chunk: Uint8Array): void => {
    size += chunk.length
    if (first === undefined) first = chunk
    else if (rest === undefined) rest = [first, chunk]
    else rest.push(chunk)
  }
  message.takeBody({
    take(chunk) {
      if (size + chunk.length > limit) refuse('payload_too_large')
      else if (!budget.take(chunk.length)) refuse('overloaded')
      else keep(chunk)
    },
    end() {
      done(rest === undefined ? (first ?? emptyBody) : Buffer.concat(rest, size))
    },
    abort() {
      budget.give(size)
      done(aborted)
    },
  })
}
