// Searches, indexes and verifies an audit log on a thread of its own, one job after the other.

import { statSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { parentPort } from 'node:worker_threads'
import { lowerThreadPriority } from '@warder/base'
import { readPublicCheckpointKey } from '../checkpoint-key.ts'
import type { VerifyResult } from '../verify.ts'
import { verifyAudit } from '../verify.ts'
import { extendIndex } from './indexer.ts'
import type { AuditJob, FromThread, ToThread } from './jobs.ts'
import { countLog, searchLog } from './search.ts'

/** A service writes a line in less time. */
const writeGraceMs = 200
/** Bounds the reads of a log whose last line keeps changing. */
const maxReads = 5

async function verify({
  folder,
  keys: logKeys,
}: Extract<AuditJob, { type: 'verify' }>): Promise<VerifyResult> {
  const key = readPublicCheckpointKey(folder)
  const options = { thorough: true, keys: key === undefined ? [] : [key], logKeys }
  for (let reading = 1; ; reading += 1) {
    const result = await verifyAudit(folder, options)
    const { torn } = result
    if (torn === undefined || reading === maxReads) return result
    await setTimeout(writeGraceMs)
    if (statSync(torn.file).size === torn.at + torn.bytes) return result
  }
}

function run(job: AuditJob): Promise<unknown> {
  if (job.type === 'search') return searchLog(job.request)
  if (job.type === 'count') return countLog(job.request)
  if (job.type === 'verify') return verify(job)
  // Requests come first: records outside the index are searched, too.
  lowerThreadPriority()
  return extendIndex(job.log)
}

parentPort?.on('message', ({ id, job }: ToThread) => {
  const send = (message: FromThread): void => parentPort?.postMessage(message)
  run(job).then(
    (result) => send({ id, result }),
    (error: unknown) =>
      send({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
  )
})
