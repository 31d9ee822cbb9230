import { createHash, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { StartupError } from '@warder/base'
import type { AuthReply } from '@warder/client'
import { UsageError } from '../commands/options.ts'
import { formatTable, formatTime, printable } from '../terminal/table.ts'
import type { AdminApi } from './api.ts'
import { fetchRealm } from './realms.ts'
import { type AdminContext, adminVerb } from './verb.ts'

/** `saml_params` of a realm, in the form of the API. */
export interface SamlParams {
  readonly idp_entity_id: string
  readonly idp_sso_url: string
  readonly idp_slo_url?: string
  readonly idp_signing_certificates: readonly string[]
  readonly idp_nameid_format?: string
  readonly sp_entity_id: string
  readonly sp_acs_url: string
  readonly subject_attribute?: string
  readonly role_attribute?: string
  readonly attribute_claim_map: Readonly<Record<string, string>>
  readonly allowed_return_origins: readonly string[]
  readonly default_return_url: string
  readonly predecessor_entity_ids?: readonly string[]
}

type DryRun = AuthReply<'saml.test'>

const usage = 'warder admin saml show REALM, or warder admin saml test REALM --response FILE'
const maxFileBytes = 512 * 1024

/** `warder admin saml`: values to enter at the identity provider, and a dry run of a captured response. */
export const samlVerb = adminVerb({
  name: 'saml',
  words: 'show|test REALM',
  summary: 'Show the configuration for the identity provider of a realm, or test a captured response',
  examples: ['warder admin saml show shop', 'warder admin saml test shop --response response.txt'],
  options: {
    response: {
      type: 'text',
      value: 'FILE',
      help: 'for test: the SAMLResponse as base64 or XML, or the complete form body',
    },
  },
  parse({ response }, names) {
    const [what, realm, ...rest] = names
    if (realm === undefined || rest.length > 0 || (what !== 'show' && what !== 'test'))
      throw new UsageError(usage)
    if ((what === 'test') !== (response !== undefined)) throw new UsageError(usage)
    if (response === undefined) return (context) => showSetup(context, realm)
    const captured = readResponse(response)
    return (context) => test(context, realm, captured)
  },
})

/** Shows the values to enter at the identity provider of a realm. */
export async function showSetup({ api, show: print }: AdminContext, realm: string): Promise<void> {
  const saml = await fetchSamlParams(api, realm)
  const base = saml.sp_acs_url.replace(/\/acs$/, '')
  const entries: readonly (readonly [string, string])[] = [
    ['Metadata', `${base}/metadata`],
    ['Entity ID', saml.sp_entity_id],
    ['Assertion consumer service (HTTP-POST)', saml.sp_acs_url],
    ...(saml.idp_slo_url === undefined ? [] : [['Single logout (HTTP-Redirect)', `${base}/slo`] as const]),
    ['Requests', 'signed with RSA-SHA256; the metadata contains the certificates'],
    ['Response or assertion', 'signed, SHA-256 or longer; encryption: AES-GCM with RSA-OAEP'],
    ['NameID', saml.idp_nameid_format ?? 'any persistent format'],
    ['Attribute of the subject', saml.subject_attribute ?? 'none: the NameID'],
    ['Attribute of the roles', saml.role_attribute ?? 'none'],
    ...Object.entries(saml.attribute_claim_map).map(
      ([name, claim]) => ['Attribute', `${name}, as claim ${claim}`] as const,
    ),
  ]
  const certificates = saml.idp_signing_certificates.map((pem) => {
    const certificate = new X509Certificate(pem)
    const sha256 = createHash('sha256').update(certificate.raw).digest('hex')
    return { sha256, not_after: certificate.validToDate.getTime() / 1000 }
  })
  const document = { realm, ...saml, metadata_xml: undefined, metadata_url: `${base}/metadata`, certificates }
  print(document, [
    `Enter at the identity provider ${printable(saml.idp_entity_id)}:`,
    ...formatTable(
      ['', ''],
      entries.map(([name, value]) => [name, printable(value)]),
      '',
    ),
    '',
    'Its certificates in the settings of the realm:',
    ...formatTable(
      ['SHA-256', 'ENDS'],
      certificates.map(({ sha256, not_after }) => [sha256, formatTime(not_after)]),
      'none',
    ),
  ])
}

async function test({ api, show: print }: AdminContext, realm: string, captured: string): Promise<void> {
  const path = `/realms/${encodeURIComponent(realm)}/saml/test`
  const dryRun = (await api.ask('POST', path, { saml_response: captured })) as DryRun
  print(dryRun, [formatDryRun(dryRun)])
}

function formatDryRun({ accepted, check, reason, subject, roles, claims, attributes }: DryRun): string {
  const has = attributes.length === 0 ? '' : ` (attributes: ${attributes.map(printable).join(', ')})`
  if (!accepted) return `refused, check ${check}: ${printable(reason ?? '')}${has}`
  const named = Object.keys(claims)
  const more = [
    ...(roles.length === 0 ? [] : [`roles ${roles.map(printable).join(', ')}`]),
    ...(named.length === 0 ? [] : [`claims ${named.map(printable).join(', ')}`]),
  ]
  return `accepted: ${printable(subject ?? '')}${more.length === 0 ? '' : ` with ${more.join(' and ')}`}${has}`
}

async function fetchSamlParams(api: AdminApi, realm: string): Promise<SamlParams> {
  const saml = (await fetchRealm(api, realm)).auth_params.saml_params
  if (saml === undefined)
    throw new StartupError(
      `the realm ${printable(realm)} does not use SAML: see warder admin set-saml --help`,
    )
  return saml as SamlParams
}

/** Reads a response. @returns base64 @throws StartupError */
function readResponse(file: string): string {
  let text: string
  try {
    text = readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new StartupError(`cannot read ${file}: ${error instanceof Error ? error.message : String(error)}`)
  }
  if (text.length > maxFileBytes) throw new StartupError(`${file} is larger than ${maxFileBytes} bytes`)
  if (text.startsWith('<')) return Buffer.from(text).toString('base64')
  const field = /(?:^|&)SAMLResponse=([^&]*)/.exec(text)?.[1] ?? text
  return decodePercent(field).replaceAll(/\s/g, '')
}

/** In a copied form body the base64 is percent-encoded. */
function decodePercent(field: string): string {
  try {
    return decodeURIComponent(field)
  } catch {
    return field
  }
}
