import { isIP } from 'node:net'
import {
  derContent,
  derElements,
  derTag,
  generalName,
  generalNameText,
  PkiError,
  readCertificate,
  readCertificateExtensions,
} from '@warder/pki'
import { createProblem, type Problem } from '../protocol/problem.ts'
import { type Proof, sha256, type Ways } from './proof.ts'

/** id-pe-acmeIdentifier (RFC 8737 §3). */
const acmeIdentifier = '1.3.6.1.5.5.7.1.31'
const protocol = 'acme-tls/1'

/**
 * RFC 8737, RFC 8738 §6: the host presents a certificate with the digest of the key authorization.
 * @throws OutboundError
 */
export async function checkTls(
  { identifier, keyAuthorization }: Proof,
  { tls }: Ways,
): Promise<Problem | undefined> {
  const { value } = identifier
  const der = await tls.certificate(value, protocol, toServerName(value))
  try {
    return problemIn(der, identifier.type === 'dns' ? `DNS:${value}` : `IP:${value}`, keyAuthorization)
  } catch (error) {
    if (error instanceof PkiError) return wrong('cannot be read')
    throw error
  }
}

function problemIn(der: Uint8Array, name: string, keyAuthorization: string): Problem | undefined {
  const names = readCertificate(der).subjectAlternativeNames
  const [only] = names
  const expected = generalNameText(generalName(name))
  if (
    names.length !== 1 ||
    only === undefined ||
    generalNameText(only).toLowerCase() !== expected.toLowerCase()
  )
    return wrong('does not have this identifier as its only name')
  const extension = readCertificateExtensions(der).find(({ identifier }) => identifier === acmeIdentifier)
  if (extension === undefined || !extension.critical) return wrong('has no critical extension acmeIdentifier')
  const [element] = derElements(extension.value, 'acmeIdentifier')
  const digest = derContent(element, derTag.octetString, 'acmeIdentifier')
  return Buffer.compare(digest, sha256(keyAuthorization)) === 0
    ? undefined
    : wrong('does not match this challenge')
}

function wrong(what: string): Problem {
  return createProblem('incorrectResponse', `The certificate that was presented for ${protocol} ${what}.`)
}

/** The server name in the handshake; for an address its name in the reverse zone (RFC 8738 §6). */
function toServerName(value: string): string {
  const family = isIP(value)
  if (family === 0) return value
  if (family === 4) return `${value.split('.').reverse().join('.')}.in-addr.arpa`
  const nibbles = expandAddress(value).replaceAll(':', '')
  return `${[...nibbles].reverse().join('.')}.ip6.arpa`
}

/** All 32 digits of an IPv6 address. */
function expandAddress(address: string): string {
  const [left = '', right = ''] = address.split('::')
  const groups = (text: string) => (text === '' ? [] : text.split(':'))
  const [before, after] = [groups(left), groups(right)]
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0')
  return [...before, ...zeros, ...after].map((group) => group.padStart(4, '0')).join(':')
}
