import type { Logger } from '../telemetry/types.ts'
import type { TlsMaterials } from './messages.ts'
import type { WorkerHandle } from './worker.ts'

/** A worker that ends this often within a minute is a fault that starting again does not mend. */
const mostRestartsPerMinute = 5

/** The workers of one service, kept at their number. */
export interface Team {
  readonly size: number
  setTls(tls: TlsMaterials): void
  metrics(): Promise<readonly unknown[]>
  drain(timeoutMs: number): Promise<void>
}

export interface TeamOptions {
  readonly size: number
  readonly log: Logger
  /** Starts one with what is in force now; a later `setTls` reaches it, whether or not it serves yet. */
  start(index: number): WorkerHandle
  /** Called when workers keep ending: the service cannot go on. */
  onGivingUp(reason: string): void
}

/**
 * Starts the workers, all of which must serve before it resolves, and replaces one that ends by itself.
 * @throws what the first worker that could not start threw
 */
export async function startTeam(options: TeamOptions): Promise<Team> {
  const members = new Map<number, WorkerHandle>()
  const ends: number[] = []
  let draining = false

  const hire = (index: number): WorkerHandle => {
    const member = options.start(index)
    members.set(index, member)
    return member
  }
  const replaceWhenGone = (member: WorkerHandle): void => {
    void member.gone.then((code) => {
      if (draining) return
      const now = performance.now()
      while (ends[0] !== undefined && now - ends[0] > 60_000) ends.shift()
      ends.push(now)
      options.log.error({ worker: member.index, code }, 'a worker ended; another takes its place')
      if (ends.length > mostRestartsPerMinute) {
        options.onGivingUp(`workers ended ${ends.length} times within a minute`)
        return
      }
      replaceWhenGone(hire(member.index))
    })
  }

  const first = Array.from({ length: options.size }, (_, index) => hire(index))
  try {
    await Promise.all(first.map((member) => member.listening))
  } catch (error) {
    draining = true
    await Promise.all(first.map((member) => member.drain(0)))
    throw error
  }
  for (const member of first) replaceWhenGone(member)

  return {
    size: options.size,
    setTls(tls) {
      for (const member of members.values()) member.setTls(tls)
    },
    metrics: () => Promise.all([...members.values()].map((member) => member.metrics())),
    async drain(timeoutMs) {
      draining = true
      await Promise.all([...members.values()].map((member) => member.drain(timeoutMs)))
    },
  }
}
