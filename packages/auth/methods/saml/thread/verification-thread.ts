// The XML thread: parses, canonicalizes and verifies untrusted messages, one at a time.
import { parentPort } from 'node:worker_threads'
import { lowerThreadPriority } from '@warder/runtime'
import type { FromThread, ToThread } from './jobs.ts'
import { validateField } from './validate-field.ts'

lowerThreadPriority()
parentPort?.on('message', ({ id, job }: ToThread) => {
  const answer = (message: FromThread): void => parentPort?.postMessage(message)
  try {
    answer({ id, result: validateField(job) })
  } catch (error) {
    answer({ id, problem: error instanceof Error ? (error.stack ?? error.message) : String(error) })
  }
})
