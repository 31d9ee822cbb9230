import type { CompletionPoint } from './completion-points.ts'

/** Completion for bash 3.2 and later. */
export function formatBashScript(points: readonly CompletionPoint[]): string {
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
