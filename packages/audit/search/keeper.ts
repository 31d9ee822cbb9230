import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from '@warder/base'
import type { Seal } from '@warder/storage'
import type { LogKeys } from '../encrypted-bytes.ts'
import { ensureIndexKey } from '../log-keys.ts'
import { indexFileName } from './index-store.ts'
import { AuditThread } from './jobs.ts'
import { partRecords } from './part.ts'

const lookEveryMs = 1000
/** After a round that failed, as on a full disk. */
const retryMs = 60_000

export interface IndexKeeper {
  /** Called when the log continues in a new file. */
  onNewFile(): void
  /** Extends the index now. */
  extend(): Promise<void>
  stop(): Promise<void>
}

/** Extends the index of a log whenever a part can be added, or when another program changed or removed the index. */
export async function startIndexKeeper(options: {
  readonly folder: string
  readonly keys: LogKeys
  /** Seals the key of the index. */
  readonly seal: Seal
  readonly log: Logger
  /** The number of the last record. */
  seq(): number
}): Promise<IndexKeeper> {
  const { folder, keys, log } = options
  const indexKey = await ensureIndexKey(folder, options.seal)
  const path = join(folder, indexFileName)
  const thread = new AuditThread()
  let running: Promise<void> | undefined
  let indexed = 0
  let isDue = true
  let state: string | undefined
  let quietUntil = 0
  const extendOnce = async (): Promise<void> => {
    isDue = false
    try {
      const round = await thread.run({ type: 'index', log: { folder, keys, indexKey } })
      indexed = round.indexed
      if (round.rebuilt.length > 0)
        log.warn(
          { folder, files: round.rebuilt },
          'parts of the audit index did not match the log and were made again',
        )
    } catch (error) {
      if (stopped) return
      isDue = true
      quietUntil = performance.now() + retryMs
      log.error({ error, folder }, 'the audit index could not be extended; searches read the log itself')
    }
    state = readState(path)
  }
  let stopped = false
  const extend = async (): Promise<void> => {
    while (running !== undefined) await running
    running = extendOnce().finally(() => {
      running = undefined
    })
    await running
  }
  const timer = setInterval(() => {
    if (running !== undefined || performance.now() < quietUntil) return
    if (isDue || options.seq() - indexed >= partRecords || readState(path) !== state) void extend()
  }, lookEveryMs)
  timer.unref()
  return {
    onNewFile() {
      isDue = true
    },
    extend,
    async stop() {
      stopped = true
      clearInterval(timer)
      await thread.stop()
      await running
    },
  }
}

/** Changes when another program writes the index or replaces it. It is asked by path: nothing is opened. */
function readState(path: string): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false })
  return stat && `${stat.ino}:${stat.mtimeMs}:${stat.size}`
}
