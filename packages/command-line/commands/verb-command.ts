import type { Terminal } from '../terminal/terminal.ts'
import { type Command, findHome, homeOption, selectHome } from './command.ts'
import { optionsHelp, type Values } from './options.ts'
import { createVerbHelp, defineVerb, formatVerbs, readVerb, type Verb, withVerb } from './verbs.ts'

/** Context of a verb that needs only a home and a terminal. */
export interface HomeContext {
  readonly home: string
  readonly terminal: Terminal
}

export interface HomeVerb extends Verb {
  /** Checks the arguments. @returns a function that executes the verb and returns the exit code @throws UsageError */
  parse(values: Values, names: readonly string[]): (context: HomeContext) => Promise<number>
}

export const homeVerb = defineVerb<HomeVerb>()

/** `warder NAME VERB …` for verbs that work in a home. */
export function verbCommand(parts: {
  readonly name: string
  readonly summary: string
  /** Sentences after the first line of the help. */
  readonly about: string
  readonly verbs: readonly HomeVerb[]
  /** Lines that can be typed as they are; default: those of the verbs. */
  readonly examples?: readonly string[]
}): Command {
  const { name, summary, about, verbs } = parts
  const examples = parts.examples ?? verbs.flatMap((verb) => verb.examples)
  return {
    name,
    summary,
    about,
    verbs,
    options: common,
    help: `warder ${name} VERB [OPTIONS]

${about}

${formatVerbs(verbs)}

  warder ${name} VERB --help    show the help of one verb

${homeVerbsHelp}

Example:
${examples.map((line) => `  ${line}`).join('\n')}`,
    helpFor: createVerbHelp(name, verbs, homeVerbsHelp),
    run: (args, terminal) => runHomeVerb(verbs, args, terminal),
  }
}

const common = { home: homeOption } as const

/** Options of all verbs of a home. */
export const homeVerbsHelp = optionsHelp(common)

/** @returns the exit code @throws UsageError, StartupError */
export async function runHomeVerb(
  verbs: readonly HomeVerb[],
  args: readonly string[],
  terminal: Terminal,
): Promise<number> {
  const call = readVerb(verbs, common, args)
  const act = withVerb(call.verb, () => call.verb.parse(call.values, call.names))
  const { path, isForeign } = findHome(call.common.home, terminal.env)
  // The services could not read files that root or another user wrote.
  return await act({ home: isForeign ? selectHome(call.common.home, terminal.env) : path, terminal })
}
