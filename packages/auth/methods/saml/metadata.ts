import { X509Certificate } from 'node:crypto'
import {
  bindings,
  children,
  escapeXml,
  isNamed,
  namespaces,
  readAttribute,
  readText,
  readTime,
  readXml,
  type XmlDocument,
  type XmlElement,
} from './xml.ts'
import { metadataBounds, withoutComments, XmlRefused } from './xml-gate.ts'

/** Facts derived from the metadata of an identity provider (SAML 2.0 metadata §2.4.3). */
export interface IdpFacts {
  readonly idp_entity_id: string
  /** HTTP-Redirect. */
  readonly idp_sso_url: string
  /** PEM. */
  readonly idp_signing_certificates: readonly string[]
  /** The first NameIDFormat. */
  readonly idp_nameid_format?: string
  /** Single logout by HTTP-Redirect: the URL for requests, and the URL for responses if it differs. */
  readonly idp_slo_url?: string
  readonly idp_slo_response_url?: string
}

const maxCertificates = 16
const maxUrlLength = 2048

/**
 * Reads metadata, from which comments are removed first: administrators write them, and they carry no data. @throws
 * XmlRefused
 */
export function readMetadata(xml: string): XmlDocument {
  // A file may begin with a byte order mark (XML 1.0 appendix F).
  return readXml(withoutComments(xml.replace(/^\ufeff/, '')), metadataBounds)
}

/**
 * @param now Unix seconds
 * @throws XmlRefused that names the problem
 */
export function idpFacts(root: XmlElement, now: number): IdpFacts {
  if (isNamed(root, 'metadata', 'EntitiesDescriptor'))
    throw new XmlRefused('must describe a single entity: EntityDescriptor, not EntitiesDescriptor')
  if (!isNamed(root, 'metadata', 'EntityDescriptor'))
    throw new XmlRefused('must be an EntityDescriptor of SAML 2.0')
  const entityId = readAttribute(root, 'entityID') ?? ''
  if (entityId === '' || entityId.length > 1024)
    throw new XmlRefused('must have an entityID of at most 1024 characters')
  const idp = children(root, 'metadata', 'IDPSSODescriptor').find((descriptor) =>
    (readAttribute(descriptor, 'protocolSupportEnumeration') ?? '')
      .split(/\s+/)
      .includes(namespaces.protocol),
  )
  if (idp === undefined) throw new XmlRefused('must have an IDPSSODescriptor of the SAML 2.0 protocol')
  for (const element of [root, idp]) requireStillValid(element, now)
  const [format] = children(idp, 'metadata', 'NameIDFormat').map((element) =>
    (readText(element) ?? '').trim(),
  )
  return {
    idp_entity_id: entityId,
    idp_sso_url: signOnUrl(idp),
    idp_signing_certificates: signingCertificates(idp),
    ...(format !== undefined && format !== '' && { idp_nameid_format: format }),
    ...logoutUrls(idp),
  }
}

function requireStillValid(element: XmlElement, now: number): void {
  const text = readAttribute(element, 'validUntil')
  if (text === undefined) return
  const end = readTime(text)
  if (end === undefined) throw new XmlRefused('has a validUntil that is not a time in UTC')
  if (end <= now) throw new XmlRefused('has expired (validUntil)')
}

function signOnUrl(idp: XmlElement): string {
  const service = children(idp, 'metadata', 'SingleSignOnService').find(isRedirect)
  if (service === undefined)
    throw new XmlRefused('must have a SingleSignOnService with the HTTP-Redirect binding')
  return httpsUrl(readAttribute(service, 'Location'), 'SingleSignOnService')
}

function logoutUrls(idp: XmlElement): Pick<IdpFacts, 'idp_slo_url' | 'idp_slo_response_url'> {
  const service = children(idp, 'metadata', 'SingleLogoutService').find(isRedirect)
  if (service === undefined) return {}
  const idp_slo_url = httpsUrl(readAttribute(service, 'Location'), 'SingleLogoutService')
  const response = readAttribute(service, 'ResponseLocation')
  if (response === undefined) return { idp_slo_url }
  return { idp_slo_url, idp_slo_response_url: httpsUrl(response, 'SingleLogoutService') }
}

function isRedirect(service: XmlElement): boolean {
  return readAttribute(service, 'Binding') === bindings.redirect
}

function httpsUrl(text: string | undefined, what: string): string {
  const url = text === undefined || text.length > maxUrlLength ? null : URL.parse(text)
  if (
    url === null ||
    url.protocol !== 'https:' ||
    url.username !== '' ||
    url.password !== '' ||
    url.hash !== ''
  )
    throw new XmlRefused(`the Location of ${what} must be an https URL`)
  return url.href
}

/** A KeyDescriptor without `use` is for signing, too (§2.4.1.1). */
function signingCertificates(idp: XmlElement): readonly string[] {
  const certificates = children(idp, 'metadata', 'KeyDescriptor')
    .filter((descriptor) => (readAttribute(descriptor, 'use') ?? 'signing') === 'signing')
    .flatMap((descriptor) => children(descriptor, 'signature', 'KeyInfo'))
    .flatMap((info) => children(info, 'signature', 'X509Data'))
    .flatMap((data) => children(data, 'signature', 'X509Certificate'))
    .map((element) => readCertificate(readText(element) ?? ''))
  const unique = [...new Set(certificates)]
  if (unique.length === 0) throw new XmlRefused('must have a signing certificate')
  if (unique.length > maxCertificates)
    throw new XmlRefused(`must have at most ${maxCertificates} signing certificates`)
  return unique
}

function readCertificate(base64: string): string {
  const compact = base64.replaceAll(/\s/g, '')
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(compact)) throw new XmlRefused('has a certificate that is not base64')
  return checkCertificate(Buffer.from(compact, 'base64'))
}

/**
 * Returns the PEM of a certificate whose key is strong enough to sign logins. @param encoded DER or PEM. @throws
 * XmlRefused
 */
export function checkCertificate(encoded: Uint8Array | string): string {
  let certificate: X509Certificate
  try {
    certificate = new X509Certificate(encoded)
  } catch {
    throw new XmlRefused('has a certificate that cannot be read')
  }
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = certificate.publicKey
  const isStrong = type === 'ec' || (type === 'rsa' && (details?.modulusLength ?? 0) >= 2048)
  if (!isStrong)
    throw new XmlRefused('has a certificate whose key is neither RSA of at least 2048 bits nor EC')
  return certificate.toString()
}

/** Facts about a realm that an identity provider needs (SAML 2.0 metadata §2.4.4). */
interface SpDescription {
  readonly settings: {
    readonly sp_entity_id: string
    readonly sp_acs_url: string
    readonly idp_nameid_format?: string
    readonly offer_encryption_key?: boolean
  }
  /** PEM of every key of the service provider, the signing key first. */
  readonly certificates: readonly string[]
  /** undefined: single logout is not offered. */
  readonly logoutUrl: string | undefined
}

/** The metadata of a realm. */
export function spMetadata({ settings, certificates, logoutUrl }: SpDescription): string {
  const format = settings.idp_nameid_format
  const [signing, ...others] = certificates
  // Identity providers that use only one key use the last one (Keycloak 26.4). It must not be the next key,
  // which does not sign yet.
  const listed = [...others, ...(signing === undefined ? [] : [signing])]
  const lines = [
    `<md:EntityDescriptor xmlns:md="${namespaces.metadata}" xmlns:ds="${namespaces.signature}" entityID="${escapeXml(settings.sp_entity_id)}">`,
    `  <md:SPSSODescriptor AuthnRequestsSigned="true" WantAssertionsSigned="true" protocolSupportEnumeration="${namespaces.protocol}">`,
    ...listed.map((pem) => keyDescriptor('signing', pem)),
    ...(settings.offer_encryption_key === false ? [] : listed.map((pem) => keyDescriptor('encryption', pem))),
    ...(logoutUrl === undefined
      ? []
      : [`    <md:SingleLogoutService Binding="${bindings.redirect}" Location="${escapeXml(logoutUrl)}"/>`]),
    ...(format === undefined ? [] : [`    <md:NameIDFormat>${escapeXml(format)}</md:NameIDFormat>`]),
    `    <md:AssertionConsumerService Binding="${bindings.post}" Location="${escapeXml(settings.sp_acs_url)}" index="0" isDefault="true"/>`,
    '  </md:SPSSODescriptor>',
    '</md:EntityDescriptor>',
    '',
  ]
  return lines.join('\n')
}

/** The accepted encryption algorithms, so that an identity provider does not choose CBC. */
function keyDescriptor(use: 'signing' | 'encryption', pem: string): string {
  const der = new X509Certificate(pem).raw.toString('base64')
  const methods = [
    'http://www.w3.org/2009/xmlenc11#aes256-gcm',
    'http://www.w3.org/2009/xmlenc11#aes128-gcm',
    'http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p',
  ].map((name) => `      <md:EncryptionMethod Algorithm="${name}"/>`)
  return [
    `    <md:KeyDescriptor use="${use}">`,
    `      <ds:KeyInfo><ds:X509Data><ds:X509Certificate>${der}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>`,
    ...(use === 'encryption' ? methods : []),
    '    </md:KeyDescriptor>',
  ].join('\n')
}
