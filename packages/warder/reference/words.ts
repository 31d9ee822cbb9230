import type { Command } from '../cli/command.ts'
import type { Option, Options } from '../cli/options.ts'

/** Words that can stand at one place of a command line, with what each is for. */
export type Words = readonly (readonly [word: string, help: string])[]

/** Possible words after some words. */
export interface Place {
  /** Behind `warder`: none, a command, or a command and its verb in one word or two. */
  readonly path: readonly string[]
  /** Commands or verbs. */
  readonly words: Words
  readonly options: Words
  /** Options behind which a value stands. */
  readonly valued: readonly string[]
}

/** Every place of the command line, as the commands declare it. */
export function placesOf(commands: readonly Command[]): readonly Place[] {
  const root: Place = {
    path: [],
    words: [
      ...commands.map(({ name, summary }) => [name, summary] as const),
      ['help', 'tells about a command'],
    ],
    ...optionPlace({}),
  }
  return [root, ...commands.flatMap(placesOfCommand)]
}

function placesOfCommand({ name, verbs = [], options = {} }: Command): readonly Place[] {
  const own: Place = { path: [name], words: firstWords(verbs), ...optionPlace(options) }
  const ofVerbs = verbs.map((verb) => ({
    path: [name, ...verb.name.split(' ')],
    words: [],
    ...optionPlace({ ...verb.options, ...options }),
  }))
  // `tag add` and `tag remove` share the place behind `tag`.
  const groups = [...new Set(verbs.flatMap((verb) => (verb.name.includes(' ') ? [firstOf(verb.name)] : [])))]
  const ofGroups = groups
    .filter((group) => !verbs.some((verb) => verb.name === group))
    .map((group) => ({
      path: [name, group],
      words: verbs
        .filter((verb) => verb.name.startsWith(`${group} `))
        .map((verb) => [verb.name.slice(group.length + 1), verb.summary] as const),
      ...optionPlace(options),
    }))
  return [own, ...ofGroups, ...ofVerbs]
}

function firstWords(verbs: NonNullable<Command['verbs']>): Words {
  const found = new Map<string, string>()
  for (const { name, summary } of verbs)
    found.set(firstOf(name), found.has(firstOf(name)) || name.includes(' ') ? 'more verbs' : summary)
  return [...found]
}

const firstOf = (verb: string): string => verb.split(' ')[0] ?? ''

function optionPlace(options: Options): Pick<Place, 'options' | 'valued'> {
  const shown = Object.entries(options).filter(([, { help }]) => help !== undefined)
  return {
    options: [
      ...shown.map(([name, option]) => [`--${name}`, lineOf(option)] as const),
      ['--help', 'tells more'],
    ],
    valued: shown.flatMap(([name, { type }]) => (type === 'flag' ? [] : [`--${name}`])),
  }
}

/** The first line of an option's help. */
function lineOf({ help = '' }: Option): string {
  return help.split('\n')[0] ?? ''
}
