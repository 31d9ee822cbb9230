import type { Buffer } from 'node:buffer'
import { randomUUID } from 'node:crypto'
import type { TLSSocket } from 'node:tls'
import { Failure } from '@warder/foundation/errors'
import type { TokenBuckets } from '@warder/foundation/http'
import { andThen } from '@warder/foundation/promises'
import type { Clock, RequestBatcher, SweptConnection } from '@warder/foundation/runtime'
import type { Logger } from '@warder/foundation/telemetry'
import { encodeResponse, toErrorResponse } from '@warder/kmip/messages'
import { KmipDecodeError } from '@warder/kmip/ttlv'
import type { KmipEngine } from '../engine/types.ts'
import type { ConnectionOwner } from './caller.ts'
import type { SocketLimits } from './limits.ts'
import { MessageReader, type ReadBudget } from './message-reader.ts'

/** State shared by the connections of a worker. */
export interface ConnectionEnvironment {
  readonly engine: Pick<KmipEngine, 'answer'>
  readonly clock: Clock
  readonly log: Logger
  readonly limits: SocketLimits
  readonly budget: ReadBudget
  readonly rateLimiter: TokenBuckets | undefined
  readonly stages: RequestBatcher
}

/** Requests that wait behind the one in work are read up to this many bytes; then the client has to wait as well. */
const readAheadBytes = 64 * 1024
/** Messages answered in one go, before other connections have their turn. */
const messagesInARow = 16

/**
 * One connection: messages are read, answered one after the other and in their order, until the client ends it, a
 * limit is passed, or framing is lost.
 */
export class KmipConnection implements SweptConnection {
  readonly #socket: TLSSocket
  readonly #environment: ConnectionEnvironment
  readonly #owner: ConnectionOwner
  readonly #address: string
  readonly #reader: MessageReader
  quiet = 0
  bytesSeen = 0
  stalling = false
  #busy = false
  /** Messages have come that are answered with those of other connections. */
  #staged = false
  #held = 0
  #ended = false
  #closing = false
  #late: NodeJS.Timeout | undefined
  #waiting: NodeJS.Timeout | undefined

  constructor(
    socket: TLSSocket,
    owner: ConnectionOwner,
    address: string,
    environment: ConnectionEnvironment,
  ) {
    this.#socket = socket
    this.#owner = owner
    this.#address = address
    this.#environment = environment
    this.#reader = new MessageReader(environment.limits.messageBytes, environment.budget)
    // Set while answers wait to be taken (`startIdleSweep`).
    socket.on('timeout', () => socket.destroy())
    socket.on('data', (chunk: Buffer) => this.#onData(chunk))
    socket.on('end', () => {
      this.#ended = true
      // Received messages may still wait for their turn.
      if (!this.#staged) this.#next()
    })
    socket.on('drain', () => this.#next())
    socket.once('close', () => {
      clearTimeout(this.#late)
      this.#dropWaiting()
      this.#closing = true
      this.#reader.close()
    })
  }

  /** Messages begun and not answered. */
  get open(): number {
    return this.#busy || this.#staged ? 1 : 0
  }

  /** Ends the connection after the message that is being answered, at once when there is none. */
  end(): void {
    if (this.#busy || this.#staged) this.#ended = true
    else this.#finish()
  }

  #onData(chunk: Buffer): void {
    if (this.#closing) return
    try {
      this.#reader.push(chunk)
    } catch (error) {
      if (this.#busy && error instanceof KmipDecodeError) this.#endBehindAnswer()
      else this.#refuse(error)
      return
    }
    if (this.#busy || this.#staged) {
      if (this.#reader.pending > readAheadBytes) this.#socket.pause()
      return
    }
    this.#staged = true
    this.#environment.stages.enqueue(() => {
      this.#staged = false
      this.#next()
    })
  }

  /** Answers what has come: without a promise while the engine needs none. */
  #next(): void {
    for (let count = 0; !this.#busy && !this.#closing; count++) {
      if (this.#socket.writableNeedDrain) {
        this.#socket.pause()
        return
      }
      if (count === messagesInARow) {
        setImmediate(() => this.#next())
        return
      }
      const message = this.#read()
      if (message === undefined) return
      this.#answerInTurn(message)
    }
  }

  #read(): Buffer | undefined {
    let message: Buffer | undefined
    try {
      message = this.#reader.next()
    } catch (error) {
      this.#refuse(error)
      return undefined
    }
    this.#expectRest(message === undefined && this.#reader.pending > 0)
    if (message === undefined) {
      if (this.#ended) this.#finish()
      else if (this.#socket.isPaused()) this.#socket.resume()
    }
    return message
  }

  /** A message that has begun must be whole in time. */
  #expectRest(begun: boolean): void {
    if (!begun) {
      clearTimeout(this.#late)
      this.#late = undefined
    } else if (this.#late === undefined) {
      this.#late = setTimeout(() => this.#socket.destroy(), this.#environment.limits.messageMs)
    }
  }

  /** KMIP has no answer for who asks too often: the request waits for its token, and those behind it with it. */
  #answerInTurn(message: Buffer): void {
    const verdict = this.#environment.rateLimiter?.take(this.#address)
    if (verdict === undefined || verdict.allowed) {
      this.#answer(message)
      return
    }
    this.#busy = true
    this.#hold(message.length)
    this.#waiting = setTimeout(() => {
      this.#waiting = undefined
      this.#busy = false
      this.#answerInTurn(message)
      this.#next()
    }, verdict.retryAfterSeconds * 1000)
  }

  /** Nobody is left to answer. */
  #dropWaiting(): void {
    if (this.#waiting === undefined) return
    clearTimeout(this.#waiting)
    this.#waiting = undefined
    this.#hold(0)
  }

  #answer(message: Buffer): void {
    const { engine, clock, log } = this.#environment
    const refused = this.#owner.problem()
    if (refused !== undefined || clock.now() >= this.#owner.validUntil) {
      if (refused !== undefined)
        log.info({ detail: refused, client_ip: this.#address }, 'a KMIP client is refused')
      this.#hold(0)
      this.#finish()
      return
    }
    this.#busy = true
    this.#hold(message.length)
    try {
      const answer = andThen(this.#owner.principal(), (principal) => {
        const caller = { principal, clientAddress: this.#address, requestId: randomUUID(), beginsTrace: true }
        return engine.answer(message, 'ttlv', caller)
      })
      if (answer instanceof Promise) {
        answer.then(
          (late) => {
            this.#send(late)
            this.#next()
          },
          (error: unknown) => this.#fail(error),
        )
      } else this.#send(answer)
    } catch (error) {
      this.#fail(error)
    }
  }

  #send(answer: Uint8Array): void {
    this.#busy = false
    this.#hold(0)
    this.#environment.stages.enqueueReply(() => {
      if (!this.#socket.destroyed) this.#socket.write(answer)
    })
  }

  /** A message in work, or waiting for its token, takes as much of what all connections may hold as an unfinished one. */
  #hold(bytes: number): void {
    this.#environment.budget.used += bytes - this.#held
    this.#held = bytes
  }

  /**
   * The engine answers whatever is wrong with a message; that it threw is a fault of the program. A holder of the
   * connection who is refused now is no longer one.
   */
  #fail(error: unknown): void {
    this.#busy = false
    this.#hold(0)
    if (error instanceof Failure) {
      const { log } = this.#environment
      log.info({ detail: error.detail, client_ip: this.#address }, 'a KMIP client was cut off')
      this.#finish()
      return
    }
    this.#environment.log.error({ error }, 'a KMIP message could not be answered')
    this.#socket.destroy()
  }

  /** Bytes behind the message in work cannot be kept: it gets its answer, and the connection then ends. */
  #endBehindAnswer(): void {
    this.#socket.pause()
    this.#reader.close()
    this.#ended = true
  }

  /** Framing is lost: one last answer where the client's version is known, then the end. */
  #refuse(error: unknown): void {
    const isRefusal = error instanceof KmipDecodeError
    if (!isRefusal) this.#environment.log.error({ error }, 'a KMIP message could not be read')
    const seconds = Math.floor(this.#environment.clock.now() / 1000)
    const last =
      isRefusal && error.version !== undefined
        ? encodeResponse(toErrorResponse(error, seconds), 'ttlv')
        : undefined
    this.#finish(last)
  }

  #finish(last?: Uint8Array): void {
    if (this.#closing) return
    this.#closing = true
    clearTimeout(this.#late)
    this.#reader.close()
    // Behind the answers that are made.
    this.#environment.stages.enqueueReply(() => this.#hangUp(last))
  }

  #hangUp(last: Uint8Array | undefined): void {
    // Only when everything is sent: a client may take its time to read (the idle limit ends those who do not).
    this.#socket.once('finish', () => {
      const timer = setTimeout(() => this.#socket.destroy(), this.#environment.limits.lingerMs)
      this.#socket.once('close', () => clearTimeout(timer))
    })
    if (last === undefined) this.#socket.end()
    else this.#socket.end(last)
    this.#socket.resume()
  }
}
