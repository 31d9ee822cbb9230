import { reservedClaims, type Subject } from '../../claims.ts'
import { isNewUsername } from '../../texts.ts'
import type { Assertion } from './assertion.ts'
import { SamlRefused } from './checks.ts'
import type { SamlSettings } from './settings.ts'
import { nameIdFormats } from './xml.ts'

/** The limit of `extra_claims` of users with a password. */
const maxClaimsBytes = 4096

/** Maps an assertion to a user by the realm's attributes. @throws SamlRefused */
export function mapSubject(assertion: Assertion, settings: SamlSettings): Subject {
  const found = findSubjectName(assertion, settings)
  const username = settings.normalize_subject_case ? found.toLowerCase() : found
  if (!isNewUsername(username)) throw new SamlRefused('subject', 'the subject cannot be a username')
  const roles =
    settings.role_attribute === undefined ? [] : attributeValues(assertion, settings.role_attribute)
  return {
    username,
    scheme: 'sa',
    certificateSha256: undefined,
    roles: [...new Set(roles)],
    extraClaims: mapClaims(assertion, settings),
  }
}

function findSubjectName(assertion: Assertion, { subject_attribute: name }: SamlSettings): string {
  if (name !== undefined) {
    const [value, other] = attributeValues(assertion, name)
    if (value === undefined) throw new SamlRefused('subject', `subject attribute '${name}' is missing`)
    if (other !== undefined)
      throw new SamlRefused('subject', `subject attribute '${name}' has several values`)
    return value
  }
  const { nameId } = assertion
  if (nameId === undefined) throw new SamlRefused('subject', 'assertion has no NameID')
  if (nameId.format === nameIdFormats.transient)
    throw new SamlRefused('subject', 'the NameID is transient and no subject attribute is configured')
  return nameId.value
}

/** Maps the attributes that the realm maps; claims that have become reserved since are omitted. */
function mapClaims(assertion: Assertion, settings: SamlSettings): Subject['extraClaims'] {
  const claims: Record<string, unknown> = {}
  for (const [attribute, claim] of Object.entries(settings.attribute_claim_map)) {
    const values = attributeValues(assertion, attribute)
    if (values.length > 0 && !reservedClaims.has(claim))
      claims[claim] = values.length === 1 ? values[0] : values
  }
  if (Buffer.byteLength(JSON.stringify(claims)) > maxClaimsBytes) throw tooLarge()
  return Object.keys(claims).length === 0 ? undefined : claims
}

export const tooLarge = () =>
  new SamlRefused('attributes', 'the mapped attributes exceed the extra-claims size limit')

function attributeValues({ attributes }: Assertion, name: string): readonly string[] {
  return attributes.get(name) ?? []
}
