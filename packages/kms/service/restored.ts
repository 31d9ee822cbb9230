import { createOwnEvent } from '@warder/audit'
import {
  addRestoreToRightsJournal,
  createRestoreGate,
  findHold,
  forgetReservations,
  holdRestored,
  type RestoreGate,
} from '@warder/keys'
import type { PeriodicWork, ServiceEnvironment } from '@warder/runtime'
import type { HealthPart } from '@warder/server'
import type { Database } from '@warder/storage'
import type { KmsConfig } from './settings.ts'

type Environment = ServiceEnvironment<KmsConfig>

/** Operations that a held installation serves: health, logins, and the decision about it. Everything else is refused. */
const servedWhileHeld: ReadonlySet<string> = new Set([
  'health',
  'unseal',
  'version',
  'server.me',
  'ui.root',
  'ui.start',
  'ui.page',
  'ui.login_page',
  'ui.room',
  'ui.asset',
  'ui.info',
  'ui.authority',
  'ui.login',
  'ui.logout',
  'ui.login_flow',
  'ui.callback',
  'ui.login_saml',
  'ui.saml_callback',
  'ui.login_handover',
  'ui.handover_callback',
  'access.officers.status',
  'access.approvals.ask',
  'access.approvals.list',
  'access.approvals.get',
  'access.approvals.approve',
  'access.approvals.refuse',
  'access.approvals.withdraw',
])

/**
 * Runs in the primary, before any worker starts and before settings are adopted.
 * @returns whether the installation is held, and lines for the operator at the terminal
 */
export async function prepareRestored({ db, seal, clock, audit, log, restored }: Environment) {
  // Objects that were created and removed after the backup are unknown here.
  if (restored !== undefined)
    await db.commit([
      ...forgetReservations(restored.restoredAt),
      addRestoreToRightsJournal(restored.digest, restored.madeAt, restored.restoredAt),
    ])
  const hold = await holdRestored({ db, seal, now: clock.now() }, restored)
  if (hold === undefined) return { isHeld: false, notices: [] }
  const made = new Date(hold.madeAt).toISOString()
  log.warn(
    { backup: hold.backup, made_at: made, request: hold.request },
    'restored from a backup: no requests are served until crypto officers approve',
  )
  await audit.recordDurably({
    ...createOwnEvent(clock.now(), 'access.restore_held'),
    object: hold.backup,
    details: { made_at: made, request: hold.request },
  })
  const notice = `Restored from a backup of ${made}: no requests are served until the crypto officers approve: warder officers approve ${hold.request}`
  return { isHeld: true, notices: [notice] }
}

/** Gate that refuses requests of a held installation; undefined: it serves everything, and stays so. */
export async function findRestoreGate({
  db,
  seal,
  clock,
  config,
}: Environment): Promise<RestoreGate | undefined> {
  const hold = (await findHold(db, seal))?.value
  if (hold?.state !== 'held') return undefined
  return createRestoreGate({ db, seal, clock, leaseMs: config.cache_lease_ms }, hold)
}

/** See `ServiceServerOptions.admit`. */
export function admitThrough(gate: RestoreGate): (operation: string) => Promise<void> {
  return async (operation) => {
    if (servedWhileHeld.has(operation)) return
    const problem = await gate.problem()
    if (problem !== undefined) throw problem
  }
}

export function restorePart(gate: RestoreGate): HealthPart {
  return {
    key: 'restore',
    name: 'restored backup',
    message: 'No requests are served until crypto officers approve the restored backup.',
    required: false,
    async probe() {
      const problem = await gate.problem()
      if (problem !== undefined) throw problem
    },
  }
}

const serving = new WeakSet<Database>()

async function isServing({ db, seal }: Environment): Promise<boolean> {
  if (serving.has(db)) return true
  if ((await findHold(db, seal))?.value.state === 'held') return false
  serving.add(db)
  return true
}

/** The work, once the installation serves: a held one destroys, rotates and signs nothing. */
export function onceServing(work: PeriodicWork<KmsConfig>): PeriodicWork<KmsConfig> {
  return {
    ...work,
    due: async (environment) => (await isServing(environment)) && (await (work.due?.(environment) ?? true)),
  }
}
