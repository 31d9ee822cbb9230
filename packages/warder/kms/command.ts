import type { Command } from '../cli/command.ts'
import { exitCodesHelp } from '../cli/exit-codes.ts'
import { optionsHelp } from '../cli/help.ts'
import { namesIn } from '../cli/options.ts'
import { type Person, realPerson } from '../cli/person.ts'
import { type HomeVerb, homeVerbsHelp, runHomeVerb } from '../cli/verb-command.ts'
import { helpOfVerbs, verbsHelp } from '../cli/verbs.ts'
import { accountOptions } from './account.ts'
import { commonOptions, outputOptions } from './options.ts'
import { placeOptions } from './places.ts'
import { runKms } from './run.ts'
import type { KmsVerb } from './verb.ts'

/** Parts in which commands of the key management service differ. */
export interface KmsCommandParts {
  readonly name: string
  readonly summary: string
  /** Sentences after the first line of the help. */
  readonly about: string
  readonly verbs: readonly KmsVerb[]
  /** Verbs that work on the files of the home, whether or not the service runs. */
  readonly homeVerbs?: readonly HomeVerb[]
  /** Lines that can be typed as they are. */
  readonly example: string
}

const commonHelp = `Who asks:
${optionsHelp(accountOptions)}

Where:
${optionsHelp(placeOptions)}

How:
${optionsHelp(outputOptions)}

${exitCodesHelp}`

/** `warder NAME VERB …` for verbs that work with the key management service. */
export function kmsCommand(parts: KmsCommandParts, person: () => Person = realPerson): Command {
  const { name, summary, about, verbs, homeVerbs = [], example } = parts
  const all = [...verbs, ...homeVerbs]
  const options = Object.assign({}, ...all.map((verb) => verb.options), commonOptions)
  const helpOfKmsVerbs = helpOfVerbs(name, verbs, commonHelp)
  const helpOfHomeVerbs = helpOfVerbs(name, homeVerbs, homeVerbsHelp)
  return {
    name,
    summary,
    about,
    verbs: all,
    options: commonOptions,
    exitCodes: exitCodesHelp,
    help: `warder ${name} VERB [OPTIONS]

${about}

${verbsHelp(all)}

  warder ${name} VERB --help    more about one of them, with examples

${commonHelp}

Example:
${example}`,
    helpFor: (args) => helpOfKmsVerbs(args) ?? helpOfHomeVerbs(args),
    run(args, terminal) {
      const [word] = namesIn(args, options)
      const isOnFiles = homeVerbs.some((verb) => verb.name === word)
      return isOnFiles ? runHomeVerb(homeVerbs, args, terminal) : runKms(verbs, args, terminal, person())
    },
  }
}
