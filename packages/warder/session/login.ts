import { StartupError } from '@warder/foundation/errors'
import type { Command } from '../cli/command.ts'
import { optionsHelp } from '../cli/help.ts'
import { readArguments, requireNoNames } from '../cli/options.ts'
import { NoAnswer, type Prompter, terminalPrompter } from '../cli/prompter.ts'
import { printable, timeOf } from '../cli/table.ts'
import { initialPasswordFile } from '../installation/endpoints.ts'
import { lineFor } from '../kms/refusal.ts'
import { endLogin } from '../login/ending.ts'
import { nameOf } from '../login/kept-login.ts'
import { systemKeyring } from '../login/keyring.ts'
import { type FoundLogin, keepLogin } from '../login/login-store.ts'
import { idsOf, type SessionContext, withServices } from './context.ts'
import { loginOptions, sessionOptions } from './options.ts'
import { type LoginWay, type NewLogin, readWay } from './ways.ts'

const options = { ...loginOptions, ...sessionOptions } as const

/** `warder login`, with the terminal that questions are asked on. */
export function loginCommand(
  prompter: () => Prompter,
  now = (): number => Date.now() / 1000,
  browserMs = 5 * 60_000,
): Command {
  return {
    name: 'login',
    summary: 'logs in once, for every command until the session ends',
    options,
    help: `warder login [--realm R --user U | --saml --realm R | --token-file F | --approle] [OPTIONS]

Logs in and keeps the session in HOME/logins, in a file that only you can read; the system's keyring seals it where there
is one (secret-tool on Linux, the keychain on macOS). Every command then asks as you, until the session ends: by its
time, by warder logout, or by an administrator. With a second factor, one code is enough for the session.

A session is bound to the services that it is for (their addresses and the authority of their certificates): others never
see it. A command that names somebody else (--user, --token-file, WARDER_TOKEN, WARDER_PASSWORD) asks as them instead.

With --saml a browser on this computer logs in at the identity provider of the realm, for which the realm has to allow
http://127.0.0.1 among its allowed_return_origins. The page asks before it goes on; nothing secret is in the address.

${optionsHelp(options)}

Example:
  warder login --realm shop --user ann
  warder login --saml --realm staff
  warder whoami
  warder logout
  WARDER_ROLE_ID=… warder login --approle --secret-id-file /run/secrets/secret-id`,
    async run(args, terminal) {
      const { values, names } = readArguments(args, options)
      requireNoNames(names)
      const way = readWay(values)
      try {
        return await withServices(values, terminal, (context) =>
          logInAndKeep(context, way, {
            ...{ prompter: prompter(), now: now(), browserMs },
            keyring: !values['no-keyring'],
          }),
        )
      } catch (error) {
        if (error instanceof NoAnswer) throw new StartupError('nobody was logged in: there was no answer')
        throw lineFor(error)
      }
    },
  }
}

export const login: Command = loginCommand(() => terminalPrompter(process.stdin, process.stderr))

async function logInAndKeep(
  context: SessionContext,
  way: LoginWay,
  {
    prompter,
    now,
    browserMs,
    keyring,
  }: {
    readonly prompter: Prompter
    readonly now: number
    readonly browserMs: number
    readonly keyring: boolean
  },
): Promise<number> {
  const { places, terminal, auth, show } = context
  const { home } = places
  // Before somebody is asked for a password: what is in the way of keeping a session shows now.
  const before = context.found()
  const login = await way({
    ...{ env: terminal.env, prompter, now, browserMs, auth },
    initialPassword: places.auth && initialPasswordFile(home, places.auth.url),
    say: (line) => terminal.err(printable(line)),
    async userAtKms(token) {
      const kms = context.kmsWith(token)
      try {
        return (await kms.call('server.me')).user
      } finally {
        kms.close()
      }
    },
  })
  const system = keyring ? systemKeyring(terminal.env) : undefined
  let kept: string
  try {
    kept = await keepLogin(home, { ...login, places: idsOf(places) }, system)
  } catch (error) {
    // Nobody could use it, and nobody could end it.
    if (auth !== undefined) await endLogin(auth, login).catch(() => undefined)
    throw error
  }
  await endBefore(context, before, login)
  const { username, realm, how, expiresAt } = login
  show(documentOf(login, kept), [
    printable(`logged in as ${nameOf({ username, realm })} (${how})${untilText(expiresAt)}`),
    printable(`kept in ${kept}`),
  ])
  return 0
}

/** The session that a new one takes the place of; one that cannot be ended ends by itself. */
async function endBefore(
  { auth }: SessionContext,
  before: FoundLogin | undefined,
  login: NewLogin,
): Promise<void> {
  if (before === undefined || auth === undefined) return
  const token = await before.token().catch(() => undefined)
  if (token === undefined || token === login.token) return
  await endLogin(auth, { ...before.facts, token }).catch(() => undefined)
}

/** Document for `--json`: never the token. */
export function documentOf(
  { kind, username, realm, how, expiresAt }: Omit<NewLogin, 'token'>,
  kept: string,
): unknown {
  const until = expiresAt === undefined ? undefined : timeOf(expiresAt)
  return { kind, username, realm, how, until, kept }
}

export function untilText(expiresAt: number | undefined): string {
  return expiresAt === undefined ? '' : `, until ${timeOf(expiresAt)}`
}
