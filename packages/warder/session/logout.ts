import { StartupError } from '@warder/base'
import { type Command, optionsHelp, printable, readArguments, requireNoNames } from '@warder/command-line'
import { endLogin, forgetLogin, formatUserName } from '@warder/command-line/login'
import { type SessionContext, sessionOptions, withServices } from './context.ts'

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
