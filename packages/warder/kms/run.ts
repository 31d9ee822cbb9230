import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Credentials, type KmsClient, kmsClient } from '@warder/client'
import { StartupError } from '@warder/foundation/errors'
import { type Terminal, UsageError } from '../cli/command.ts'
import { exitCodeOf } from '../cli/exit-codes.ts'
import { type Person, readAll } from '../cli/person.ts'
import { progressBar } from '../cli/progress.ts'
import type { Prompter } from '../cli/prompter.ts'
import { inVerb, readVerb } from '../cli/verbs.ts'
import { clientOf } from '../client/index.ts'
import { type Account, givenToken, logIn, readAccount, type SignedIn } from './account.ts'
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
  const { credentials, end } = await signIn(places, account, surroundings)
  try {
    const kms = clientFor(places, credentials, signal)
    // Ends the calls that wait for an answer, too.
    const hangUp = (): void => kms.close()
    signal.addEventListener('abort', hangUp)
    try {
      signal.throwIfAborted()
      return await act(kms)
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
  const ca = caFile === undefined ? undefined : readFileSync(caFile, 'utf8')
  const wait = (seconds: number): Promise<void> => sleep(seconds * 1000, undefined, { signal })
  try {
    return kmsClient({ url, ca, serverName, credentials, wait })
  } catch (error) {
    if (error instanceof TypeError) throw new StartupError(error.message, { cause: error })
    throw error
  }
}

async function signIn(
  { home, auth: server }: Places,
  account: Account,
  { terminal: { env }, prompter, signal }: Surroundings,
): Promise<SignedIn> {
  const token = givenToken(account, env)
  if (token !== undefined) return { credentials: token, end: async () => undefined }
  if (server === undefined) {
    throw new StartupError(
      'nobody is logged in: give a token (--token-file, WARDER_TOKEN), or --auth-url to log in at',
    )
  }
  const auth = clientOf(server)
  const hangUp = (): void => auth.close()
  signal.addEventListener('abort', hangUp)
  try {
    const { credentials, end } = await logIn(auth, account, { home, env, prompter })
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

async function confirm(question: string, prompter: Prompter): Promise<void> {
  if (!prompter.interactive)
    throw new StartupError('nothing was changed: nobody can be asked here; say --yes')
  const answer = await prompter.ask(`${question} [y/N] `)
  if (!/^y(es)?$/i.test(answer.trim())) throw new StartupError('nothing was changed')
}
