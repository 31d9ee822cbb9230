import { type Command, exitCodesHelp } from '../commands/command.ts'
import { optionsHelp, readNames } from '../commands/options.ts'
import { type HomeVerb, homeVerbsHelp, runHomeVerb } from '../commands/verb-command.ts'
import { createVerbHelp, formatVerbs, requireVerb } from '../commands/verbs.ts'
import { openUserTerminal, type UserTerminal } from '../terminal/user-terminal.ts'
import { accountOptions } from './account.ts'
import { commonOptions, outputOptions, runKms } from './run.ts'
import { endpointOptions } from './service-endpoints.ts'
import type { KmsVerb } from './verb.ts'

/** Parts of a command of the key management service. */
export interface KmsCommandParts {
  readonly name: string
  readonly summary: string
  /** Sentences after the first line of the help. */
  readonly about: string
  readonly verbs: readonly KmsVerb[]
  /** Verbs on the files of the home, which do not need the service. */
  readonly homeVerbs?: readonly HomeVerb[]
  /** Lines that can be typed as they are. */
  readonly example: string
}

const commonHelp = `Account:
${optionsHelp(accountOptions)}

Services:
${optionsHelp(endpointOptions)}

Output:
${optionsHelp(outputOptions)}

${exitCodesHelp}`

/** `warder NAME VERB …` for verbs that work with the key management service. */
export function kmsCommand(
  parts: KmsCommandParts,
  openTerminal: () => UserTerminal = openUserTerminal,
): Command {
  const { name, summary, about, verbs, homeVerbs = [], example } = parts
  const all = [...verbs, ...homeVerbs]
  const options = Object.assign({}, ...all.map((verb) => verb.options), commonOptions)
  const formatKmsHelp = createVerbHelp(name, verbs, commonHelp)
  const formatHomeHelp = createVerbHelp(name, homeVerbs, homeVerbsHelp)
  return {
    name,
    summary,
    about,
    verbs: all,
    options: commonOptions,
    exitCodes: exitCodesHelp,
    help: `warder ${name} VERB [OPTIONS]

${about}

${formatVerbs(all)}

  warder ${name} VERB --help    show the help of one verb, with examples

${commonHelp}

Example:
${example}`,
    helpFor: (args) => formatKmsHelp(args) ?? formatHomeHelp(args),
    run(args, terminal) {
      const words = readNames(args, options)
      requireVerb(all, words)
      const [word] = words
      const isOnFiles = homeVerbs.some((verb) => verb.name === word)
      return isOnFiles
        ? runHomeVerb(homeVerbs, args, terminal)
        : runKms(verbs, args, terminal, openTerminal())
    },
  }
}
