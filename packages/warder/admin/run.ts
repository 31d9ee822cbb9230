import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { StartupError } from '@warder/foundation/errors'
import { homeOf, type Terminal, UsageError } from '../cli/command.ts'
import { NoAnswer, type Prompter } from '../cli/prompter.ts'
import { Words } from '../cli/words.ts'
import { type HttpsClient, httpsClient } from '../client/index.ts'
import { logIn, nonEmpty } from '../login/login.ts'
import { adminApi } from './api.ts'
import { verbs } from './verbs.ts'

/**
 * Runs one verb: reads its words, logs in, does it, logs out.
 * @returns the exit code
 * @throws UsageError, StartupError
 */
export async function runAdmin(
  args: readonly string[],
  terminal: Terminal,
  prompter: Prompter,
): Promise<number> {
  const words = new Words(args)
  const json = words.flag('json')
  const yes = words.flag('yes')
  const home = resolve(homeOf(words.option('home'), terminal.env))
  const url = words.option('url')
  const caFile = words.option('ca-file')
  const account = {
    username: words.option('admin') ?? 'admin',
    realm: words.option('admin-realm') ?? '_',
    passwordFile: words.option('password-file'),
    code: words.option('totp-code') ?? nonEmpty(terminal.env.WARDER_ADMIN_TOTP),
    passwordVariable: 'WARDER_ADMIN_PASSWORD',
    withoutPassword:
      'there is no password: give --password-file FILE (- is standard input) or WARDER_ADMIN_PASSWORD',
  }
  const [name, ...rest] = words.left()
  const verb = verbs.find((candidate) => candidate.name === name)
  if (verb === undefined) {
    const known = verbs.map((candidate) => candidate.name).join(', ')
    throw new UsageError(
      name === undefined ? `say what to do: ${known}` : `there is no '${name}'; these are: ${known}`,
    )
  }
  const act = verb.parse(rest)
  try {
    const client = connect(home, url, caFile)
    const session = await logIn(client, account, { home, env: terminal.env, prompter })
    const api = adminApi(client, session)
    try {
      await act({
        api,
        show(document, lines) {
          if (json) terminal.out(JSON.stringify(document, undefined, 2))
          else for (const line of lines) terminal.out(line)
        },
        confirm: (question) => (yes ? Promise.resolve() : confirm(question, prompter)),
      })
    } finally {
      await api.close()
    }
  } catch (error) {
    if (error instanceof NoAnswer) throw new StartupError('nothing was changed: there was no answer')
    throw error
  }
  return 0
}

async function confirm(question: string, prompter: Prompter): Promise<void> {
  if (!prompter.interactive)
    throw new StartupError('nothing was changed: nobody can be asked here; say --yes')
  const answer = await prompter.ask(`${question} [y/N] `)
  if (!/^y(es)?$/i.test(answer.trim())) throw new StartupError('nothing was changed')
}

/** The service of the home, or the one at `--url`. */
function connect(home: string, url: string | undefined, caFile: string | undefined): HttpsClient {
  const localCa = join(home, 'tls', 'ca.crt')
  if (caFile !== undefined && !existsSync(caFile)) throw new StartupError(`${caFile} is not there`)
  if (url !== undefined) {
    if (!/^https:\/\/[^/@?#]+\/?$/.test(url))
      throw new UsageError('--url is like https://auth.example.com:8443')
    return httpsClient(url, caFile)
  }
  const path = join(home, 'endpoints.json')
  if (!existsSync(path)) {
    throw new StartupError(`${path} is not there: are the services started? (npm start, with the same home)`)
  }
  const endpoints = JSON.parse(readFileSync(path, 'utf8')) as { readonly auth: { readonly url: string } }
  return httpsClient(endpoints.auth.url, caFile ?? (existsSync(localCa) ? localCa : undefined))
}
