import { terminalPrompter } from '../admin/prompter.ts'
import type { Command } from '../command/command.ts'
import { accountHelp } from './account.ts'
import { placesHelp } from './places.ts'
import { type Person, runKms } from './run.ts'
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

const realPerson = (): Person => ({
  prompter: terminalPrompter(process.stdin, process.stderr),
  screen: process.stderr,
})

/** `warder NAME VERB …` for verbs that work with the key management service. */
export function kmsCommand(parts: KmsCommandParts, person: () => Person = realPerson): Command {
  const { name, summary, about, verbs, example } = parts
  return {
    name,
    summary,
    help: `warder ${name} VERB [OPTIONS]

${about}

${verbs.map((verb) => `  ${`${verb.name} ${verb.words}`.trimEnd()}\n      ${verb.summary.replaceAll('\n', '\n      ')}`).join('\n')}

${accountHelp}

${placesHelp}

  --json                prints one JSON document instead of a table
  --yes                 does not ask before something is destroyed

Example:
${example}`,
    run: (args, terminal) => runKms(verbs, args, terminal, person()),
  }
}
