import { Buffer } from 'node:buffer'
import { frameLength, KmipDecodeError, sniffedBytes, sniffVersion } from '@warder/kmip-codec'

/** Number of bytes in the messages of all connections of a worker. */
export interface ReadBudget {
  readonly limit: number
  used: number
}

const minBufferBytes = 1024
const nothing = Buffer.alloc(0)

/**
 * Cuts a stream into KMIP messages by the length in each header. Memory depends on the received bytes, never on the
 * length in a header: a buffer grows by doubling, whether the bytes arrive at once or one by one.
 */
export class MessageReader {
  readonly #maximum: number
  readonly #budget: ReadBudget
  /** `#buffer.subarray(#start, #end)` has not been read yet. */
  #buffer: Buffer = nothing
  #start = 0
  #end = 0
  #held = 0

  constructor(maximum: number, budget: ReadBudget) {
    this.#maximum = maximum
    this.#budget = budget
  }

  /** Number of received bytes that are not a whole message yet, or were not read. */
  get pending(): number {
    return this.#end - this.#start
  }

  /** @throws KmipDecodeError `too_large` when the unfinished messages of the worker reach their limit */
  push(chunk: Buffer): void {
    if (this.pending === 0) {
      // The newest bytes are read in place; only an unfinished message is copied.
      this.#buffer = chunk
      this.#start = 0
      this.#end = chunk.length
      this.#hold(0)
      return
    }
    // Never moved or overwritten in place: returned messages are views of the same bytes.
    const size = this.pending + chunk.length
    if (this.#held < size || this.#buffer.length - this.#end < chunk.length) this.#grow(size)
    chunk.copy(this.#buffer, this.#end)
    this.#end += chunk.length
  }

  /**
   * The next whole message, a view of the pushed bytes; undefined until more bytes arrive.
   * @throws KmipDecodeError when the received bytes cannot become a message; with its version if that can be read
   */
  next(): Buffer | undefined {
    if (this.pending === 0) return undefined
    const unread = this.#buffer.subarray(this.#start, this.#end)
    const length = this.#lengthOf(unread)
    if (length === undefined || length > unread.length) return undefined
    this.#start += length
    if (this.pending === 0) {
      this.#buffer = nothing
      this.#start = 0
      this.#end = 0
      this.#hold(0)
    }
    return unread.subarray(0, length)
  }

  /** Releases its buffer. */
  close(): void {
    this.#buffer = nothing
    this.#start = 0
    this.#end = 0
    this.#hold(0)
  }

  #lengthOf(unread: Buffer): number | undefined {
    try {
      return frameLength(unread, this.#maximum)
    } catch (error) {
      if (!(error instanceof KmipDecodeError)) throw error
      const version = sniffVersion(unread)
      // The answer is in the client's version, which the next few bytes contain.
      if (error.code === 'too_large' && version === undefined && unread.length < sniffedBytes)
        return undefined
      throw new KmipDecodeError(error.code, error.message, version)
    }
  }

  #grow(size: number): void {
    const capacity = Math.min(
      Math.max(size * 2, minBufferBytes),
      Math.max(size, this.#maximum + minBufferBytes),
    )
    const grown = Buffer.allocUnsafeSlow(this.#hold(capacity))
    this.#buffer.copy(grown, 0, this.#start, this.#end)
    this.#end -= this.#start
    this.#start = 0
    this.#buffer = grown
  }

  #hold(capacity: number): number {
    const used = this.#budget.used - this.#held + capacity
    if (capacity > this.#held && used > this.#budget.limit)
      throw new KmipDecodeError('too_large', 'Too many unfinished messages are held here; try again later.')
    this.#budget.used = used
    this.#held = capacity
    return capacity
  }
}
