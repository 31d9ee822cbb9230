import type { CompletionPoint } from './completion-points.ts'

/** Completion for fish. */
export function formatFishScript(points: readonly CompletionPoint[]): string {
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
