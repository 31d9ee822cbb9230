/** A token as a PKCS#11 URI names it; absent parts are those of the other settings. */
export interface TokenUri {
  readonly token: { readonly label: string } | { readonly slot: number }
  readonly keyLabel: string | undefined
  readonly library: string | undefined
  readonly pinFile: string | undefined
}

export const maxTokens = 8
const maxLabelBytes = 32
const attributes = { path: ['token', 'slot-id', 'object'], query: ['module-path', 'pin-source'] } as const
const supported = [...attributes.path, ...attributes.query].join(', ')

/**
 * Reads a PKCS#11 URI (RFC 7512 §2.3): `pkcs11:token=LABEL;object=KEY?module-path=LIBRARY&pin-source=file:PATH`.
 * @returns a sentence for one that cannot be used
 */
export function parseTokenUri(uri: string): TokenUri | string {
  const [, path, query = ''] = /^pkcs11:([^?]*)(?:\?(.*))?$/.exec(uri) ?? []
  if (path === undefined) return 'must be PKCS#11 URIs like pkcs11:token=LABEL (RFC 7512)'
  const values = new Map<string, string>()
  for (const [text, separator, known] of [
    [path, ';', attributes.path],
    [query, '&', attributes.query],
  ] as const)
    for (const part of text.split(separator).filter((each) => each !== '')) {
      const [name = '', ...rest] = part.split('=')
      if (!known.some((each) => each === name)) return `the attribute ${name} is not one of ${supported}`
      const value = decode(rest.join('='))
      if (value === undefined || value === '') return `the attribute ${name} has no valid value`
      if (values.has(name)) return `the attribute ${name} is there twice`
      values.set(name, value)
    }
  const [label, slot] = [values.get('token'), values.get('slot-id')]
  if ((label === undefined) === (slot === undefined)) return 'requires either token or slot-id'
  if (label !== undefined && Buffer.byteLength(label) > maxLabelBytes)
    return `token must have at most ${maxLabelBytes} bytes`
  if (slot !== undefined && !/^\d{1,10}$/.test(slot)) return 'slot-id must be a number'
  const keyLabel = values.get('object')
  if (keyLabel !== undefined && !/^[\x20-\x7e]{1,100}$/.test(keyLabel))
    return 'object must be a label of printable ASCII'
  const pinFile = values.get('pin-source')?.replace(/^file:(?:\/\/(?=\/))?/, '')
  if (pinFile?.startsWith('|')) return 'pin-source must name a file: file:/etc/warder/pin'
  const library = values.get('module-path')
  if ([library, pinFile].some((file) => file?.startsWith('/') === false))
    return 'module-path and pin-source must be absolute paths'
  return {
    token: label === undefined ? { slot: Number(slot) } : { label },
    ...{ keyLabel, library, pinFile },
  }
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
