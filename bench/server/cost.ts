import { readFileSync } from 'node:fs'

const ticksPerSecond = 100

export interface ProcessCost {
  /** User and system seconds used so far by the processes. */
  readonly cpuSeconds: number
  /** Resident memory of them together, MiB. */
  readonly residentMiB: number
}

/** Processor time and memory of processes, from Linux' /proc. */
export function measureCost(pids: readonly number[]): ProcessCost {
  let ticks = 0
  let pages = 0
  for (const pid of pids) {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    ticks += Number(fields[11]) + Number(fields[12])
    pages += Number(fields[21])
  }
  return { cpuSeconds: ticks / ticksPerSecond, residentMiB: (pages * 4096) / 1024 / 1024 }
}
