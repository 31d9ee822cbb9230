import { failure } from '@warder/foundation/errors'

/** Names that only the service itself sets in tokens and certificates, and names that JavaScript treats specially. */
export const reservedClaims: ReadonlySet<string> = new Set([
  'as_as',
  'as_rid',
  'aud',
  'auth_scheme',
  'exp',
  'iat',
  'iss',
  'jti',
  'nbf',
  'realm_id',
  'roles',
  'sub',
  'verification_key',
  '__proto__',
  'constructor',
  'prototype',
])

const largestExtraClaims = 4096

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
  if (Buffer.byteLength(JSON.stringify(claims)) > largestExtraClaims) {
    throw failure('bad_request', 'extra_claims: must not exceed 4096 bytes as JSON.')
  }
}
