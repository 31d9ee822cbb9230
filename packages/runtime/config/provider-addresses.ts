/** Checks of settings that name providers and addresses. Each returns the problem as text, or undefined for a valid value. */

/** Requires https for an address that this service fetches or publishes. */
export function httpsProblem(address: string): string | undefined {
  return address.startsWith('https://') && URL.canParse(address) ? undefined : 'must begin with https://'
}

/** https, or `file:` and a path. */
export function keySetProblem(address: string): string | undefined {
  return address.startsWith('file:') || httpsProblem(address) === undefined
    ? undefined
    : 'must be an https address or file: and a path'
}

export interface ProviderText {
  readonly issuer: string
  /** Address of its keys, configured or derived from the issuer. */
  readonly keySet: string
  /** undefined = not checked. */
  readonly audiences: readonly string[] | undefined
}

export const spiffe = 'spiffe://'

/** Parses `issuer[,key set[,audience…]]`, or returns the problem. */
export function readProviderText(text: string): ProviderText | { readonly problem: string } {
  const [issuer = '', keySet = '', ...rest] = text.split(',').map((part) => part.trim())
  const audiences = rest.filter((audience) => audience !== '')
  if (issuer === '') return { problem: 'must contain an issuer at the start of each entry' }
  if (issuer.startsWith(spiffe)) {
    if (audiences.length === 0) return { problem: `must contain an audience for ${issuer}` }
    if (keySet === '') return { problem: `must contain a key set for ${issuer}` }
  }
  const place = keySet === '' ? `${issuer.replace(/\/+$/, '')}/.well-known/jwks.json` : keySet
  const wrong = keySetProblem(place)
  if (wrong !== undefined) return { problem: `has the key set ${place}, which ${wrong}` }
  return { issuer, keySet: place, audiences: audiences.length === 0 ? undefined : audiences }
}

export function providersProblem(providers: readonly string[]): string | undefined {
  for (const text of providers) {
    const read = readProviderText(text)
    if ('problem' in read) return read.problem
  }
  return undefined
}
