import { lastRotation, staleWrappings } from '@warder/kmip-server'
import type { ServiceEnvironment } from '@warder/runtime'
import type { Database } from '@warder/storage'
import type { KmsConfig } from './settings.ts'

type Environment = ServiceEnvironment<KmsConfig>

/** Objects of one commit. */
const batchSize = 100
/** Max commits of one run; the next run continues. */
const maxBatches = 20
/** Interval after which objects that could not be moved, or were registered under an old version since, are tried again. */
const againMs = 3_600_000

/** A pass over the objects that replaced versions wrap. Only in memory: after a crash it starts again. */
interface Pass {
  /** The last rotation when the pass of now, or the one before, began. */
  seen: number | undefined
  finishedAt: number
  /** The last object that was checked; undefined: no pass is running. */
  after: string | undefined
  moved: number
  left: number
  /** Objects left by the last whole pass. */
  known: number
}

const passes = new WeakMap<Database, Pass>()

function getPass({ db, metrics }: Environment): Pass {
  const before = passes.get(db)
  if (before !== undefined) return before
  const pass: Pass = { seen: undefined, finishedAt: 0, after: undefined, moved: 0, left: 0, known: 0 }
  passes.set(db, pass)
  const help = 'Stored objects that stay wrapped with a replaced version of their wrapping key.'
  metrics.gauge('wrapped_objects_left', help, () => pass.known)
  return pass
}

/** Whether any object has to be rewrapped; usually one look-up in an index. */
export async function isRewrapDue(environment: Environment): Promise<boolean> {
  const rotated = await lastRotation(environment.db)
  if (rotated === undefined) return false
  const pass = getPass(environment)
  if (pass.after !== undefined || rotated !== pass.seen) return true
  return environment.clock.now() - pass.finishedAt >= againMs
}

/**
 * Rewraps objects that are wrapped by replaced versions with the newest versions of their keys (docs/adr/rotation.md),
 * in batches of one commit each. Rewrapped objects are not found again, so any node can continue after a crash.
 */
export async function rewrapWhatIsStale(environment: Environment): Promise<void> {
  const { rewrapBatch } = await import('./rewrap-batch.ts')
  const { db } = environment
  const pass = getPass(environment)
  if (pass.after === undefined)
    Object.assign(pass, { after: '', moved: 0, left: 0, seen: await lastRotation(db) })
  for (let batches = 0; batches < maxBatches; batches += 1) {
    const page = await staleWrappings(db, pass.after ?? '', batchSize)
    const moved = page.length === 0 ? 0 : await rewrapBatch(environment, page)
    pass.moved += moved
    pass.left += page.length - moved
    if (page.length < batchSize) {
      finish(environment, pass)
      return
    }
    pass.after = page.at(-1)
  }
}

function finish({ clock, log }: Environment, pass: Pass): void {
  const { moved, left, known } = pass
  Object.assign(pass, { after: undefined, finishedAt: clock.now(), known: left })
  if (moved > 0 || left !== known)
    log.info({ moved, left }, 'objects that rotated keys wrap were rewrapped with the newest versions')
}
