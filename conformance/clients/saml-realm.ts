import { readFileSync } from 'node:fs'
import { type Client, client } from '@warder/auth/testing'
import type { Installation } from 'warder/testing'

/** A browser's way to the authentication service. */
export function createBrowser({ authUrl, caFile }: Installation): Client {
  return client(Number(new URL(authUrl).port), readFileSync(caFile, 'utf8'))
}

/**
 * The realm `sso`, whose people log in at this identity provider and go on to an application or to the kms.
 * @param mail name of the attribute that becomes the claim `mail`
 */
export async function makeSamlRealm(
  warder: Installation,
  metadata_xml: string,
  mail = 'mail',
): Promise<void> {
  const auth = createBrowser(warder)
  const saml_params = {
    metadata_xml,
    sp_entity_id: `${warder.authUrl}/saml/sso`,
    sp_acs_url: `${warder.authUrl}/saml/sso/acs`,
    role_attribute: 'groups',
    attribute_claim_map: { [mail]: 'mail' },
    allowed_return_origins: ['https://app.example', warder.kmsUrl],
    default_return_url: 'https://app.example/home',
  }
  const realm = {
    id: 'sso',
    auth_params: { saml_params },
    session_max_age_seconds: 3600,
    session_max_stale_age_seconds: 600,
  }
  const headers = { cookie: `_ea_=${await warder.adminToken()}` }
  const made = await auth.call('POST', '/admins/realms', { json: realm, headers })
  auth.close()
  if (made.status !== 201) throw new Error(`the realm was not made: ${made.text}`)
}
