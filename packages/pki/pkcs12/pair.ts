import * as crypto from 'node:crypto'
import {
  contextTag,
  type DerElement,
  derContent,
  derElements,
  derIdentifier,
  derMembers,
  derSmallNumber,
} from '../der.ts'
import { pkiError } from '../error.ts'
import { ciphers, oid, sha1, tripleDes } from './identifiers.ts'
import { readData } from './read.ts'

const what = 'The PKCS#12 file'
/** RC2, RC4 and 3DES with keys derived by SHA-1 (RFC 7292 appendix C). */
const legacySchemes = '1.2.840.113549.1.12.1.'

/** A certificate with its chain, and its key, in PEM. */
export interface PemPair {
  /** The certificate of the key, then its issuers, as TLS sends them (RFC 8446 §4.4.2). */
  readonly cert: string
  /** PKCS#8. */
  readonly key: string
}

/**
 * Reads a PKCS#12 file (RFC 7292, RFC 9579) with one private key and its certificate, for TLS. Certificates that are
 * not issuers of it are omitted.
 * @throws PkiError `wrong_password`, `unsupported_protection` for algorithms of old files, `malformed`
 */
export function readPkcs12Pair(file: Uint8Array, password: string): PemPair {
  requireModern(file)
  const { privateKey, certificate, additionalCertificates } = parse(file, password)
  if (privateKey === null) throw pkiError('malformed', `${what} contains no private key.`)
  if (certificate === null || !certificate.checkPrivateKey(privateKey))
    throw pkiError('malformed', `${what} contains no certificate of its private key.`)
  return {
    cert: orderChain(certificate, additionalCertificates).map(String).join(''),
    key: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
  }
}

interface Bundle {
  readonly privateKey: crypto.KeyObject | null
  readonly certificate: crypto.X509Certificate | null
  readonly additionalCertificates: readonly crypto.X509Certificate[]
}

/** A function of Node 26 that its types do not contain yet. */
const { parsePKCS12 } = crypto as unknown as {
  parsePKCS12(bundle: Uint8Array, options: { readonly passphrase: string }): Bundle
}

function parse(file: Uint8Array, password: string): Bundle {
  try {
    return parsePKCS12(file, { passphrase: password })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ERR_OSSL_PKCS12_MAC_VERIFY_FAILURE' || code === 'ERR_INVALID_ARG_VALUE')
      throw pkiError('wrong_password', 'The password does not open the PKCS#12 file.')
    if (code === 'ERR_CRYPTO_UNSUPPORTED_OPERATION') throw legacy()
    throw pkiError('malformed', `${what} cannot be read: ${error instanceof Error ? error.message : error}.`)
  }
}

function legacy() {
  return pkiError(
    'unsupported_protection',
    `${what} is protected with RC2, 3DES or a MAC by SHA-1. Convert it with \`openssl pkcs12 -legacy -in FILE -nodes -out FILE.pem\` and \`openssl pkcs12 -export -in FILE.pem -out FILE.p12\`, and delete FILE.pem.`,
  )
}

/** Refuses old algorithms, and several keys, of which OpenSSL would use the first. */
function requireModern(file: Uint8Array): void {
  const [version, safe, mac] = derMembers(file, what)
  if (derSmallNumber(version, what) !== 3) throw pkiError('malformed', `${what} is of an unknown version.`)
  if (mac === undefined) throw pkiError('malformed', `${what} has no MAC: its integrity cannot be verified.`)
  const [info] = derMembers(mac.whole, what)
  if (readAlgorithm(derMembers(info?.whole ?? new Uint8Array(), what)[0]).identifier === sha1.identifier)
    throw legacy()
  let keys = 0
  for (const part of derMembers(readData(safe), what)) {
    const [identifier, content] = derMembers(part.whole, what)
    if (derIdentifier(identifier, what) === oid.encryptedData) {
      const [data] = derElements(content?.content ?? new Uint8Array(), what)
      const [, encrypted] = derMembers(data?.whole ?? new Uint8Array(), what)
      requireModernScheme(derMembers(encrypted?.whole ?? new Uint8Array(), what)[1])
      continue
    }
    for (const bag of derMembers(readData(part), what)) {
      const [type, value] = derMembers(bag.whole, what)
      const name = derIdentifier(type, what)
      if (name !== oid.keyBag && name !== oid.shroudedKeyBag) continue
      keys += 1
      const [key] = derElements(derContent(value, contextTag(0), what), what)
      if (name === oid.shroudedKeyBag)
        requireModernScheme(derMembers(key?.whole ?? new Uint8Array(), what)[0])
    }
  }
  if (keys > 1)
    throw pkiError(
      'malformed',
      `${what} contains ${keys} private keys: export the one of the certificate alone (\`keytool -importkeystore -srcalias NAME\`, or \`openssl pkcs12 -export\`).`,
    )
}

function readAlgorithm(element: DerElement | undefined) {
  const [identifier, parameters] = derMembers(element?.whole ?? new Uint8Array(), what)
  return { identifier: derIdentifier(identifier, what), parameters }
}

function requireModernScheme(algorithm: DerElement | undefined): void {
  const { identifier, parameters } = readAlgorithm(algorithm)
  if (identifier.startsWith(legacySchemes)) throw legacy()
  if (identifier !== oid.pbes2) return
  const cipher = readAlgorithm(derMembers(parameters?.whole ?? new Uint8Array(), what)[1]).identifier
  if (cipher === tripleDes.identifier || !ciphers.some((row) => row.identifier === cipher)) throw legacy()
}

/** Omits a self-signed authority at the end, which peers that trust it already have. */
function orderChain(
  leaf: crypto.X509Certificate,
  others: readonly crypto.X509Certificate[],
): readonly crypto.X509Certificate[] {
  const chain = [leaf]
  const left = new Set(others)
  for (let last = leaf; left.size > 0; ) {
    const issuer = [...left].find(
      (one) => last.checkIssued(one) && last.verify(one.publicKey) && !isSelfSigned(one),
    )
    if (issuer === undefined) break
    left.delete(issuer)
    chain.push(issuer)
    last = issuer
  }
  return chain
}

function isSelfSigned(certificate: crypto.X509Certificate): boolean {
  return certificate.subject === certificate.issuer && certificate.verify(certificate.publicKey)
}
