import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Failure, failure } from '@warder/base'
import { type BodyReservation, smallBodyBytes } from './body-budget.ts'
import type { BodyMessage, BodySink } from './node-internals/body-message.ts'
import { emptyBody } from './request.ts'

/** The client disconnected before the request was complete: no reply can be sent. */
export const aborted = Symbol('aborted')

/** Whether the head announces a body (RFC 9112 §6.3). */
export function announcesBody(message: IncomingMessage): boolean {
  const length = message.headers['content-length']
  return (length !== undefined && length !== '0') || message.headers['transfer-encoding'] !== undefined
}

/** The size of the body stays reserved, unless the body is refused or aborted. */
export type BodyDone = (outcome: Uint8Array | Failure | typeof aborted) => void

/** Calls `refuse` with the reason why a large body is not read: at once, or while it is read. */
export type Admit = (refuse: (why: Failure) => void) => void

/**
 * Reads the whole body, at most `limit` bytes. A declared length over the limit is refused before anything is read;
 * a chunked body is counted as it arrives. `admit` is called once, before a body exceeds `smallBodyBytes`; the body is read
 * on while `admit` runs. `done` is called once: with the bytes, with failure('payload_too_large'), failure('overloaded') or
 * the failure of `admit`, or with `aborted` when the connection ends first.
 */
export function readBody(
  message: BodyMessage,
  response: ServerResponse,
  limit: number,
  reservation: BodyReservation,
  admit: Admit,
  done: BodyDone,
): void {
  const length = message.headers['content-length']
  const declared = length === undefined ? undefined : Number(length)
  if (declared !== undefined && declared > limit) {
    done(failure('payload_too_large'))
    return
  }
  const reader = new BodyReader(message, limit, declared, reservation, admit, done)
  if (declared !== undefined && declared > smallBodyBytes && !reader.requestAdmission()) return
  // RFC 9110 §15.2: a client of HTTP/1.0 would mistake an interim reply for the final one.
  if ((message.headers.expect ?? '') !== '' && message.httpVersion !== '1.0') response.writeContinue()
  message.readBodyInto(reader)
}

const minBufferBytes = 1024

/**
 * Assembles a body. A single chunk is not copied; several chunks are copied into one buffer that grows by doubling, since
 * each chunk would cost some hundred bytes of its own.
 */
class BodyReader implements BodySink {
  readonly #message: BodyMessage
  readonly #limit: number
  readonly #declared: number | undefined
  readonly #reservation: BodyReservation
  readonly #admit: Admit
  readonly #done: BodyDone
  /** The single chunk, or the buffer: it is reserved whole in the budget, and `#size` bytes of it have arrived. */
  #bytes = emptyBody
  #size = 0
  #admissionRequested = false
  #finished = false

  constructor(
    message: BodyMessage,
    limit: number,
    declared: number | undefined,
    reservation: BodyReservation,
    admit: Admit,
    done: BodyDone,
  ) {
    this.#message = message
    this.#limit = limit
    this.#declared = declared
    this.#reservation = reservation
    this.#admit = admit
    this.#done = done
  }

  write(chunk: Uint8Array): void {
    const size = this.#size + chunk.length
    if (size > this.#limit) {
      this.#refuse(failure('payload_too_large'))
      return
    }
    if (size > smallBodyBytes && !this.requestAdmission()) return
    const capacity = this.#capacityFor(size)
    if (this.#reserve(capacity)) this.#append(chunk, capacity)
    else this.#refuse(failure('overloaded', undefined, { retryAfterSeconds: 1 }))
  }

  end(): void {
    this.#finished = true
    this.#done(this.#size === this.#bytes.length ? this.#bytes : this.#bytes.subarray(0, this.#size))
  }

  abort(): void {
    this.#finished = true
    this.#reservation.release()
    this.#done(aborted)
  }

  /** Calls `admit` once. @returns false when the body was refused, and `done` was called */
  requestAdmission(): boolean {
    if (this.#admissionRequested) return true
    this.#admissionRequested = true
    this.#admit((why) => this.#refuse(why))
    return !this.#finished
  }

  #refuse(why: Failure): void {
    if (this.#finished) return
    this.#finished = true
    this.#message.discardBody()
    this.#reservation.release()
    this.#done(why)
  }

  #reserve(capacity: number): boolean {
    if (capacity === this.#declared && this.#size === 0 && capacity <= smallBodyBytes) {
      return this.#reservation.reserveSmall(capacity)
    }
    const large = Math.max(this.#declared ?? 0, capacity) > smallBodyBytes
    return this.#reservation.reserveMore(capacity - this.#bytes.length, large)
  }

  #capacityFor(size: number): number {
    if (this.#size === 0) return size
    if (size <= this.#bytes.length) return this.#bytes.length
    const maxBytes = this.#declared ?? this.#limit
    return Math.max(size, Math.min(maxBytes, Math.max(size * 2, minBufferBytes)))
  }

  #append(chunk: Uint8Array, capacity: number): void {
    if (this.#size === 0) this.#bytes = chunk
    else {
      if (capacity > this.#bytes.length) this.#growBuffer(capacity)
      this.#bytes.set(chunk, this.#size)
    }
    this.#size += chunk.length
  }

  #growBuffer(capacity: number): void {
    const grown = Buffer.allocUnsafeSlow(capacity)
    grown.set(this.#bytes.subarray(0, this.#size))
    this.#bytes = grown
  }
}
