/** Number of checks before a thread counts as hung. */
const checksPerLimit = 5

export interface WatchedBeats {
  /** Grows while the event loop answers. */
  beats(): number
  /** Called once, when it has not grown for `limitMs`. */
  onStalled(): void
  readonly limitMs: number
}

/**
 * Watches an event loop by its beats. Time in which the watcher itself did not run counts as at most two checks: a stopped
 * process or a suspended machine is not hung.
 *
 * @returns a function that stops the watch
 */
export function watchBeats(watched: WatchedBeats): () => void {
  const everyMs = watched.limitMs / checksPerLimit
  const stall = new Stall(watched.limitMs, 2 * everyMs)
  const timer = setInterval(() => {
    if (!stall.isReached(watched.beats(), performance.now())) return
    clearInterval(timer)
    watched.onStalled()
  }, everyMs)
  timer.unref()
  return () => clearInterval(timer)
}

/** Measures how long the beats have not grown. */
export class Stall {
  readonly #limitMs: number
  readonly #maxStepMs: number
  #beats: number | undefined
  #lookedAt = 0
  #stalledMs = 0

  constructor(limitMs: number, maxStepMs: number) {
    this.#limitMs = limitMs
    this.#maxStepMs = maxStepMs
  }

  isReached(beats: number, now: number): boolean {
    this.#stalledMs =
      beats === this.#beats ? this.#stalledMs + Math.min(now - this.#lookedAt, this.#maxStepMs) : 0
    this.#beats = beats
    this.#lookedAt = now
    return this.#stalledMs >= this.#limitMs
  }
}

const beatsAt = 0
const operationAt = 1

/** Memory shared by a worker and its watching thread: beats, and the last operation that began. */
export class Pulse {
  readonly #state: Int32Array

  constructor(memory: SharedArrayBuffer) {
    this.#state = new Int32Array(memory)
  }

  static memory(): SharedArrayBuffer {
    return new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT)
  }

  /** Called by the worker: beats until the thread ends. */
  start(limitMs: number): void {
    const beat = (): void => void Atomics.add(this.#state, beatsAt, 1)
    setInterval(beat, limitMs / checksPerLimit / 2).unref()
  }

  /** @param operation index in the list of operations that the worker sent */
  recordOperation(operation: number): void {
    Atomics.store(this.#state, operationAt, operation + 1)
  }

  beats(): number {
    return Atomics.load(this.#state, beatsAt)
  }

  /** -1: none has begun yet. */
  lastOperation(): number {
    return Atomics.load(this.#state, operationAt) - 1
  }
}
