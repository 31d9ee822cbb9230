import { setTimeout as sleep } from 'node:timers/promises'
import { StartupError } from '@warder/base'
import {
  type AuthClient,
  authClient,
  ClientError,
  type ClientOptions,
  type Credentials,
  type KmsClient,
  kmsClient,
} from '@warder/client'
import { toExitCode } from '../commands/command.ts'
import { UsageError } from '../commands/options.ts'
import { readVerb, withVerb } from '../commands/verbs.ts'
import { findInitialPasswordFile } from '../endpoints.ts'
import { readPemFile } from '../files.ts'
import { openClient, type Server } from '../https-client.ts'
import { findLogin } from '../login/login-store.ts'
import { LoginEnded, requireLive, requireUnexpired } from '../login/session.ts'
import { toServiceId } from '../login/stored-login.ts'
import { progressBar } from '../terminal/progress.ts'
import { createShow } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { confirm, type Prompter, readAll, type UserTerminal } from '../terminal/user-terminal.ts'
import {
  type Account,
  accountOptions,
  logInOnce,
  readAccount,
  readToken,
  type SignIn,
  toCredentials,
  usesStoredLogin,
} from './account.ts'
import { toUserError } from './refusal.ts'
import {
  describeContext,
  endpointOptions,
  findServiceEndpoints,
  readEndpointOptions,
  type ServiceEndpoints,
} from './service-endpoints.ts'
import { type KmsVerb, parseKmsVerb } from './verb.ts'

export const outputOptions = {
  json: { type: 'flag', help: 'prints one JSON document instead of text' },
  yes: { type: 'flag', help: 'does not ask for confirmation' },
} as const

/** Options of every verb of `warder keys`, `crypto` and `access`. */
export const commonOptions = { ...accountOptions, ...endpointOptions, ...outputOptions } as const

/**
 * Runs one verb: reads the arguments, authenticates, executes the verb, logs out.
 * @returns the exit code
 * @throws UsageError, StartupError
 */
export async function runKms(
  verbs: readonly KmsVerb[],
  args: readonly string[],
  terminal: Terminal,
  user: UserTerminal,
): Promise<number> {
  const { verb, common, values, names } = readVerb(verbs, commonOptions, args)
  const { yes } = common
  const show = createShow(terminal, common.json)
  const account = readAccount(common)
  const endpoints = readEndpointOptions(common, terminal.env)
  requireOneReader(verb, names, account)
  const act = withVerb(verb, () => parseKmsVerb(verb, values, names))
  const progress = progressBar(user.screen)
  const interruption = new AbortController()
  let stoppedBy: NodeJS.Signals | undefined
  const unlisten = user.onInterrupt((signal) => {
    stoppedBy = signal
    interruption.abort()
  })
  const { signal } = interruption
  const prompter: Prompter = {
    interactive: user.prompter.interactive,
    ask: (question) => user.prompter.ask(question, signal),
    askSecret: (question) => user.prompter.askSecret(question, signal),
  }
  try {
    const found = findServiceEndpoints(endpoints)
    const context = describeContext(found)
    if (context !== undefined) terminal.err(context)
    return await withClient(found, account, { terminal, prompter, signal }, (kms, openAuth) =>
      act({
        kms,
        openAuth,
        endpoints: found,
        env: terminal.env,
        signal,
        show(document, lines) {
          progress.clear()
          show(document, lines)
        },
        note(line) {
          progress.clear()
          terminal.err(line)
        },
        confirm: (question) => (yes ? Promise.resolve() : confirm(question, prompter)),
        progress: progress.update,
        input: user.input,
        readInput: (maxBytes) => readAll(user.input, maxBytes, signal),
        writeOutput: (bytes) => user.writeOutput(bytes),
      }),
    )
  } catch (error) {
    if (stoppedBy === undefined) throw toUserError(error)
    progress.clear()
    const outcome = verb.interrupted === undefined ? '' : `: ${verb.interrupted}`
    terminal.err(`interrupted (${stoppedBy})${outcome}`)
    return toExitCode(stoppedBy)
  } finally {
    unlisten()
    progress.clear()
  }
}

function requireOneReader(verb: KmsVerb, names: readonly string[], account: Account): void {
  const readers = [account.passwordFile, account.tokenFile].filter((file) => file === '-').length
  if (readers + (verb.readsInput?.(names) === true ? 1 : 0) > 1) {
    throw new UsageError('standard input can be used only once: put the password or the token into a file')
  }
}

interface RunContext {
  readonly terminal: Terminal
  readonly prompter: Prompter
  readonly signal: AbortSignal
}

async function withClient(
  endpoints: ServiceEndpoints,
  account: Account,
  context: RunContext,
  act: (kms: KmsClient, openAuth: () => AuthClient) => Promise<number>,
): Promise<number> {
  const { signal } = context
  const { credentials, end, explain } = await signIn(endpoints, account, context)
  try {
    const kms = openKmsClient(endpoints, credentials, signal)
    const opened: { close(): void }[] = [kms]
    const openAuth = (): AuthClient => {
      const auth = openAuthClient(endpoints, credentials, signal)
      opened.push(auth)
      return auth
    }
    // Also aborts pending calls.
    const hangUp = (): void => {
      for (const client of opened) client.close()
    }
    signal.addEventListener('abort', hangUp)
    try {
      signal.throwIfAborted()
      return await act(kms, openAuth)
    } catch (error) {
      throw explain === undefined || signal.aborted ? error : await explain(error)
    } finally {
      signal.removeEventListener('abort', hangUp)
      hangUp()
    }
  } finally {
    await end()
  }
}

function openKmsClient({ kms }: ServiceEndpoints, credentials: Credentials, signal: AbortSignal): KmsClient {
  return connectTo(kms, signal, (options) => kmsClient({ ...options, credentials }))
}

/** @throws StartupError */
function openAuthClient(
  { auth }: ServiceEndpoints,
  { bearer: session }: Credentials,
  signal: AbortSignal,
): AuthClient {
  if (auth === undefined)
    throw new StartupError('the address of the authentication service is not known: give --auth-url')
  if (session === undefined)
    throw new StartupError('the authentication service requires a session of an administrator: warder login')
  return connectTo(auth, signal, (options) => authClient({ ...options, credentials: { session } }))
}

/** @throws StartupError for options that the client refuses */
function connectTo<Client>(
  { url, caFile, serverName }: Server,
  signal: AbortSignal,
  open: (options: ClientOptions) => Client,
): Client {
  const ca = caFile === undefined ? undefined : readPemFile(caFile, 'CERTIFICATE')
  const wait = (seconds: number): Promise<void> => sleep(seconds * 1000, undefined, { signal })
  try {
    return open({ url, ca, serverName, wait })
  } catch (error) {
    if (error instanceof TypeError) throw new StartupError(error.message, { cause: error })
    throw error
  }
}

async function signIn(
  endpoints: ServiceEndpoints,
  account: Account,
  { terminal: { env }, prompter, signal }: RunContext,
): Promise<SignIn> {
  const { home, auth: server } = endpoints
  const token = readToken(account, env)
  if (token !== undefined) return { credentials: token, end: async () => undefined }
  const stored = await useStoredLogin(endpoints, account, env)
  if (stored !== undefined) return stored
  if (server === undefined) {
    throw new StartupError(
      'not logged in: give a token (--token-file, WARDER_TOKEN), or the authentication service with --auth-url',
    )
  }
  const auth = openClient(server)
  const hangUp = (): void => auth.close()
  signal.addEventListener('abort', hangUp)
  try {
    const { credentials, end } = await logInOnce(auth, account, {
      ...{ env, prompter },
      initialPassword: findInitialPasswordFile(home, server.url),
    })
    return {
      credentials,
      async end() {
        await end()
        auth.close()
      },
    }
  } catch (error) {
    auth.close()
    throw error
  } finally {
    signal.removeEventListener('abort', hangUp)
  }
}

/** Uses the session of `warder login`. @throws StartupError when it has expired, or its file cannot be trusted */
async function useStoredLogin(
  { logins, auth: server, kms }: ServiceEndpoints,
  account: Account,
  env: Terminal['env'],
): Promise<SignIn | undefined> {
  const auth = server === undefined ? undefined : toServiceId(server)
  const found = findLogin(logins, { auth, kms: toServiceId(kms) }, env)
  if (found === undefined || !usesStoredLogin(account, env, found.facts)) return undefined
  const { facts } = found
  requireUnexpired(facts, Date.now() / 1000)
  const token = await found.token()
  return {
    credentials: toCredentials(token),
    end: async () => undefined,
    async explain(error) {
      if (!isUnauthorized(error) || server === undefined) return error
      const client = openClient(server)
      try {
        await requireLive(client, { facts, token })
        return error
      } catch (ended) {
        return ended instanceof LoginEnded ? ended : error
      } finally {
        client.close()
      }
    },
  }
}

/** Whether the service rejected the credentials (401), also in an error of `withKeyErrors`. */
function isUnauthorized(error: unknown): boolean {
  const said = error instanceof StartupError ? error.cause : error
  return said instanceof ClientError && said.status === 401
}
