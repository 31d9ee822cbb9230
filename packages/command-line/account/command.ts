import { StartupError } from '@warder/base'
import type { AuthReply } from '@warder/client'
import type { Command } from '../commands/command.ts'
import { optionsHelp, requireNoNames, UsageError, type Values, type ValuesOf } from '../commands/options.ts'
import { createVerbHelp, defineVerb, formatVerbs, readVerb, type Verb, withVerb } from '../commands/verbs.ts'
import { findInitialPasswordFile } from '../endpoints.ts'
import { readTokenFile } from '../files.ts'
import { type HttpsClient, openClient } from '../https-client.ts'
import { endpointOptions, findServiceEndpoints, readEndpointOptions } from '../kms/service-endpoints.ts'
import { requireAuthService, requireSuccess, send } from '../login/exchange.ts'
import { logIn } from '../login/login.ts'
import { type FoundLogin, findLogin } from '../login/login-store.ts'
import { requireUnexpired } from '../login/session.ts'
import { formatUserName, toServiceId } from '../login/stored-login.ts'
import { createShow, formatFacts, formatTime, printable } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { confirm, type Prompter, terminalPrompter } from '../terminal/user-terminal.ts'
import { confirmApp } from './authenticator-app.ts'

interface AccountRun {
  readonly client: HttpsClient
  readonly prompter: Prompter
  /** Whether there is a session of `warder login`, which other calls share. @throws StartupError */
  isLoggedIn(): boolean
  /** Sends a request with the session of the user, or a login for this command. @throws StartupError */
  ask(method: string, path: string, json?: unknown): Promise<unknown>
  /** Prints lines to standard error. */
  note(lines: readonly string[]): void
  /** Prints lines of text, or with `--json` one document. */
  show(document: unknown, lines: readonly string[]): void
  /** Asks for confirmation, unless `--yes` is given. @throws StartupError when it is not confirmed */
  confirm(question: string): Promise<void>
}

interface AccountVerb extends Verb {
  /** Checks the arguments. @throws UsageError */
  parse(values: Values, names: readonly string[]): (run: AccountRun) => Promise<void>
}

const accountVerb = defineVerb<AccountVerb>()

const account = {
  user: { type: 'text', value: 'U', help: 'the user (default: the one of warder login, else admin)' },
  realm: { type: 'text', value: 'R', help: 'the realm of the user (default _)' },
  'password-file': {
    type: 'text',
    value: 'F',
    help: 'file with the password, for a login for this command; - is standard input',
  },
  'totp-code': { type: 'text', value: 'CODE', help: 'code of the second factor (default: a prompt)' },
  ...endpointOptions,
  json: { type: 'flag', help: 'prints one JSON document instead of text' },
  yes: { type: 'flag', help: 'does not ask for confirmation' },
} as const

const showVerb = accountVerb({
  name: 'show',
  words: '',
  summary: 'Show your user, your session and your second factors',
  examples: ['warder account show'],
  options: {},
  parse(_, names) {
    requireNoNames(names)
    return async ({ ask, show }) => {
      const facts = (await ask('GET', '/account')) as AuthReply<'account.get'>
      const factors = [
        ...(facts.password ? ['password'] : []),
        ...(facts.totp ? ['TOTP'] : []),
        ...(facts.passkeys > 0 ? [`${facts.passkeys} passkeys`] : []),
      ]
      show(
        facts,
        formatFacts([
          ['user', formatUserName({ username: facts.username, realm: facts.realm_id })],
          ['administers', facts.administers.includes('_') ? 'all realms' : facts.administers.join(', ')],
          ['factors', factors.join(', ') || 'those of an identity provider'],
          ['unused recovery codes', String(facts.recovery_codes)],
          ['session', `until ${formatTime(facts.ends_at)}, if it is not used`],
        ]),
      )
    }
  },
})

/** A new secret, with the user if a one-time token names one. */
type NewSecret = AuthReply<'totp.enroll_options'> & Partial<AuthReply<'totp.link_options'>>
type RecoveryCodes = AuthReply<'account.renew_codes'>

function formatCodes({ recovery_codes: codes }: RecoveryCodes): readonly string[] {
  return [
    'Recovery codes, each of which replaces a lost second factor once (shown once: keep them elsewhere):',
    ...codes.map((code) => `  ${printable(code)}`),
  ]
}

const enrollVerb = accountVerb({
  name: 'enroll-totp',
  words: '',
  summary: 'Enroll an authenticator app as your second factor, with a QR code in the terminal',
  about: `Shows a secret, asks for a code of the app, and prints ten recovery codes. It replaces an app that is enrolled. It needs
a login of the last 15 minutes, or a one-time token of an administrator (warder admin totp-token), for users who have
lost their second factor. Programs call it twice in a session of warder login: with --begin, and within ten minutes with
--enrollment and --code.`,
  examples: ['warder account enroll-totp', 'warder account enroll-totp --token-file token'],
  options: {
    'token-file': {
      type: 'text',
      value: 'F',
      help: 'file with a one-time token of an administrator, in place of a login; - is standard input',
    },
    begin: { type: 'flag', help: 'prints the secret and the enrollment, and stops' },
    enrollment: { type: 'text', value: 'TEXT', help: 'confirms what --begin printed' },
    code: { type: 'text', value: 'CODE', help: 'a code of the app, for --enrollment' },
  },
  parse({ 'token-file': file, begin, enrollment, code }, names) {
    requireNoNames(names)
    if ((enrollment === undefined) !== (code === undefined))
      throw new UsageError('--enrollment and --code must be given together')
    if (begin && enrollment !== undefined) throw new UsageError('--begin and --enrollment exclude each other')
    return async (run) => {
      const token = file === undefined ? undefined : readTokenFile(file)
      const { ask, client, prompter, note, show } = run
      const request = async (path: string, body: object): Promise<unknown> =>
        token === undefined
          ? ask('POST', `/account/totp${path}`, body)
          : requireSuccess(
              await send(client, `/totp/enroll${path}`, { method: 'POST', json: { token, ...body } }),
            ).json
      const finish = (codes: RecoveryCodes): void =>
        show(codes, [
          'the app is enrolled: logins ask for a code of it from now on',
          '',
          ...formatCodes(codes),
        ])
      if (token === undefined && (begin || enrollment !== undefined) && !run.isLoggedIn())
        throw new StartupError('both calls must be in one session: run warder login first')
      if (enrollment !== undefined) {
        finish((await request('', { enrollment, code })) as RecoveryCodes)
        return
      }
      if (!begin && !prompter.interactive)
        throw new StartupError(
          'a secret is shown at a terminal only; programs use --begin, then --enrollment',
        )
      const options = (await request('/options', {})) as NewSecret
      if (begin) {
        const { secret_base32: secret, otpauth_url: url } = options
        show(options, [secret, url, options.enrollment].map(printable))
        return
      }
      const owner =
        options.username === undefined
          ? 'your account'
          : printable(formatUserName({ username: options.username, realm: options.realm_id }))
      const secret = { url: options.otpauth_url, secret: options.secret_base32, owner }
      finish(
        await confirmApp(secret, { prompter, note }, async (text) => {
          const body = { enrollment: options.enrollment, code: text }
          return (await request('', body)) as RecoveryCodes
        }),
      )
    }
  },
})

const disableVerb = accountVerb({
  name: 'disable-totp',
  words: '',
  summary: 'Remove your authenticator app; also your recovery codes, if it is your last second factor',
  examples: ['warder account disable-totp'],
  options: {},
  parse(_, names) {
    requireNoNames(names)
    return async ({ ask, confirm: confirmed, show }) => {
      await confirmed('Remove your authenticator app? Logins then no longer accept its codes.')
      await ask('DELETE', '/account/totp')
      show({ totp: false }, ['the authenticator app is removed'])
    }
  },
})

const codesVerb = accountVerb({
  name: 'recovery-codes',
  words: '',
  summary: 'Print ten new recovery codes; the earlier ones become invalid',
  about: 'A recovery code replaces a lost second factor once: enter it where a TOTP code is asked for.',
  examples: ['warder account recovery-codes'],
  options: {},
  parse(_, names) {
    requireNoNames(names)
    return async ({ ask, confirm: confirmed, show }) => {
      await confirmed('Create ten new recovery codes? The earlier ones become invalid.')
      const codes = (await ask('POST', '/account/recovery-codes', {})) as RecoveryCodes
      show(codes, formatCodes(codes))
    }
  },
})

const verbs = [showVerb, enrollVerb, disableVerb, codesVerb]

/** Creates `warder account`. */
export function createAccountCommand(openPrompter: () => Prompter): Command {
  return {
    name: 'account',
    summary: 'Show your account, enroll a second factor, get recovery codes',
    about:
      'The commands use the session of warder login, or log in for this command. The password: warder password.',
    verbs,
    options: account,
    help: `warder account VERB [OPTIONS]

The commands use the session of warder login, or log in for this command. The password: warder password.

${formatVerbs(verbs)}

  warder account VERB --help    show the help of one verb

${optionsHelp(account)}

Example:
  warder login --realm shop --user ann
  warder account show
  warder account enroll-totp`,
    helpFor: createVerbHelp('account', verbs, optionsHelp(account)),
    async run(args, terminal) {
      const call = readVerb(verbs, account, args)
      const act = withVerb(call.verb, () => call.verb.parse(call.values, call.names))
      await runWithSession(call.common, terminal, openPrompter(), act)
      return 0
    },
  }
}

export const accountCommand: Command = createAccountCommand(() =>
  terminalPrompter(process.stdin, process.stderr),
)

/** Runs a verb; logs in when it first needs a session, and ends a session that it began. */
async function runWithSession(
  common: ValuesOf<typeof account>,
  terminal: Terminal,
  prompter: Prompter,
  act: (run: AccountRun) => Promise<void>,
): Promise<void> {
  const { env } = terminal
  const { home, logins, kms, auth: known } = findServiceEndpoints(readEndpointOptions(common, env))
  const auth = requireAuthService(known)
  const client = openClient(auth)
  let own: { readonly id: string; readonly token: string } | undefined
  const findStored = (): FoundLogin | undefined => {
    const isNamed = [common.user, common.realm, common['password-file'], common['totp-code']].some(
      (value) => value !== undefined,
    )
    return isNamed ? undefined : findLogin(logins, { auth: toServiceId(auth), kms: toServiceId(kms) }, env)
  }
  const findToken = async (): Promise<string> => {
    const stored = findStored()
    if (stored !== undefined) {
      requireUnexpired(stored.facts, Date.now() / 1000)
      return stored.token()
    }
    const login = {
      ...{ username: common.user ?? 'admin', realm: common.realm ?? '_' },
      ...{ passwordFile: common['password-file'], code: common['totp-code'] },
      passwordVariable: 'WARDER_PASSWORD',
      withoutPassword:
        'not logged in: run warder login, or give --password-file FILE (- is standard input) or WARDER_PASSWORD',
    }
    const initialPassword = findInitialPasswordFile(home, auth.url)
    own ??= await logIn(client, login, { initialPassword, env, prompter })
    return own.token
  }
  const ask = async (method: string, path: string, json?: unknown, token?: string): Promise<unknown> => {
    const headers = { cookie: `_ea_=${token ?? (await findToken())}` }
    const answer = await send(client, path, { method, headers, ...(json !== undefined && { json }) })
    return requireSuccess(answer).json
  }
  try {
    await act({
      ...{ client, prompter, ask },
      isLoggedIn: () => findStored() !== undefined,
      note(lines) {
        for (const line of lines) terminal.err(line)
      },
      show: createShow(terminal, common.json),
      confirm: (question) => (common.yes ? Promise.resolve() : confirm(question, prompter)),
    })
  } finally {
    // The verb has finished; a session that cannot be ended expires.
    if (own !== undefined)
      await ask('DELETE', '/sessions', { session_ids: [own.id] }, own.token).catch(() => undefined)
    client.close()
  }
}
