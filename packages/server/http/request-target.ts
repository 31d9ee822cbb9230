/** A request target (RFC 9112 §3.2), cut into its parts. */
export interface RequestTarget {
  /** Begins with a slash, or is `*`; any other form is left unchanged, and matches no route. */
  readonly path: string
  /** Text after `?`, or empty. */
  readonly rawQuery: string
  /** Of the absolute form only; the scheme is in lower case. */
  readonly absolute: { readonly scheme: string; readonly authority: string } | undefined
}

/** RFC 3986 §3.2.2 and §3.2.3, without user information (RFC 9110 §4.2.4): a name or an address, and a port. */
const hostAndPort = /^(?:\[[0-9A-Fa-f:.]+\]|(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+)(?::(\d{0,5}))?$/
const absoluteForm = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/([^/?#]*)([^#]*)$/

/** @param method decides the meaning of an absolute target without a path (RFC 9112 §3.2.4) */
export function readTarget(target: string, method: string): RequestTarget {
  if (target.startsWith('/')) return cut(target, undefined)
  const [, scheme, authority, rest = ''] = absoluteForm.exec(target) ?? []
  if (scheme === undefined || authority === undefined) return cut(target, undefined)
  const empty = method === 'OPTIONS' && rest === '' ? '*' : '/'
  const path = rest.startsWith('/') ? rest : `${empty}${rest}`
  return cut(path, { scheme: scheme.toLowerCase(), authority })
}

/** Whether the text names a host, as the header Host and the authority of a target do (RFC 9110 §7.2). */
export function namesHost(text: string): boolean {
  const found = hostAndPort.exec(text)
  return found !== null && Number(found[1] ?? 0) <= 65_535
}

function cut(text: string, absolute: RequestTarget['absolute']): RequestTarget {
  const mark = text.indexOf('?')
  return mark === -1
    ? { path: text, rawQuery: '', absolute }
    : { path: text.slice(0, mark), rawQuery: text.slice(mark + 1), absolute }
}
