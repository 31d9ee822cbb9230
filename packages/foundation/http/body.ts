import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Failure, failure } from '../errors/index.ts'
import type { BodyMessage, BodyTaker } from './body-message.ts'
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

/** @param held bytes that stay counted in the budget until `budget.give`; 0 without a body */
export type BodyDone = (outcome: Uint8Array | Failure | typeof aborted, held: number) => void

/**
 * Reads the whole body, at most `limit` bytes. A declared length over the limit is refused before anything is read;
 * a chunked body is counted as it comes. `done` is called once: with the bytes, with failure('payload_too_large') or
 * failure('overloaded'), or with `aborted` when the connection ends first.
 */
export function readBody(
  message: BodyMessage,
  response: ServerResponse,
  limit: number,
  budget: BodyBudget,
  done: BodyDone,
): void {
  if (Number(message.headers['content-length'] ?? 0) > limit) {
    done(failure('payload_too_large'), 0)
    return
  }
  // RFC 9110 §15.2: a client of HTTP/1.0 would take an interim reply for the final one.
  if (message.headers.expect !== undefined && message.httpVersion !== '1.0') response.writeContinue()
  message.takeBody(new BodyReader(message, limit, budget, done))
}

const smallestBuffer = 1024

/**
 * Puts a body together. One piece stays where it is; of several each would cost some hundred bytes of its own, so they
 * go into one buffer, which follows what has come by doubling.
 */
class BodyReader implements BodyTaker {
  readonly #message: BodyMessage
  readonly #limit: number
  readonly #budget: BodyBudget
  readonly #done: BodyDone
  /** The only piece, or the buffer: all of it is counted in the budget, `#size` bytes of it have come. */
  #bytes = emptyBody
  #size = 0

  constructor(message: BodyMessage, limit: number, budget: BodyBudget, done: BodyDone) {
    this.#message = message
    this.#limit = limit
    this.#budget = budget
    this.#done = done
  }

  take(chunk: Uint8Array): void {
    const size = this.#size + chunk.length
    if (size > this.#limit) {
      this.#refuse(failure('payload_too_large'))
      return
    }
    const capacity = this.#capacityFor(size)
    if (this.#budget.take(capacity - this.#bytes.length)) this.#keep(chunk, capacity)
    else this.#refuse(failure('overloaded', undefined, { retryAfterSeconds: 1 }))
  }

  end(): void {
    const held = this.#bytes.length
    this.#done(this.#size === held ? this.#bytes : this.#bytes.subarray(0, this.#size), held)
  }

  abort(): void {
    this.#budget.give(this.#bytes.length)
    this.#done(aborted, 0)
  }

  #refuse(why: Failure): void {
    this.#message.leaveBody()
    this.#budget.give(this.#bytes.length)
    this.#done(why, 0)
  }

  #capacityFor(size: number): number {
    if (this.#size === 0) return size
    if (size <= this.#bytes.length) return this.#bytes.length
    const most = Number(this.#message.headers['content-length'] ?? this.#limit)
    return Math.max(size, Math.min(most, Math.max(size * 2, smallestBuffer)))
  }

  #keep(chunk: Uint8Array, capacity: number): void {
    if (this.#size === 0) this.#bytes = chunk
    else {
      if (capacity > this.#bytes.length) this.#grow(capacity)
      this.#bytes.set(chunk, this.#size)
    }
    this.#size += chunk.length
  }

  #grow(capacity: number): void {
    const grown = Buffer.allocUnsafeSlow(capacity)
    grown.set(this.#bytes.subarray(0, this.#size))
    this.#bytes = grown
  }
}
