import { isIP } from 'node:net'
import { readNameParts } from '../distinguished-name.ts'
import { extensionIdentifiers as ids, keyPurposes } from '../extensions.ts'
import { type GeneralNameKind, generalNameText } from '../general-name.ts'
import type { Facts, Rule } from './facts.ts'

const emptyName = '3000'
const label = /^[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$/
const spiffe = /^spiffe:\/\//

/** RFC 5280 §A.1: upper bounds, in characters. */
const maxLengths: Readonly<Partial<Record<string, number>>> = {
  CN: 64,
  O: 64,
  OU: 64,
  L: 128,
  ST: 128,
  SerialNumber: 64,
  Title: 64,
  Email: 255,
}

/** Names of the subject. */
export const nameRules: readonly Rule[] = [
  {
    name: 'subject_or_names',
    clause: 'RFC 5280 §4.1.2.6',
    severity: 'error',
    check: (facts) => (isNameless(facts) && facts.names.length === 0 ? 'It has no subject.' : undefined),
  },
  {
    name: 'names_critical',
    clause: 'RFC 5280 §4.1.2.6',
    severity: 'error',
    check: (facts) =>
      isNameless(facts) && facts.find(ids.subjectAltName)?.critical === false
        ? 'The subject is empty, but its alternative names are not critical.'
        : undefined,
  },
  {
    name: 'names_empty',
    clause: 'RFC 5280 §4.2.1.6',
    severity: 'error',
    check: ({ find, names }) =>
      find(ids.subjectAltName) !== undefined && names.length === 0
        ? 'subjectAltName contains no name.'
        : undefined,
  },
  {
    name: 'server_names',
    clause: 'RFC 9525 §4',
    severity: 'error',
    check: ({ purposes, names, authority }) => {
      const isServer = purposes?.includes(keyPurposes.serverAuth) === true && !authority
      const named = names.some(({ kind }) => kind === 'DNS' || kind === 'IP' || kind === 'URI')
      return isServer && !named
        ? 'It is a server certificate without an alternative name: clients refuse it.'
        : undefined
    },
  },
  {
    name: 'common_name_is_name',
    clause: 'CA/B Forum BR §7.1.4.3',
    severity: 'warning',
    check: (facts) => {
      const isServer = facts.purposes?.includes(keyPurposes.serverAuth) === true && !facts.authority
      const names = [...listValues(facts, 'DNS'), ...listValues(facts, 'IP')].map((name) =>
        name.toLowerCase(),
      )
      const missing = commonNames(facts).find((name) => !names.includes(name.toLowerCase()))
      return isServer && names.length > 0 && missing !== undefined
        ? 'The common name of a server is not among its alternative names.'
        : undefined
    },
  },
  {
    name: 'dns_form',
    clause: 'RFC 5280 §4.2.1.6',
    severity: 'error',
    check: (facts) =>
      listValues(facts, 'DNS').every(isHost)
        ? undefined
        : 'An alternative name of kind DNS is not a host name.',
  },
  {
    name: 'dns_address',
    clause: 'RFC 5280 §4.2.1.6',
    severity: 'error',
    check: (facts) =>
      listValues(facts, 'DNS').some((name) => isIP(name) !== 0)
        ? 'An IP address is an alternative name of kind DNS.'
        : undefined,
  },
  {
    name: 'wildcard',
    clause: 'RFC 9525 §6.3',
    severity: 'error',
    check: (facts) =>
      listValues(facts, 'DNS').some((name) => name.includes('*') && !/^\*\.[^*]+\.[^*]+$/.test(name))
        ? 'A wildcard must be the complete first label of a name with at least two more labels.'
        : undefined,
  },
  {
    name: 'ip_length',
    clause: 'RFC 5280 §4.2.1.6',
    severity: 'error',
    check: ({ names }) =>
      names.some(({ kind, value }) => kind === 'IP' && value.length !== 4 && value.length !== 16)
        ? 'An IP address does not have 4 or 16 bytes.'
        : undefined,
  },
  {
    name: 'email_form',
    clause: 'RFC 5280 §4.2.1.6',
    severity: 'error',
    check: (facts) =>
      listValues(facts, 'email').every(
        (name) => /^[\u0021-\u007e]+@[^@]+$/.test(name) && isHost(name.split('@').at(-1) ?? ''),
      )
        ? undefined
        : 'An alternative name of kind email is not a mailbox.',
  },
  {
    name: 'uri_form',
    clause: 'RFC 5280 §4.2.1.6',
    severity: 'error',
    check: (facts) =>
      listValues(facts, 'URI').every((name) => /^[A-Za-z][A-Za-z0-9+.-]*:[\u0021-\u007e]+$/.test(name))
        ? undefined
        : 'An alternative name of kind URI is not an absolute URI.',
  },
  {
    name: 'spiffe_one_uri',
    clause: 'X509-SVID §2',
    severity: 'error',
    check: (facts) => {
      const uris = listValues(facts, 'URI')
      return uris.some((uri) => spiffe.test(uri)) && uris.length > 1
        ? 'A SPIFFE certificate has more than one URI.'
        : undefined
    },
  },
  {
    name: 'spiffe_usage',
    clause: 'X509-SVID §4.3',
    severity: 'error',
    check: (facts) => {
      if (facts.authority || !listValues(facts, 'URI').some((uri) => spiffe.test(uri))) return undefined
      const { uses = [] } = facts
      return !uses.includes('digitalSignature') || uses.includes('keyCertSign') || uses.includes('cRLSign')
        ? 'keyUsage of a SPIFFE certificate must include digitalSignature, and neither keyCertSign nor cRLSign.'
        : undefined
    },
  },
  {
    name: 'country',
    clause: 'RFC 5280 §A.1',
    severity: 'error',
    check: (facts) =>
      parts(facts).some(([part, value]) => part === 'C' && !/^[A-Z]{2}$/.test(value))
        ? 'The country is not a code of two letters.'
        : undefined,
  },
  {
    name: 'part_length',
    clause: 'RFC 5280 §A.1',
    severity: 'error',
    check: (facts) => {
      const long = parts(facts).find(
        ([part, value]) => [...value].length > (maxLengths[part] ?? Number.POSITIVE_INFINITY),
      )
      return long && `The part ${long[0]} of the subject is longer than ${maxLengths[long[0]]} characters.`
    },
  },
  {
    name: 'part_characters',
    clause: 'RFC 5280 §4.1.2.4',
    severity: 'warning',
    check: (facts) =>
      parts(facts).some(([, value]) => value === '' || value.trim() !== value || hasControl(value))
        ? 'A part of the subject is empty, begins or ends with a blank, or contains a control character.'
        : undefined,
  },
]

function hasControl(value: string): boolean {
  return [...value].some((character) => character < ' ' || character === '\u007f')
}

function isNameless({ certificate }: Facts): boolean {
  return Buffer.from(certificate.subject).toString('hex') === emptyName
}

function parts({ certificate }: Facts) {
  return readNameParts(certificate.subject)
}

function commonNames(facts: Facts): readonly string[] {
  return parts(facts)
    .filter(([part]) => part === 'CN')
    .map(([, value]) => value)
}

function listValues({ names }: Facts, wanted: GeneralNameKind): readonly string[] {
  return names
    .filter(({ kind }) => kind === wanted)
    .map(({ whole, value }) =>
      wanted === 'IP' ? generalNameText(whole).slice(3) : Buffer.from(value).toString('latin1'),
    )
}

function isHost(name: string): boolean {
  const labels = name.replace(/^\*\./, '').split('.')
  return name.length <= 253 && labels.every((each) => label.test(each))
}
