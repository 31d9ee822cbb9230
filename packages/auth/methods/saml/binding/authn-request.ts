import type { SamlSettings } from '../settings/settings.ts'
import { bindings, nameIdFormats, namespaces } from '../xml/names.ts'
import { writeTime } from '../xml/time.ts'
import { escapeXml } from '../xml/write.ts'

/**
 * An AuthnRequest (SAML 2.0 core §3.4.1).
 * @param id `_` and 32 hexadecimal digits, of 128 random bits
 * @param now Unix seconds
 */
export function authnRequest(
  settings: Pick<SamlSettings, 'idp_sso_url' | 'sp_acs_url' | 'sp_entity_id' | 'idp_nameid_format'>,
  id: string,
  now: number,
): string {
  const format = settings.idp_nameid_format
  const policy =
    format === undefined ? '' : `<samlp:NameIDPolicy Format="${escapeXml(format)}" AllowCreate="true"/>`
  const attributes = {
    'xmlns:samlp': namespaces.protocol,
    'xmlns:saml': namespaces.assertion,
    ID: id,
    Version: '2.0',
    IssueInstant: writeTime(now),
    Destination: settings.idp_sso_url,
    AssertionConsumerServiceURL: settings.sp_acs_url,
    ProtocolBinding: bindings.post,
  }
  const written = Object.entries(attributes).map(([name, value]) => ` ${name}="${escapeXml(value)}"`)
  const issuer = `<saml:Issuer Format="${nameIdFormats.entity}">${escapeXml(settings.sp_entity_id)}</saml:Issuer>`
  return `<samlp:AuthnRequest${written.join('')}>${issuer}${policy}</samlp:AuthnRequest>`
}
