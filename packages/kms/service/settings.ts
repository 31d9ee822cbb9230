import { externalSettings } from '@warder/external-stores/settings'
import type { IdentityConfig } from '@warder/identity'
import {
  type ApprovalSettings,
  approvable,
  defaultCredentialWaitSeconds,
  type OfficerSettings,
  principalNamed,
  personalMethods as voteMethods,
} from '@warder/keys/settings'
import {
  boolean,
  choice,
  type foundationSettings,
  httpsProblem,
  integer,
  keySetProblem,
  list,
  noticeSettings,
  optionalInteger,
  optionalText,
  providersProblem,
  roleSourcesProblem,
  type ServiceDefaults,
  type Setting,
  type SettingValues,
  text,
} from '@warder/runtime/settings'
import { algorithmSettings } from './algorithm-settings.ts'
import { hsmSettings } from './hsm-settings.ts'
import { destructionConfigSettings, rotationConfigSettings } from './key-life-settings.ts'
import { acmeSettings, pkiSettings } from './pki-settings.ts'

/** For the common settings. */
export const kmsDefaults = {
  name: 'kms',
  port: 9998,
  bodyLimitBytes: 67_108_864,
} as const satisfies ServiceDefaults

const noticeSecret: Setting<string | undefined> = {
  type: 'secret',
  default: undefined,
  docs: 'Secret that signs those notifications: at least 32 characters.',
}

const oidcSecret: Setting<string | undefined> = {
  type: 'secret',
  default: undefined,
  env: 'UI_OIDC_CLIENT_SECRET',
  docs: 'Client secret; unset = a public client (PKCE protects the code in both cases).',
}

/** @returns why the list will not do */
export function voteWithProblem(methods: readonly string[]): string | undefined {
  if (methods.includes('second_factor'))
    return `it must not contain second_factor, because administrators of a realm enrol and remove second factors and could vote with them; allowed are ${voteMethods.join(', ')}`
  return methods.every((method) => voteMethods.includes(method))
    ? undefined
    : `it must contain only ${voteMethods.join(', ')}`
}

/** Members of a group and holders of a role change without the settings. */
function officerProblem(names: readonly string[]): string | undefined {
  const shared = names.find((name) => /^(group|role):/i.test(name))
  return shared === undefined
    ? undefined
    : `it must name users, not groups or roles: ${shared} names several principals`
}

function approvableProblem(names: readonly string[]): string | undefined {
  const known: readonly string[] = approvable
  return names.every((name) => known.includes(name))
    ? undefined
    : `it must contain only ${approvable.join(', ')}`
}

/** Refuses a name that no credential can yield: it would own keys, but could not be granted any. */
function userNameProblem(name: string): string | undefined {
  try {
    principalNamed(name, 'default_username')
    return undefined
  } catch {
    return 'it must be a valid user name: 1 to 256 characters without surrounding blanks or invisible characters, not `*`, and not beginning with app:, spiffe://, aws:, google:, microsoft:, azure:, group: or role:'
  }
}

/** Settings of the key management service; the common ones (address, TLS, database, audit) are the runtime's. */
export const kmsSettings = {
  default_username: text({
    default: 'admin',
    docs: 'User of all requests if no authentication method is configured, and of the API token.',
    check: userNameProblem,
  }),
  force_default_username: boolean({
    default: false,
    docs: 'Every authenticated caller becomes `default_username`; without an authentication method all requests are refused.',
  }),
  'roles.crypto_officer_users': list({
    default: [],
    check: officerProblem,
    docs: 'Users who may create objects and manage those of other users. Empty: all users may create, and no user manages objects of others.',
  }),
  'roles.crypto_officer_require_ceremony': boolean({
    default: false,
    docs: 'Officers become active only in a ceremony: a key is split among them, and a quorum contributes its shares. Requires at least three officers.',
  }),
  'roles.ceremony_quorum': optionalInteger({
    min: 2,
    max: 255,
    docs: 'Number of crypto officers whose shares a ceremony requires, and whose approvals an operation requires; unset: more than half. A key that is split by XOR requires all of them.',
  }),
  'roles.ceremony_validity': integer({
    default: 28_800,
    min: 60,
    max: 31_536_000,
    docs: 'Seconds for which an activation of a crypto officer and the shares of a ceremony are valid.',
  }),
  'approvals.operations': list({
    default: [],
    docs: 'Operations that require the approval of a quorum of crypto officers: `destroy`, `export` (key material, wrapped or not), `grant` (of the rights get and export, and of any use to a cloud); `stop_store`, `start_store` (stop or start an external key store); `access_key` (create an access key for AWS KMS); `settings` (a start with other officers or approvals); `root_key` (`warder root-key rotate` and `move`); `restore_backup` (a restored installation serves no requests before the approval).',
    check: approvableProblem,
  }),
  'approvals.tags': list({
    default: [],
    docs: 'Only operations on objects with one of these tags, which then cannot be removed; empty: on all objects.',
  }),
  'approvals.algorithms': list({
    default: [],
    docs: 'Only operations on objects of these algorithms (`AES`, `RSA`, `EC`, `HMAC` …); empty: on all objects. Secret data has no algorithm.',
  }),
  'approvals.owners': list({
    default: [],
    docs: 'Only operations on objects of these owners; empty: on all objects.',
  }),
  'approvals.validity': integer({
    default: 86_400,
    min: 60,
    max: 31_536_000,
    docs: 'Seconds for which a request can be approved and used.',
  }),
  'approvals.vote_with': list({
    default: [],
    docs: 'Credentials with which crypto officers vote and hold ceremonies: `tls_auth` (client certificate), `jwt_auth` (token of an identity provider of `jwt_auth_provider`). Empty: all. Passwords and second factors of the authentication service are set by its administrators, who could vote with them.',
    check: voteWithProblem,
  }),
  'approvals.credential_wait': integer({
    default: defaultCredentialWaitSeconds,
    min: 0,
    max: 2_592_000,
    docs: 'Seconds for which a credential that an administrator of the authentication service set for a crypto officer cannot vote or take part in a ceremony; the audit log and `approvals.webhook_url` notify the officers. Client certificates, tokens of `jwt_auth_provider`, and credentials from before the first start with officers are not delayed. 0: no delay.',
  }),
  'approvals.webhook_url': optionalText({
    docs: 'Address (https) for notifications of approval requests, key rotations and pending destructions, and of their outcome, signed with `approvals.webhook_secret`.',
    check: httpsProblem,
  }),
  'approvals.webhook_secret': noticeSecret,
  ...noticeSettings(
    [
      'approval.asked',
      'approval.given',
      'officer.credential',
      'key.rotation',
      'key.budget',
      'key.destruction',
      'key.ending',
      'certificate.ending',
      'block',
    ],
    'Those about approvals, officers, rotations, budgets and destructions go to `approvals.webhook_url` if they are not named here; the others are not sent.',
  ),
  notice_days: integer({
    default: 30,
    min: 1,
    max: 365,
    docs: 'Days before the end of a key or certificate at which `key.ending` and `certificate.ending` are sent; they are sent again 7 days and 1 day before.',
  }),
  ...destructionConfigSettings,
  ...rotationConfigSettings,
  auth_verifier_url: optionalText({
    docs: 'Address of the authentication service whose session tokens are accepted as bearer tokens.',
    check: httpsProblem,
  }),
  auth_verifier_jwks: optionalText({
    docs: 'Key set of those tokens; unset: `/.well-known/jwks.json` under `auth_verifier_url`.',
    check: keySetProblem,
  }),
  auth_verifier_ca_cert: optionalText({
    docs: 'PEM file of the CA that issued the certificate of the authentication service.',
  }),
  auth_public_url: optionalText({
    docs: 'Address (https) of the authentication service for browsers, which log in there for the web page of this service; default: `auth_verifier_url`. If both services are started together with certificates of the local authority, loopback addresses become `localhost`.',
    check: httpsProblem,
  }),
  auth_verifier_issuer: optionalText({
    docs: "The `iss` that those tokens must have; `published`: one of the issuers that Warder's service at `auth_verifier_url` publishes (default if both services are started together); unset: any.",
  }),
  auth_verifier_realm: optionalText({
    docs: 'Only sessions of this realm are accepted, and its users have plain names. Unset: sessions of every realm are accepted; users of `_` have plain names, those of other realms are `realm/name`.',
  }),
  auth_verifier_realm_without_aud: optionalText({
    docs: 'Realm of session tokens without `aud`, for services that do not set it. Unset: such tokens are refused.',
  }),
  jwt_auth_provider: list({
    default: [],
    separator: /[;\n]/,
    docs: 'Issuers of bearer tokens: `issuer[,key set[,audience…]]`; the key set is an https address or `file:` and a path. An issuer `spiffe://domain` accepts workload tokens of that domain and requires an audience. In the variable and the flag, separate issuers by semicolons or line breaks.',
    check: providersProblem,
  }),
  role_sources: list({
    default: [],
    separator: /[;\n]/,
    docs: 'Roles that arrive with credentials, for grants to `role:NAME/ROLE`. `NAME,jwt,ISSUER,CLAIM[,PREFIX]`: a claim of tokens of an issuer (`groups`, `realm_access.roles`; a JSON Pointer such as `/https:~1~1idp.example~1roles` for names with dots); `NAME,session,REALM[,PREFIX]`: the roles of sessions of a realm; `NAME,certificate,ou|san-uri|san-dns|san-email[,PREFIX[,AUTHORITY FILE]]`: client certificates, with a file only those that an authority in it (PEM) signed. With a prefix only values that begin with it count, without it. In the variable and the flag, separate sources by semicolons or line breaks.',
    check: roleSourcesProblem,
  }),
  api_token_id: optionalText({
    env: 'KMS_API_TOKEN',
    docs: 'Id of a symmetric key whose bytes, in base64, are a bearer token for `default_username`.',
  }),
  vault_auth_verifier_url: optionalText({
    docs: 'Authentication service that verifies app tokens (`X-Secret-Token`); unset: such tokens are not accepted.',
    check: httpsProblem,
  }),
  vault_api_enabled: boolean({
    default: false,
    docs: 'Forward `/v1/auth/…` of machines (logins, their own tokens) to `vault_auth_verifier_url`, or else to `auth_verifier_url`.',
  }),
  transit_enabled: boolean({
    default: false,
    docs: 'Serve a subset of Vault’s transit engine at `/v1/transit/…`, and `/v1/sys/health`, for Vault clients, with the same tokens as other requests, also as `X-Vault-Token`.',
  }),
  auth_feed_when_lost: choice({
    default: 'refuse',
    choices: ['refuse', 'accept'],
    docs: 'Handling of sessions of `auth_verifier_url` while the revocation feed cannot be read: refuse (503), or accept as if none had ended. Has an effect only if both services share `WARDER_PEER_SECRET`, which `warder start` gives them.',
  }),
  auth_feed_max_age_secs: integer({
    default: 60,
    min: 5,
    max: 86_400,
    docs: 'How long known revocations count as current if the authentication service does not respond.',
  }),
  auth_feed_max_entries: integer({
    default: 1_000_000,
    min: 1000,
    max: 100_000_000,
    docs: 'Maximum number of stored revocations of sessions and users, about 32 bytes each.',
  }),
  vault_token_cache_ttl_secs: integer({
    default: 30,
    min: 0,
    max: 300,
    docs: 'How long a lookup of an app token is cached. A revoked token is refused at once if both services share `WARDER_PEER_SECRET`; otherwise it may still work for that time.',
  }),
  kms_public_url: optionalText({
    docs: 'Address (https) of this service for browsers; default: its own, by any name of this machine for logins at the authentication service. The OpenID provider redirects to `/ui/callback` below it.',
    check: httpsProblem,
  }),
  'ui_config.ui_oidc_auth.ui_oidc_issuer_url': optionalText({
    env: 'UI_OIDC_ISSUER_URL',
    docs: 'OpenID provider (https) for logins to the web page.',
    check: httpsProblem,
  }),
  'ui_config.ui_oidc_auth.ui_oidc_client_id': optionalText({
    env: 'UI_OIDC_CLIENT_ID',
    docs: 'Client id of this service at the provider.',
  }),
  'ui_config.ui_oidc_auth.ui_oidc_client_secret': oidcSecret,
  socket_server_start: boolean({
    default: true,
    docs: 'Serve KMIP on a separate port, if TLS and `clients_ca_cert_file` are configured: its clients need certificates.',
  }),
  socket_server_port: integer({
    default: 5696,
    min: 0,
    max: 65_535,
    docs: 'TCP port of the KMIP socket; 0 = any free one.',
  }),
  socket_server_hostname: optionalText({
    docs: 'Address of the KMIP socket; unset: that of `host`.',
  }),
  socket_server_idle_timeout_ms: integer({
    default: 600_000,
    min: 100,
    max: 86_400_000,
    docs: 'Timeout of an idle connection of the KMIP socket.',
  }),
  socket_server_max_connections: integer({
    default: 20_000,
    min: 1,
    max: 1_000_000,
    docs: 'Maximum number of connections of the KMIP socket for one worker.',
  }),
  socket_server_max_connections_per_address: integer({
    default: 2000,
    min: 1,
    max: 1_000_000,
    docs: 'Maximum number of these connections for one client address.',
  }),
  socket_server_rsa_cert_file: optionalText({
    docs: 'A second certificate chain (PEM) of the KMIP socket, with an RSA key, for TLS 1.2 clients that support only RSA suites. Default: issued by the local authority at the first run, if `tls_cert_file` is not set.',
  }),
  socket_server_rsa_key_file: optionalText({ docs: 'Its private key (PEM).' }),
  kmip_ignore_header_password: boolean({
    default: false,
    docs: 'Ignore UsernameAndPassword in the header of KMIP messages if the caller has a client certificate: for devices that always send one (FortiOS). The password is then not checked, and the certificate alone determines the user.',
  }),
  kmip_draft_3_0: boolean({
    default: false,
    docs: 'Also serve KMIP 3.0, a committee draft whose details may still change: on the socket, at `/kmip` and as JSON at `/kmip/3_0`. Without it, requests in 3.0 get UnsupportedProtocolVersion.',
  }),
  ...algorithmSettings,
  ...hsmSettings,
  ...externalSettings,
  ...pkiSettings,
  ...acmeSettings,
  jwks_endpoint_enabled: boolean({ default: true, docs: 'Serve /.well-known/jwks.json.' }),
  jwks_endpoint_max_keys: integer({
    default: 50,
    min: 1,
    max: 1000,
    docs: 'Maximum number of published keys: the newest, in equal shares for all owners.',
  }),
  jwks_endpoint_auto_tag: boolean({
    default: true,
    docs: 'Tag generated signing pairs with `jwks`, so that their public keys are published.',
  }),
  max_objects_per_owner: optionalInteger({
    min: 1,
    max: 1_000_000_000,
    docs: 'Maximum number of objects of one user; the halves of a pair count as two. Unset = no limit.',
  }),
  unwrapped_cache_max_size: integer({
    default: 10_000,
    min: 1,
    max: 1_000_000,
    docs: 'Maximum number of decrypted keys in the memory of a worker, and of content keys that they unwrapped.',
  }),
} as const

/** Settings of the service: its own and the common ones. */
export type KmsConfig = SettingValues<typeof kmsSettings> &
  SettingValues<ReturnType<typeof foundationSettings>> &
  Pick<IdentityConfig, 'app_tokens_by_default'>

/** Those about approvals. */
export function approvalSettings(config: KmsConfig): ApprovalSettings {
  return {
    operations: approvable.filter((operation) => config['approvals.operations'].includes(operation)),
    tags: config['approvals.tags'],
    algorithms: config['approvals.algorithms'],
    owners: config['approvals.owners'],
    validitySeconds: config['approvals.validity'],
    voteWith: config['approvals.vote_with'],
    credentialWaitSeconds: config['approvals.credential_wait'],
  }
}

/** Those about crypto officers. */
export function officerSettings(config: KmsConfig): OfficerSettings {
  return {
    users: config['roles.crypto_officer_users'],
    requireCeremony: config['roles.crypto_officer_require_ceremony'],
    quorum: config['roles.ceremony_quorum'],
    validitySeconds: config['roles.ceremony_validity'],
  }
}
