import { setTimeout as sleep } from 'node:timers/promises'
import { ClientError, type Credentials, type KmsClient, kmsClient } from '@warder/client'
import { StartupError } from '@warder/foundation/errors'
import type { Terminal } from '../cli/command.ts'
import { UsageError } from '../cli/command.ts'
import { exitCodeOf } from '../cli/exit-codes.ts'
import { readPemFile } from '../cli/pem-file.ts'
import { type Person, readAll } from '../cli/person.ts'
import { progressBar } from '../cli/progress.ts'
import { confirm, type Prompter } from '../cli/prompter.ts'
import { inVerb, readVerb } from '../cli/verbs.ts'
import { clientOf } from '../client/index.ts'
import { initialPasswordFile } from '../installation/endpoints.ts'
import { LoginEnded, requireLive, requireTime } from '../login/ended.ts'
import { serviceId } from '../login/kept-login.ts'
import { findLogin } from '../login/login-store.ts'
import {
  type Account,
  credentialsOf,
  givenToken,
  logIn,
  meansKept,
  readAccount,
  type SignedIn,
} from './account.ts'
import { commonOptions } from './options.ts'
import { findPlaces, type Places, readPlaceOptions } from './places.ts'
import { lineFor } from './refusal.ts'
import type { KmsVerb } from './verb.ts'

/**
 * Runs one verb: reads its words, finds out who asks, does it, logs out.
 * @returns the exit code
 * @throws UsageError, StartupError
 */
export async function runKms(
  verbs: readonly KmsVerb[],
  args: readonly string[],
  terminal: Terminal,
  person: Person,
): Promise<number> {
  const { verb, common, values, names } = readVerb(verbs, commonOptions, args)
  const { json, yes } = common
  const account = readAccount(common)
  const places = readPlaceOptions(common, terminal.env)
  requireOneReader(verb, names, account)
  const act = inVerb(verb, () => verb.parse(values, names))
  const progress = progressBar(person.screen)
  const interruption = new AbortController()
  let stoppedBy: NodeJS.Signals | undefined
  const unlisten = person.onInterrupt((signal) => {
    stoppedBy = signal
    interruption.abort()
  })
  const { signal } = interruption
  const prompter: Prompter = {
    interactive: person.prompter.interactive,
    ask: (question) => person.prompter.ask(question, signal),
    askSecret: (question) => person.prompter.askSecret(question, signal),
  }
  try {
    const found = findPlaces(places)
    return await withClient(found, account, { terminal, prompter, signal }, (kms) =>
      act({
        kms,
        places: found,
        env: terminal.env,
        signal,
        show(document, lines) {
          progress.clear()
          if (json) terminal.out(JSON.stringify(document, undefined, 2))
          else for (const line of lines) terminal.out(line)
        },
        note(line) {
          progress.clear()
          terminal.err(line)
        },
        confirm: (question) => (yes ? Promise.resolve() : confirm(question, prompter)),
        progress: progress.update,
        input: person.input,
        readInput: (most) => readAll(person.input, most, signal),
        writeOutput: (bytes) => person.writeOutput(bytes),
      }),
    )
  } catch (error) {
    if (stoppedBy === undefined) throw lineFor(error)
    progress.clear()
    const outcome = verb.interrupted === undefined ? '' : `: ${verb.interrupted}`
    terminal.err(`interrupted (${stoppedBy})${outcome}`)
    return exitCodeOf(stoppedBy)
  } finally {
    unlisten()
    progress.clear()
  }
}

function requireOneReader(verb: KmsVerb, names: readonly string[], account: Account): void {
  const readers = [account.passwordFile, account.tokenFile].filter((file) => file === '-').length
  if (readers + (verb.readsInput?.(names) === true ? 1 : 0) > 1) {
    throw new UsageError('standard input can be only one thing: put the password or the token into a file')
  }
}

interface Surroundings {
  readonly terminal: Terminal
  readonly prompter: Prompter
  readonly signal: AbortSignal
}

async function withClient(
  places: Places,
  account: Account,
  surroundings: Surroundings,
  act: (kms: KmsClient) => Promise<number>,
): Promise<number> {
  const { signal } = surroundings
  const { credentials, end, explain } = await signIn(places, account, surroundings)
  try {
    const kms = clientFor(places, credentials, signal)
    // Ends the calls that wait for an answer, too.
    const hangUp = (): void => kms.close()
    signal.addEventListener('abort', hangUp)
    try {
      signal.throwIfAborted()
      return await act(kms)
    } catch (error) {
      throw explain === undefined || signal.aborted ? error : await explain(error)
    } finally {
      signal.removeEventListener('abort', hangUp)
      kms.close()
    }
  } finally {
    await end()
  }
}

function clientFor(
  { kms: { url, caFile, serverName } }: Places,
  credentials: Credentials,
  signal: AbortSignal,
): KmsClient {
  const ca = caFile === undefined ? undefined : readPemFile(caFile, 'CERTIFICATE')
  const wait = (seconds: number): Promise<void> => sleep(seconds * 1000, undefined, { signal })
  try {
    return kmsClient({ url, ca, serverName, credentials, wait })
  } catch (error) {
    if (error instanceof TypeError) throw new StartupError(error.message, { cause: error })
    throw error
  }
}

async function signIn(
  places: Places,
  account: Account,
  { terminal: { env }, prompter, signal }: Surroundings,
): Promise<SignedIn> {
  const { home, auth: server } = places
  const token = givenToken(account, env)
  if (token !== undefined) return { credentials: token, end: async () => undefined }
  const kept = await keptSignIn(places, account, env)
  if (kept !== undefined) return kept
  if (server === undefined) {
    throw new StartupError(
      'nobody is logged in: give a token (--token-file, WARDER_TOKEN), or --auth-url to log in at',
    )
  }
  const auth = clientOf(server)
  const hangUp = (): void => auth.close()
  signal.addEventListener('abort', hangUp)
  try {
    const { credentials, end } = await logIn(auth, account, {
      ...{ env, prompter },
      initialPassword: initialPasswordFile(home, server.url),
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

/** The session of `warder login`. @throws StartupError when its time is over, or its file cannot be trusted */
async function keptSignIn(
  { home, auth: server, kms }: Places,
  account: Account,
  env: Terminal['env'],
): Promise<SignedIn | undefined> {
  const auth = server === undefined ? undefined : serviceId(server)
  const found = findLogin(home, { auth, kms: serviceId(kms) }, env)
  if (found === undefined || !meansKept(account, env, found.facts)) return undefined
  const { facts } = found
  requireTime(facts, Date.now() / 1000)
  const token = await found.token()
  return {
    credentials: credentialsOf(token),
    end: async () => undefined,
    async explain(error) {
      if (!isUnauthorized(error) || server === undefined) return error
      const client = clientOf(server)
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

/** Refused with 401, told by `aboutKey` or as it came. */
function isUnauthorized(error: unknown): boolean {
  const said = error instanceof StartupError ? error.cause : error
  return said instanceof ClientError && said.status === 401
}
