import { isIP } from 'node:net'
import { withPkiFailures } from '@warder/authority'
import { failure } from '@warder/base'
import { algorithmNames } from '@warder/crypto'
import { constraintName, generalName, nameFromText, type ProfileName } from '@warder/pki'
import Type from 'typebox'

/** Members of requests that several operations have. */

/** Names of the profiles in requests and replies. */
export const profileNames = {
  server: 'server',
  client: 'client',
  code_signing: 'codeSigning',
  authority: 'authority',
  ocsp_responder: 'ocspResponder',
  spiffe: 'spiffe',
} as const satisfies Readonly<Record<string, ProfileName>>

/**
 * Profiles that a request can name: the service issues responder certificates itself, and authorities have their own
 * operation.
 */
const askedProfiles = ['server', 'client', 'code_signing', 'spiffe'] as const
const grantedProfiles = [...askedProfiles, 'authority'] as const

export const ProfileMember = Type.Enum([...askedProfiles])
export const ProfilesMember = Type.Array(Type.Enum([...grantedProfiles]), {
  minItems: 1,
  maxItems: 16,
  description: 'Profiles of certificates that it issues; absent: all.',
})

export function profileWord(profile: string): string {
  return Object.entries(profileNames).find(([, name]) => name === profile)?.[0] ?? profile
}

export const SubjectMember = Type.String({ maxLength: 2048, description: 'RFC 4514: `CN=Root, O=Acme`' })
export const DaysMember = Type.Integer({ minimum: 1, maximum: 36_500 })
export const NamesMember = Type.Array(Type.String({ minLength: 1, maxLength: 2048 }), {
  maxItems: 100,
  description:
    'DNS names, IP addresses, mailboxes and URIs, with or without the prefix `DNS:`, `IP:`, `email:` or `URI:`.',
})
export const ConstraintsMember = Type.Array(Type.String({ minLength: 1, maxLength: 2048 }), {
  maxItems: 100,
  description: '`DNS:example.com`, `IP:192.0.2.0/24`, `email:.example.com`, `URI:.example.com`',
})
export const AlgMember = Type.String({
  maxLength: 64,
  description: `${algorithmNames('signature').join(', ')}; SLH-DSA by the names of RFC 9909 (SLH-DSA-SHA2-128s), ML-KEM by those of RFC 9935 (ML-KEM-768). For an authority all except RSASSA-PSS and ML-KEM.`,
})

/** DER of the name. @throws Failure bad_request */
export function parseSubject(text: string): Buffer {
  return withPkiFailures(() => nameFromText(text))
}

const kinds = /^(?:DNS|IP|email|URI):/

/** DER of each name. @throws Failure bad_request */
export function parseNames(texts: readonly string[]): readonly Buffer[] {
  return withPkiFailures(() => texts.map((text) => generalName(kinds.test(text) ? text : withKind(text))))
}

function withKind(text: string): string {
  if (isIP(text) !== 0) return `IP:${text}`
  if (text.includes('://')) return `URI:${text}`
  return text.includes('@') ? `email:${text}` : `DNS:${text}`
}

/** DER of each subtree. @throws Failure bad_request */
export function parseConstraints(texts: readonly string[]): readonly Buffer[] {
  return withPkiFailures(() =>
    texts.map((text) => {
      if (kinds.test(text)) return constraintName(text)
      return constraintName(
        text.includes('/') ? `IP:${text}` : text.includes('@') ? `email:${text}` : `DNS:${text}`,
      )
    }),
  )
}

const day = 86_400_000
/** A certificate is valid from a little before now: clocks of relying parties differ. */
const skewMs = 60_000

/** Unix milliseconds, whole seconds. @param earliest start of the issuer's validity */
export function computeValidity(now: number, days: number, earliest: number) {
  const second = Math.floor(now / 1000) * 1000
  return { notBefore: Math.max(second - skewMs, earliest), notAfter: second + days * day }
}

/** The latest date that a certificate can contain (RFC 5280 §4.1.2.5). */
const lastEnd = Date.UTC(9999, 11, 31, 23, 59, 59)

/** @throws failure('bad_request') for a text that is not a date (RFC 3339) */
export function parseDate(text: string, member: string): number {
  const time = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d))?$/.test(text)
    ? Date.parse(text)
    : Number.NaN
  if (!(time >= 0 && time <= lastEnd))
    throw failure('bad_request', `${member}: must be a date like 2026-11-23T15:00:00Z.`)
  return time
}

/** RFC 3339, UTC. */
export function formatDate(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z')
}
