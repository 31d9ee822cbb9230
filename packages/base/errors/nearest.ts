/** `; did you mean NAME?` for the name that a word was probably meant to be, else nothing. */
export function suggest(name: string, known: readonly string[], prefix = ''): string {
  const [best] = known
    .map((candidate) => ({ candidate, distance: editDistance(name.toLowerCase(), candidate.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance)
  if (best === undefined || best.distance > Math.max(2, name.length / 3)) return ''
  return `; did you mean ${prefix}${best.candidate}?`
}

/** Levenshtein distance; both texts are cut to 64 characters. */
function editDistance(left: string, right: string): number {
  const [a, b] = [left.slice(0, 64), right.slice(0, 64)]
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + cost))
    }
    row = next
  }
  return row[b.length] ?? 0
}
