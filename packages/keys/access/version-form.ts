import { aliasPrefix } from '../objects/object-id.ts'

/** `name@latest`, `name@first` or `name@N`: a version of a key, counted from 0 as generations are. */
export interface VersionForm {
  readonly name: string
  readonly version: 'latest' | number
}

const form = /^(.+)@(latest|first|0|[1-9][0-9]{0,4})$/s

/** undefined: the text is no such form. */
export function versionForm(text: string): VersionForm | undefined {
  // Fast path: most identifiers have no `@`. In an alias it precedes the owner.
  if (!text.includes('@') || text.startsWith(aliasPrefix)) return undefined
  const [, name, version] = form.exec(text) ?? []
  if (name === undefined || version === undefined) return undefined
  return { name, version: version === 'latest' ? version : version === 'first' ? 0 : Number(version) }
}
