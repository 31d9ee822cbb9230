import type { Values } from '../../../parts/act-form.tsx'
import { readWords } from '../../../parts/command.ts'
import { type Realm, type RealmBody, readParams } from './realm.ts'

export type SamlParams = NonNullable<RealmBody['auth_params']['saml_params']>

/** Settings as the service returns them, with what it read from the metadata. */
export interface StoredSaml extends SamlParams {
  readonly idp_entity_id: string
  readonly idp_nameid_format?: string
  readonly idp_slo_url?: string
}

export const readSaml = (realm: Realm): StoredSaml | undefined =>
  (readParams(realm).saml_params ?? undefined) as StoredSaml | undefined

/** Loopback addresses with any port, for `warder login --saml`. */
export const loopbackOrigin = 'http://127.0.0.1'

/** The entity ID in metadata, for the question before a change. The service parses the metadata. */
export const findEntityId = (metadata: string): string | undefined =>
  /\bentityID\s*=\s*["']([^"']{1,1024})["']/.exec(metadata)?.[1]

const readLines = (text: string | undefined): readonly string[] =>
  (text ?? '').split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]))

/** Attributes that become claims: `ATTRIBUTE=CLAIM`, one on each line. */
export function readClaims(text: string | undefined): readonly (readonly [string, string])[] {
  return readLines(text).map((line) => {
    const [, attribute = '', claim = ''] = /^(.+)=([^=]+)$/s.exec(line) ?? []
    return [attribute, claim]
  })
}

export const areClaims = (text: string): boolean =>
  readClaims(text).every(([attribute, claim]) => attribute !== '' && claim !== '')

const toOptional = (text: string | undefined): string | null => (text?.trim() ? text.trim() : null)

/** `saml_params` for the values of the form; what the form does not know stays. */
export function toSamlParams(realm: string, before: StoredSaml | undefined, values: Values): SamlParams {
  const base = (values.base ?? '').replace(/\/+$/, '')
  const back = values.back || `${base}/`
  const origins = [
    ...readWords(values.origins),
    ...(URL.canParse(back) ? [new URL(back).origin] : []),
    ...(values.terminal === 'yes' ? [loopbackOrigin] : []),
  ]
  const isSame = values.same === 'yes' && before !== undefined
  return {
    ...before,
    metadata_xml: values.metadata?.trim() ? values.metadata : (before?.metadata_xml ?? ''),
    metadata_url: toOptional(values.newer),
    sp_entity_id: `${base}/saml/${realm}`,
    sp_acs_url: `${base}/saml/${realm}/acs`,
    default_return_url: back,
    allowed_return_origins: [...new Set(origins)],
    subject_attribute: toOptional(values.subject),
    role_attribute: toOptional(values.roles),
    attribute_claim_map: Object.fromEntries(readClaims(values.claims)),
    ...(isSame && {
      predecessor_entity_ids: [...new Set([...(before.predecessor_entity_ids ?? []), before.idp_entity_id])],
    }),
  }
}

/** A captured response as base64: from XML, base64, or a complete form body. */
export function readResponse(text: string): string {
  const trimmed = text.trim()
  if (trimmed.startsWith('<')) {
    const bytes = new TextEncoder().encode(trimmed)
    return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
  }
  const field = /(?:^|&)SAMLResponse=([^&]*)/.exec(trimmed)?.[1] ?? trimmed
  try {
    return decodeURIComponent(field).replaceAll(/\s/g, '')
  } catch {
    return field.replaceAll(/\s/g, '')
  }
}
