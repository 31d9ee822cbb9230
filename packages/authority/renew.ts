import { failure } from '@warder/base'
import { parseCertificate, readBasicConstraints, readNameConstraints } from '@warder/pki'
import type { IssueRequest } from './issue.ts'
import { readAlternativeNames } from './profile-limits.ts'
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
      'The certificate has client-specified extensions: renew it with ReCertify, or issue another.',
    )
  const { subject, spki, extensions } = parseCertificate(der)
  const { pathLength } = readBasicConstraints(extensions)
  const constraints = readNameConstraints(extensions)
  return {
    profile: entry.profile,
    subject,
    spki,
    names: readAlternativeNames(extensions),
    ...(pathLength !== undefined && { pathLength }),
    ...(constraints !== undefined && {
      permitted: constraints.permitted.map(({ whole }) => whole),
      excluded: constraints.excluded.map(({ whole }) => whole),
    }),
  }
}
