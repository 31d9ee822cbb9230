import type { Logger } from '@warder/base'

const checkEveryMs = 1_000
/** Being busy at this many checks in a row is load; a burst is not. */
const checksOfLoad = 3
const busyAbove = 0.8

/** The initial and the maximum number of workers of a service. */
export interface PoolSize {
  readonly first: number
  readonly max: number
}

/**
 * Each worker takes 50 to 70 MB. A machine of one or two cores starts with one worker until there is load; larger machines
 * start with all of them.
 * @param setting `workers`; 0 = one for each core
 */
export function choosePoolSize(setting: number, cores: number): PoolSize {
  if (setting > 0) return { first: setting, max: setting }
  return { first: cores <= 2 ? 1 : cores, max: cores }
}

export interface ScalablePool {
  /** Share of the time since the last call in which the event loop of the busiest worker was busy, 0 to 1. */
  busy(): number
  readonly size: () => number
  /** Starts another worker, and resolves when it serves. */
  scaleUp(): Promise<void>
}

/** Adds a worker when the existing ones have been busy for a while. */
export class Autoscaler {
  readonly #pool: ScalablePool
  readonly #max: number
  readonly #log: Logger
  #looks = 0
  #growing = false

  constructor(pool: ScalablePool, max: number, log: Logger) {
    this.#pool = pool
    this.#max = max
    this.#log = log
  }

  async check(): Promise<void> {
    this.#looks = this.#pool.busy() > busyAbove ? this.#looks + 1 : 0
    if (this.#looks < checksOfLoad || this.#growing || this.#pool.size() >= this.#max) return
    this.#growing = true
    try {
      await this.#pool.scaleUp()
      this.#log.info({ workers: this.#pool.size() }, 'a worker was added because of load')
    } catch (error) {
      this.#log.error({ error }, 'a worker was needed because of load, but could not be added')
    } finally {
      this.#looks = 0
      this.#growing = false
    }
  }

  /** Checks every second. @returns a function that stops it */
  watch(): () => void {
    if (this.#pool.size() >= this.#max) return () => undefined
    const timer = setInterval(() => void this.check(), checkEveryMs).unref()
    return () => clearInterval(timer)
  }
}
