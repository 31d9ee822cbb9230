import type { Logger } from '../telemetry/types.ts'

const lookEveryMs = 1_000
/** Busy for so many looks in a row is load; a burst is not. */
const looksOfLoad = 3
const busyAbove = 0.8

/** How many workers a service begins with, and how many it has at most. */
export interface TeamSize {
  readonly first: number
  readonly most: number
}

/**
 * Each worker takes 50 to 70 MB. On a machine of one or two cores one is enough until there is load; on larger ones all
 * are there from the beginning.
 * @param setting `workers`; 0 = one for each core
 */
export function teamSize(setting: number, cores: number): TeamSize {
  if (setting > 0) return { first: setting, most: setting }
  return { first: cores <= 2 ? 1 : cores, most: cores }
}

export interface Growing {
  /** Share of the time since the last question in which the event loop of the busiest worker was busy, 0 to 1. */
  busy(): number
  readonly size: () => number
  /** Starts one more, and resolves when it serves. */
  grow(): Promise<void>
}

/** Adds a worker when those that are there have been busy for a while. */
export class Growth {
  readonly #team: Growing
  readonly #most: number
  readonly #log: Logger
  #looks = 0
  #growing = false

  constructor(team: Growing, most: number, log: Logger) {
    this.#team = team
    this.#most = most
    this.#log = log
  }

  async look(): Promise<void> {
    this.#looks = this.#team.busy() > busyAbove ? this.#looks + 1 : 0
    if (this.#looks < looksOfLoad || this.#growing || this.#team.size() >= this.#most) return
    this.#growing = true
    try {
      await this.#team.grow()
      this.#log.info({ workers: this.#team.size() }, 'there is load: a worker was added')
    } catch (error) {
      this.#log.error({ error }, 'there is load, and a worker could not be added')
    } finally {
      this.#looks = 0
      this.#growing = false
    }
  }

  /** Looks every second. @returns ends it */
  watch(): () => void {
    if (this.#team.size() >= this.#most) return () => undefined
    const timer = setInterval(() => void this.look(), lookEveryMs).unref()
    return () => clearInterval(timer)
  }
}
