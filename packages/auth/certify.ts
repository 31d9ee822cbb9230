import { createHash } from 'node:crypto'
import { failure } from '@warder/base'
import { defineOperation, type Operation, post } from '@warder/server'
import type { Database } from '@warder/storage'
import Type from 'typebox'
import { anySession, requireSession } from './callers.ts'
import { reservedClaims } from './claims.ts'
import { findRealm } from './realms/realm-store.ts'
import type { Signer } from './signing/signing-keys.ts'

const maxBytes = 8192
/** One PEM block (RFC 7468): labels equal, base64 between them, nothing before or after. */
const pem = /^-----BEGIN ([A-Z0-9][A-Z0-9 ]*)-----\r?\n(?:[A-Za-z0-9+/=]+[ \t]*\r?\n)+-----END \1-----$/

/**
 * Reads the public key to certify and trims it. Its content is not interpreted: the recipient of the certificate
 * validates it.
 * @throws failure('bad_request')
 */
function readVerificationKey(text: string): string {
  if (text.length > maxBytes)
    throw failure('bad_request', `verification_key: must not exceed ${maxBytes} bytes.`)
  const trimmed = text.trim()
  if (trimmed === '') throw failure('bad_request', 'verification_key: must not be empty.')
  const match = pem.exec(trimmed)
  if (match === null) {
    throw failure('bad_request', 'verification_key: must be one PEM block with BEGIN and END lines.')
  }
  if (match[1]?.includes('PRIVATE')) {
    throw failure('bad_request', 'verification_key: must be a public key, never a private one.')
  }
  return trimmed
}

export interface CertifyServices {
  readonly db: Database
  /** Unix seconds. */
  now(): number
  /** undefined = certificate signing is not configured. */
  readonly certificateSigner: Signer | undefined
}

const define = defineOperation<CertifyServices>()

/** Selects the requested extra claims of the session. No other data of the session is copied. */
function selectClaims(
  claims: Readonly<Record<string, unknown>>,
  names: readonly string[],
): Readonly<Record<string, unknown>> {
  const wanted = names.filter((name) => !reservedClaims.has(name) && Object.hasOwn(claims, name))
  return Object.fromEntries(wanted.map((name) => [name, claims[name]]))
}

export const certifyOperations: readonly Operation<CertifyServices>[] = [
  define({
    name: 'certify',
    reach: ['make certificate'],
    route: post('/certify'),
    summary: 'Certify a public key under the identity of the session',
    description: 'Signed with a separate key, so that a certificate is never accepted as a session token.',
    tag: 'Certificates',
    access: anySession,
    request: Type.Object({
      verification_key: Type.String(),
      claims: Type.Optional(Type.Union([Type.Array(Type.String(), { maxItems: 1000 }), Type.Null()])),
      exclude_sub: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
    }),
    bodyLimit: 256 * 1024,
    reply: Type.Object({ certificate: Type.String() }),
    errors: { 500: 'Certificate signing is not configured.' },
    async act({ body }, context) {
      const { services } = context
      const { session, claims } = requireSession(context)
      const verificationKey = readVerificationKey(body.verification_key)
      const chosen = selectClaims(claims, body.claims ?? [])
      const excludeSub = body.exclude_sub === true
      if (excludeSub && Object.keys(chosen).length === 0) {
        throw failure('bad_request', 'exclude_sub: needs at least one listed claim that the session has.')
      }
      if (services.certificateSigner === undefined) throw failure('certificate_signing_unconfigured')
      const realm = await findRealm(services.db, session.realm)
      if (realm === undefined) throw failure('unauthorized')
      const issuedAt = services.now()
      const certificate = services.certificateSigner.sign({
        ...chosen,
        realm_id: session.realm,
        ...(excludeSub ? {} : { sub: session.username }),
        auth_scheme: session.scheme,
        verification_key: verificationKey,
        iat: issuedAt,
        exp: issuedAt + realm.certificate_max_age_seconds,
      })
      const key_sha256 = createHash('sha256').update(verificationKey).digest('hex')
      context.audit({ details: { key_sha256, claims: Object.keys(chosen), exclude_sub: excludeSub } })
      return { certificate }
    },
  }),
]
