import type { Place } from './words.ts'

/** Completion for fish. */
export function fishScript(places: readonly Place[]): string {
  const known = places.map(({ path }) => quoted(path.join(' '))).join(' ')
  const valued = [...new Set(places.flatMap((place) => place.valued))].join(' ')
  const rows = places.flatMap(({ path, words, options, valued: withValue }) => {
    const here = `-n ${quoted(`__warder_at ${quoted(path.join(' '))}`)}`
    return [
      ...words.map(([word, help]) => `complete -c warder ${here} -f -a ${quoted(word)} -d ${quoted(help)}`),
      ...options.map(([option, help]) => {
        const value = withValue.includes(option) ? ' -r' : ''
        return `complete -c warder ${here} -l ${quoted(option.slice(2))}${value} -d ${quoted(help)}`
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

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
