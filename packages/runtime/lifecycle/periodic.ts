import { type AuditEvent, createOwnEvent } from '@warder/audit'
import { type Clock, type Logger, type Metrics, StartupError } from '@warder/base'
import type { Database } from '@warder/storage'
import { type Components, planMigrations } from './components.ts'
import type { PeriodicWork, ServiceEnvironment } from './service.ts'

export interface PeriodicJob {
  readonly name: string
  readonly everySeconds: number
  /** Whether there is work: a job without work acquires no lease, which would be a write. Default: always. */
  due?(): Promise<boolean>
  run(): Promise<void>
}

/**
 * Runs each job periodically, never twice at once, until stopped. `lease` decides whether this node may run it now (one
 * holder across nodes). A failed job is logged and runs again at its next time.
 */
export function startPeriodic(
  jobs: readonly PeriodicJob[],
  lease: (name: string, seconds: number) => Promise<boolean>,
  log: Logger,
): { stop(): Promise<void> } {
  let stopped = false
  const running = new Set<Promise<void>>()
  const timers = jobs.map((job) => {
    let busy = false
    const turn = async (): Promise<void> => {
      if (busy || stopped) return
      busy = true
      try {
        if (job.due !== undefined && !(await job.due())) return
        if (await lease(job.name, job.everySeconds * 3)) await job.run()
      } catch (error) {
        log.warn({ job: job.name, error }, 'a periodic task failed; it runs again at its next time')
      } finally {
        busy = false
      }
    }
    const timer = setInterval(() => {
      const work = turn().finally(() => running.delete(work))
      running.add(work)
    }, job.everySeconds * 1000)
    timer.unref()
    return timer
  })
  return {
    async stop() {
      stopped = true
      for (const timer of timers) clearInterval(timer)
      await Promise.all(running)
    },
  }
}

/** The work of a service with its environment. */
export function boundTo<Config>(
  { name, everySeconds, due, run }: PeriodicWork<Config>,
  environment: ServiceEnvironment<Config>,
): PeriodicJob {
  return {
    name,
    everySeconds,
    ...(due !== undefined && { due: () => due(environment) }),
    run: () => run(environment),
  }
}

const checkEveryMs = 5_000
/** Exceeds corrections of NTP in one step, and delays of a busy machine. */
const minJumpMs = 30_000

interface ClockWatch {
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  record(event: AuditEvent): void
  /** Default: 5 s. */
  readonly everyMs?: number
}

/**
 * Records jumps of the wall clock while the service runs, since dates of keys and sessions depend on it. A suspended machine
 * looks the same. The service continues.
 * @returns a function that stops the watch
 */
export function watchClock({ clock, log, metrics, record, everyMs = checkEveryMs }: ClockWatch): () => void {
  let offset = clock.now() - clock.monotonic()
  let seen = clock.now()
  const timer = setInterval(() => {
    const now = clock.now()
    const jump = now - clock.monotonic() - offset
    if (Math.abs(jump) >= minJumpMs) {
      const details = { from: formatTime(seen), to: formatTime(now), seconds: Math.round(jump / 1000) }
      metrics.count('clock_jumps_total', { direction: jump > 0 ? 'ahead' : 'back' })
      log.warn(
        details,
        'the clock of this machine jumped, and sessions and dates of keys depend on it. If it is wrong now, set it, and check the audit log for the time in between',
      )
      record({ ...createOwnEvent(now, 'clock.jumped'), details })
      offset += jump
    }
    seen = now
  }, everyMs)
  timer.unref()
  return () => clearInterval(timer)
}

function formatTime(time: number): string {
  return new Date(time).toISOString()
}

/**
 * Detects that a node with a newer program has migrated the database under a running service: logs which changes this
 * program ignores, and stops the service when the migration is incompatible (docs/adr/upgrades.md).
 * @returns a function that stops the watch
 */
export function watchSchema(options: {
  readonly db: Database
  readonly components: Components
  readonly log: Logger
  readonly giveUp: (reason: string) => void
  /** Default: 5 s. */
  readonly everyMs?: number
}): () => void {
  const { db, components, log, giveUp, everyMs = checkEveryMs } = options
  const warned = new Set<string>()
  const check = async (): Promise<void> => {
    for (const [component, { ahead }] of await planMigrations(db, components))
      for (const { number, name, older } of ahead) {
        if (older === undefined)
          return giveUp(
            `a newer version of Warder migrated the database (${component}: ${number}, ${name}), and this version is not compatible with that migration`,
          )
        if (warned.has(`${component} ${number}`)) continue
        warned.add(`${component} ${number}`)
        const fields = { component, migration: number, name, ...(older !== true && { this_node: older }) }
        log.warn(fields, 'a newer version of Warder migrated the database: upgrade this node as well')
      }
  }
  const attempt = (): Promise<void> =>
    check().catch((error: unknown) => {
      if (error instanceof StartupError) giveUp(error.message)
    })
  let looking = false
  const timer = setInterval(() => {
    if (looking) return
    looking = true
    void attempt().finally(() => {
      looking = false
    })
  }, everyMs)
  timer.unref()
  return () => clearInterval(timer)
}
