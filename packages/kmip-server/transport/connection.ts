import type { Buffer } from 'node:buffer'
import { randomUUID } from 'node:crypto'
import type { TLSSocket } from 'node:tls'
import { type Clock, Failure, type Logger } from '@warder/base'
import { encodeResponse, KmipDecodeError, toErrorResponse } from '@warder/kmip-codec'
import type { RequestBatcher, SweptConnection, TokenBuckets } from '@warder/server'
import type { KmipEngine } from '../engine/types.ts'
import type { ConnectionOwner } from './caller.ts'
import { MessageReader, type ReadBudget } from './message-reader.ts'

/** Every bound of the KMIP socket, for one worker. Times in milliseconds, sizes in bytes. */
export interface SocketLimits {
  /** Maximum size of a message. */
  readonly messageBytes: number
  /** Total size of the messages of all connections that are unfinished, waiting or being answered. */
  readonly bufferedBytes: number
  readonly handshakeMs: number
  /** Maximum time from the first byte of a message to the last. */
  readonly messageMs: number
  /** Maximum time without traffic on a connection, including one whose client does not read its answers. */
  readonly idleMs: number
  /** How long the rest of a refused message is read and discarded, so that the client can read the answer. */
  readonly lingerMs: number
  readonly connections: number
  readonly connectionsPerAddress: number
}

export const defaultSocketLimits: SocketLimits = {
  messageBytes: 64 * 1024 * 1024,
  bufferedBytes: 256 * 1024 * 1024,
  handshakeMs: 10_000,
  messageMs: 30_000,
  idleMs: 600_000,
  lingerMs: 1000,
  connections: 20_000,
  connectionsPerAddress: 2_000,
}

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

/** Maximum number of bytes that are read ahead while a request is processed; then the socket is paused. */
const readAheadBytes = 64 * 1024
/** Maximum number of messages answered in a row, before other connections have their turn. */
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
  /** Messages answered since other connections had their turn. */
  #inARow = 0
  /** Messages have arrived that are answered in the batch with those of other connections. */
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
    // The timeout is set while answers wait to be read by the client (`startIdleSweep`).
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

  /** Number of messages that are not answered yet. */
  get open(): number {
    return this.#busy || this.#staged ? 1 : 0
  }

  /** Ends the connection after the current message, at once when there is none. */
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

  /** Answers the received messages one after the other. */
  #next(): void {
    while (!this.#busy && !this.#closing) {
      if (this.#socket.writableNeedDrain) {
        this.#socket.pause()
        return
      }
      if (this.#inARow === messagesInARow) {
        this.#inARow = 0
        setImmediate(() => this.#next())
        return
      }
      const message = this.#read()
      if (message === undefined) {
        this.#inARow = 0
        return
      }
      this.#inARow++
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

  /** A message must be complete within a time limit. */
  #expectRest(begun: boolean): void {
    if (!begun) {
      clearTimeout(this.#late)
      this.#late = undefined
    } else if (this.#late === undefined) {
      this.#late = setTimeout(() => this.#socket.destroy(), this.#environment.limits.messageMs)
    }
  }

  /**
   * KMIP has no answer for a client over its rate: the request waits for its token, and later requests wait,
   * too.
   */
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

  /** Drops the waiting request of a closed connection. */
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
    const answered = async (): Promise<Uint8Array> => {
      const principal = await this.#owner.principal()
      const { certificate } = this.#owner
      const caller = {
        ...{ principal, clientAddress: this.#address, requestId: randomUUID(), beginsTrace: true },
        certificate,
      }
      return await engine.answer(message, 'ttlv', caller)
    }
    answered().then(
      (answer) => {
        this.#send(answer)
        this.#next()
      },
      (error: unknown) => this.#fail(error),
    )
  }

  #send(answer: Uint8Array): void {
    this.#busy = false
    this.#hold(0)
    this.#environment.stages.enqueueReply(() => {
      if (!this.#socket.destroyed) this.#socket.write(answer)
    })
  }

  /**
   * A message that is processed or waits for its token counts against the buffer of all connections like an unfinished
   * one.
   */
  #hold(bytes: number): void {
    this.#environment.budget.used += bytes - this.#held
    this.#held = bytes
  }

  /**
   * The engine answers every invalid message, so an error that it throws is a defect of the program. A Failure means
   * that the client of the connection is now refused.
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

  /** The bytes after the current message exceed the buffer: the message is answered, and the connection then ends. */
  #endBehindAnswer(): void {
    this.#socket.pause()
    this.#reader.close()
    this.#ended = true
  }

  /** Framing is lost: sends a last answer if the client's version is known, then closes the connection. */
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
    // After the answers that are already queued.
    this.#environment.stages.enqueueReply(() => this.#hangUp(last))
  }

  #hangUp(last: Uint8Array | undefined): void {
    // Only after everything is sent: a client may read slowly (the idle limit closes connections that do not read).
    this.#socket.once('finish', () => {
      const timer = setTimeout(() => this.#socket.destroy(), this.#environment.limits.lingerMs)
      this.#socket.once('close', () => clearTimeout(timer))
    })
    if (last === undefined) this.#socket.end()
    else this.#socket.end(last)
    this.#socket.resume()
  }
}
