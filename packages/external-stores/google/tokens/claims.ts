import { foldAscii, foldEmail } from '@warder/keys'
import { JwtRejected } from '@warder/server'

export type Claims = Readonly<Record<string, unknown>>

/** @returns undefined when it is absent. @throws JwtRejected for what is no text, or too long */
export function optionalText(claims: Claims, name: string, maxBytes: number): string | undefined {
  const value = claims[name]
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'string' || !value.isWellFormed()) throw new JwtRejected(`${name} is not a string`)
  if (Buffer.byteLength(value) > maxBytes) throw new JwtRejected(`${name} is longer than ${maxBytes} bytes`)
  return value
}

/** @throws JwtRejected when it is absent or empty, too */
export function requireText(claims: Claims, name: string, maxBytes: number): string {
  const value = optionalText(claims, name, maxBytes)
  if (value === undefined || value === '') throw new JwtRejected(`no ${name}`)
  return value
}

/** Folded, see `foldEmail`. @throws JwtRejected */
export function emailClaim(claims: Claims, name: string): string {
  const email = foldEmail(claims[name])
  if (email === undefined) throw new JwtRejected(`${name} is not an e-mail address`)
  return email
}

/**
 * Normalizes the name of the delegate of a user: a meeting room, or another entity that Google names. An e-mail address
 * is folded; any other text is compared without regard to the case of A to Z.
 */
export function delegateIn(text: string): string {
  return foldEmail(text) ?? foldAscii(text)
}

/** A time before which the clocks of two machines may differ. */
export const leewaySeconds = 60
