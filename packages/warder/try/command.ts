import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { StartupError } from '@warder/foundation/errors'
import { type Command, expectNothing, homeOf, takeOption } from '../cli/command.ts'
import { tryServices } from './run.ts'
import { TryFailed } from './step.ts'

export const tryOut: Command = {
  name: 'try',
  summary: 'runs through login, keys, encryption and signatures against the started services',
  help: `warder try [--home DIR] [--file F] [--realm R] [--user U]

Does what a new user would do against the services that \`warder start\` runs, and shows each step with what came
back: log in, make keys, encrypt, decrypt, sign, verify, MAC, delete the keys, log out.

  --file F     also encrypts and decrypts this file and compares
  --realm R    realm to log in to (default _)
  --user U     user to log in as (default admin)

The password is WARDER_TRY_PASSWORD, else the first administrator's in HOME/initial-admin-password.

Example:
  npm start                  in one terminal
  npx warder try             in another`,
  async run(args, terminal) {
    const home = takeOption(args, 'home')
    const file = takeOption(home.rest, 'file')
    const realm = takeOption(file.rest, 'realm')
    const user = takeOption(realm.rest, 'user')
    expectNothing(user.rest)
    const folder = resolve(homeOf(home.value, terminal.env))
    const endpoints = readEndpoints(folder)
    const ca = join(folder, 'tls', 'ca.crt')
    try {
      const passed = await tryServices({
        ...endpoints,
        caFile: existsSync(ca) ? ca : undefined,
        realm: realm.value ?? '_',
        username: user.value ?? 'admin',
        password: passwordOf(folder, terminal.env),
        file: file.value,
        out: terminal.out,
      })
      terminal.out(`all ${passed} steps passed`)
      return 0
    } catch (error) {
      if (!(error instanceof TryFailed)) throw error
      terminal.err(`warder try: stopped at a step that did not pass: ${error.message}`)
      return 1
    }
  },
}

function readEndpoints(home: string): { authUrl: string; kmsUrl: string } {
  const path = join(home, 'endpoints.json')
  if (!existsSync(path)) {
    throw new StartupError(`${path} is not there: are the services started? (npm start, with the same home)`)
  }
  const endpoints = JSON.parse(readFileSync(path, 'utf8')) as { auth: { url: string }; kms: { url: string } }
  return { authUrl: endpoints.auth.url, kmsUrl: endpoints.kms.url }
}

function passwordOf(home: string, env: Readonly<Record<string, string | undefined>>): string {
  const given = env.WARDER_TRY_PASSWORD ?? env.WARDER_ADMIN_PASSWORD
  if (given !== undefined && given !== '') return given
  const path = join(home, 'initial-admin-password')
  if (!existsSync(path)) {
    throw new StartupError(
      `${path} is not there any more: set WARDER_TRY_PASSWORD to the password of the user`,
    )
  }
  return readFileSync(path, 'utf8').trim()
}
