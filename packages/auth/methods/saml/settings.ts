import { failure } from '@warder/base'
import Type from 'typebox'
import { reservedClaims } from '../../claims.ts'
import { methodSettings, nullable } from '../../realms/realm.ts'
import { checkCertificate, type IdpFacts, idpFacts, readMetadata } from './metadata.ts'
import { nameIdFormats } from './xml.ts'
import { XmlRefused } from './xml-gate.ts'

const maxUrlLength = 2048
/** Printable ASCII as in RFC 3986: browsers repair other characters in different ways. */
const plainUrl = /^https:\/\/[A-Za-z0-9._~:[\]-]+(?:[/?#][!#-;=?-Z_a-z~[\]]*)?$/

/**
 * Reads an https URL that browsers and this service parse alike: no user, no backslash, no blank, a host in ASCII.
 * @returns the URL; undefined for any other text
 */
function readHttpsUrl(text: string): URL | undefined {
  if (text.length > maxUrlLength || !plainUrl.test(text)) return undefined
  const url = URL.parse(text)
  if (url === null || url.protocol !== 'https:' || url.username !== '' || url.password !== '')
    return undefined
  return url
}

/** Origins of programs on the user's own computer, on any port (RFC 8252 §7.3). Never `localhost`, which is a name. */
const loopbackOrigins: readonly string[] = ['http://127.0.0.1', 'http://[::1]']
const loopbackUrl = /^(http:\/\/(?:127\.0\.0\.1|\[::1\])):[1-9][0-9]{0,4}(?:\/[A-Za-z0-9._~/-]*)?$/

/** Finds the loopback origin of the URL of a local program; undefined for any other text. */
function findLoopbackOrigin(text: string): string | undefined {
  const origin = text.length > maxUrlLength ? undefined : loopbackUrl.exec(text)?.[1]
  return origin !== undefined && URL.canParse(text) ? origin : undefined
}

/** @param url with or without an added code */
export function isLoopback(url: string): boolean {
  const [address = ''] = url.split('?', 1)
  return findLoopbackOrigin(address) !== undefined
}

/** Reads an https origin without path; undefined for any other text. */
function readOrigin(text: string): string | undefined {
  const url = readHttpsUrl(text)
  const isBare = url !== undefined && url.pathname === '/' && url.search === '' && url.hash === ''
  return isBare && !/[?#]/.test(text) ? url.origin : undefined
}

interface ReturnSettings {
  readonly allowed_return_origins: readonly string[]
  readonly default_return_url: string
}

/** A room of the console of this service, as browsers send its address. */
const ownPage = /^\/ui\/(?:[\w-]+(?:\/[\w-]+)*)?(?:\?[\w.~%&=+-]*)?$/

/**
 * Selects the URL for the browser after a login: the requested one, if it has an allowed origin or is a path of this
 * service's own console.
 * @returns the normalized URL, or that path
 * @throws failure('bad_request')
 */
export function returnUrl(asked: string | undefined, settings: ReturnSettings): string {
  if (asked === undefined) return settings.default_return_url
  if (asked.length <= maxUrlLength && ownPage.test(asked)) return asked
  const url = readHttpsUrl(asked)
  if (url === undefined)
    throw failure('bad_request', 'return_to is not a valid URL: https, in ASCII, without user.')
  if (!settings.allowed_return_origins.includes(url.origin)) throw notAllowed()
  return url.href
}

/**
 * Selects the URL that receives the code of a login: an allowed URL without fragment, or that of a program on
 * the same computer if the realm allows it.
 * @throws failure('bad_request')
 */
export function codeReturnUrl(asked: string, settings: ReturnSettings): string {
  const loopback = findLoopbackOrigin(asked)
  if (loopback !== undefined) {
    if (!settings.allowed_return_origins.includes(loopback)) throw notAllowed()
    return asked
  }
  const url = returnUrl(asked, settings)
  // A page has no verifier to redeem a code with.
  if (url.startsWith('/')) throw notAllowed()
  if (url.includes('#')) throw failure('bad_request', 'return_to must not have a fragment.')
  return url
}

export function isAllowedReturn(asked: string, { allowed_return_origins: origins }: ReturnSettings): boolean {
  const url = readHttpsUrl(asked)
  return url !== undefined && origins.includes(url.origin)
}

const notAllowed = () =>
  failure('bad_request', 'return_to is not under an allowed return origin of this realm.')

const maxMetadataBytes = 256 * 1024
const Url = Type.String({ minLength: 1, maxLength: 2048 })
const Name = Type.String({ minLength: 1, maxLength: 1024 })

/** Read-only members: returned by `GET`, accepted in requests and ignored. */
const Derived = Type.Optional(
  Type.Unknown({ description: 'Read-only, ignored in requests: derived from metadata_xml.' }),
)

const Given = Type.Object({
  metadata_xml: Type.String({
    description: 'Metadata of the identity provider; everything idp_… is derived from it.',
  }),
  metadata_url: nullable(Url),
  metadata_certificates: nullable(Type.Array(Type.String({ maxLength: 16_384 }), { maxItems: 8 })),
  predecessor_entity_ids: nullable(
    Type.Array(Name, {
      maxItems: 16,
      description:
        'Entity IDs of identity providers with the same users under the same names: the users are not removed when ' +
        'this provider replaces one of them, or reads names from another attribute.',
    }),
  ),
  sp_entity_id: Name,
  sp_acs_url: Url,
  subject_attribute: nullable(Name),
  normalize_subject_case: nullable(Type.Boolean()),
  role_attribute: nullable(Name),
  attribute_claim_map: nullable(Type.Record(Type.String(), Type.String())),
  allowed_return_origins: nullable(Type.Array(Url, { maxItems: 64 })),
  default_return_url: Url,
  offer_encryption_key: nullable(
    Type.Boolean({
      description:
        'Default true: the metadata of the realm contain a key for encrypted assertions. Set false for identity providers that ' +
        'would then encrypt with CBC, which is refused (Keycloak before 26.4, SimpleSAMLphp 1.19).',
    }),
  ),
  idp_entity_id: Derived,
  idp_sso_url: Derived,
  idp_signing_certificates: Derived,
  idp_nameid_format: Derived,
  idp_slo_url: Derived,
  idp_slo_response_url: Derived,
})

/** Stored `saml_params` of a realm. */
export interface SamlSettings extends IdpFacts {
  readonly metadata_xml: string
  /** URL of newer metadata. */
  readonly metadata_url?: string
  /** PEM. Fetched metadata must be signed by one of these certificates; without any, TLS alone protects it. */
  readonly metadata_certificates?: readonly string[]
  /** Entity IDs of providers whose users have the same names and are the same persons. */
  readonly predecessor_entity_ids?: readonly string[]
  readonly sp_entity_id: string
  readonly sp_acs_url: string
  readonly subject_attribute?: string
  readonly normalize_subject_case: boolean
  readonly role_attribute?: string
  /** Name of an attribute -> name of a claim. */
  readonly attribute_claim_map: Readonly<Record<string, string>>
  readonly allowed_return_origins: readonly string[]
  readonly default_return_url: string
  /** false: the metadata of the realm contain no encryption key. */
  readonly offer_encryption_key?: boolean
}

/** The identity provider of a realm, and the mapping of its assertions. */
export const samlSettings = methodSettings(
  'saml_params',
  Given,
  (given, at, { realmId, now }): SamlSettings => {
    const refuse = (field: string, reason: string) => failure('bad_request', `${at}.${field}: ${reason}.`)
    const read = <T>(field: string, action: () => T): T => {
      try {
        return action()
      } catch (error) {
        if (error instanceof XmlRefused) throw refuse(field, error.message)
        throw error
      }
    }
    const { metadata_xml, metadata_url, subject_attribute, role_attribute, predecessor_entity_ids } = given
    if (Buffer.byteLength(metadata_xml) > maxMetadataBytes)
      throw refuse('metadata_xml', 'must not exceed 262144 bytes')
    const idp = read('metadata_xml', () => idpFacts(readMetadata(metadata_xml).root, now))
    if (metadata_url !== undefined && readHttpsUrl(metadata_url) === undefined)
      throw refuse('metadata_url', 'must be an https URL')
    const metadata_certificates = given.metadata_certificates?.map((pem) =>
      read('metadata_certificates', () => checkCertificate(pem)),
    )
    requireAcsUrl(given.sp_acs_url, realmId, refuse)
    if (subject_attribute === undefined && idp.idp_nameid_format === nameIdFormats.transient)
      throw refuse('subject_attribute', 'is required, because the NameID of the IdP is transient')
    const attribute_claim_map = given.attribute_claim_map ?? {}
    requireClaimMap(attribute_claim_map, refuse)
    const allowed_return_origins = (given.allowed_return_origins ?? []).map((text) => {
      const origin = loopbackOrigins.includes(text) ? text : readOrigin(text)
      if (origin === undefined)
        throw refuse(
          'allowed_return_origins',
          `must be https origins without path, query or user, or ${loopbackOrigins.join(' or ')}`,
        )
      return origin
    })
    const back = readHttpsUrl(given.default_return_url)
    if (back === undefined) throw refuse('default_return_url', 'must be an https URL')
    if (!allowed_return_origins.includes(back.origin))
      throw refuse('default_return_url', 'its origin must be one of allowed_return_origins')
    return {
      metadata_xml,
      ...(metadata_url !== undefined && { metadata_url }),
      ...(metadata_certificates !== undefined &&
        metadata_certificates.length > 0 && { metadata_certificates }),
      ...idp,
      ...(predecessor_entity_ids !== undefined &&
        predecessor_entity_ids.length > 0 && { predecessor_entity_ids }),
      sp_entity_id: given.sp_entity_id,
      sp_acs_url: given.sp_acs_url,
      ...(subject_attribute !== undefined && { subject_attribute }),
      normalize_subject_case: given.normalize_subject_case ?? false,
      ...(role_attribute !== undefined && { role_attribute }),
      attribute_claim_map,
      allowed_return_origins,
      default_return_url: back.href,
      // Stored by earlier versions, which lack the member.
      ...(given.offer_encryption_key === false && { offer_encryption_key: false }),
    }
  },
)

type Refuse = (field: string, reason: string) => Error

function requireAcsUrl(text: string, realmId: string, refuse: Refuse): void {
  const url = readHttpsUrl(text)
  const path = `/saml/${realmId}/acs`
  if (url === undefined || url.search !== '' || url.hash !== '' || !url.pathname.endsWith(path))
    throw refuse('sp_acs_url', `must be an https URL whose path ends with ${path}`)
}

function requireClaimMap(map: Readonly<Record<string, string>>, refuse: Refuse): void {
  const claims = new Set<string>()
  for (const [attribute, claim] of Object.entries(map)) {
    if (attribute === '' || claim === '') throw refuse('attribute_claim_map', 'has an empty name')
    if (claims.has(claim))
      throw refuse('attribute_claim_map', `two attributes are mapped to the claim '${claim}'`)
    if (reservedClaims.has(claim))
      throw refuse(
        'attribute_claim_map',
        `'${claim}' is a reserved claim name and cannot be used as an extra claim`,
      )
    claims.add(claim)
  }
}
