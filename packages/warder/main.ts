import { constants, setPriority } from 'node:os'
import { suggest } from '@warder/base'
import {
  createTerminal,
  fitHelp,
  runCommand,
  sliceBeforeSeparator,
  styleError,
  styleHelp,
  type Terminal,
} from '@warder/command-line'
import { commands } from './commands.ts'
import { version } from './version.ts'

const overview = `Warder ${version}: an authentication service and a key management service, self-hosted.

  warder COMMAND [OPTIONS]        npx warder … in a checkout

${commands.map((command) => `  ${command.name.padEnd(14)} ${command.summary}`).join('\n')}

  warder COMMAND --help           show the options of a command and an example
  warder COMMAND VERB --help      show the help of one verb; same as: warder help COMMAND VERB
  warder --version

Every command accepts --home DIR (else WARDER_HOME, else ./.warder): the folder with configuration, databases,
certificates, the root key and the audit logs. For services on another machine see warder context --help. Output is coloured
on terminals, unless NO_COLOR or --no-color is set.

Exit codes: 0 success; 1 failure, with the reason on standard error; 2 usage error. The help of a command lists others.
`

/** Runs the command line. @returns the exit code: 0 success, 1 failure, 2 usage error. */
export async function main(given: readonly string[], from?: Terminal): Promise<number> {
  const plain = sliceBeforeSeparator(given).includes('--no-color')
  const args = given.filter(
    (word, index) => word !== '--no-color' || index >= sliceBeforeSeparator(given).length,
  )
  const terminal = from ?? createTerminal(plain)
  const [first, ...following] = args
  if (first === undefined || first === '--help' || first === '-h') {
    terminal.out(styleHelp(fitHelp(overview)))
    return 0
  }
  if (first === '--version' || first === 'version') {
    terminal.out(version)
    return 0
  }
  if (first === 'help' && following.length === 0) {
    terminal.out(styleHelp(fitHelp(overview)))
    return 0
  }
  const [name = '', ...rest] = first === 'help' ? [...following, '--help'] : args
  const entry = commands.find((candidate) => candidate.name === name)
  if (entry === undefined) {
    const names = commands.map((known) => known.name)
    const known = `commands: ${names.join(', ')}${suggest(name, names)}`
    terminal.err(styleError(`warder: there is no command '${name}'; ${known}`))
    return 2
  }
  // Tests run commands in their own process, which keeps its priority.
  if (entry.background && from === undefined) lowerPriority()
  return runCommand(await entry.load(), rest, terminal)
}

/** Sets the lowest scheduling priority; threads that are created later inherit it. */
function lowerPriority(): void {
  try {
    setPriority(constants.priority.PRIORITY_LOW)
  } catch {
    // Some systems do not allow it; the command then keeps its priority.
  }
}
