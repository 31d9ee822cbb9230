import { stringify } from 'smol-toml'

/** Settings by dotted key as a TOML file; those of no section come first. */
export function formatSettingsToml(found: ReadonlyMap<string, unknown>): string {
  const file: Record<string, unknown> = {}
  for (const [key, value] of [...found].sort(
    ([a], [b]) => Number(a.includes('.')) - Number(b.includes('.')),
  )) {
    const parts = key.split('.')
    const name = parts.pop() ?? key
    let section = file
    for (const part of parts) {
      section[part] ??= {}
      section = section[part] as Record<string, unknown>
    }
    section[name] = value
  }
  return `${stringify(file)}\n`
}
