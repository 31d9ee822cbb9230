import { readFileSync } from 'node:fs'
import { ClientError, type KmsClient, kmsClient } from '@warder/client'
import { StartupError } from '@warder/foundation/errors'
import { NoAnswer, type Prompter } from '../admin/prompter.ts'
import { printable } from '../admin/table.ts'
import { Words } from '../admin/verb.ts'
import { httpsClient } from '../client/index.ts'
import { type Terminal, UsageError } from '../command/command.ts'
import { type Account, givenToken, logIn, readAccount, type SignedIn } from './account.ts'
import { findPlaces, type Places, readPlaceOptions } from './places.ts'
import { type ProgressOutput, progressBar } from './progress.ts'
import type { KmsVerb } from './verb.ts'

/** The person at the terminal, who may be nobody. */
export interface Person {
  readonly prompter: Prompter
  /** Where a progress bar is drawn. */
  readonly screen: ProgressOutput
}

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
  const words = new Words(args)
  const json = words.flag('json')
  const yes = words.flag('yes')
  const account = readAccount(words)
  const placeOptions = readPlaceOptions(words, terminal.env)
  const act = verbIn(verbs, words.left())
  const progress = progressBar(person.screen)
  try {
    const places = findPlaces(placeOptions)
    return await withClient(places, account, terminal.env, person.prompter, (kms) =>
      act({
        kms,
        show(document, lines) {
          progress.clear()
          if (json) terminal.out(JSON.stringify(document, undefined, 2))
          else for (const line of lines) terminal.out(line)
        },
        confirm: (question) => (yes ? Promise.resolve() : confirm(question, person.prompter)),
        progress: progress.update,
      }),
    )
  } catch (error) {
    throw lineFor(error)
  } finally {
    progress.clear()
  }
}

function verbIn(verbs: readonly KmsVerb[], args: readonly string[]): ReturnType<KmsVerb['parse']> {
  const known = verbs.map(({ name }) => name).join(', ')
  // A verb may have two words: `tag add`.
  const verb = verbs.find(({ name }) => name.split(' ').every((word, index) => args[index] === word))
  if (verb !== undefined) return verb.parse(args.slice(verb.name.split(' ').length))
  throw new UsageError(
    args[0] === undefined ? `say what to do: ${known}` : `there is no '${args[0]}'; these are: ${known}`,
  )
}

async function withClient(
  places: Places,
  account: Account,
  env: Terminal['env'],
  prompter: Prompter,
  act: (kms: KmsClient) => Promise<number>,
): Promise<number> {
  const { credentials, end } = await signIn(places, account, env, prompter)
  try {
    const ca = places.caFile === undefined ? undefined : readFileSync(places.caFile, 'utf8')
    const kms = kmsClient({ url: places.kmsUrl, ca, credentials })
    try {
      return await act(kms)
    } finally {
      kms.close()
    }
  } finally {
    await end()
  }
}

async function signIn(
  { home, authUrl, caFile }: Places,
  account: Account,
  env: Terminal['env'],
  prompter: Prompter,
): Promise<SignedIn> {
  const token = givenToken(account, env)
  if (token !== undefined) return { credentials: token, end: async () => undefined }
  if (authUrl === undefined) {
    throw new StartupError(
      'nobody is logged in: give a token (--token-file, WARDER_TOKEN), or --auth-url to log in at',
    )
  }
  const auth = httpsClient(authUrl, caFile)
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
  }
}

async function confirm(question: string, prompter: Prompter): Promise<void> {
  if (!prompter.interactive)
    throw new StartupError('nothing was changed: nobody can be asked here; say --yes')
  const answer = await prompter.ask(`${question} [y/N] `)
  if (!/^y(es)?$/i.test(answer.trim())) throw new StartupError('nothing was changed')
}

/** What the person is told: one line, without control characters that a service could have put into it. */
function lineFor(error: unknown): unknown {
  if (error instanceof NoAnswer) return new StartupError('nothing was changed: there was no answer')
  if (error instanceof ClientError) return new StartupError(sentenceOf(error), { cause: error })
  return error
}

/** A refusal of the service as one line, with what finds it in the service's logs. */
export function sentenceOf({ kind, status, description, requestId, retryAfter }: ClientError): string {
  if (status === undefined) return printable(`the key management service: ${description}`)
  const later = retryAfter === undefined ? '' : ` Try again in ${retryAfter} seconds.`
  const request = requestId === undefined ? '' : `, request ${requestId}`
  return printable(`${description}${later} (${kind}${request})`)
}
