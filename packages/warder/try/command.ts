import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { StartupError } from '@warder/base'
import {
  type Command,
  homeOption,
  optionsHelp,
  optionsUsage,
  readArguments,
  requireNoNames,
  selectHome,
} from '@warder/command-line'
import { readEndpoints, toServer } from '@warder/command-line/endpoints'
import { tryServices } from './run.ts'
import { TryFailed } from './step.ts'

const options = {
  home: homeOption,
  file: { type: 'text', value: 'F', help: 'also encrypts and decrypts this file and compares the result' },
  realm: { type: 'text', value: 'R', help: 'realm to log in to (default _)' },
  user: { type: 'text', value: 'U', help: 'user to log in as (default admin)' },
} as const

export const tryOut: Command = {
  name: 'try',
  summary: 'Try login, keys, encryption and signatures on the started services',
  options,
  help: `warder try ${optionsUsage(options)}

Runs the steps of a new user on the running services and shows each result: log in, change the password of a temporary
user, create keys, encrypt, decrypt, sign, verify, MAC, delete the keys, log out.

${optionsHelp(options)}

The password is WARDER_TRY_PASSWORD, or else that of the first administrator in HOME/initial-admin-password.

Example:
  warder start               in one terminal
  warder try                 in another`,
  async run(args, terminal) {
    const { values, names } = readArguments(args, options)
    requireNoNames(names)
    const folder = resolve(selectHome(values.home, terminal.env))
    const { auth, kms } = readEndpoints(folder)
    try {
      const passed = await tryServices({
        auth: toServer(folder, auth),
        kms: toServer(folder, kms),
        realm: values.realm ?? '_',
        username: values.user ?? 'admin',
        password: readPassword(folder, terminal.env),
        file: values.file,
        out: terminal.out,
      })
      terminal.out(`all ${passed} steps passed`)
      return 0
    } catch (error) {
      if (!(error instanceof TryFailed)) throw error
      terminal.err(`warder try: stopped at a failed step: ${error.message}`)
      return 1
    }
  },
}

function readPassword(home: string, env: Readonly<Record<string, string | undefined>>): string {
  const given = env.WARDER_TRY_PASSWORD ?? env.WARDER_ADMIN_PASSWORD
  if (given !== undefined && given !== '') return given
  const path = join(home, 'initial-admin-password')
  if (!existsSync(path)) {
    throw new StartupError(
      `${path} does not exist any more: set WARDER_TRY_PASSWORD to the password of the user`,
    )
  }
  return readFileSync(path, 'utf8').trim()
}
