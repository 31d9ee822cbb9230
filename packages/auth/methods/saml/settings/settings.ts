import { failure } from '@warder/base'
import Type from 'typebox'
import { reservedClaims } from '../../../identity/reserved-claims.ts'
import { methodSettings, nullable } from '../../../realms/method-settings.ts'
import { checkCertificate, type IdpFacts, idpFacts, readMetadata } from '../metadata/idp-metadata.ts'
import { nameIdFormats } from '../xml/names.ts'
import { XmlRefused } from '../xml/xml-refused.ts'
import { loopbackOrigins, readHttpsUrl, readOrigin } from './return-to.ts'

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
