import { failure } from '@warder/base'
import { ClaimsReply } from './claims.ts'

/**
 * Reserved claim names: those that only the service sets in tokens and certificates; `email` and `email_verified`, by
 * which relying parties (such as a kms with this service as a JWT provider) may identify users; and names that
 * JavaScript treats specially.
 */
export const reservedClaims: ReadonlySet<string> = new Set([
  ...Object.keys(ClaimsReply.properties),
  'auth_scheme',
  'email',
  'email_verified',
  'realm_id',
  'verification_key',
  '__proto__',
  'constructor',
  'prototype',
])

/** Returns the extra claims for a session token, without claims whose names were reserved after they were set. */
export function sessionClaims(
  claims: Readonly<Record<string, unknown>> | undefined,
): Readonly<Record<string, unknown>> | undefined {
  if (claims === undefined) return undefined
  return Object.fromEntries(Object.entries(claims).filter(([name]) => !reservedClaims.has(name)))
}

const maxExtraClaimsBytes = 4096

/** @throws failure('bad_request') for a reserved name, or more than 4 KiB as JSON */
export function checkExtraClaims(claims: Readonly<Record<string, unknown>>): void {
  for (const name of Object.keys(claims)) {
    if (reservedClaims.has(name)) {
      throw failure(
        'bad_request',
        `extra_claims: '${name}' is a reserved claim name and cannot be used as an extra claim.`,
      )
    }
  }
  if (Buffer.byteLength(JSON.stringify(claims)) > maxExtraClaimsBytes) {
    throw failure('bad_request', 'extra_claims: must not exceed 4096 bytes as JSON.')
  }
}
