import type { Command } from '../cli/command.ts'
import { exitCodesHelp } from '../cli/exit-codes.ts'
import { optionsHelp } from '../cli/help.ts'
import { type Person, realPerson } from '../cli/person.ts'
import { helpOfVerbs, verbsHelp } from '../cli/verbs.ts'
import { accountOptions } from './account.ts'
import { outputOptions } from './options.ts'
import { placeOptions } from './places.ts'
import { runKms } from './run.ts'
import type { KmsVerb } from './verb.ts'

/** What tells one command of the key management service from another. */
export interface KmsCommandParts {
  readonly name: string
  readonly summary: string
  /** Sentences after the first line of the help. */
  readonly about: string
  readonly verbs: readonly KmsVerb[]
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
  const { name, summary, about, verbs, example } = parts
  return {
    name,
    summary,
    help: `warder ${name} VERB [OPTIONS]

${about}

${verbsHelp(verbs)}

  warder ${name} VERB --help    more about one of them, with examples

${commonHelp}

Example:
${example}`,
    helpFor: helpOfVerbs(name, verbs, commonHelp),
    run: (args, terminal) => runKms(verbs, args, terminal, person()),
  }
}
