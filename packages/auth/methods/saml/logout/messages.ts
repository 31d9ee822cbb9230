import { maxAssertionAgeSeconds, skewSeconds } from '../response/expected.ts'
import type { SamlSettings } from '../settings/settings.ts'
import type { IdpName } from '../store/idp-session-store.ts'
import type { XmlElement } from '../xml/dom.ts'
import { namespaces, success } from '../xml/names.ts'
import { children, isNamed, onlyChild, readAttribute, readText, readXml } from '../xml/read.ts'
import { readTime, writeTime } from '../xml/time.ts'
import { escapeXml } from '../xml/write.ts'
import { XmlRefused } from '../xml/xml-refused.ts'

interface MessageFields {
  readonly id: string
  readonly destination: string
  readonly spEntityId: string
  /** Unix seconds. */
  readonly now: number
}

/** A LogoutRequest (SAML 2.0 core §3.7.1). */
export function logoutRequest(sent: MessageFields, nameId: IdpName, sessionIndex: string | null): string {
  const qualifiers = {
    NameQualifier: nameId.nameQualifier,
    SPNameQualifier: nameId.spNameQualifier,
    Format: nameId.format,
  }
  const attributes = Object.entries(qualifiers).map(([name, value]) =>
    value === null ? '' : ` ${name}="${escapeXml(value)}"`,
  )
  const index =
    sessionIndex === null ? '' : `<samlp:SessionIndex>${escapeXml(sessionIndex)}</samlp:SessionIndex>`
  const name = `<saml:NameID${attributes.join('')}>${escapeXml(nameId.value)}</saml:NameID>`
  return message('LogoutRequest', sent, '', name + index)
}

/** A LogoutResponse with the status Success (§3.7.2). */
export function logoutResponse(sent: MessageFields, inResponseTo: string): string {
  const status = `<samlp:Status><samlp:StatusCode Value="${success}"/></samlp:Status>`
  return message('LogoutResponse', sent, ` InResponseTo="${escapeXml(inResponseTo)}"`, status)
}

function message(
  name: string,
  { id, destination, spEntityId, now }: MessageFields,
  more: string,
  inside: string,
): string {
  const attributes = ` ID="${id}" Version="2.0" IssueInstant="${writeTime(now)}" Destination="${escapeXml(destination)}"${more}`
  const issuer = `<saml:Issuer>${escapeXml(spEntityId)}</saml:Issuer>`
  return `<samlp:${name} xmlns:samlp="${namespaces.protocol}" xmlns:saml="${namespaces.assertion}"${attributes}>${issuer}${inside}</samlp:${name}>`
}

/** Contents of a LogoutRequest. */
export interface LogoutRequest {
  readonly id: string
  /** Unix seconds. */
  readonly issuedAt: number
  readonly name: string
  readonly format: string | null
  /** Empty: every session of the name. */
  readonly sessionIndexes: readonly string[]
}

interface Expected {
  readonly settings: Pick<SamlSettings, 'idp_entity_id'>
  /** URL at which the message arrived. */
  readonly destination: string
  readonly now: number
}

/** @param xml of a message whose signature is valid. @throws XmlRefused */
export function readLogoutRequest(xml: string, expected: Expected): LogoutRequest {
  const { root } = readXml(xml)
  const { id, issuedAt } = checkHead(root, 'LogoutRequest', expected)
  const end = readAttribute(root, 'NotOnOrAfter')
  const endsAt = end === undefined ? undefined : readTime(end)
  if (end !== undefined && (endsAt === undefined || expected.now >= endsAt + skewSeconds))
    throw new XmlRefused('the LogoutRequest has expired')
  const nameId = onlyChild(root, 'assertion', 'NameID')
  const name = nameId && readText(nameId)
  if (nameId === undefined || name === undefined || name === '')
    throw new XmlRefused('the LogoutRequest has no NameID')
  const sessionIndexes = children(root, 'protocol', 'SessionIndex').map((one) => readText(one) ?? '')
  return { id, issuedAt, name, format: readAttribute(nameId, 'Format') ?? null, sessionIndexes }
}

/** @returns the ID of the LogoutRequest that was answered. @throws XmlRefused */
export function readLogoutResponse(xml: string, expected: Expected): string {
  const { root } = readXml(xml)
  checkHead(root, 'LogoutResponse', expected)
  return readAttribute(root, 'InResponseTo') ?? ''
}

function checkHead(
  root: XmlElement,
  name: string,
  { settings, destination, now }: Expected,
): { readonly id: string; readonly issuedAt: number } {
  if (!isNamed(root, 'protocol', name) || readAttribute(root, 'Version') !== '2.0')
    throw new XmlRefused(`it is not a ${name} of SAML 2.0`)
  const issuer = onlyChild(root, 'assertion', 'Issuer')
  if (issuer === undefined || readText(issuer) !== settings.idp_entity_id)
    throw new XmlRefused('its Issuer is not the IdP of the realm')
  // SAML 2.0 bindings §3.4.5.2: a signed message names its destination.
  if (readAttribute(root, 'Destination') !== destination)
    throw new XmlRefused('its Destination is not this service')
  const id = readAttribute(root, 'ID') ?? ''
  const issuedAt = readTime(readAttribute(root, 'IssueInstant') ?? '')
  if (id === '' || issuedAt === undefined) throw new XmlRefused('it lacks ID or IssueInstant')
  if (now - issuedAt > maxAssertionAgeSeconds || issuedAt - now > skewSeconds)
    throw new XmlRefused('its IssueInstant is too old or in the future')
  return { id, issuedAt }
}
