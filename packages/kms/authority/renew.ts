import { failure } from '@warder/foundation/errors'
import { derMembers } from '@warder/pki/asn1'
import {
  type Extension,
  extensionIdentifiers,
  parseCertificate,
  readBasicConstraints,
  readNameConstraints,
} from '@warder/pki/x509'
import type { IssueRequest } from './issue.ts'
import type { IssuedCertificate } from './register/register-store.ts'

/**
 * Request for a certificate like this one: the same subject, names, key and profile.
 * @param entry of the certificate in the register
 * @throws Failure bad_request for one that was issued with extensions of its own
 */
export function requestLike(
  entry: Pick<IssuedCertificate, 'profile'>,
  der: Uint8Array,
): Pick<IssueRequest, 'profile' | 'subject' | 'spki' | 'names' | 'pathLength' | 'permitted' | 'excluded'> {
  if (entry.profile === 'unknown')
    throw failure(
      'bad_request',
      'The certificate was issued with extensions of its own: renew it with ReCertify, or issue another.',
    )
  const { subject, spki, extensions } = parseCertificate(der)
  const { pathLength } = readBasicConstraints(extensions)
  const constraints = readNameConstraints(extensions)
  return {
    profile: entry.profile,
    subject,
    spki,
    names: namesOf(extensions),
    ...(pathLength !== undefined && { pathLength }),
    ...(constraints !== undefined && {
      permitted: constraints.permitted.map(({ whole }) => whole),
      excluded: constraints.excluded.map(({ whole }) => whole),
    }),
  }
}

/** DER of each alternative name. @throws PkiError */
export function namesOf(extensions: readonly Extension[]): readonly Uint8Array[] {
  const found = extensions.find(({ identifier }) => identifier === extensionIdentifiers.subjectAltName)
  return found === undefined ? [] : derMembers(found.value, 'subjectAltName').map(({ whole }) => whole)
}
