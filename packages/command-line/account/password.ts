import { existsSync } from 'node:fs'
import { StartupError } from '@warder/base'
import type { Command } from '../commands/command.ts'
import { optionsHelp, readArguments, requireNoNames, UsageError, type ValuesOf } from '../commands/options.ts'
import { findInitialPasswordFile } from '../endpoints.ts'
import { readSecretFile } from '../files.ts'
import { type HttpsClient, openClient } from '../https-client.ts'
import {
  endpointOptions,
  findServiceEndpoints,
  readEndpointOptions,
  type ServiceEndpoints,
} from '../kms/service-endpoints.ts'
import { createRefused, requireAuthService } from '../login/exchange.ts'
import { findPassword, type Login, promptNewPassword, requestPasswordChange } from '../login/login.ts'
import { type FoundLogin, findLogin, forgetLogin } from '../login/login-store.ts'
import { formatUserName, toServiceId } from '../login/stored-login.ts'
import { createShow, printable } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { type Prompter, terminalPrompter } from '../terminal/user-terminal.ts'

const options = {
  user: { type: 'text', value: 'U', help: 'the user (default: the one of warder login, else admin)' },
  realm: { type: 'text', value: 'R', help: 'the realm of the user (default: that of warder login, else _)' },
  'password-file': {
    type: 'text',
    value: 'F',
    help: `file with the present password; - is standard input
(default: WARDER_PASSWORD, else for admin of _ HOME/initial-admin-password, else a prompt)`,
  },
  'new-password-file': { type: 'text', value: 'F', help: 'file with the new password (default: a prompt)' },
  'totp-code': { type: 'text', value: 'CODE', help: 'code of the second factor (default: a prompt)' },
  ...endpointOptions,
  json: { type: 'flag', help: 'prints one JSON document instead of text' },
} as const

/** Creates `warder password`. */
export function createPasswordCommand(openPrompter: () => Prompter): Command {
  return {
    name: 'password',
    summary: 'Change your own password',
    options,
    help: `warder password [--user U --realm R] [OPTIONS]

Changes the password of a user, with the present password. All sessions that began with it end, also on other machines.
If the new password is refused, the error contains advice. To reset the password of another user: warder admin reset-password.

${optionsHelp(options)}

Example:
  warder password
  warder password --realm shop --user ann --password-file old --new-password-file new`,
    async run(args, terminal) {
      const { values, names } = readArguments(args, options)
      requireNoNames(names)
      if (values['password-file'] === '-' && values['new-password-file'] === '-')
        throw new UsageError('standard input can be used only once: put one password into a file')
      const endpoints = findServiceEndpoints(readEndpointOptions(values, terminal.env))
      const client = openClient(requireAuthService(endpoints.auth))
      try {
        return await changeOwnPassword({ endpoints, terminal, client, prompter: openPrompter() }, values)
      } finally {
        client.close()
      }
    },
  }
}

export const password: Command = createPasswordCommand(() => terminalPrompter(process.stdin, process.stderr))

interface PasswordRun {
  readonly endpoints: ServiceEndpoints
  readonly terminal: Terminal
  readonly client: HttpsClient
  readonly prompter: Prompter
}

async function changeOwnPassword(
  { endpoints, terminal, client, prompter }: PasswordRun,
  values: ValuesOf<typeof options>,
): Promise<number> {
  const { home, logins, kms, auth } = endpoints
  const ids = { auth: auth === undefined ? undefined : toServiceId(auth), kms: toServiceId(kms) }
  const stored = findLogin(logins, ids, terminal.env)
  const login: Login = {
    ...selectUser(values, stored),
    passwordFile: values['password-file'],
    code: values['totp-code'],
    passwordVariable: 'WARDER_PASSWORD',
    withoutPassword: 'no password: give --password-file FILE (- is standard input) or WARDER_PASSWORD',
  }
  const newFile = values['new-password-file']
  if (newFile === undefined && !prompter.interactive)
    throw new StartupError('a new password needs a terminal, or --new-password-file FILE')
  const initialPassword = auth && findInitialPasswordFile(home, auth.url)
  const old = await findPassword(login, { initialPassword, env: terminal.env, prompter })
  const who = formatUserName(login)
  const text =
    newFile === undefined
      ? await promptNewPassword(`New password of ${who}: `, prompter)
      : readSecretFile(newFile, 'the new password')
  let answer = await requestPasswordChange(client, login, { old: old.text, text, code: login.code })
  if (answer.status === 401 && login.code === undefined && prompter.interactive) {
    // The service does not disclose whether the password was wrong or a code is missing.
    const code = (await prompter.ask(`TOTP code of ${who} (empty: no second factor): `)).trim()
    if (code !== '') answer = await requestPasswordChange(client, login, { old: old.text, text, code })
  }
  if (answer.status === 401)
    throw new StartupError(
      printable(
        `the change was refused: check the present password (from ${old.from}), and give the code of a second factor with --totp-code`,
      ),
    )
  if (answer.status !== 204) throw createRefused(answer)
  const isOwn = stored?.facts.username === login.username && stored.facts.realm === login.realm
  if (stored !== undefined && isOwn) await forgetLogin(stored, terminal.env)
  const isInitial =
    old.from === initialPassword && initialPassword !== undefined && existsSync(initialPassword)
  const lines = [
    `${who} has a new password; sessions that began with the old one have ended`,
    `log in again: warder login --realm ${login.realm} --user ${login.username}`,
    ...(isInitial ? [`${initialPassword} contains the old password: remove it`] : []),
  ]
  const changed = { realm: login.realm, username: login.username }
  createShow(terminal, values.json)({ changed }, lines.map(printable))
  return 0
}

/** The user of the options, else of the stored login. @throws StartupError for a user without a password here */
function selectUser(
  { user, realm }: ValuesOf<typeof options>,
  stored: FoundLogin | undefined,
): Pick<Login, 'username' | 'realm'> {
  if (user !== undefined || realm !== undefined || stored === undefined)
    return { username: user ?? 'admin', realm: realm ?? '_' }
  const { facts } = stored
  if (facts.kind !== 'session' || facts.realm === undefined || facts.how !== 'password')
    throw new StartupError(
      printable(
        `${formatUserName(facts)} logged in with ${facts.how}, which has no password here: for another user give --user`,
      ),
    )
  return { username: facts.username, realm: facts.realm }
}
