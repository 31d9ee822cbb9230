import { type IssuedCertificate, readAlternativeNames, toSerial, toStatus } from '@warder/authority'
import { type ManagedObject, stateAt } from '@warder/keys'
import { generalNameText, nameText, parseCertificate } from '@warder/pki'
import Type, { type Static } from 'typebox'
import type { FoundCertificate } from './certificate-access.ts'
import { formatDate, profileWord } from './members.ts'
import { certificatePem } from './pem.ts'

const states = ['valid', 'hold', 'revoked', 'expired'] as const
export type CertificateState = (typeof states)[number]
export const StateMember = Type.Enum([...states])

const common = {
  id: Type.Optional(Type.String({ description: 'Id of the object.' })),
  serial: Type.String({ description: 'Hexadecimal.' }),
  subject: Type.String({ description: 'RFC 4514' }),
  state: StateMember,
  profile: Type.Optional(Type.String()),
  owner: Type.String(),
  not_before: Type.String(),
  not_after: Type.String(),
  authority: Type.Optional(Type.String()),
  revoked_at: Type.Optional(Type.String()),
  reason: Type.Optional(Type.String()),
  invalidity_date: Type.Optional(Type.String()),
}

/** A certificate with the facts of the register. */
export const RegisteredCertificate = Type.Object(common)

/** The same, with what follows it. */
export const ListedCertificate = Type.Object({
  ...common,
  replaced_by: Type.Optional(
    Type.String({ description: 'The certificate that replaced it, if that is not revoked.' }),
  ),
  renews: Type.Boolean({
    description: 'Whether it is renewed automatically, as the certificates of OCSP responders always are.',
  }),
})

/** A certificate with its parsed contents. */
export const CertificateDescription = Type.Object({
  ...common,
  issuer: Type.Optional(Type.String()),
  names: Type.Optional(Type.Array(Type.String())),
  fingerprint: Type.Optional(Type.String({ description: 'SHA-256, hexadecimal.' })),
  certificate: Type.Optional(Type.String({ description: 'PEM; absent if the object was removed.' })),
})

/** A certificate past its validity is expired, unless it was revoked. */
export function certificateState(issued: IssuedCertificate, now: number): CertificateState {
  const status = toStatus(issued)
  if (status === 'good') return now > issued.notAfter ? 'expired' : 'valid'
  return status
}

export function formatListed(issued: IssuedCertificate, now: number): Static<typeof RegisteredCertificate> {
  return {
    ...(issued.certificateId !== undefined && { id: issued.certificateId }),
    serial: toSerial(issued).toString('hex'),
    subject: issued.subject,
    state: certificateState(issued, now),
    profile: profileWord(issued.profile),
    owner: issued.owner,
    not_before: formatDate(issued.notBefore),
    not_after: formatDate(issued.notAfter),
    authority: issued.authorityId,
    ...(issued.revokedAt !== undefined && {
      revoked_at: formatDate(issued.revokedAt),
      reason: issued.reason ?? 'unspecified',
    }),
    ...(issued.invalidityAt !== undefined && { invalidity_date: formatDate(issued.invalidityAt) }),
  }
}

/** @throws PkiError for bytes that are no certificate */
export function describeCertificate(
  { id, object, der, issued }: FoundCertificate,
  now: number,
): Static<typeof CertificateDescription> | undefined {
  if (der === undefined || object === undefined)
    return issued === undefined ? undefined : formatListed(issued, now)
  const { subject, issuer, serial, notBefore, notAfter, extensions } = parseCertificate(der)
  const known = issued === undefined ? describeUnregistered(object, notAfter, now) : formatListed(issued, now)
  return {
    id,
    serial: Buffer.from(serial).toString('hex'),
    subject: nameText(subject),
    owner: object.owner,
    not_before: formatDate(notBefore),
    not_after: formatDate(notAfter),
    ...known,
    issuer: nameText(issuer),
    names: readAlternativeNames(extensions).map(generalNameText),
    ...(issued !== undefined && { fingerprint: issued.fingerprint }),
    certificate: certificatePem(der),
  }
}

function describeUnregistered(
  object: ManagedObject,
  notAfter: number,
  now: number,
): { readonly state: CertificateState } {
  const state = stateAt(object, now)
  if (state === 'Active' || state === 'PreActive') return { state: now > notAfter ? 'expired' : 'valid' }
  return { state: object.revocationReason === undefined ? 'expired' : 'revoked' }
}
