import { type Logger, StartupError } from '@warder/base'
import type { Database } from '@warder/storage'
import { type Components, planMigrations } from './components.ts'

const checkEveryMs = 5_000

/**
 * Detects that a node with a newer program has migrated the database under a running service: logs what this program
 * ignores, and stops the service when the migration is incompatible (docs/adr/upgrades.md).
 * @returns a function that stops the watch
 */
export function watchSchema(options: {
  readonly db: Database
  readonly components: Components
  readonly log: Logger
  readonly giveUp: (reason: string) => void
  /** Default: 5 s. */
  readonly everyMs?: number
}): () => void {
  const { db, components, log, giveUp, everyMs = checkEveryMs } = options
  const warned = new Set<string>()
  const check = async (): Promise<void> => {
    for (const [component, { ahead }] of await planMigrations(db, components))
      for (const { number, name, older } of ahead) {
        if (older === undefined)
          return giveUp(
            `a newer version of Warder migrated the database (${component}: ${number}, ${name}), and this version is not compatible with that migration`,
          )
        if (warned.has(`${component} ${number}`)) continue
        warned.add(`${component} ${number}`)
        const fields = { component, migration: number, name, ...(older !== true && { this_node: older }) }
        log.warn(fields, 'a newer version of Warder migrated the database: upgrade this node as well')
      }
  }
  const attempt = (): Promise<void> =>
    check().catch((error: unknown) => {
      if (error instanceof StartupError) giveUp(error.message)
    })
  let looking = false
  const timer = setInterval(() => {
    if (looking) return
    looking = true
    void attempt().finally(() => {
      looking = false
    })
  }, everyMs)
  timer.unref()
  return () => clearInterval(timer)
}
