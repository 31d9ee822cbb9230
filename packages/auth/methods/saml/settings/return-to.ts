import { failure } from '@warder/base'

const maxUrlLength = 2048
/** Printable ASCII as in RFC 3986: browsers repair other characters in different ways. */
const plainUrl = /^https:\/\/[A-Za-z0-9._~:[\]-]+(?:[/?#][!#-;=?-Z_a-z~[\]]*)?$/

/**
 * Reads an https URL that browsers and this service parse alike: no user, no backslash, no blank, a host in ASCII.
 * @returns the URL; undefined for any other text
 */
export function readHttpsUrl(text: string): URL | undefined {
  if (text.length > maxUrlLength || !plainUrl.test(text)) return undefined
  const url = URL.parse(text)
  if (url === null || url.protocol !== 'https:' || url.username !== '' || url.password !== '')
    return undefined
  return url
}

/** Origins of programs on the user's own computer, on any port (RFC 8252 §7.3). Never `localhost`, which is a name. */
export const loopbackOrigins: readonly string[] = ['http://127.0.0.1', 'http://[::1]']
const loopbackUrl = /^(http:\/\/(?:127\.0\.0\.1|\[::1\])):[1-9][0-9]{0,4}(?:\/[A-Za-z0-9._~/-]*)?$/

/** Finds the loopback origin of the URL of a local program; undefined for any other text. */
function findLoopbackOrigin(text: string): string | undefined {
  const origin = text.length > maxUrlLength ? undefined : loopbackUrl.exec(text)?.[1]
  return origin !== undefined && URL.canParse(text) ? origin : undefined
}

/** @param url with or without an added code */
export function isLoopback(url: string): boolean {
  const [address = ''] = url.split('?', 1)
  return findLoopbackOrigin(address) !== undefined
}

/** Reads an https origin without path; undefined for any other text. */
export function readOrigin(text: string): string | undefined {
  const url = readHttpsUrl(text)
  const isBare = url !== undefined && url.pathname === '/' && url.search === '' && url.hash === ''
  return isBare && !/[?#]/.test(text) ? url.origin : undefined
}

interface ReturnSettings {
  readonly allowed_return_origins: readonly string[]
  readonly default_return_url: string
}

/**
 * Selects the URL for the browser after a login: the requested one, if it has an allowed origin.
 * @returns the normalized URL
 * @throws failure('bad_request')
 */
export function returnUrl(asked: string | undefined, settings: ReturnSettings): string {
  if (asked === undefined) return settings.default_return_url
  const url = readHttpsUrl(asked)
  if (url === undefined)
    throw failure('bad_request', 'return_to is not a valid URL: https, in ASCII, without user.')
  if (!settings.allowed_return_origins.includes(url.origin)) throw notAllowed()
  return url.href
}

/**
 * Selects the URL that receives the code of a login: an allowed URL without fragment, or that of a program on the
 * same computer where the realm allows it.
 * @throws failure('bad_request')
 */
export function codeReturnUrl(asked: string, settings: ReturnSettings): string {
  const loopback = findLoopbackOrigin(asked)
  if (loopback !== undefined) {
    if (!settings.allowed_return_origins.includes(loopback)) throw notAllowed()
    return asked
  }
  const url = returnUrl(asked, settings)
  if (url.includes('#')) throw failure('bad_request', 'return_to must not have a fragment.')
  return url
}

export function isAllowedReturn(asked: string, { allowed_return_origins: origins }: ReturnSettings): boolean {
  const url = readHttpsUrl(asked)
  return url !== undefined && origins.includes(url.origin)
}

const notAllowed = () =>
  failure('bad_request', 'return_to is not under an allowed return origin of this realm.')
