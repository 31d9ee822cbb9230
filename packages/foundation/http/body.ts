import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Failure, failure, toFailure } from '../errors/index.ts'
import { andThen, type MaybePromise } from '../promises/and-then.ts'
import { type Holding, smallBody } from './body-budget.ts'
import type { BodyMessage, BodyTaker } from './body-message.ts'
import { emptyBody } from './request.ts'

/** The caller went away before the request was complete: there is nobody to answer. */
export const aborted = Symbol('aborted')

/** Whether the head announces a body (RFC 9112 §6.3). */
export function announcesBody(message: IncomingMessage): boolean {
  const length = message.headers['content-length']
  return (length !== undefined && length !== '0') || message.headers['transfer-encoding'] !== undefined
}

/** The size of the body stays counted in its holding, unless the body is refused or aborted. */
export type BodyDone = (outcome: Uint8Array | Failure | typeof aborted) => void

/** Throws, or rejects with, why a large body is not read. */
export type Admit = () => MaybePromise<void>

/**
 * Reads the whole body, at most `limit` bytes. A declared length over the limit is refused before anything is read;
 * a chunked body is counted as it comes. `admit` is asked once, before a body becomes larger than `smallBody`; while it
 * thinks, the body goes on. `done` is called once: with the bytes, with failure('payload_too_large'),
 * failure('overloaded') or what `admit` says, or with `aborted` when the connection ends first.
 */
export function readBody(
  message: BodyMessage,
  response: ServerResponse,
  limit: number,
  holding: Holding,
  admit: Admit,
  done: BodyDone,
): void {
  const length = message.headers['content-length']
  const declared = length === undefined ? undefined : Number(length)
  if (declared !== undefined && declared > limit) {
    done(failure('payload_too_large'))
    return
  }
  const reader = new BodyReader(message, limit, declared, holding, admit, done)
  if (declared !== undefined && declared > smallBody && !reader.admitted()) return
  // RFC 9110 §15.2: a client of HTTP/1.0 would take an interim reply for the final one.
  if ((message.headers.expect ?? '') !== '' && message.httpVersion !== '1.0') response.writeContinue()
  message.takeBody(reader)
}

const smallestBuffer = 1024

/**
 * Puts a body together. One piece stays where it is; of several each would cost some hundred bytes of its own, so they
 * go into one buffer, which follows what has come by doubling.
 */
class BodyReader implements BodyTaker {
  readonly #message: BodyMessage
  readonly #limit: number
  readonly #declared: number | undefined
  readonly #holding: Holding
  readonly #admit: Admit
  readonly #done: BodyDone
  /** The only piece, or the buffer: all of it is counted in the budget, `#size` bytes of it have come. */
  #bytes = emptyBody
  #size = 0
  #asked = false
  #over = false

  constructor(
    message: BodyMessage,
    limit: number,
    declared: number | undefined,
    holding: Holding,
    admit: Admit,
    done: BodyDone,
  ) {
    this.#message = message
    this.#limit = limit
    this.#declared = declared
    this.#holding = holding
    this.#admit = admit
    this.#done = done
  }

  take(chunk: Uint8Array): void {
    const size = this.#size + chunk.length
    if (size > this.#limit) {
      this.#refuse(failure('payload_too_large'))
      return
    }
    if (size > smallBody && !this.admitted()) return
    const capacity = this.#capacityFor(size)
    if (this.#hold(capacity)) this.#keep(chunk, capacity)
    else this.#refuse(failure('overloaded', undefined, { retryAfterSeconds: 1 }))
  }

  end(): void {
    this.#over = true
    this.#done(this.#size === this.#bytes.length ? this.#bytes : this.#bytes.subarray(0, this.#size))
  }

  abort(): void {
    this.#over = true
    this.#holding.giveBack()
    this.#done(aborted)
  }

  /** Asks, unless it has been asked. @returns false when the answer was no, and has been given */
  admitted(): boolean {
    if (this.#asked) return true
    this.#asked = true
    try {
      andThen(
        this.#admit(),
        () => undefined,
        (thrown) => this.#refuse(toFailure(thrown)),
      )
      return true
    } catch (thrown) {
      this.#refuse(toFailure(thrown))
      return false
    }
  }

  #refuse(why: Failure): void {
    if (this.#over) return
    this.#over = true
    this.#message.leaveBody()
    this.#holding.giveBack()
    this.#done(why)
  }

  #hold(capacity: number): boolean {
    if (capacity === this.#declared && this.#size === 0 && capacity <= smallBody) {
      return this.#holding.takeWhole(capacity)
    }
    const large = Math.max(this.#declared ?? 0, capacity) > smallBody
    return this.#holding.takeMore(capacity - this.#bytes.length, large)
  }

  #capacityFor(size: number): number {
    if (this.#size === 0) return size
    if (size <= this.#bytes.length) return this.#bytes.length
    const most = this.#declared ?? this.#limit
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
