import { derMembers } from '../../der.ts'
import { computeKeyIdentifier, extensionIdentifiers as ids } from '../extensions.ts'
import { anyPolicy, readCertificatePolicies, readPolicyMappings } from '../policies.ts'
import { readAuthorityInformationAccess } from '../revocation-access.ts'
import type { Rule } from './facts.ts'

const emptyName = '3000'

/** Authorities, key identifiers, constraints, policies and revocation. */
export const authorityRules: readonly Rule[] = [
  {
    name: 'ca_subject',
    clause: 'RFC 5280 §4.1.2.6',
    severity: 'error',
    check: ({ authority, certificate: { subject } }) =>
      authority && Buffer.from(subject).toString('hex') === emptyName
        ? 'An authority has no name.'
        : undefined,
  },
  {
    name: 'ca_key_usage',
    clause: 'RFC 5280 §4.2.1.3',
    severity: 'error',
    check: ({ authority, uses }) =>
      authority && uses?.includes('keyCertSign') !== true
        ? 'keyUsage of a CA certificate does not include keyCertSign.'
        : undefined,
  },
  {
    name: 'cert_sign_without_ca',
    clause: 'RFC 5280 §4.2.1.9',
    severity: 'error',
    check: ({ authority, uses }) =>
      !authority && uses?.includes('keyCertSign') === true
        ? 'keyUsage includes keyCertSign, but it is not a CA certificate.'
        : undefined,
  },
  {
    name: 'ca_basic_constraints_critical',
    clause: 'RFC 5280 §4.2.1.9',
    severity: 'error',
    check: ({ authority, find }) =>
      authority && find(ids.basicConstraints)?.critical === false
        ? 'basicConstraints of a CA certificate is not critical.'
        : undefined,
  },
  {
    name: 'path_length_without_ca',
    clause: 'RFC 5280 §4.2.1.9',
    severity: 'error',
    check: ({ authority, pathLength }) =>
      pathLength !== undefined && !authority
        ? 'It has a path length, but is not a CA certificate.'
        : undefined,
  },
  {
    name: 'ca_key_identifier',
    clause: 'RFC 5280 §4.2.1.2',
    severity: 'error',
    check: ({ authority, keyIdentifier }) =>
      authority && keyIdentifier === undefined ? 'An authority has no key identifier.' : undefined,
  },
  {
    name: 'key_identifier',
    clause: 'RFC 5280 §4.2.1.2',
    severity: 'warning',
    check: ({ authority, keyIdentifier }) =>
      !authority && keyIdentifier === undefined ? 'It has no key identifier.' : undefined,
  },
  {
    name: 'authority_key_identifier',
    clause: 'RFC 5280 §4.2.1.1',
    severity: 'error',
    check: ({ isSelfIssued, authorityKeyIdentifier }) =>
      !isSelfIssued && authorityKeyIdentifier === undefined
        ? 'It has no authority key identifier.'
        : undefined,
  },
  {
    name: 'key_identifier_form',
    clause: 'RFC 5280 §4.2.1.2',
    severity: 'warning',
    check: ({ isSelfIssued, keyIdentifier, authorityKeyIdentifier, certificate: { spki } }) => {
      const own = keyIdentifier ?? computeKeyIdentifier(spki)
      const differs =
        authorityKeyIdentifier !== undefined && Buffer.compare(own, authorityKeyIdentifier) !== 0
      return isSelfIssued && differs
        ? 'Issuer and subject are the same, but their key identifiers differ.'
        : undefined
    },
  },
  {
    name: 'name_constraints_without_ca',
    clause: 'RFC 5280 §4.2.1.10',
    severity: 'error',
    check: ({ authority, nameConstraints }) =>
      nameConstraints !== undefined && !authority
        ? 'It has name constraints, but is not a CA certificate.'
        : undefined,
  },
  {
    name: 'name_constraints_empty',
    clause: 'RFC 5280 §4.2.1.10',
    severity: 'error',
    check: ({ nameConstraints }) =>
      nameConstraints !== undefined &&
      nameConstraints.permitted.length + nameConstraints.excluded.length === 0
        ? 'Its name constraints are empty.'
        : undefined,
  },
  {
    name: 'policy_twice',
    clause: 'RFC 5280 §4.2.1.4',
    severity: 'error',
    check: ({ extensions }) => {
      const policies = readCertificatePolicies(extensions) ?? []
      return new Set(policies).size < policies.length ? 'A policy appears twice.' : undefined
    },
  },
  {
    name: 'policy_mapping_any',
    clause: 'RFC 5280 §4.2.1.5',
    severity: 'error',
    check: ({ extensions }) =>
      readPolicyMappings(extensions).some((pair) => pair.includes(anyPolicy))
        ? 'It maps anyPolicy.'
        : undefined,
  },
  {
    name: 'policy_constraints_empty',
    clause: 'RFC 5280 §4.2.1.11',
    severity: 'error',
    check: ({ find }) => {
      const found = find(ids.policyConstraints)
      const isEmpty = found !== undefined && derMembers(found.value, 'policyConstraints').length === 0
      return isEmpty ? 'Its policy constraints are empty.' : undefined
    },
  },
  {
    name: 'no_rev_avail_ca',
    clause: 'RFC 9608 §3',
    severity: 'error',
    check: ({ authority, find }) =>
      authority && find(ids.noRevAvail) !== undefined
        ? 'A CA certificate states that there is no revocation information.'
        : undefined,
  },
  {
    name: 'no_rev_avail_and_address',
    clause: 'RFC 9608 §3',
    severity: 'error',
    check: ({ extensions, find }) => {
      const address =
        find(ids.crlDistributionPoints) !== undefined ||
        find(ids.freshestCrl) !== undefined ||
        readAuthorityInformationAccess(extensions).ocsp.length > 0
      return find(ids.noRevAvail) !== undefined && address
        ? 'It states that there is no revocation information, but also gives its address.'
        : undefined
    },
  },
  {
    name: 'revocation_address',
    clause: 'RFC 5280 §4.2.1.13',
    severity: 'warning',
    check: ({ extensions, isSelfIssued, find }) => {
      const says = [ids.crlDistributionPoints, ids.noRevAvail, ids.ocspNoCheck].some(
        (id) => find(id) !== undefined,
      )
      if (isSelfIssued || says || readAuthorityInformationAccess(extensions).ocsp.length > 0) return undefined
      return 'It has no address of a CRL or an OCSP responder.'
    },
  },
]
