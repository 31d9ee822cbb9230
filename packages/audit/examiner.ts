import { Worker } from 'node:worker_threads'
import type { LogKeys } from './encrypted-bytes.ts'
import type { ExaminedFile } from './examine.ts'
import type { ChainHead } from './record.ts'

/** To the thread. */
export interface Examination {
  readonly path: string
  /** State of the chain before the file; undefined = only the digest is computed. */
  readonly from?: ChainHead
  /** For encrypted files: they stay inside this process. */
  readonly keys: LogKeys
}

/** Reads each log file on its own thread: see `examine.ts`. */
export interface Examiner {
  examine(path: string, from: ChainHead): Promise<ExaminedFile | string>
  digest(path: string): Promise<{ readonly bytes: number; readonly sha256: string }>
  /** Rejects every examination that is under way. */
  stop(): Promise<void>
}

/** @param keys of encrypted files */
export function createExaminer(keys: LogKeys): Examiner {
  const running = new Set<Worker>()
  const ask = <Result>(asked: Examination): Promise<Result> => {
    const worker = new Worker(new URL('./examine-thread.ts', import.meta.url), { name: 'audit files' })
    worker.unref()
    running.add(worker)
    return new Promise<Result>((resolve, reject) => {
      worker.once('message', (answer: { readonly result: Result } | { readonly error: string }) => {
        if ('error' in answer) reject(new Error(answer.error))
        else resolve(answer.result)
        void worker.terminate()
      })
      worker.once('error', reject)
      worker.once('exit', () => {
        running.delete(worker)
        reject(new Error('the thread that verifies audit files has ended'))
      })
      worker.postMessage(asked)
    })
  }
  return {
    examine: (path, from) => ask({ path, from, keys }),
    digest: (path) => ask({ path, keys }),
    async stop() {
      await Promise.all([...running].map((worker) => worker.terminate()))
    },
  }
}
