import type { KeyObject } from 'node:crypto'
import {
  derMembers,
  extensionIdentifiers,
  generalNameText,
  PkiError,
  readCertificationRequest,
  readNameParts,
} from '@warder/pki'
import { identifierText } from '../order/identifiers.ts'
import { acmeProblem } from '../protocol/problem.ts'
import type { Identifier } from '../stored/challenge.ts'

/** Contents of a certificate to issue. */
export interface OrderedKey {
  readonly spki: Uint8Array
  /** A name of the order that is short enough for a common name. */
  readonly commonName: string | undefined
}

/** RFC 5280 appendix A, ub-common-name */
const maxCommonNameLength = 64

/**
 * Reads a CSR. Its names must be exactly those of the order (RFC 8555 §7.4). Only its names and its key are used.
 * @param accountKey must not be the key of the CSR (RFC 8555 §11.1)
 * @throws badCSR, badPublicKey
 */
export function readOrderedKey(
  value: unknown,
  identifiers: readonly Identifier[],
  accountKey: KeyObject,
): OrderedKey {
  if (typeof value !== 'string') throw acmeProblem('malformed', "The payload has no 'csr'.")
  const der = Buffer.from(value, 'base64url')
  if (der.toString('base64url') !== value) throw acmeProblem('malformed', "'csr' is not base64url.")
  const { spki, key, names, commonNames } = withBadCsr(() => readNames(der))
  if (key.equals(accountKey))
    throw acmeProblem('badPublicKey', 'The key of the account must not be used for a certificate.')
  const wanted = new Set(identifiers.map(identifierText))
  const asked = new Set([...names, ...commonNames.map((name) => identifierIn(name, identifiers))])
  const differs = asked.size !== wanted.size || [...asked].some((name) => !wanted.has(name))
  if (differs) throw acmeProblem('badCSR', 'The names of the CSR differ from those of the order.')
  const [first] = identifiers.filter(({ value: name }) => name.length <= maxCommonNameLength)
  return { spki, commonName: commonNames[0] ?? first?.value }
}

function readNames(der: Uint8Array) {
  const { spki, key, subject, extensions } = readCertificationRequest(der)
  const extension = extensions.find(({ identifier }) => identifier === extensionIdentifiers.subjectAltName)
  const elements = extension === undefined ? [] : derMembers(extension.value, 'subjectAltName')
  const names = elements.map(({ whole }) => {
    const text = generalNameText(whole)
    const [, kind, name] = /^(DNS|IP):(.*)$/.exec(text) ?? []
    if (kind === undefined || name === undefined)
      throw acmeProblem('badCSR', 'A name of the CSR is neither a DNS name nor an address.')
    return `${kind.toLowerCase()}:${name.toLowerCase()}`
  })
  const commonNames = readNameParts(subject)
    .filter(([part]) => part === 'CN')
    .map(([, name]) => name.toLowerCase())
  return { spki, key, names, commonNames }
}

function identifierIn(name: string, identifiers: readonly Identifier[]): string {
  const known = identifiers.find(({ value }) => value === name)
  return known === undefined ? `dns:${name}` : identifierText(known)
}

function withBadCsr<R>(read: () => R): R {
  try {
    return read()
  } catch (error) {
    if (error instanceof PkiError) throw acmeProblem('badCSR', error.message)
    throw error
  }
}
