import { randomBytes } from 'node:crypto'
import { failure } from '@warder/base'
import { type Change, GuardFailed } from '@warder/storage'
import { toBase32 } from '../../base32.ts'
import { type LoginServices, type MethodFacts, userChanged } from '../../login/method.ts'
import { type Realm, superRealm } from '../../realms/realm.ts'
import { checkUsername } from '../../texts.ts'
import { type CodeParams, readCodeParams } from './code.ts'

/** RFC 4226 §4 R6: 160 bits recommended, 128 required. */
const newSecretBytes = 20

/** A new secret, as bytes and as authenticator apps read it. */
export function newSecret(): { readonly bytes: Uint8Array; readonly base32: string } {
  const bytes = randomBytes(newSecretBytes)
  return { bytes, base32: toBase32(bytes) }
}

/** Key URI of a user of a realm, for the QR code. */
export function toOtpauthUrl(realm: Realm, username: string, secret: string): string {
  const issuer = realm.id === superRealm ? 'Warder' : realm.id
  return otpauthUrl(issuer, username, secret, readCodeParams(realm))
}

/**
 * Formats the label of a Key URI. Apps decode it and take the text before its first colon as the issuer, so neither
 * name may contain a colon. An issuer with a colon is only in the parameter `issuer`, which apps prefer. A username
 * with a colon needs an issuer in front of it, whose colons are replaced.
 */
function formatLabel(issuer: string, username: string): string {
  if (!issuer.includes(':')) return `${encodeURIComponent(issuer)}:${encodeURIComponent(username)}`
  if (!username.includes(':')) return encodeURIComponent(username)
  const plain = issuer.replaceAll(':', ' ').replaceAll(/\s+/g, ' ').trim()
  return `${encodeURIComponent(plain)}:${encodeURIComponent(username)}`
}

/** Key URI for authenticator apps. */
export function otpauthUrl(issuer: string, username: string, secret: string, params: CodeParams): string {
  const label = formatLabel(issuer, username)
  const { algorithm, period } = params
  return `otpauth://totp/${label}?secret=${secret}&issuer=${encodeURIComponent(issuer)}&algorithm=${algorithm}&digits=6&period=${period}`
}

/**
 * Requires a user whom one of the login methods knows or may know.
 * @returns guards for the commit that enrolls the user: if the user is deleted meanwhile, no secret is stored
 * @throws failure('not_found')
 */
export async function requireUser(
  methods: readonly MethodFacts[],
  { db }: Pick<LoginServices, 'db'>,
  realm: Realm,
  username: string,
): Promise<Change> {
  checkUsername(username)
  for (const method of methods) {
    const guard = await method.user?.(db, realm, username)
    if (guard !== undefined) return guard
  }
  throw failure('not_found', 'There is no such user in the realm.')
}

/** Awaits a commit with guards of `requireUser`. @throws failure('conflict') when one no longer holds */
export async function reportUserChange<R>(commit: Promise<R>): Promise<R> {
  try {
    return await commit
  } catch (error) {
    throw error instanceof GuardFailed ? userChanged() : error
  }
}
