import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { StartupError } from '@warder/base'
import { type KmsClient, kmsClient } from '@warder/client'
import {
  formatJson,
  NoAnswer,
  type Prompter,
  printable,
  readVerb,
  selectHome,
  type Terminal,
  UsageError,
  withVerb,
} from '@warder/command-line'
import { findInitialPasswordFile, readEndpoints, toServer } from '@warder/command-line/endpoints'
import { readPemFile } from '@warder/command-line/files'
import { openClient, type Server } from '@warder/command-line/https-client'
import {
  findLogin,
  formatUserName,
  type LoginFacts,
  logIn,
  nonEmpty,
  Refused,
  requireLive,
  requireUnexpired,
  type Session,
  toServiceId,
} from '@warder/command-line/login'
import { adminApi } from './api.ts'
import { adminOptions } from './verb.ts'
import { verbs } from './verbs.ts'

/**
 * Runs one verb: reads the arguments, logs in, executes the verb, logs out.
 * @returns the exit code
 * @throws UsageError, StartupError
 */
export async function runAdmin(
  args: readonly string[],
  terminal: Terminal,
  prompter: Prompter,
): Promise<number> {
  const { verb, common, values, names } = readVerb(verbs, adminOptions, args)
  const home = resolve(selectHome(common.home, terminal.env))
  const account = {
    username: common.admin ?? 'admin',
    realm: common['admin-realm'] ?? '_',
    passwordFile: common['password-file'],
    code: common['totp-code'] ?? nonEmpty(terminal.env.WARDER_ADMIN_TOTP),
    passwordVariable: 'WARDER_ADMIN_PASSWORD',
    withoutPassword: 'no password: give --password-file FILE (- is standard input) or WARDER_ADMIN_PASSWORD',
  }
  const act = withVerb(verb, () => verb.parse(values, names))
  try {
    const server = findServer(home, common.url, common['ca-file'])
    const client = openClient(server)
    const named = [common.admin, common['admin-realm'], account.passwordFile, account.code]
    const stored = await findStoredSession(home, server, named, terminal.env)
    const session =
      stored?.session ??
      (await logIn(client, account, {
        ...{ env: terminal.env, prompter },
        initialPassword: findInitialPasswordFile(home, server.url),
      }))
    const api = adminApi(client, session, stored !== undefined)
    const kms = common.url === undefined ? openKmsClient(home, common['ca-file'], session.token) : undefined
    try {
      await act({
        api,
        kms,
        show(document, lines) {
          if (common.json) terminal.out(formatJson(document))
          else for (const line of lines) terminal.out(line)
        },
        confirm: (question) => (common.yes ? Promise.resolve() : confirm(question, prompter)),
      })
    } catch (error) {
      if (stored === undefined || !(error instanceof Refused)) throw error
      if (error.status === 401) await requireLive(client, { facts: stored.facts, token: session.token })
      // The hint explains why the request was not made as the first administrator of the home.
      const hint = `(as ${formatUserName(stored.facts)}, of warder login; --admin NAME logs in as another administrator)`
      throw new StartupError(printable(`${error.message} ${hint}`), { cause: error })
    } finally {
      kms?.close()
      await api.close()
    }
  } catch (error) {
    if (error instanceof NoAnswer)
      throw new StartupError('nothing was changed: the question was not answered')
    throw error
  }
  return 0
}

async function confirm(question: string, prompter: Prompter): Promise<void> {
  if (!prompter.interactive)
    throw new StartupError('nothing was changed: confirmation needs a terminal; use --yes')
  const answer = await prompter.ask(`${question} [y/N] `)
  if (!/^y(es)?$/i.test(answer.trim())) throw new StartupError('nothing was changed')
}

/** A client of the key management service of the home, with the session of the administrator. */
function openKmsClient(home: string, caFile: string | undefined, token: string): KmsClient {
  const { url, caFile: trusted, serverName } = toServer(home, readEndpoints(home).kms, caFile)
  const ca = trusted === undefined ? undefined : readPemFile(trusted, 'CERTIFICATE')
  return kmsClient({ url, ca, serverName, credentials: { bearer: token } })
}

/** The service of the home, or the one at `--url`. */
function findServer(home: string, url: string | undefined, caFile: string | undefined): Server {
  if (caFile !== undefined && !existsSync(caFile)) throw new StartupError(`${caFile} does not exist`)
  if (url === undefined) return toServer(home, readEndpoints(home).auth, caFile)
  if (!/^https:\/\/[^/@?#]+\/?$/.test(url))
    throw new UsageError('--url must have the form https://auth.example.com:8443')
  return { url, caFile }
}

/**
 * The session of `warder login`, unless options name another administrator or a password.
 * @throws StartupError when it has expired, or its file cannot be trusted
 */
async function findStoredSession(
  home: string,
  server: Server,
  named: readonly (string | undefined)[],
  env: Terminal['env'],
): Promise<{ readonly session: Session; readonly facts: LoginFacts } | undefined> {
  if (named.some((value) => value !== undefined)) return undefined
  if (nonEmpty(env.WARDER_ADMIN_PASSWORD) !== undefined) return undefined
  const found = findLogin(home, { auth: toServiceId(server), kms: undefined }, env)
  const id = found?.facts.sessionId
  if (found === undefined || id === undefined) return undefined
  const { facts } = found
  requireUnexpired(facts, Date.now() / 1000)
  return { session: { id, token: await found.token() }, facts }
}
