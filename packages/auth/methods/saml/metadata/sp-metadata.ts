import { X509Certificate } from 'node:crypto'
import { bindings, namespaces } from '../xml/names.ts'
import { escapeXml } from '../xml/write.ts'

/** Facts about a realm that an identity provider needs (SAML 2.0 metadata §2.4.4). */
export interface SpDescription {
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
