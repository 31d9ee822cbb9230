/** Fills parameters into a path. @throws TypeError for a value that would change the path */
export function fillPath(path: string, values: Readonly<Record<string, string>>): string {
  return path.replace(/\{(\w+)\}/g, (_whole, name: string) => {
    const value = values[name]
    // `.` and `..` would be resolved as path segments; an empty value names another resource.
    if (value === undefined || /^\.{0,2}$/.test(value))
      throw new TypeError(`${name} cannot be used in a path`)
    return encodeURIComponent(value)
  })
}

/** Formats a query: `?a=b`, or the empty text. */
export function formatQuery(values: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) if (value !== undefined) query.set(name, value)
  return query.size === 0 ? '' : `?${query}`
}
