import { existsSync, statSync } from 'node:fs'
import { userInfo } from 'node:os'
import { resolve } from 'node:path'
import { StartupError, systemClock } from '@warder/base'
import {
  confirm,
  type HomeContext,
  homeVerb,
  openUserTerminal,
  printable,
  UsageError,
} from '@warder/command-line'
import { createPasswordSource, passwordOptions } from '@warder/command-line/admin'
import {
  openRootKeys,
  openSealedDatabase,
  requireRootKeySource,
  toDatabaseLocation,
} from '@warder/runtime/launch'
import { isUnsealed, openSeal } from '@warder/storage'
import { configure } from '../installation/configuration.ts'

interface RecoveryRequest {
  readonly id: string
  readonly password: ReturnType<typeof createPasswordSource>
  readonly changePassword: boolean
  readonly removeTotp: boolean
  readonly yes: boolean
}

export const recoverVerb = homeVerb({
  name: 'recover',
  words: '[ADMIN]',
  summary:
    'Set a new password for a locked-out administrator without a login; runs on the machine of the service',
  about: `Recovers an administrator (default: admin) whose password or second factor is lost. Run it as the owner of the home,
with the root key; the services may run or not. It ends the sessions of the administrator. The service records in the
audit log (admin.recovered) the system user, the time and the changes. A user who can run it has the rights of that
administrator: protect the home and the root key accordingly.`,
  examples: ['sudo -u warder warder admin recover --home /var/lib/warder'],
  options: {
    ...passwordOptions,
    'remove-totp': { type: 'flag', help: 'also removes the second factor, for a lost TOTP device' },
    yes: { type: 'flag', help: 'does not ask for confirmation' },
  },
  parse(values, [id = 'admin', ...rest]) {
    if (rest.length > 0) throw new UsageError('name one administrator: warder admin recover NAME')
    const request = {
      ...{ id, password: createPasswordSource(values), yes: values.yes },
      ...{ changePassword: !values['keep-password'], removeTotp: values['remove-totp'] },
    }
    return (context) => recover(context, request)
  },
})

async function recover({ home: given, terminal }: HomeContext, request: RecoveryRequest): Promise<number> {
  const home = resolve(given)
  const { launch } = configure('auth', home, [], terminal.env)
  requireOwner(home)
  const place = toDatabaseLocation(launch.config, home, 'auth')
  // Opening a missing database would create it.
  if (place.kind === 'sqlite' && !existsSync(place.path))
    throw new StartupError(`the database ${place.path} does not exist: check --home`)
  await requireRootKeySource(launch)
  const { id, changePassword, removeTotp } = request
  const name = printable(id)
  if (!request.yes)
    await confirm(
      `Set a new password for the administrator ${name} and end their sessions?`,
      openUserTerminal().prompter,
    )
  const { text: password, generated } = request.password()
  const { recoverAdmin } = await import('@warder/auth')
  const { db, service, close } = await openSealedDatabase('auth', launch)
  try {
    if (await isUnsealed(db))
      throw new StartupError(
        'the service was never started, so there is no administrator yet: run warder start',
      )
    const rootKeys = await openRootKeys(launch, { db, service })
    const seal = await openSeal({ db, service, rootKeys, clock: systemClock })
    const { keepsTotp } = await recoverAdmin({
      ...{ db, seal, config: launch.config as never, now: systemClock.now() },
      ...{ id, password, changePassword, removeTotp, by: userInfo().username },
    })
    terminal.out(`the administrator ${name} has a new password; their sessions have ended`)
    if (generated) terminal.out(`password: ${password}    (shown once)`)
    if (keepsTotp) terminal.out('the second factor stays; --remove-totp removes it if the device is lost')
    return 0
  } finally {
    await close()
  }
}

/** The services could not read files of another user. @throws StartupError unless the owner of the home runs it */
function requireOwner(home: string): void {
  if (!existsSync(home)) throw new StartupError(`the home folder ${home} does not exist: check --home`)
  const [user, owner] = [process.getuid?.(), statSync(home).uid]
  if (user !== undefined && user !== owner)
    throw new StartupError(
      `${home} belongs to user ${owner}: run this as that user, with sudo -u '#${owner}'`,
    )
}
