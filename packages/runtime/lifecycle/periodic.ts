import type { Logger } from '@warder/base'
import type { PeriodicWork, ServiceEnvironment } from './service.ts'

export interface PeriodicJob {
  readonly name: string
  readonly everySeconds: number
  /** Whether there is work: a job without work takes no lease, which would be a write. Default: always. */
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
