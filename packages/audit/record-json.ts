import { randomUUID } from 'node:crypto'

/**
 * JSON.parse, but sure of the member names: V8 14.6 can take a name that is written with an escape for the name that an
 * earlier text had after the same members (docs/adr/http-requests.md). Here each object of such a text begins with a
 * member that no object had before, which is taken out again. For texts that may hold any name; those of callers are
 * refused instead.
 * @throws SyntaxError
 */
export function parseRecordJson(text: string): unknown {
  if (!text.includes('\\')) return JSON.parse(text)
  const mark = randomUUID()
  let objects = 0
  const marked = text.replace(/"(?:[^"\\]|\\.)*"|\{\s*\}|\{/g, (token) =>
    token === '{' ? `{"${mark}${++objects}":0,` : token,
  )
  return JSON.parse(marked, (name, value) => (name.startsWith(mark) ? undefined : value))
}
