// Keeps the rights of moments in the past, and reads them for reports.
import { parentPort } from 'node:worker_threads'
import { toFailure } from '@warder/base'
import type { PastRightsJob } from './past-rights.ts'
import { createPastTables, type PastTables } from './past-rights-store.ts'

const moments = new Map<number, PastTables>()

function find(moment: number): PastTables {
  const tables = moments.get(moment)
  if (tables === undefined) throw new Error('the rights of this moment are not here any more')
  return tables
}

function run(job: PastRightsJob): unknown {
  switch (job.type) {
    case 'open':
      moments.set(job.moment, createPastTables())
      return undefined
    case 'add':
      return find(job.moment).add(job.kind, job.rows)
    case 'undo':
      return find(job.moment).undo(job.changes, job.strict)
    case 'has_undone':
      return find(job.moment).hasUndone(job.changes)
    case 'finish':
      return find(job.moment).finish()
    case 'read':
      return find(job.moment).all(job.text, job.params)
    case 'close':
      moments.get(job.moment)?.close()
      moments.delete(job.moment)
      return undefined
  }
}

parentPort?.on('message', ({ id, job }: { readonly id: number; readonly job: PastRightsJob }) => {
  try {
    parentPort?.postMessage({ id, result: run(job) })
  } catch (thrown) {
    const { kind, message, detail } = toFailure(thrown)
    parentPort?.postMessage({ id, failed: { kind, message, detail } })
  }
})
