import { suggest } from '@warder/base'
import {
  type Options,
  optionsHelp,
  optionsUsage,
  readArguments,
  readNames,
  UsageError,
  type Values,
  type ValuesOf,
} from './options.ts'

/** A verb of a command: its usage and help. */
export interface Verb {
  /** One word or two: `tag add`. */
  readonly name: string
  /** Operands after the name, as shown in the help. */
  readonly words: string
  /** Usage of the options, if a generated list does not suffice. */
  readonly usage?: string
  /** One line, for the list of verbs. */
  readonly summary: string
  /** Further help text. */
  readonly about?: string
  /** Lines that can be typed as they are. */
  readonly examples: readonly string[]
  readonly options: Options
}

interface ParsingVerb extends Verb {
  parse(values: Values, names: readonly string[]): unknown
}

/** Returns a function that declares a verb: its `parse` gets the values of the options that it declares. */
export function defineVerb<V extends ParsingVerb>() {
  return <const O extends Options>(
    verb: Omit<V, 'options' | 'parse'> & {
      readonly options: O
      parse(values: ValuesOf<O>, names: readonly string[]): ReturnType<V['parse']>
    },
  ): V =>
    // `readVerb` calls it with the values of exactly these options.
    verb as unknown as V
}

export interface VerbCall<V extends Verb, Common extends Options> {
  readonly verb: V
  readonly common: ValuesOf<Common>
  readonly values: Values
  /** The operands after the verb. */
  readonly names: readonly string[]
}

const maxLineLength = 118

/** Finds the verb at the start of the operands. */
function findVerb<V extends Verb>(verbs: readonly V[], words: readonly string[]): V | undefined {
  return verbs.find(({ name }) => name.split(' ').every((word, index) => words[index] === word))
}

/**
 * Finds the verb and reads its options and the common ones, which may also precede the verb.
 * @throws UsageError, with the verb whose help applies
 */
export function readVerb<V extends Verb, const Common extends Options>(
  verbs: readonly V[],
  common: Common,
  args: readonly string[],
): VerbCall<V, Common> {
  const words = readNames(args, Object.assign({}, ...verbs.map(({ options }) => options), common))
  const verb = findVerb(verbs, words)
  if (verb === undefined) throw createNoVerbError(verbs, words[0])
  return withVerb(verb, () => {
    const { values, names } = readArguments(args, { ...verb.options, ...common })
    return {
      verb,
      common: values as ValuesOf<Common>,
      values: values as Values,
      names: names.slice(verb.name.split(' ').length),
    }
  })
}

/** Adds the verb to usage errors of `act`. @throws UsageError */
export function withVerb<R>(verb: Verb, act: () => R): R {
  try {
    return act()
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    throw new UsageError(error.message, { verb: verb.name, cause: error })
  }
}

/** Requires that the operands begin with one of the verbs. @throws UsageError, which names them */
export function requireVerb(verbs: readonly Verb[], words: readonly string[]): void {
  if (findVerb(verbs, words) === undefined) throw createNoVerbError(verbs, words[0])
}

function createNoVerbError(verbs: readonly Verb[], word: string | undefined): UsageError {
  const known = verbs.map(({ name }) => name)
  if (word !== undefined) {
    return new UsageError(`there is no verb '${word}'; verbs: ${known.join(', ')}${suggest(word, known)}`)
  }
  const last = known.slice(-1).join()
  const others = known.slice(0, -1).join(', ')
  return new UsageError(`missing verb: ${others === '' ? last : `${others} or ${last}`}`)
}

/** Formats the usage of a verb, without the name of its command. */
function formatCall({ name, words, usage, options }: Verb): string {
  return [name, words, usage ?? optionsUsage(options)].filter((part) => part !== '').join(' ')
}

/** Wraps a usage line between options. */
function wrapCall(call: string): string {
  const lines = ['']
  for (const part of call.split(/ (?=\[|--)/)) {
    const line = lines.at(-1) ?? ''
    if (line !== '' && line.length + part.length >= maxLineLength) lines.push(`    ${part}`)
    else lines[lines.length - 1] = line === '' ? part : `${line} ${part}`
  }
  return lines.join('\n')
}

/** The verbs of a command, for its help. */
export function formatVerbs(verbs: readonly Verb[]): string {
  return verbs.map((verb) => `  ${formatCall(verb)}\n      ${verb.summary}`).join('\n')
}

/** Formats `warder COMMAND VERB --help`. @param common help that all verbs of the command share */
function formatVerbHelp(command: string, verb: Verb, common: string): string {
  const about = [verb.about ?? '', optionsHelp(verb.options)].filter((part) => part !== '').join('\n')
  return [
    wrapCall(`warder ${command} ${formatCall(verb)}`),
    verb.summary,
    ...(about === '' ? [] : [about]),
    `Example:\n${verb.examples.map((line) => `  ${line}`).join('\n')}`,
    ...(common === '' ? [] : [common]),
  ].join('\n\n')
}

/** `helpFor` of a command with verbs. */
export function createVerbHelp(
  command: string,
  verbs: readonly Verb[],
  common: string,
): (args: readonly string[]) => string | undefined {
  return (args) => {
    const words = args.filter((word) => word !== '--help' && word !== '-h')
    const verb = findVerb(verbs, words)
    if (verb !== undefined) return formatVerbHelp(command, verb, common)
    // `tag` of `tag add` and `tag remove`.
    const group = verbs.filter(({ name }) => name.startsWith(`${words[0]} `))
    return group.length === 0 ? undefined : `warder ${command} ${words[0]} VERB\n\n${formatVerbs(group)}`
  }
}
