// Reads whole files of an audit log: seconds of work for some hundred megabytes, which nobody who records should wait for.
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

/** The digest of no file. Any other error says nothing of what is in it. */
function toDamagedResult(error: unknown): { readonly bytes: number; readonly sha256: string } {
  if (!isDamage(error)) throw error
  return { bytes: -1, sha256: '' }
}
