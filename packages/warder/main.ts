import { suggestion } from '@warder/foundation/config'
import { StartupError } from '@warder/foundation/errors'
import { access } from './access/command.ts'
import { admin } from './admin/command.ts'
import { audit } from './audit/command.ts'
import { type Command, optionsOf, type Terminal, UsageError } from './cli/command.ts'
import { realTerminal } from './cli/terminal.ts'
import { version } from './cli/version.ts'
import { config } from './config/command.ts'
import { crypto } from './crypto/command.ts'
import { external } from './external/command.ts'
import { keys } from './keys/command.ts'
import { kmip } from './kmip/command.ts'
import { officers } from './officers/command.ts'
import { pki } from './pki/command.ts'
import { rootKey } from './root-key/command.ts'
import { auth, kms } from './service/command.ts'
import { start } from './start/command.ts'
import { tryOut } from './try/command.ts'

/** In the order of the overview. */
export const commands: readonly Command[] = [
  start,
  tryOut,
  keys,
  crypto,
  access,
  officers,
  external,
  pki,
  kmip,
  admin,
  audit,
  rootKey,
  config,
  auth,
  kms,
]

const overview = `Warder ${version}: an authentication service and a key management service, self-hosted.

  warder COMMAND [OPTIONS]        npx warder … in a checkout

${commands.map((command) => `  ${command.name.padEnd(10)} ${command.summary}`).join('\n')}

  warder COMMAND --help           what a command does, its options and an example
  warder COMMAND VERB --help      more about one of its verbs
  warder --version

All of them take --home DIR (else WARDER_HOME, else ./.warder): where configuration, databases, certificates,
the root key and the audit logs are.

Exit codes: 0 done; 1 it failed, one line on standard error says why; 2 called wrongly. Others: in the command's help.
`

/** The whole command. @returns its exit code: 0 done, 1 failed, 2 called wrongly. */
export async function main(args: readonly string[], terminal: Terminal = realTerminal()): Promise<number> {
  const [name, ...rest] = args
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    const topic = commands.find((command) => command.name === rest[0])
    terminal.out(topic?.helpFor?.(rest.slice(1)) ?? topic?.help ?? overview)
    return 0
  }
  if (name === '--version' || name === 'version') {
    terminal.out(version)
    return 0
  }
  const command = commands.find((candidate) => candidate.name === name)
  if (command === undefined) {
    const names = commands.map((known) => known.name)
    terminal.err(
      `warder: there is no command '${name}'; these are: ${names.join(', ')}${suggestion(name, names)}`,
    )
    return 2
  }
  const options = optionsOf(rest)
  if (options.includes('--help') || options.includes('-h')) {
    const [verb = '--help'] = rest
    const help = command.helpFor?.(rest)
    if (help === undefined && command.helpFor !== undefined && !verb.startsWith('-')) {
      terminal.err(`warder ${name}: there is no '${verb}'; see warder ${name} --help`)
      return 2
    }
    terminal.out(help ?? command.help)
    return 0
  }
  try {
    return await command.run(rest, terminal)
  } catch (error) {
    if (error instanceof UsageError) {
      const topic = error.verb === undefined ? name : `${name} ${error.verb}`
      const more = `see warder ${topic} --help`
      terminal.err(
        `warder ${name}: ${error.message}${error.message.endsWith('?') ? ` (${more})` : `; ${more}`}`,
      )
      return 2
    }
    if (error instanceof StartupError) {
      terminal.err(`warder ${name}: ${error.message}`)
      return 1
    }
    throw error
  }
}
