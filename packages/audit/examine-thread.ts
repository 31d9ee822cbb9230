// Reads whole files of an audit log on a thread of its own: some hundred megabytes take seconds, and recording must not wait.
import { parentPort } from 'node:worker_threads'
import { computeDigest, examineFile } from './examine.ts'
import type { Examination } from './examiner.ts'
import { isDamage } from './verify.ts'

parentPort?.on('message', async ({ path, from, keys }: Examination) => {
  try {
    const result =
      from === undefined
        ? await computeDigest(path, keys).catch(toDamagedResult)
        : await examineFile(path, from, keys)
    parentPort?.postMessage({ result })
  } catch (error) {
    parentPort?.postMessage({ error: error instanceof Error ? error.message : String(error) })
  }
})

/** A digest that matches no file. Errors that do not concern the content are thrown again. */
function toDamagedResult(error: unknown): { readonly bytes: number; readonly sha256: string } {
  if (!isDamage(error)) throw error
  return { bytes: -1, sha256: '' }
}
