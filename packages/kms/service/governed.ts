import { createOwnEvent } from '@warder/audit'
import { adoptGovernance, digestOfGovernance, findUnrecordedReset, toGovernance } from '@warder/keys'
import type { ServiceEnvironment } from '@warder/runtime'
import { GuardFailed } from '@warder/storage'
import { approvalSettings, type KmsConfig, officerSettings } from './settings.ts'

type Environment = ServiceEnvironment<KmsConfig>

/** Handles a start with changed officers or approvals. @throws StartupError without the required approval */
export async function adoptSettings({ config, db, seal, clock, audit, log }: Environment, isHeld: boolean) {
  const governance = toGovernance(officerSettings(config), approvalSettings(config))
  const adopted = await adoptGovernance({ db, seal, now: clock.now() }, governance, isHeld)
  if (adopted === 'same' || (adopted === 'first' && governance.officers.users.length === 0)) return
  const { officers, approvals } = governance
  log.info(
    { officers: officers.users, approvals: approvals.operations },
    'the settings of crypto officers and approvals have changed',
  )
  audit.record({
    ...createOwnEvent(clock.now(), 'access.settings_adopted'),
    object: digestOfGovernance(governance),
    details: { adopted, officers: officers.users, quorum: officers.quorum, operations: approvals.operations },
  })
}

/** Audits that an operator with the files and the root key removed officers and approvals, and clears the record. */
export async function recordReset({ db, seal, clock, audit, log }: Environment): Promise<void> {
  const found = await findUnrecordedReset({ db, seal })
  if (found === undefined) return
  const { at, ...details } = found.reset
  log.warn({ ...details }, 'officers and approvals were reset: warder officers reset-policy')
  await audit.recordDurably({
    ...createOwnEvent(clock.now(), 'access.policy_reset'),
    details: { ...details, at: new Date(at).toISOString() },
  })
  await db.commit([found.forgotten]).catch((error: unknown) => {
    // Another node that starts was faster: its log has it, too.
    if (!(error instanceof GuardFailed)) throw error
  })
}
