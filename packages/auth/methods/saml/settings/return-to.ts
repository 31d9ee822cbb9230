import { failure } from '@warder/foundation/errors'

const longest = 2048
/** Printable ASCII as RFC 3986 has it: browsers repair everything else, each in its own way. */
const plainUrl = /^https:\/\/[A-Za-z0-9._~:[\]-]+(?:[/?#][!#-;=?-Z_a-z~[\]]*)?$/

/**
 * An https URL that a browser and this service read alike: no user, no backslash, no blank, a host in ASCII.
 * @returns the URL; undefined for any other text
 */
export function readHttpsUrl(text: string): URL | undefined {
  if (text.length > longest || !plainUrl.test(text)) return undefined
  const url = URL.parse(text)
  if (url === null || url.protocol !== 'https:' || url.username !== '' || url.password !== '')
    return undefined
  return url
}

/** An https origin and nothing else; undefined for any other text. */
export function readOrigin(text: string): string | undefined {
  const url = readHttpsUrl(text)
  const isBare = url !== undefined && url.pathname === '/' && url.search === '' && url.hash === ''
  return isBare && !/[?#]/.test(text) ? url.origin : undefined
}

/**
 * Where a browser is sent after a login: what it asked for, if that is of an allowed origin.
 * @returns the normalized URL
 * @throws failure('bad_request')
 */
export function returnUrl(
  asked: string | undefined,
  settings: { readonly allowed_return_origins: readonly string[]; readonly default_return_url: string },
): string {
  if (asked === undefined) return settings.default_return_url
  const url = readHttpsUrl(asked)
  if (url === undefined)
    throw failure('bad_request', 'return_to is not a valid URL: https, in ASCII, without user.')
  if (!settings.allowed_return_origins.includes(url.origin))
    throw failure('bad_request', 'return_to is not under an allowed return origin of this realm.')
  return url.href
}
