import { pkiError } from '../error.ts'
import {
  basicConstraints,
  createExtendedKeyUsage,
  type Extension,
  type KeyUsageName,
  keyPurposes,
  keyUsage,
  keyUsages,
  subjectAltName,
} from './extensions.ts'
import { generalName } from './general-name.ts'
import { crlDistributionPoints } from './revocation-access.ts'

const maxTextLength = 16_384
const maxNames = 256

/**
 * Parses extensions in the format of OpenSSL configurations, section `v3_ca` (x509v3_config(5)). `issueCertificate`
 * always adds the key identifiers, so lines that request them are skipped.
 * @throws PkiError for an unsupported line: extensions are never silently omitted
 */
export function opensslExtensions(text: string): readonly Extension[] {
  if (text.length > maxTextLength) throw pkiError('invalid_value', 'The extensions are too long.')
  const extensions: Extension[] = []
  let section = 'v3_ca'
  for (const raw of text.split(/\r?\n/)) {
    const line = raw.replace(/#.*$/, '').trim()
    if (line === '') continue
    // No regular expression with blanks at both ends: it would take hours for a long line.
    if (line.startsWith('[') && line.endsWith(']')) {
      section = line.slice(1, -1).trim()
      continue
    }
    if (section !== 'v3_ca') throw pkiError('invalid_value', 'Extensions must be in the section v3_ca.')
    const equals = line.indexOf('=')
    if (equals < 0) throw pkiError('invalid_value', 'A line of the extensions has no value.')
    const made = extension(line.slice(0, equals).trim(), line.slice(equals + 1))
    if (made !== undefined) extensions.push(made)
  }
  return extensions
}

function extension(name: string, value: string): Extension | undefined {
  const words = value.split(',').map((word) => word.trim())
  const critical = words[0] === 'critical'
  const values = critical ? words.slice(1) : words
  if (values.length === 0) throw pkiError('invalid_value', 'An extension has no value.')
  if (values.length > maxNames) throw pkiError('invalid_value', 'An extension has too many values.')
  switch (name) {
    case 'basicConstraints':
      return { ...constraints(values), critical }
    case 'keyUsage':
      return { ...keyUsage(values.map(usageName)), critical }
    case 'extendedKeyUsage':
      return createExtendedKeyUsage(values.map(purpose), critical)
    case 'subjectAltName':
      return subjectAltName(values.map(generalName), critical)
    case 'crlDistributionPoints':
      return crlDistributionPoints(values.map(url))
    case 'subjectKeyIdentifier':
    case 'authorityKeyIdentifier':
      return undefined
    default:
      throw pkiError('invalid_value', `The extension '${name.slice(0, 64)}' is not supported.`)
  }
}

function constraints(values: readonly string[]): Extension {
  let authority = false
  let pathLength: number | undefined
  for (const value of values) {
    const [key = '', text = ''] = value.split(':').map((word) => word.trim())
    if (key === 'CA' && /^(true|false)$/i.test(text)) authority = text.toLowerCase() === 'true'
    else if (key === 'pathlen' && /^\d{1,3}$/.test(text)) pathLength = Number(text)
    else throw pkiError('invalid_value', 'basicConstraints is invalid.')
  }
  return basicConstraints(authority, pathLength)
}

function usageName(text: string): KeyUsageName {
  const known = keyUsages.find((name) => name === text)
  if (known === undefined) throw pkiError('invalid_value', 'keyUsage contains an unknown usage.')
  return known
}

function purpose(text: string): string {
  if (Object.hasOwn(keyPurposes, text)) return keyPurposes[text as keyof typeof keyPurposes]
  const identifier = /^[0-2](\.\d{1,9}){2,20}$/.test(text) ? text : undefined
  if (identifier === undefined)
    throw pkiError('invalid_value', 'extendedKeyUsage contains an unknown purpose.')
  return identifier
}

function url(text: string): string {
  const value = text.startsWith('URI:') ? text.slice(4) : text
  return value
}
