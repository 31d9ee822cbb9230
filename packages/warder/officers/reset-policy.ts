import { existsSync } from 'node:fs'
import { userInfo } from 'node:os'
import { resolve } from 'node:path'
import { StartupError, systemClock } from '@warder/base'
import {
  confirm,
  type HomeContext,
  homeVerb,
  openUserTerminal,
  printable,
  requireNoNames,
} from '@warder/command-line'
import { openRootKeys, openSealedDatabase, requireRootKeySource } from '@warder/runtime/launch'
import { isUnsealed, openSeal } from '@warder/storage'
import { configure } from '../installation/configuration.ts'

export const resetPolicyVerb = homeVerb({
  name: 'reset-policy',
  words: '',
  summary: 'Remove the recorded officers and approvals, when too few officers are left to decide',
  about: `For the permanent loss of officers. Requires the home and the root key, but no approval: it removes the recorded [roles]
and [approvals], releases a restored backup that waits for officers, and the next start uses kms.toml. That start
records the system user, the time and the removed values in the audit log (access.policy_reset).`,
  examples: ['warder officers reset-policy --home /var/lib/warder'],
  options: { yes: { type: 'flag', help: 'does not ask for confirmation' } },
  parse({ yes }, names) {
    requireNoNames(names)
    return (context) => reset(context, yes)
  },
})

async function reset({ home: given, terminal }: HomeContext, yes: boolean): Promise<number> {
  const home = resolve(given)
  if (!existsSync(home)) throw new StartupError(`the home folder ${home} does not exist: check --home`)
  const { launch } = configure('kms', home, [], terminal.env)
  await requireRootKeySource(launch)
  const { policyToReset, resetPolicy } = await import('@warder/keys')
  const { db, service, close } = await openSealedDatabase('kms', launch)
  try {
    if (await isUnsealed(db)) throw new StartupError('the service was never started: nothing to reset')
    const rootKeys = await openRootKeys(launch, { db, service })
    const seal = await openSeal({ db, service, rootKeys, clock: systemClock })
    const policy = await policyToReset({ db, seal })
    const { officers, operations, held } = policy
    terminal.out(`officers    ${formatList(officers)}`)
    terminal.out(`approvals   ${formatList(operations)}`)
    if (held !== null) terminal.out(`held        a restored backup, SHA-256 ${held}`)
    if (!yes)
      await confirm(
        'Remove all of it? If enough officers are left, they can do this with an approval.',
        openUserTerminal().prompter,
      )
    await resetPolicy({ db, seal }, { ...policy, at: systemClock.now(), by: userInfo().username })
    terminal.out('reset: the next start uses [roles] and [approvals] of kms.toml, and records the reset')
    return 0
  } finally {
    await close()
  }
}

function formatList(names: readonly string[]): string {
  return names.length === 0 ? 'none' : names.map(printable).join(', ')
}
