/** Work for one request; an error that it throws ends the process. */
type Work = () => void

/** Maximum number of requests, and of milliseconds, before the first reply of a batch is written. */
const maxBatchSize = 64
const maxBatchMs = 1
/**
 * With this many queued requests the batch runs before more is read: backpressure on a pipelining client begins only with
 * replies that it does not read.
 */
const maxQueued = 1024

/**
 * Processes the requests of one turn of the event loop stage by stage: first everything is read, then all of it is acted
 * on, then all replies are written. The code of a request exceeds the first-level cache of a processor; in this order it is
 * fetched once for several requests. Requests are handled and answered in the order of arrival.
 */
export class RequestBatcher {
  #queued: Work[] = []
  #replies: Work[] = []
  #acting = false
  #running = false
  #scheduled = false

  /** Handles a request after everything that has arrived is read, up to `maxQueued`. */
  enqueue(work: Work): void {
    this.#queued.push(work)
    if (this.#queued.length >= maxQueued && !this.#running) this.#run()
    else this.#schedule()
  }

  /** Writes a reply: at once, or together with the other replies of the batch. */
  enqueueReply(work: Work): void {
    if (this.#acting) this.#replies.push(work)
    else work()
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.#run()
    })
  }

  /** Runs all queued work: work left for another turn could accumulate faster than it is done. */
  #run(): void {
    this.#running = true
    const arrived = this.#queued
    this.#queued = []
    let next = 0
    try {
      while (next < arrived.length) {
        const end = Math.min(arrived.length, next + maxBatchSize)
        const until = performance.now() + maxBatchMs
        this.#acting = true
        do arrived[next++]?.()
        while (next < end && performance.now() < until)
        this.#acting = false
        this.#write()
      }
    } finally {
      // When one of them threw, the others still run.
      this.#acting = false
      if (next < arrived.length) {
        this.#queued = [...arrived.slice(next), ...this.#queued]
        this.#schedule()
      }
      try {
        this.#write()
      } finally {
        this.#running = false
      }
    }
  }

  #write(): void {
    const replies = this.#replies
    if (replies.length === 0) return
    this.#replies = []
    let next = 0
    try {
      while (next < replies.length) replies[next++]?.()
    } finally {
      if (next < replies.length) {
        this.#replies = replies.slice(next)
        setImmediate(() => this.#write())
      }
    }
  }
}
