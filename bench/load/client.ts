import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { LoadPlan, LoadResult } from './generator.ts'

type Message = { moment: 'start' | 'end' } | { result: LoadResult } | { error: string }

/** The load generator, in a process of its own so that it does not share a core with the measured service. */
export interface LoadClient {
  readonly pid: number
  run(plan: LoadPlan, onMeasure: (moment: 'start' | 'end') => void): Promise<LoadResult>
  close(): void
}

export function startLoadClient(): LoadClient {
  const child: ChildProcess = fork(fileURLToPath(new URL('./process.ts', import.meta.url)))
  return {
    pid: child.pid ?? 0,
    run: (plan, onMeasure) =>
      new Promise((resolve, reject) => {
        const receive = (message: Message): void => {
          if ('moment' in message) {
            onMeasure(message.moment)
            return
          }
          child.off('message', receive)
          if ('error' in message) reject(new Error(message.error))
          else resolve(message.result)
        }
        child.on('message', receive)
        child.send(plan)
      }),
    close: () => void child.kill(),
  }
}
