import type { CompletionPoint } from './completion-points.ts'

/** Completion for zsh: a function for a folder of `fpath`. */
export function formatZshScript(points: readonly CompletionPoint[]): string {
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
