import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inHome } from '@warder/base'
import type { ServiceName } from '@warder/command-line/endpoints'
import { formatSettingsToml, readSettingsFile } from '@warder/runtime/settings'
import { isOutside } from '../backup/backup-sources.ts'
import { getForeignSettings, getSettings } from '../installation/services.ts'

/**
 * Settings of a backup that apply in a drill: those that determine the meaning of stored data. All others, including
 * unknown ones, have their defaults, so that a drill contacts no address, reads no other file and uses no fixed port.
 */
const allowedSettings: ReadonlySet<string> = new Set([
  'database_url',
  'root_key_source',
  'root_key_credential',
  'audit_enabled',
  'audit_encryption',
  'body_limit_bytes',
  'node_name',
  // auth
  'issuer',
  'publish_session_jwks',
  'certificate_signing',
  'admin_password_policy.minimum_length',
  'admin_password_policy.refuse_common',
  // kms
  'default_username',
  'force_default_username',
  'roles.crypto_officer_users',
  'roles.crypto_officer_require_ceremony',
  'roles.ceremony_quorum',
  'roles.ceremony_validity',
  'approvals.operations',
  'approvals.tags',
  'approvals.algorithms',
  'approvals.owners',
  'approvals.validity',
  'approvals.vote_with',
  'approvals.credential_wait',
  'pending_destruction_days',
  'pending_destruction_days_by',
  'rotation.policy',
  'rotation.notice_days',
  'auth_verifier_realm',
  'auth_verifier_realm_without_aud',
  'transit_enabled',
  'fips',
  'fips_provider_required',
  'jose_optional_algorithms',
  'kmip.policy_id',
  'kmip.allowlists.algorithms',
  'kmip.allowlists.hashes',
  'kmip.allowlists.signature_algorithms',
  'kmip.allowlists.curves',
  'kmip.allowlists.block_cipher_modes',
  'kmip.allowlists.padding_methods',
  'kmip.allowlists.mgf_hashes',
  'kmip.allowlists.mask_generators',
  'kmip.allowlists.rsa_key_sizes',
  'kmip.allowlists.aes_key_sizes',
  'max_objects_per_owner',
])

/** Files that apply if they are in the home, and so came with the backup. */
const allowedFiles: ReadonlySet<string> = new Set(['root_key_file'])

/** Writes the settings of a drill from the parsed file, so that the notation in the file cannot bypass the list. */
export function restrictSettings(service: ServiceName, home: string): void {
  const file = join(home, `${service}.toml`)
  if (!existsSync(file)) return
  const { found } = readSettingsFile(file, getSettings(service), getForeignSettings(service))
  const isAllowed = ([key, value]: [string, unknown]): boolean =>
    allowedSettings.has(key) ||
    (allowedFiles.has(key) && typeof value === 'string' && !isOutside(home, inHome(home, value)))
  writeFileSync(file, formatSettingsToml(new Map([...found].filter(isAllowed))), { mode: 0o600 })
}
