import { IncomingMessage } from 'node:http'

/** Takes a body, piece by piece, then `end` or `abort`, whichever comes. */
export interface BodyTaker {
  take(chunk: Uint8Array): void
  /** The body is complete. */
  end(): void
  /** The connection ended before the body did. */
  abort(): void
}

/**
 * A request whose body goes to a taker in the very turn in which the parser reads it. The buffers, states and events
 * of a stream, which are for bodies that nobody waits for yet, cost more than to encrypt the usual body. Without a
 * taker it is a stream like any other.
 */
export class BodyMessage extends IncomingMessage {
  #taker: BodyTaker | undefined
  #taken = false

  static {
    // Node asks for it when the reply is sent, and keeps a message whose stream has not ended.
    const inherited = (message: BodyMessage): boolean =>
      Reflect.get(IncomingMessage.prototype, 'readableEnded', message)
    Object.defineProperty(BodyMessage.prototype, 'readableEnded', {
      get(this: BodyMessage) {
        return this.#taken || inherited(this)
      },
    })
  }

  /** Once, before the turn ends in which the head has come. */
  takeBody(taker: BodyTaker): void {
    this.#taker = taker
    // As the first read of a stream: from now on the body counts as read.
    this._read(0)
  }

  /** Leaves the rest of the body to the stream, which discards it. */
  leaveBody(): void {
    this.#taker = undefined
  }

  /** The parser hands over what it has read; null is the end. */
  override push(chunk: Uint8Array | null, encoding?: BufferEncoding): boolean {
    const taker = this.#taker
    if (taker === undefined) return super.push(chunk, encoding)
    if (chunk === null) {
      this.#taker = undefined
      this.#taken = true
      taker.end()
    } else taker.take(chunk)
    return true
  }

  override destroy(error?: Error): this {
    const taker = this.#taker
    this.#taker = undefined
    super.destroy(error)
    taker?.abort()
    return this
  }
}
