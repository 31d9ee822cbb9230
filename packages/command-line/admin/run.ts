import { resolve } from 'node:path'
import { StartupError } from '@warder/base'
import { type KmsClient, kmsClient } from '@warder/client'
import { selectHome } from '../commands/command.ts'
import { UsageError, type ValuesOf } from '../commands/options.ts'
import { readVerb, withVerb } from '../commands/verbs.ts'
import { findConfigFolder } from '../contexts/context-store.ts'
import { findInitialPasswordFile, requireAuthority } from '../endpoints.ts'
import { readPemFile } from '../files.ts'
import { openClient, type Server } from '../https-client.ts'
import {
  describeContext,
  findServiceEndpoints,
  readEndpointOptions,
  type ServiceEndpoints,
} from '../kms/service-endpoints.ts'
import { Refused } from '../login/exchange.ts'
import { logIn, nonEmpty, type Session } from '../login/login.ts'
import { findLogin } from '../login/login-store.ts'
import { requireLive, requireUnexpired } from '../login/session.ts'
import { formatUserName, type LoginFacts, toServiceId } from '../login/stored-login.ts'
import { createShow, printable } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { confirm, type Prompter } from '../terminal/user-terminal.ts'
import { adminApi } from './api.ts'
import { adminOptions, type adminServiceOptions } from './verb.ts'
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
  const account = {
    username: common.admin ?? 'admin',
    realm: common['admin-realm'] ?? '_',
    passwordFile: common['password-file'],
    code: common['totp-code'] ?? nonEmpty(terminal.env.WARDER_ADMIN_TOTP),
    passwordVariable: 'WARDER_ADMIN_PASSWORD',
    withoutPassword: 'no password: give --password-file FILE (- is standard input) or WARDER_ADMIN_PASSWORD',
  }
  const act = withVerb(verb, () => verb.parse(values, names))
  const { home, logins, server, kms: kmsServer, note } = findServices(common, terminal.env)
  if (note !== undefined) terminal.err(note)
  const client = openClient(server)
  const named = [common.admin, common['admin-realm'], account.passwordFile, account.code]
  const stored = await findStoredSession(logins, server, named, terminal.env)
  const session =
    stored?.session ??
    (await logIn(client, account, {
      ...{ env: terminal.env, prompter },
      initialPassword: findInitialPasswordFile(home, server.url),
    }))
  const api = adminApi(client, session, stored !== undefined)
  const kms = kmsServer === undefined ? undefined : openKmsClient(kmsServer, session.token)
  try {
    await act({
      ...{ api, kms, prompter, url: server.url },
      note(lines) {
        for (const line of lines) terminal.err(line)
      },
      show: createShow(terminal, common.json),
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
  return 0
}

/** A client of the key management service, with the session of the administrator. */
function openKmsClient({ url, caFile, serverName }: Server, token: string): KmsClient {
  const ca = caFile === undefined ? undefined : readPemFile(caFile, 'CERTIFICATE')
  return kmsClient({ url, ca, serverName, credentials: { bearer: token } })
}

interface AdminServices extends Pick<ServiceEndpoints, 'home' | 'logins'> {
  readonly server: Server
  /** undefined: not known. */
  readonly kms: Server | undefined
  readonly note?: string | undefined
}

/**
 * Finds the service at `--url`, else the services of variables, context or home.
 * @throws UsageError; StartupError when they are not known
 */
function findServices(
  { home: named, url, 'ca-file': caFile, context }: ValuesOf<typeof adminServiceOptions>,
  env: Terminal['env'],
): AdminServices {
  const values = { home: named, url: undefined, 'auth-url': undefined, 'ca-file': caFile, context }
  if (url === undefined) {
    const endpoints = findServiceEndpoints(readEndpointOptions(values, env))
    const { home, logins, auth: server, kms } = endpoints
    if (server === undefined)
      throw new StartupError('the authentication service is not known: give its address with --url')
    return { home, logins, server, kms, note: describeContext(endpoints) }
  }
  if (!/^https:\/\/[^/@?#]+\/?$/.test(url))
    throw new UsageError('--url must have the form https://auth.example.com:8443')
  if (context !== undefined) throw new UsageError('--context excludes --url')
  if (caFile !== undefined) requireAuthority(caFile)
  const home = resolve(selectHome(named, env))
  const isHomeGiven = (named ?? nonEmpty(env.WARDER_HOME)) !== undefined
  const logins = isHomeGiven ? home : (findConfigFolder(env) ?? home)
  return { home, logins, server: { url, caFile }, kms: undefined }
}

/**
 * The session of `warder login`, unless options name another administrator or a password.
 * @throws StartupError when it has expired, or its file cannot be trusted
 */
async function findStoredSession(
  logins: string,
  server: Server,
  named: readonly (string | undefined)[],
  env: Terminal['env'],
): Promise<{ readonly session: Session; readonly facts: LoginFacts } | undefined> {
  if (named.some((value) => value !== undefined)) return undefined
  if (nonEmpty(env.WARDER_ADMIN_PASSWORD) !== undefined) return undefined
  const found = findLogin(logins, { auth: toServiceId(server), kms: undefined }, env)
  const id = found?.facts.sessionId
  if (found === undefined || id === undefined) return undefined
  const { facts } = found
  requireUnexpired(facts, Date.now() / 1000)
  return { session: { id, token: await found.token() }, facts }
}
