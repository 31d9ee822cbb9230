import type { Command } from '../cli/command.ts'
import { exitCodesHelp } from '../cli/exit-codes.ts'
import { type Person, realPerson } from '../cli/person.ts'
import { accountHelp } from './account.ts'
import { placesHelp } from './places.ts'
import { findVerb, runKms } from './run.ts'
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

const commonHelp = `${accountHelp}

${placesHelp}

How:
  --json                prints one JSON document instead of lines for people
  --yes                 does not ask before something is destroyed

${exitCodesHelp}`

/** `warder NAME VERB …` for verbs that work with the key management service. */
export function kmsCommand(parts: KmsCommandParts, person: () => Person = realPerson): Command {
  const { name, summary, about, verbs, example } = parts
  const callOf = (verb: KmsVerb): string => `${verb.name} ${verb.words}`.trimEnd()
  return {
    name,
    summary,
    help: `warder ${name} VERB [OPTIONS]

${about}

${verbs.map((verb) => `  ${callOf(verb)}\n      ${verb.summary}`).join('\n')}

  warder ${name} VERB --help    more about one of them, with examples

${commonHelp}

Example:
${example}`,
    helpFor(args) {
      const verb = findVerb(
        verbs,
        args.filter((word) => word !== '--help' && word !== '-h'),
      )
      if (verb === undefined) return undefined
      return `warder ${name} ${callOf(verb)}

${verb.summary}

${verb.about}

Example:
${verb.examples.map((line) => `  ${line}`).join('\n')}

${commonHelp}`
    },
    run: (args, terminal) => runKms(verbs, args, terminal, person()),
  }
}
