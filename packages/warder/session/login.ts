import { StartupError } from '@warder/base'
import {
  type Command,
  formatTime,
  NoAnswer,
  optionsHelp,
  type Prompter,
  printable,
  readArguments,
  requireNoNames,
  terminalPrompter,
  UsageError,
} from '@warder/command-line'
import { isContextName, prepareContext } from '@warder/command-line/contexts'
import { findInitialPasswordFile } from '@warder/command-line/endpoints'
import { toUserError } from '@warder/command-line/kms'
import {
  endLogin,
  type FoundLogin,
  findKeyring,
  formatUserName,
  type LoginMethod,
  loginOptions,
  type NewLogin,
  readMethod,
  storeLogin,
} from '@warder/command-line/login'
import { type SessionContext, sessionOptions, toServiceIds, withServices } from './context.ts'

const options = { ...loginOptions, ...sessionOptions } as const

/** Creates `warder login`. */
export function createLoginCommand(
  prompter: () => Prompter,
  now = (): number => Date.now() / 1000,
  browserMs = 5 * 60_000,
): Command {
  return {
    name: 'login',
    summary: 'Log in once, for every command until the session ends',
    options,
    help: `warder login [--realm R --user U | --browser [--realm R] | --saml --realm R | --token-file F | --approle] [OPTIONS]

Logs in and stores the session in HOME/logins, in a file with mode 0600 (with --url in ~/.config/warder/logins); if the
system has a keyring (secret-tool on Linux, the keychain on macOS), the file is encrypted with a key in it. Every
command then uses the session until it expires, or is ended by warder logout or an administrator. With a second factor,
one code is enough for the session.

A session is bound to its services (their addresses and certificate authority) and never sent to others. A command with
other credentials (--user, --token-file, WARDER_TOKEN, WARDER_PASSWORD) uses those instead.

With --url, the addresses and the certificate authority are remembered as a context, which commands then use in every
folder, unless --home or WARDER_HOME is given: see warder context --help.

With --browser, a browser on this computer logs in at the page of the authentication service, also with a passkey, and
asks for confirmation. It shares the session: a logout of either ends it for both. The same happens at a terminal if the
second factor of the user is a passkey, if the realm has no passwords, or if no password is entered.

With --saml, a browser on this computer logs in at the identity provider of the realm; allowed_return_origins of the
realm must contain http://127.0.0.1. The page asks for confirmation, and the address contains no secret.

${optionsHelp(options)}

Example:
  warder login --realm shop --user ann
  warder login --browser --realm shop
  warder login --saml --realm staff
  warder login --url https://kms.example.com:9998 --auth-url https://auth.example.com:8443 --ca-file ca.crt --user ann
  warder whoami
  warder logout
  WARDER_ROLE_ID=… warder login --approle --secret-id-file /run/secrets/secret-id`,
    async run(args, terminal) {
      const { values, names } = readArguments(args, options)
      requireNoNames(names)
      const logInUser = readMethod(values)
      const { context: name, ...places } = values
      if (values.url !== undefined && name !== undefined && !isContextName(name))
        throw new UsageError('--context must have 1 to 64 letters, digits, ., _ and -, and must not be local')
      // With --url the option is the name of the new context.
      const requested = values.url === undefined ? values : { ...places, context: undefined }
      const isHomeGiven = values.home !== undefined || (terminal.env.WARDER_HOME ?? '') !== ''
      if (values.url !== undefined && name !== undefined && isHomeGiven)
        throw new UsageError(
          '--context remembers services for every folder, which --home and WARDER_HOME exclude',
        )
      try {
        return await withServices(requested, terminal, (context) =>
          logInAndStore(context, logInUser, {
            remember: values.url !== undefined && !isHomeGiven,
            contextName: name,
            ...{ prompter: prompter(), now: now(), browserMs },
            keyring: !values['no-keyring'],
          }),
        )
      } catch (error) {
        if (error instanceof NoAnswer)
          throw new StartupError('the login was cancelled: the question was not answered')
        throw toUserError(error)
      }
    },
  }
}

export const login: Command = createLoginCommand(() => terminalPrompter(process.stdin, process.stderr))

async function logInAndStore(
  context: SessionContext,
  logInUser: LoginMethod,
  {
    prompter,
    now,
    browserMs,
    keyring,
    remember,
    contextName,
  }: {
    /** Stores the services as a context. */
    readonly remember: boolean
    readonly contextName: string | undefined
    readonly prompter: Prompter
    readonly now: number
    readonly browserMs: number
    readonly keyring: boolean
  },
): Promise<number> {
  const { endpoints: places, terminal, auth, show } = context
  const { home, logins, kms } = places
  // Checked before the prompt for a password, so that an unusable folder is reported early.
  const before = context.found()
  const newContext = remember
    ? prepareContext(terminal.env, {
        ...{ name: contextName, url: kms.url, authUrl: places.auth?.url, caFile: kms.caFile },
      })
    : undefined
  const login = await logInUser({
    ...{ env: terminal.env, prompter, now, browserMs, auth, authUrl: places.auth?.url },
    initialPassword: places.auth && findInitialPasswordFile(home, places.auth.url),
    say: (line) => terminal.err(printable(line)),
    async userAtKms(token) {
      const kms = context.openKms(token)
      try {
        return (await kms.call('server.me')).user
      } finally {
        kms.close()
      }
    },
  })
  const system = keyring ? findKeyring(terminal.env) : undefined
  let kept: string
  try {
    kept = await storeLogin(logins, { ...login, places: toServiceIds(places) }, system)
  } catch (error) {
    // A session that is not stored could neither be used nor ended.
    if (auth !== undefined) await endLogin(auth, login).catch(() => undefined)
    throw error
  }
  await endPreviousLogin(context, before, login)
  newContext?.store()
  const { username, realm, how, expiresAt } = login
  const remembered = newContext?.name ?? places.context
  show({ ...toDocument(login, kept), ...(remembered !== undefined && { context: remembered }) }, [
    printable(`logged in as ${formatUserName({ username, realm })} (${how})${formatUntil(expiresAt)}`),
    printable(`kept in ${kept}`),
    ...(newContext === undefined
      ? []
      : [`commands use the context ${newContext.name} in every folder now: see warder context --help`]),
  ])
  return 0
}

/** Ends the previous session; if that fails, it expires. */
async function endPreviousLogin(
  { auth }: SessionContext,
  before: FoundLogin | undefined,
  login: NewLogin,
): Promise<void> {
  if (before === undefined || auth === undefined) return
  const token = await before.token().catch(() => undefined)
  if (token === undefined || token === login.token) return
  await endLogin(auth, { ...before.facts, token }).catch(() => undefined)
}

/** Builds the document for `--json`, without the token. */
export function toDocument(
  { kind, username, realm, how, expiresAt }: Omit<NewLogin, 'token'>,
  kept: string,
): Readonly<Record<string, unknown>> {
  const until = expiresAt === undefined ? undefined : formatTime(expiresAt)
  return { kind, username, realm, how, until, kept }
}

export function formatUntil(expiresAt: number | undefined): string {
  return expiresAt === undefined ? '' : `, until ${formatTime(expiresAt)}`
}
