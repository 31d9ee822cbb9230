import { StartupError } from '@warder/base'
import { type Command, optionsHelp, printable, readArguments, requireNoNames } from '@warder/command-line'
import { toUserError } from '@warder/command-line/kms'
import {
  endLogin,
  forgetLogin,
  formatUserName,
  requireLive,
  requireUnexpired,
} from '@warder/command-line/login'
import { type SessionContext, sessionOptions, withServices } from './context.ts'
import { formatUntil, toDocument } from './login.ts'

export const whoami: Command = {
  name: 'whoami',
  summary: 'Show who is logged in, until when, how, and with which roles',
  options: sessionOptions,
  help: `warder whoami [OPTIONS]

Shows the stored session for these services with its roles, and checks that it is still valid. Exit code 1: not logged
in, or the session has ended.

${optionsHelp(sessionOptions)}

Example:
  warder whoami
  warder whoami --json | jq -r .username`,
  async run(args, terminal) {
    const { values, names } = readArguments(args, sessionOptions)
    requireNoNames(names)
    try {
      return await withServices(values, terminal, showLogin)
    } catch (error) {
      throw toUserError(error)
    }
  },
}

async function showLogin({ endpoints, auth, found, openKms, show }: SessionContext): Promise<number> {
  const login = found()
  if (login === undefined) throw new StartupError('not logged in: see warder login --help')
  const { facts, kept } = login
  requireUnexpired(facts, Date.now() / 1000)
  const token = await login.token()
  if (auth !== undefined) await requireLive(auth, { facts, token })
  // Only the key management service can verify a token of another issuer.
  const kms = openKms(token)
  const { user, roles = [] } = await kms.call('server.me').finally(() => kms.close())
  const { context } = endpoints
  const services = { context, url: facts.places.kms.url, auth_url: facts.places.auth?.url }
  show({ ...toDocument(facts, kept), user, roles, ...services }, [
    printable(`${formatUserName(facts)} (${facts.how})${formatUntil(facts.expiresAt)}`),
    printable(
      `at ${facts.places.kms.url}${context === undefined ? '' : ` (context ${context})`} known as ${user}`,
    ),
    ...(roles.length === 0 ? [] : [printable(`with the roles ${roles.join(', ')}`)]),
    printable(`kept in ${kept}`),
  ])
  return 0
}

export const logout: Command = {
  name: 'logout',
  summary: 'End the session of warder login',
  options: sessionOptions,
  help: `warder logout [OPTIONS]

Ends the session at the authentication service and deletes it here. A token of another issuer is only deleted here, and
stays valid until it expires.

${optionsHelp(sessionOptions)}

Example:
  warder logout`,
  async run(args, terminal) {
    const { values, names } = readArguments(args, sessionOptions)
    requireNoNames(names)
    return withServices(values, terminal, endStoredLogin)
  },
}

async function endStoredLogin({ auth, terminal, found, show }: SessionContext): Promise<number> {
  const login = found()
  if (login === undefined) {
    show({ ended: false }, ['not logged in'])
    return 0
  }
  const who = printable(formatUserName(login.facts))
  let ended = false
  let why: string | undefined
  try {
    const token = await login.token()
    ended = auth !== undefined && (await endLogin(auth, { ...login.facts, token }))
  } catch (error) {
    if (!(error instanceof StartupError)) throw error
    why = error.message
  }
  // The local copy is deleted even if the service cannot be reached.
  await forgetLogin(login, terminal.env)
  if (why !== undefined) {
    throw new StartupError(
      `the session of ${who} is deleted here, but may stay valid at the authentication service until it expires: ${why}`,
    )
  }
  const rest = ended ? 'logged out' : 'deleted here; the token itself stays valid until it expires'
  show({ ended, username: login.facts.username, realm: login.facts.realm }, [`${who}: ${rest}`])
  return 0
}
