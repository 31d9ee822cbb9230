import type { Command, Option, Options } from '@warder/command-line'

/** Possible words at a point of the command line, with their descriptions. */
export type Words = readonly (readonly [word: string, help: string])[]

/** The completions after a command path. */
export interface CompletionPoint {
  /** The words after `warder`: none, a command, or a command and its verb in one or two words. */
  readonly path: readonly string[]
  /** Commands or verbs. */
  readonly words: Words
  readonly options: Words
  /** Options with a value. */
  readonly valued: readonly string[]
}

/** Lists all completion points of the declared commands. */
export function listCompletionPoints(commands: readonly Command[]): readonly CompletionPoint[] {
  const root: CompletionPoint = {
    path: [],
    words: [
      ...commands.map(({ name, summary }) => [name, summary] as const),
      ['help', 'Show the help of a command'],
    ],
    ...listOptions({}),
  }
  return [root, ...commands.flatMap(listCommandPoints)]
}

function listCommandPoints({ name, verbs = [], options = {} }: Command): readonly CompletionPoint[] {
  const own: CompletionPoint = { path: [name], words: listFirstWords(verbs), ...listOptions(options) }
  const ofVerbs = verbs.map((verb) => ({
    path: [name, ...verb.name.split(' ')],
    words: [],
    ...listOptions({ ...verb.options, ...options }),
  }))
  // `tag add` and `tag remove` share the point after `tag`.
  const groups = [
    ...new Set(verbs.flatMap((verb) => (verb.name.includes(' ') ? [getFirstWord(verb.name)] : []))),
  ]
  const ofGroups = groups
    .filter((group) => !verbs.some((verb) => verb.name === group))
    .map((group) => ({
      path: [name, group],
      words: verbs
        .filter((verb) => verb.name.startsWith(`${group} `))
        .map((verb) => [verb.name.slice(group.length + 1), verb.summary] as const),
      ...listOptions(options),
    }))
  return [own, ...ofGroups, ...ofVerbs]
}

function listFirstWords(verbs: NonNullable<Command['verbs']>): Words {
  const found = new Map<string, string>()
  for (const { name, summary } of verbs)
    found.set(
      getFirstWord(name),
      found.has(getFirstWord(name)) || name.includes(' ') ? 'more verbs' : summary,
    )
  return [...found]
}

const getFirstWord = (verb: string): string => verb.split(' ')[0] ?? ''

function listOptions(options: Options): Pick<CompletionPoint, 'options' | 'valued'> {
  const shown = Object.entries(options).filter(([, { help }]) => help !== undefined)
  return {
    options: [
      ...shown.map(([name, option]) => [`--${name}`, getFirstLine(option)] as const),
      ['--help', 'shows the help'],
    ],
    valued: shown.flatMap(([name, { type }]) => (type === 'flag' ? [] : [`--${name}`])),
  }
}

/** The first line of an option's help. */
function getFirstLine({ help = '' }: Option): string {
  return help.split('\n')[0] ?? ''
}
