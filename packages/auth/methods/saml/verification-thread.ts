import { parentPort } from 'node:worker_threads'
import { lowerThreadPriority } from '@warder/base'
import { SamlRefused } from './checks.ts'
import { decodeMessage, validateResponse } from './validate-response.ts'
import type { FromThread, Job, ToThread, ValidationResult } from './verification.ts'

// The XML thread: parses, canonicalizes and verifies untrusted messages, one at a time.

lowerThreadPriority()
parentPort?.on('message', ({ id, job }: ToThread) => {
  const answer = (message: FromThread): void => parentPort?.postMessage(message)
  try {
    answer({ id, result: validateField(job) })
  } catch (error) {
    answer({ id, problem: error instanceof Error ? (error.stack ?? error.message) : String(error) })
  }
})

/** Validates the form field of a response. Throws only on programming errors. */
export function validateField({ field, expected }: Job): ValidationResult {
  try {
    return { assertion: validateResponse(decodeMessage(decodeFormField(field)), expected) }
  } catch (error) {
    if (!(error instanceof SamlRefused)) throw error
    return { refused: { check: error.code, sentence: error.message } }
  }
}

/** `application/x-www-form-urlencoded` */
function decodeFormField(field: Uint8Array): string {
  try {
    return decodeURIComponent(Buffer.from(field).toString('latin1').replaceAll('+', ' '))
  } catch {
    // This is not valid base64 either.
    return '%'
  }
}
