import { IncomingMessage } from 'node:http'

/** Takes a body, piece by piece, then `end` or `abort`, whichever comes. */
export interface BodySink {
  write(chunk: Uint8Array): void
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
  #sink: BodySink | undefined
  #consumed = false

  static {
    // Node asks for it when the reply is sent, and keeps a message whose stream has not ended.
    const readInherited = (message: BodyMessage): boolean =>
      Reflect.get(IncomingMessage.prototype, 'readableEnded', message)
    Object.defineProperty(BodyMessage.prototype, 'readableEnded', {
      get(this: BodyMessage) {
        return this.#consumed || readInherited(this)
      },
    })
  }

  /** Once, before the turn ends in which the head has come. */
  readBodyInto(sink: BodySink): void {
    this.#sink = sink
    // As the first read of a stream: from now on the body counts as read.
    this._read(0)
  }

  /** Leaves the rest of the body to the stream, which discards it. */
  discardBody(): void {
    this.#sink = undefined
  }

  /** The parser hands over what it has read; null is the end. */
  override push(chunk: Uint8Array | null, encoding?: BufferEncoding): boolean {
    const sink = this.#sink
    if (sink === undefined) return super.push(chunk, encoding)
    if (chunk === null) {
      this.#sink = undefined
      this.#consumed = true
      sink.end()
    } else sink.write(chunk)
    return true
  }

  override destroy(error?: Error): this {
    const sink = this.#sink
    this.#sink = undefined
    super.destroy(error)
    sink?.abort()
    return this
  }
}
