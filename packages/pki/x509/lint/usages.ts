import {
  anyPurpose,
  extensionIdentifiers as ids,
  inconsistentPurpose,
  type KeyUsageName,
  keyPurposes,
} from '../extensions.ts'
import type { Facts, Rule } from './facts.ts'

const signatures: readonly KeyUsageName[] = ['digitalSignature', 'nonRepudiation', 'keyCertSign', 'cRLSign']
const encipherment: readonly KeyUsageName[] = ['keyEncipherment', 'dataEncipherment']
const agreement: readonly KeyUsageName[] = ['keyAgreement', 'encipherOnly', 'decipherOnly']

/** Usages that a kind of key may have, where its standard limits them. */
const limits: readonly {
  readonly keys: RegExp
  readonly clause: string
  readonly allowed: readonly KeyUsageName[]
}[] = [
  { keys: /^ML-DSA-/, clause: 'RFC 9881 §5', allowed: signatures },
  { keys: /^SLH-DSA-/, clause: 'RFC 9909 §6', allowed: signatures },
  { keys: /^ML-KEM-/, clause: 'RFC 9935 §5', allowed: ['keyEncipherment'] },
  { keys: /^X(25519|448)$/, clause: 'RFC 9295 §3', allowed: agreement },
  { keys: /^Ed(25519|448)$/, clause: 'RFC 9295 §3', allowed: signatures },
  { keys: /^ec$/, clause: 'RFC 8813 §3', allowed: [...signatures, ...agreement] },
  { keys: /^rsa(-pss)?$/, clause: 'RFC 3279 §2.3.1', allowed: [...signatures, ...encipherment] },
]

/** Usages of the key and purposes. */
export const usageRules: readonly Rule[] = [
  {
    name: 'key_usage_empty',
    clause: 'RFC 5280 §4.2.1.3',
    severity: 'error',
    check: ({ uses }) => (uses?.length === 0 ? 'keyUsage contains no usage.' : undefined),
  },
  {
    name: 'key_usage_critical',
    clause: 'RFC 5280 §4.2.1.3',
    severity: 'warning',
    check: ({ find }) => (find(ids.keyUsage)?.critical === false ? 'keyUsage is not critical.' : undefined),
  },
  {
    name: 'key_usage_only',
    clause: 'RFC 5280 §4.2.1.3',
    severity: 'error',
    check: ({ uses = [] }) =>
      (uses.includes('encipherOnly') || uses.includes('decipherOnly')) && !uses.includes('keyAgreement')
        ? 'encipherOnly and decipherOnly have no meaning without keyAgreement.'
        : undefined,
  },
  ...limits.map(
    ({ keys, clause, allowed }): Rule => ({
      name: `key_usage_of_${keys.source.replaceAll(/[^A-Za-z0-9]+/g, '_').replaceAll(/^_|_$/g, '')}`,
      clause,
      severity: 'error',
      check: ({ keyAlgorithm, uses }) => {
        if (!keys.test(keyAlgorithm)) return undefined
        const wrong = uses?.find((use) => !allowed.includes(use))
        return wrong === undefined
          ? undefined
          : `The usage ${wrong} is not allowed for a key of ${keyAlgorithm}.`
      },
    }),
  ),
  {
    name: 'purpose_without_usage',
    clause: 'RFC 5280 §4.2.1.12',
    severity: 'error',
    check: ({ purposes, uses }) => {
      if (uses === undefined) return undefined
      const wrong = inconsistentPurpose(purposes ?? [], uses)
      return wrong && `keyUsage contains no usage that the purpose ${wrong} requires.`
    },
  },
  {
    name: 'purposes_empty',
    clause: 'RFC 5280 §4.2.1.12',
    severity: 'error',
    check: ({ purposes }) => (purposes?.length === 0 ? 'extendedKeyUsage contains no purpose.' : undefined),
  },
  {
    name: 'any_purpose_critical',
    clause: 'RFC 5280 §4.2.1.12',
    severity: 'warning',
    check: ({ purposes, find }) =>
      purposes?.includes(anyPurpose) === true && find(ids.createExtendedKeyUsage)?.critical === true
        ? 'extendedKeyUsage allows every purpose, and is critical.'
        : undefined,
  },
  {
    name: 'ocsp_no_check_purpose',
    clause: 'RFC 6960 §4.2.2.2.1',
    severity: 'error',
    check: (facts) =>
      facts.find(ids.ocspNoCheck) !== undefined && !isResponder(facts)
        ? 'It has ocsp-nocheck, but is not the certificate of an OCSP responder.'
        : undefined,
  },
  {
    name: 'ocsp_responder_no_check',
    clause: 'RFC 6960 §4.2.2.2.1',
    severity: 'warning',
    check: (facts) =>
      isResponder(facts) && facts.find(ids.ocspNoCheck) === undefined
        ? 'It is the certificate of an OCSP responder without ocsp-nocheck, so clients may check its revocation.'
        : undefined,
  },
]

function isResponder({ purposes }: Facts): boolean {
  return purposes?.includes(keyPurposes.OCSPSigning) === true
}
