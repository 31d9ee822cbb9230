import { readdirSync, readFileSync } from 'node:fs'

const ticksPerSecond = 100

export interface ProcessCost {
  /** User and system seconds used so far by the processes. */
  readonly cpuSeconds: number
  /** Resident memory of them together, MiB. */
  readonly residentMiB: number
}

/** Processor time and memory of processes, from Linux' /proc. */
export function costOf(pids: readonly number[]): ProcessCost {
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

/** A process and all that it started. */
export function processTree(root: number): number[] {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1')
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]))
    } catch {
      // The process ended while we were reading: it has no cost any more.
    }
  }
  const tree = [root]
  for (let index = 0; index < tree.length; index += 1) {
    for (const [pid, parent] of parents) if (parent === tree[index]) tree.push(pid)
  }
  return tree
}
