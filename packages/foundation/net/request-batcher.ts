/** Something to do for one request; it throws nothing that it does not mean for the whole process. */
type Work = () => void

/** Requests that are acted on before the first of them is answered: as many, and for as long (milliseconds). */
const maxBatchSize = 64
const maxBatchMs = 1
/**
 * With so many that have come they are done before more is read: a client that sends requests without waiting is only
 * held back by replies that it does not take, and until they are made there are none.
 */
const maxQueued = 1024

/**
 * Processes the requests of one turn of the event loop stage by stage: first everything is read, then all of it is acted
 * on, then all replies are written. A request passes through more code than the nearest cache of a processor holds; in
 * this order that code is fetched once for several requests. Who came first is acted on and answered first.
 */
export class RequestBatcher {
  #queued: Work[] = []
  #replies: Work[] = []
  #acting = false
  #running = false
  #scheduled = false

  /** Acts on a request when everything that has come by now is read, or as much as is kept. */
  enqueue(work: Work): void {
    this.#queued.push(work)
    if (this.#queued.length >= maxQueued && !this.#running) this.#run()
    else this.#schedule()
  }

  /** Writes a reply: at once, or when the others of this turn are made. */
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

  /** All that has come: what waited for another turn could pile up faster than it is done. */
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
      // When one of them threw: the others have nothing to do with it.
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
