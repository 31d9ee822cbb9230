import { spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'

/** Which cores the load generator and the servers run on; undefined = wherever the system puts them. */
export interface Pinning {
  readonly load: string
  readonly servers: string
}

/**
 * One core for the client, the next for the servers: then neither waits for the other, and the processor time of a
 * request is its own. undefined if there is only one core, or no `taskset` (util-linux).
 */
export function pinning(): Pinning | undefined {
  if (availableParallelism() < 2 || spawnSync('taskset', ['--version']).status !== 0) return undefined
  return { load: '0', servers: '1' }
}

/** All threads of the process, and those that they start, run on these cores from now on. */
export function pin(pid: number, cores: string): void {
  const { status, stderr } = spawnSync('taskset', ['-apc', cores, String(pid)], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`taskset: ${stderr}`)
}
