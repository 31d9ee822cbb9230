import { suggestion } from '@warder/foundation/config'
import { UsageError } from './command.ts'
import { optionsHelp, optionsUsage } from './help.ts'
import { namesIn, type Options, readArguments, type Values, type ValuesOf } from './options.ts'

/** One thing that a command does: how it is called, and its help. */
export interface Verb {
  /** One word or two: `tag add`. */
  readonly name: string
  /** What stands after the name beside the options, as the help shows it. */
  readonly words: string
  /** How the options are shown behind the words, where a list of them would not do. */
  readonly usage?: string
  /** One line, for the list of verbs. */
  readonly summary: string
  /** The rest of its own help: what one has to know. */
  readonly about?: string
  /** Lines that can be typed as they are. */
  readonly examples: readonly string[]
  readonly options: Options
}

export interface VerbCall<V extends Verb, Common extends Options> {
  readonly verb: V
  readonly common: ValuesOf<Common>
  readonly values: Values
  /** The words behind the verb. */
  readonly names: readonly string[]
}

/** The verb that the words begin with. */
function findVerb<V extends Verb>(verbs: readonly V[], words: readonly string[]): V | undefined {
  return verbs.find(({ name }) => name.split(' ').every((word, index) => words[index] === word))
}

/**
 * Finds the verb and reads its options, and those that are common to all verbs; they may stand before the verb, too.
 * @throws UsageError, with the verb whose help tells more
 */
export function readVerb<V extends Verb, const Common extends Options>(
  verbs: readonly V[],
  common: Common,
  args: readonly string[],
): VerbCall<V, Common> {
  const words = namesIn(args, Object.assign({}, ...verbs.map(({ options }) => options), common))
  const verb = findVerb(verbs, words)
  if (verb === undefined) throw noVerb(verbs, words[0])
  return inVerb(verb, () => {
    const { values, names } = readArguments(args, { ...verb.options, ...common })
    return {
      verb,
      common: values as ValuesOf<Common>,
      values: values as Values,
      names: names.slice(verb.name.split(' ').length),
    }
  })
}

/** Errors of `act` name the verb. @throws UsageError */
export function inVerb<R>(verb: Verb, act: () => R): R {
  try {
    return act()
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    throw new UsageError(error.message, { verb: verb.name, cause: error })
  }
}

function noVerb(verbs: readonly Verb[], word: string | undefined): UsageError {
  const known = verbs.map(({ name }) => name)
  if (word !== undefined) {
    return new UsageError(`there is no '${word}'; these are: ${known.join(', ')}${suggestion(word, known)}`)
  }
  const last = known.slice(-1).join()
  const others = known.slice(0, -1).join(', ')
  return new UsageError(`say what to do: ${others === '' ? last : `${others} or ${last}`}`)
}

/** How a verb is called, behind the name of its command. */
function callOf({ name, words, usage, options }: Verb): string {
  return [name, words, usage ?? optionsUsage(options)].filter((part) => part !== '').join(' ')
}

/** The verbs of a command, for its help. */
export function verbsHelp(verbs: readonly Verb[]): string {
  return verbs.map((verb) => `  ${callOf(verb)}\n      ${verb.summary}`).join('\n')
}

/** Lines of `warder COMMAND VERB --help`. @param common help that all verbs of the command share */
function verbHelp(command: string, verb: Verb, common: string): string {
  const about = [verb.about ?? '', optionsHelp(verb.options)].filter((part) => part !== '').join('\n')
  return [
    `warder ${command} ${callOf(verb)}`,
    verb.summary,
    ...(about === '' ? [] : [about]),
    `Example:\n${verb.examples.map((line) => `  ${line}`).join('\n')}`,
    ...(common === '' ? [] : [common]),
  ].join('\n\n')
}

/** `helpFor` of a command with verbs. */
export function helpOfVerbs(
  command: string,
  verbs: readonly Verb[],
  common: string,
): (args: readonly string[]) => string | undefined {
  return (args) => {
    const verb = findVerb(
      verbs,
      args.filter((word) => word !== '--help' && word !== '-h'),
    )
    return verb && verbHelp(command, verb, common)
  }
}
