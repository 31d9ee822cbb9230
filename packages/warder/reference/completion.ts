import {
  type Command,
  type Option,
  type Options,
  readArguments,
  requireOneName,
  UsageError,
} from '@warder/command-line'

const shells: Readonly<Record<string, (places: readonly CompletionPoint[]) => string>> = {
  bash: formatBashScript,
  zsh: formatZshScript,
  fish: formatFishScript,
}

/** `warder completion SHELL`. @param loadAll every command, itself among them */
export function completionCommand(loadAll: () => Promise<readonly Command[]>): Command {
  return {
    name: 'completion',
    summary: 'Print a completion script for a shell',
    options: {},
    help: `warder completion bash|zsh|fish

Prints a script with which the shell completes commands, verbs, options and file names. The script contains the commands
of this version and contacts no service.

Example:
  source <(warder completion bash)                                     in ~/.bashrc
  warder completion zsh > ~/.zsh/completions/_warder                   in a folder of $fpath
  warder completion fish > ~/.config/fish/completions/warder.fish`,
    async run(args, terminal) {
      const { names } = readArguments(args, {})
      const shell = requireOneName(names, 'shell: bash, zsh or fish')
      const script = Object.hasOwn(shells, shell) ? shells[shell] : undefined
      if (script === undefined) throw new UsageError(`the shell must be bash, zsh or fish, not '${shell}'`)
      terminal.out(script(listCompletionPoints(await loadAll())))
      return 0
    },
  }
}

/** Possible words at a point of the command line, with their descriptions. */
type Words = readonly (readonly [word: string, help: string])[]

/** The completions after a command path. */
interface CompletionPoint {
  /** The words after `warder`: none, a command, or a command and its verb in one or two words. */
  readonly path: readonly string[]
  /** Commands or verbs. */
  readonly words: Words
  readonly options: Words
  /** Options with a value. */
  readonly valued: readonly string[]
}

/** Lists all completion points of the declared commands. */
function listCompletionPoints(commands: readonly Command[]): readonly CompletionPoint[] {
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

/** Completion for bash 3.2 and later. */
function formatBashScript(points: readonly CompletionPoint[]): string {
  const rows = points
    .map(
      ({ path, words, options, valued }) =>
        `    '${path.join(' ')}') words='${joinWords(words)}' options='${joinWords(options)}' valued=' ${valued.join(' ')} ' ;;`,
    )
    .join('\n')
  return `# Completion of warder for bash: source <(warder completion bash)
_warder_place() {
  words= options= valued=
  case "$1" in
${rows}
    *) return 1 ;;
  esac
}

_warder() {
  local current="\${COMP_WORDS[COMP_CWORD]}" path= words options valued index word
  _warder_place ''
  for ((index = 1; index < COMP_CWORD; index++)); do
    word="\${COMP_WORDS[index]}"
    case "$word" in
      --) break ;;
      --*=*) ;;
      -*) [[ "$valued" == *" $word "* ]] && ((index++)) ;;
      *) if _warder_place "\${path:+$path }$word"; then path="\${path:+$path }$word"; else _warder_place "$path"; fi ;;
    esac
  done
  COMPREPLY=()
  if [[ $COMP_CWORD -gt 1 && "$valued" == *" \${COMP_WORDS[COMP_CWORD - 1]} "* ]]; then
    compopt -o default 2>/dev/null
  elif [[ "$current" == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$current"))
  elif [[ -n "$words" ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  else
    compopt -o default 2>/dev/null
  fi
}

complete -F _warder warder`
}

const joinWords = (words: CompletionPoint['words']): string => words.map(([word]) => word).join(' ')

/** Completion for zsh: a function for a folder of `fpath`. */
function formatZshScript(points: readonly CompletionPoint[]): string {
  const rows = points
    .map(
      ({ path, words, options, valued }) => `    '${path.join(' ')}')
      words=(${words.map(formatEntry).join(' ')})
      options=(${options.map(formatEntry).join(' ')})
      valued=' ${valued.join(' ')} '
      ;;`,
    )
    .join('\n')
  return `#compdef warder
# Completion of warder for zsh: warder completion zsh > a folder of $fpath, as _warder
_warder_place() {
  local -a words options
  local valued
  case "$1" in
${rows}
    *) return 1 ;;
  esac
  _warder_words=("\${words[@]}") _warder_options=("\${options[@]}") _warder_valued="$valued"
}

_warder() {
  local -a _warder_words _warder_options
  local _warder_valued word place
  integer index
  _warder_place ''
  for ((index = 2; index < CURRENT; index++)); do
    word="\${words[index]}"
    case "$word" in
      --) break ;;
      --*=*) ;;
      -*) [[ "$_warder_valued" == *" $word "* ]] && ((index++)) ;;
      *) if _warder_place "\${place:+$place }$word"; then place="\${place:+$place }$word"; fi ;;
    esac
  done
  if ((CURRENT > 2)) && [[ "$_warder_valued" == *" \${words[CURRENT-1]} "* ]]; then
    _files
  elif [[ "\${words[CURRENT]}" == -* ]]; then
    _describe -o option _warder_options
  elif ((\${#_warder_words})); then
    _describe word _warder_words
  else
    _files
  fi
}

if [ "$funcstack[1]" = _warder ]; then _warder "$@"; else compdef _warder warder; fi`
}

/** Formats `'word:description'` for `_describe`. */
function formatEntry([word, help]: readonly [string, string]): string {
  return `'${`${word.replaceAll(':', '\\:')}:${help}`.replaceAll("'", "'\\''")}'`
}

/** Completion for fish. */
function formatFishScript(points: readonly CompletionPoint[]): string {
  const known = points.map(({ path }) => quote(path.join(' '))).join(' ')
  const valued = [...new Set(points.flatMap((place) => place.valued))].join(' ')
  const rows = points.flatMap(({ path, words, options, valued: withValue }) => {
    const here = `-n ${quote(`__warder_at ${quote(path.join(' '))}`)}`
    return [
      ...words.map(([word, help]) => `complete -c warder ${here} -f -a ${quote(word)} -d ${quote(help)}`),
      ...options.map(([option, help]) => {
        const value = withValue.includes(option) ? ' -r' : ''
        return `complete -c warder ${here} -l ${quote(option.slice(2))}${value} -d ${quote(help)}`
      }),
    ]
  })
  return `# Completion of warder for fish: warder completion fish > ~/.config/fish/completions/warder.fish
function __warder_at
  set -l place ''
  set -l skip 0
  for word in (commandline -opc)[2..-1]
    if test $skip = 1
      set skip 0
    else if string match -q -- '--*=*' $word
    else if contains -- $word ${valued}
      set skip 1
    else if not string match -q -- '-*' $word
      set -l next (string trim "$place $word")
      contains -- $next ${known}; and set place $next
    end
  end
  test "$place" = "$argv[1]"
end
${rows.join('\n')}`
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
