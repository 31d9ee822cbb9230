import { readFileSync } from 'node:fs'
import { StartupError } from '@warder/base'
import { requireOneName, UsageError } from '../commands/options.ts'
import { readPemFile, toFileRefused } from '../files.ts'
import { openTransport } from '../https-client.ts'
import { formatReason, getConnectionHint } from '../login/exchange.ts'
import { printable } from '../terminal/table.ts'
import { fetchRealm, replaceRealm } from './realms.ts'
import { type SamlParams, showSetup } from './saml.ts'
import { adminVerb } from './verb.ts'

/** The limit of the service. */
const maxMetadataBytes = 256 * 1024
const fetchTimeoutMs = 30_000

/** Loopback addresses with any port, for programs on the computer of a user (`warder login --saml`). */
const loopbackOrigin = 'http://127.0.0.1'

const isAddress = (source: string): boolean => /^https?:\/\//i.test(source)

/** Reads metadata of an identity provider from a file or an https address. @throws StartupError */
async function readMetadata(source: string): Promise<string> {
  if (isAddress(source)) return fetchMetadata(new URL(source))
  let bytes: Buffer
  try {
    bytes = readFileSync(source === '-' ? 0 : source)
  } catch (error) {
    throw toFileRefused(error, source === '-' ? 'standard input' : source)
  }
  if (bytes.length > maxMetadataBytes)
    throw new StartupError(`${source} is larger than ${maxMetadataBytes} bytes, the limit for metadata`)
  return bytes.toString('utf8')
}

async function fetchMetadata(url: URL): Promise<string> {
  const transport = openTransport({
    baseUrl: url.origin,
    ca: undefined,
    timeoutMs: fetchTimeoutMs,
    maxConnections: 1,
    maxAnswerBytes: maxMetadataBytes,
  })
  try {
    const { status, body } = await transport.send(
      'GET',
      `${url.pathname}${url.search}`,
      { accept: 'application/samlmetadata+xml, application/xml' },
      undefined,
    )
    if (status === 200) return new TextDecoder().decode(body)
    throw new StartupError(
      status >= 300 && status < 400
        ? `${url.href} answers with a redirect (${status}): give the address that it leads to`
        : `${url.href} answers ${status}: give the address of the metadata`,
    )
  } catch (error) {
    if (error instanceof StartupError) throw error
    throw new StartupError(`the metadata: ${formatReason(error)}${getConnectionHint(error)}`, {
      cause: error,
    })
  } finally {
    transport.close()
  }
}

/** Reads `ATTRIBUTE=CLAIM`. @throws UsageError */
function readMapping(text: string): readonly [attribute: string, claim: string] {
  const [, attribute, claim] = /^(.+)=([^=]+)$/s.exec(text) ?? []
  if (attribute === undefined || claim === undefined)
    throw new UsageError(`--claim must be ATTRIBUTE=CLAIM, not '${text}'`)
  return [attribute, claim]
}

/** Formats the question before a change; another identity provider has other users. */
function formatQuestion(
  realm: string,
  { idp_entity_id: old }: SamlParams,
  metadata: string | undefined,
  sameUsers: boolean,
): string {
  // Only for the question: the service parses the metadata.
  const next = /\bentityID\s*=\s*["']([^"']{1,1024})["']/.exec(metadata ?? '')?.[1]
  if (next === undefined || next === old)
    return printable(`Change the SAML settings of realm ${realm}, whose identity provider is ${old}?`)
  const users = sameUsers
    ? 'Equal names mean the same users.'
    : 'Its users are other users, even with equal names: sessions and grants of the former users end.'
  return printable(`Replace the identity provider ${old} of realm ${realm} by ${next}? ${users}`)
}

export const setSaml = adminVerb({
  name: 'set-saml',
  words: 'REALM',
  summary: 'Let the users of a SAML identity provider log in to a realm; shows the values to enter there',
  about: `Settings without an option stay. Use a separate realm: create it first, and disable its passwords with change-realm
--no-login password. If the identity provider (entity ID) changes, equal names mean other users: the sessions and grants
of the former users end, unless --same-users is given.`,
  examples: [
    'warder admin set-saml staff --metadata https://idp.example/metadata --base-url https://auth.example.com',
    'warder admin set-saml staff --metadata idp.xml --role-attribute groups --claim mail=mail --terminal',
    'warder admin saml show staff',
  ],
  options: {
    metadata: {
      type: 'text',
      value: 'FILE|URL',
      help: `metadata of the identity provider; the service fetches newer ones from a URL every hour
(required when the realm has no SAML yet; - is standard input)`,
    },
    'metadata-certificate': {
      type: 'list',
      value: 'F',
      help: `certificate (PEM) that must have signed fetched metadata; repeatable
(default: TLS protects them)`,
    },
    'base-url': {
      type: 'text',
      value: 'URL',
      help: 'address at which browsers reach the authentication service (default: the one of this command)',
    },
    'return-url': {
      type: 'text',
      value: 'URL',
      help: 'page after a login without return_to (default: the base URL)',
    },
    'return-origin': {
      type: 'list',
      value: 'ORIGIN',
      help: 'https origin to which logins may return; repeatable; added to the present ones',
    },
    terminal: { type: 'flag', help: `allows warder login --saml: the return origin ${loopbackOrigin}` },
    'subject-attribute': {
      type: 'text',
      value: 'NAME',
      help: 'attribute with the username (default: the NameID)',
    },
    'role-attribute': { type: 'text', value: 'NAME', help: 'attribute whose values are the roles' },
    claim: {
      type: 'list',
      value: 'ATTRIBUTE=CLAIM',
      help: 'attribute that becomes a claim; repeatable; added to the present ones',
    },
    'same-users': {
      type: 'flag',
      help: 'users of the new identity provider are the former users with the same names',
    },
  },
  parse(values, names) {
    const realmId = requireOneName(names, 'realm: warder admin set-saml REALM --metadata FILE|URL')
    const { metadata: source, 'base-url': base, 'return-url': returnUrl } = values
    if (source !== undefined && /^http:/i.test(source))
      throw new UsageError('--metadata must be a file or an https address: http is not protected')
    if (source !== undefined && isAddress(source) && !URL.canParse(source))
      throw new UsageError(`--metadata is not an address: '${source}'`)
    for (const [name, url] of Object.entries({ 'base-url': base, 'return-url': returnUrl }))
      if (url !== undefined && !/^https:\/\/[^\s@]+$/.test(url))
        throw new UsageError(`--${name} must be an https address, not '${url}'`)
    const claims = Object.fromEntries(values.claim.map(readMapping))
    const certificates = values['metadata-certificate'].map((file) => readPemFile(file, 'CERTIFICATE'))
    return async (context) => {
      const { api, confirm, url } = context
      const realm = await fetchRealm(api, realmId)
      const before = realm.auth_params.saml_params as SamlParams | undefined
      if (before === undefined && source === undefined)
        throw new StartupError(`the realm ${printable(realmId)} has no SAML yet: give --metadata FILE or URL`)
      const address = (base ?? url).replace(/\/+$/, '')
      const back = returnUrl ?? before?.default_return_url ?? `${address}/`
      const origins = [
        ...(before?.allowed_return_origins ?? []),
        ...values['return-origin'],
        ...(URL.canParse(back) ? [new URL(back).origin] : []),
        ...(values.terminal ? [loopbackOrigin] : []),
      ]
      const metadata = source === undefined ? undefined : await readMetadata(source)
      const saml = {
        ...before,
        ...(source !== undefined && {
          metadata_xml: metadata,
          metadata_url: isAddress(source) ? source : null,
        }),
        ...(certificates.length > 0 && { metadata_certificates: certificates }),
        ...((before === undefined || base !== undefined) && {
          sp_entity_id: `${address}/saml/${realmId}`,
          sp_acs_url: `${address}/saml/${realmId}/acs`,
        }),
        default_return_url: back,
        allowed_return_origins: [...new Set(origins)],
        ...(values['subject-attribute'] !== undefined && { subject_attribute: values['subject-attribute'] }),
        ...(values['role-attribute'] !== undefined && { role_attribute: values['role-attribute'] }),
        attribute_claim_map: { ...before?.attribute_claim_map, ...claims },
        ...(values['same-users'] &&
          before !== undefined && {
            predecessor_entity_ids: [
              ...new Set([...(before.predecessor_entity_ids ?? []), before.idp_entity_id]),
            ],
          }),
      }
      if (before !== undefined) await confirm(formatQuestion(realmId, before, metadata, values['same-users']))
      await replaceRealm(api, { ...realm, auth_params: { ...realm.auth_params, saml_params: saml } })
      await showSetup(context, realmId)
    }
  },
})
