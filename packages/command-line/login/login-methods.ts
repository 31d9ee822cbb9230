import { spawn } from 'node:child_process'
import { StartupError } from '@warder/base'
import { UsageError, type ValuesOf } from '../commands/options.ts'
import { readSecretFile, readTokenFile } from '../files.ts'
import type { HttpsClient } from '../https-client.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { logInAtPage, logInWithSaml } from './browser.ts'
import { requireAuthService, send } from './exchange.ts'
import { BrowserNeeded, logIn, nonEmpty, type PasswordSources } from './login.ts'
import { fetchMachine, logInMachine } from './machine.ts'
import { decodeClaims, fetchSession } from './session.ts'
import type { StoredLogin } from './stored-login.ts'

/** Options that select a login method. */
export const loginOptions = {
  realm: { type: 'text', value: 'R', help: 'the realm to log in to (default _)' },
  user: { type: 'text', value: 'U', help: 'user to log in (default admin)' },
  'password-file': {
    type: 'text',
    value: 'F',
    help: `file with the password; - is standard input
(default: WARDER_PASSWORD, else for admin of _ HOME/initial-admin-password, else a prompt)`,
  },
  'totp-code': { type: 'text', value: 'CODE', help: 'code of the second factor (default: a prompt)' },
  saml: {
    type: 'flag',
    help: `logs in with a browser at the identity provider of --realm, within 5 minutes;
allowed_return_origins of the realm must contain http://127.0.0.1`,
  },
  browser: {
    type: 'flag',
    help: `logs in with a browser at the page of the authentication service, within 5 minutes; every method of the
realm works there, including passkeys`,
  },
  'no-browser': { type: 'flag', help: 'with --saml or --browser: only prints the address' },
  'token-file': {
    type: 'text',
    value: 'F',
    help: `stores an existing token: of a session, of a trusted issuer, an API token, or a machine token
(wt.…); - is standard input`,
  },
  approle: {
    type: 'flag',
    help: 'logs in a machine with a RoleID and a SecretID',
  },
  'role-id-file': { type: 'text', value: 'F', help: 'file with the RoleID (default: WARDER_ROLE_ID)' },
  'secret-id-file': {
    type: 'text',
    value: 'F',
    help: `file with the SecretID; - is standard input
(default: WARDER_SECRET_ID, else none, for a role that needs none)`,
  },
  'no-keyring': { type: 'flag', help: 'does not use the keyring of the system; the file contains the token' },
} as const

/** A login without its services. */
export type NewLogin = Omit<StoredLogin, 'places'>

/** Sources of credentials, for every login method. */
export interface LoginSources extends PasswordSources {
  /** Unix seconds. */
  readonly now: number
  /** Time limit of a login with a browser. */
  readonly browserMs: number
  /** Prints a line to standard error. */
  say(line: string): void
  /** undefined: the authentication service is not known. */
  readonly auth: HttpsClient | undefined
  readonly authUrl: string | undefined
  /** Fetches the user name of a token at the key management service. @throws ClientError */
  userAtKms(token: string): Promise<string>
}

/** A login method. @throws StartupError that names the cause */
export type LoginMethod = (sources: LoginSources) => Promise<NewLogin>

type Values = ValuesOf<typeof loginOptions>

const passwordOptions = ['user', 'password-file', 'totp-code'] as const
const appRoleOptions = ['role-id-file', 'secret-id-file'] as const

/** Reads the login method from the options. @throws UsageError for contradictory options */
export function readMethod(values: Values): LoginMethod {
  const listGiven = (names: readonly (keyof Values)[]): readonly string[] =>
    names.filter((name) => values[name] !== undefined)
  const requireNone = (way: string, names: readonly string[]): void => {
    const [name] = names
    if (name !== undefined) throw new UsageError(`${way} cannot be combined with --${name}`)
  }
  if (values.saml || values.browser) {
    const way = values.saml ? '--saml' : '--browser'
    const others = listGiven(['token-file', ...passwordOptions, ...appRoleOptions])
    requireNone(way, [
      ...(values.saml && values.browser ? ['browser'] : []),
      ...(values.approle ? ['approle'] : []),
      ...others,
    ])
    return values.saml ? createSamlMethod(values.realm, values['no-browser']) : createBrowserMethod(values)
  }
  if (values['no-browser']) throw new UsageError('--no-browser needs --saml or --browser')
  if (values['token-file'] !== undefined) {
    if (values.approle) throw new UsageError('--token-file and --approle exclude each other')
    requireNone('--token-file', listGiven([...passwordOptions, ...appRoleOptions, 'realm']))
    return createTokenMethod(values['token-file'])
  }
  if (values.approle) {
    requireNone('--approle', listGiven([...passwordOptions, 'realm']))
    if (values['role-id-file'] === '-' && values['secret-id-file'] === '-')
      throw new UsageError('standard input can be used only once: put the RoleID into a file')
    return createAppRoleMethod(values['role-id-file'], values['secret-id-file'])
  }
  const [machine] = listGiven(appRoleOptions)
  if (machine !== undefined) throw new UsageError(`--${machine} needs --approle`)
  return createPasswordMethod(values)
}

function createPasswordMethod({
  user,
  realm: named,
  'password-file': passwordFile,
  'totp-code': code,
}: Values): LoginMethod {
  const [username, realm] = [user ?? 'admin', named ?? '_']
  return async (sources) => {
    const { initialPassword, env, prompter, say } = sources
    const client = requireAuthService(sources.auth)
    const methods = prompter.interactive ? await fetchMethods(client, realm) : []
    const login = {
      ...{ username, realm, passwordFile, code },
      passwordVariable: 'WARDER_PASSWORD',
      withoutPassword: 'no password: give --password-file FILE (- is standard input) or WARDER_PASSWORD',
      offersBrowser: methods.includes('passkey'),
    }
    try {
      if (passwordFile === undefined && methods.length > 0 && !methods.includes('password'))
        throw new BrowserNeeded(`the realm ${realm} has no passwords`)
      const { token } = await logIn(client, login, { initialPassword, env, prompter })
      return await readSession(client, realm, token)
    } catch (error) {
      if (!(error instanceof BrowserNeeded)) throw error
      say(`${error.message}:`)
      const found = await createBrowserMethod({ realm, 'no-browser': false })(sources)
      if (user !== undefined && !isSameName(found.username, user))
        throw new StartupError(
          `the browser is logged in as ${found.username}, not as ${user}: choose "Log in as another user" there`,
        )
      return found
    }
  }
}

/** Whether a name can be meant by another one: services may ignore its case. */
function isSameName(one: string | undefined, other: string): boolean {
  const fold = (name = ''): string => name.normalize().toLowerCase()
  return fold(one) === fold(other)
}

/** Fetches the methods for people that a realm has; none from a service that does not tell them. */
async function fetchMethods(auth: HttpsClient, realm: string): Promise<readonly unknown[]> {
  const answer = await send(auth, `/public/realms/${encodeURIComponent(realm)}/logins`, {})
  const { methods } = (answer.json ?? {}) as { methods?: unknown }
  return answer.status === 200 && Array.isArray(methods) ? methods : []
}

function createBrowserMethod({
  realm: named,
  'no-browser': noBrowser,
}: Pick<Values, 'realm' | 'no-browser'>): LoginMethod {
  return async (sources) => {
    const client = requireAuthService(sources.auth)
    const { token, realm } = await logInAtPage(client, {
      ...{ realm: named, authUrl: requireAuthService(sources.authUrl), withinMs: sources.browserMs },
      show: (url) => showAddress(url, sources, noBrowser),
    })
    return readSession(client, realm, token)
  }
}

function showAddress(url: string, { say, env }: Pick<LoginSources, 'say' | 'env'>, noBrowser: boolean): void {
  say('log in with a browser on this computer (Ctrl-C cancels):')
  say(url)
  if (!noBrowser) openBrowser(url, env)
}

function createSamlMethod(realm: string | undefined, noBrowser: boolean): LoginMethod {
  if (realm === undefined) throw new UsageError('--saml needs --realm R')
  return async (sources) => {
    const client = requireAuthService(sources.auth)
    const token = await logInWithSaml(client, {
      ...{ realm, withinMs: sources.browserMs },
      show: (url) => showAddress(url, sources, noBrowser),
    })
    return readSession(client, realm, token)
  }
}

/** Reads the session of a new login. @throws StartupError when it has already ended */
async function readSession(auth: HttpsClient, realm: string, token: string): Promise<NewLogin> {
  const facts = await fetchSession(auth, realm, token)
  if (facts === undefined) throw new StartupError('the session ended before it could be used: log in again')
  return { kind: 'session', token, ...facts }
}

function createAppRoleMethod(roleIdFile: string | undefined, secretIdFile: string | undefined): LoginMethod {
  return async ({ env, auth, now }) => {
    const client = requireAuthService(auth)
    const roleId = readSecret(roleIdFile, env.WARDER_ROLE_ID, 'the RoleID')
    const secretId = readSecret(secretIdFile, env.WARDER_SECRET_ID, 'the SecretID')
    if (roleId === undefined) throw new StartupError('no RoleID: give --role-id-file FILE or WARDER_ROLE_ID')
    const { token, role, seconds } = await logInMachine(client, roleId, secretId)
    return {
      ...{ kind: 'app', token, username: role, realm: undefined, how: 'AppRole', sessionId: undefined },
      expiresAt: seconds === undefined ? undefined : now + seconds,
    }
  }
}

function createTokenMethod(file: string): LoginMethod {
  return async ({ auth, userAtKms, now }) => {
    const token = readTokenFile(file)
    if (token.startsWith('wt.') && auth !== undefined) {
      const found = await fetchMachine(auth, token)
      if (found === undefined) throw new StartupError('the token is invalid or has expired')
      const { entity, seconds } = found
      return {
        ...{ kind: 'app', token, username: entity, realm: undefined, how: 'machine token' },
        ...{ sessionId: undefined, expiresAt: seconds === undefined ? undefined : now + seconds },
      }
    }
    const claims = decodeClaims(token)
    if (auth !== undefined && typeof claims?.as_rid === 'string') {
      const facts = await fetchSession(auth, claims.as_rid, token)
      if (facts !== undefined) return { kind: 'session', token, ...facts }
    }
    return {
      ...{ kind: 'token', token, username: await userAtKms(token), realm: undefined, how: 'token' },
      ...{ sessionId: undefined, expiresAt: typeof claims?.exp === 'number' ? claims.exp : undefined },
    }
  }
}

function readSecret(
  file: string | undefined,
  variable: string | undefined,
  what: string,
): string | undefined {
  return file === undefined ? nonEmpty(variable) : readSecretFile(file, what).trim()
}

/** Opens an address in the browser of the desktop, if there is one. Failures are ignored. */
function openBrowser(url: string, env: Terminal['env'], platform = process.platform): void {
  const program = platform === 'darwin' ? 'open' : 'xdg-open'
  const hasScreen = [env.DISPLAY, env.WAYLAND_DISPLAY].some((name) => name !== undefined && name !== '')
  if (platform !== 'darwin' && !(platform === 'linux' && hasScreen)) return
  // No shell interprets the address. The browser outlives the command.
  const child = spawn(program, [url], { stdio: 'ignore', detached: true, env })
  // The address was also printed, for users without the program.
  child.once('error', () => undefined)
  child.unref()
}
