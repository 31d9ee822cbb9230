import { getPriority, setPriority } from 'node:os'

/** Nice value: under load such a thread gets about a tenth of the processor time of others. */
const behindOthers = 10

/**
 * Lowers the priority of the calling thread below all others of the machine: for long work in a separate thread, so
 * that threads that answer requests run first. Only on Linux, because priorities there are those of threads
 * (setpriority(2), NOTES); elsewhere it would be the whole process. It has no effect if the system does not permit it.
 */
export function lowerThreadPriority(platform: NodeJS.Platform = process.platform): void {
  if (platform !== 'linux') return
  try {
    if (getPriority() < behindOthers) setPriority(behindOthers)
  } catch {
    // The work continues with the normal priority.
  }
}
