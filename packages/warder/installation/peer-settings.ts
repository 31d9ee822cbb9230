import { isAbsolute, join } from 'node:path'
import type { ForeignSettings } from '@warder/runtime/settings'

const proxyCredentials = 'put USER:PASSWORD into a file, and its path into outbound_proxy_credentials_file'
const noSecretAge = 'decrypted keys stay in memory until they are evicted or changed; remove this setting'
const logFile = 'Warder logs to standard error: let the service manager or the container write it to a file'

const logLevels: Readonly<Record<string, string>> = {
  trace: 'debug',
  debug: 'debug',
  info: 'info',
  warn: 'warn',
  error: 'error',
}

/** `info,module=debug`: the level that applies to everything. */
function levelIn(theirs: unknown): unknown {
  const general = String(theirs)
    .split(',')
    .map((part) => part.trim().toLowerCase())
    .find((part) => part in logLevels)
  return general === undefined ? undefined : logLevels[general]
}

/** A database of PostgreSQL is named by its URL; the folder of SQLite counts only without one. */
function sqliteUrl(folder: unknown, all: ReadonlyMap<string, unknown>): unknown {
  const kind = all.get('db.database_type') ?? 'sqlite'
  const url = all.get('db.database_url') ?? ''
  // Theirs starts at the working directory; ours are in the home folder anyway.
  if (kind !== 'sqlite' || url !== '' || typeof folder !== 'string' || !isAbsolute(folder)) return undefined
  return `sqlite:${join(folder, 'warder-kms.db')}`
}

/**
 * The settings of the deployed peer whose names are not ours: `kms.toml` of that server starts this one. Names that both
 * have (`default_username`, `[kmip] policy_id` …) need no row.
 */
export const peerSettings: ForeignSettings = {
  'http.port': { to: 'port' },
  'http.hostname': { to: 'host' },
  'http.http_workers': { to: 'workers' },
  'http.api_token_id': { to: 'api_token_id', env: 'KMS_API_TOKEN' },
  'http.rate_limit_per_second': { to: 'rate_limit_per_second' },
  'http.cors_allowed_origins': { to: 'cors_allowed_origins' },

  'tls.tls_cert_file': { to: 'tls_cert_file' },
  'tls.tls_key_file': { to: 'tls_key_file' },
  'tls.clients_ca_cert_file': { to: 'clients_ca_cert_file' },
  'tls.tls_cipher_suites': { to: 'tls_cipher_suites' },
  'tls.tls_chain_file': {
    refused: 'tls_cert_file contains the certificate and its intermediates; append the chain to that file',
  },
  'tls.tls_p12_file': { to: 'tls_p12_file' },
  'tls.tls_p12_password': { to: 'tls_p12_password' },

  'socket_server.socket_server_start': { to: 'socket_server_start' },
  'socket_server.socket_server_port': { to: 'socket_server_port' },
  'socket_server.socket_server_hostname': { to: 'socket_server_hostname' },

  'db.database_type': {
    refused: 'Warder stores in SQLite or PostgreSQL; set database_url to one of them',
    harmless: ['sqlite', 'postgresql'],
    env: 'KMS_DATABASE_TYPE',
  },
  'db.database_url': {
    to: 'database_url',
    but: 'objects of another server in it are not read: export and import them',
  },
  'db.sqlite_path': {
    to: 'database_url',
    but: 'the file in it is warder-kms.db, and objects of another server are not read: export and import them',
    value: sqliteUrl,
  },
  'db.redis_master_password': { refused: 'Warder does not store in Redis; set database_url' },
  'db.clear_database': { refused: 'Warder does not clear a database at a start; remove this setting' },
  'db.max_connections': {
    needless: 'each worker keeps a small pool of its own',
    env: 'KMS_DB_MAX_CONNECTIONS',
  },
  'db.unwrapped_cache_max_size': { to: 'unwrapped_cache_max_size' },
  'db.unwrapped_cache_max_age': { refused: noSecretAge, harmless: [15] },
  'db.unwrapped_cache_max_ttl': { refused: noSecretAge },
  'db.disable_unwrapped_cache': {
    refused: 'the cache cannot be switched off; set unwrapped_cache_max_size = 1',
  },

  'idp_auth.jwt_auth_provider': { to: 'jwt_auth_provider' },
  'auth_verifier.auth_verifier_url': { to: 'auth_verifier_url' },
  'auth_verifier.auth_verifier_jwks_uri': { to: 'auth_verifier_jwks' },
  'auth_verifier.auth_verifier_realm': {
    to: 'auth_verifier_realm',
    but: 'tokens without aud are refused unless auth_verifier_realm_without_aud names their realm',
  },
  'auth_verifier.auth_verifier_accept_invalid_certs': {
    refused: 'certificates are always verified; set the authority in auth_verifier_ca_cert',
  },

  'vault.vault_api_enabled': {
    to: 'vault_api_enabled',
    but: 'it forwards /v1/auth of machines; transit_enabled serves the transit mount, and there is no pki mount',
  },
  'vault.vault_auth_verifier_url': { to: 'vault_auth_verifier_url' },
  'vault.vault_auth_verifier_ca_cert': {
    to: 'auth_verifier_ca_cert',
    but: 'it is also trusted for auth_verifier_url',
  },
  'vault.vault_auth_verifier_accept_invalid_certs': {
    refused: 'certificates are always verified; set the authority in auth_verifier_ca_cert',
  },
  'vault.vault_token_cache_ttl_secs': { to: 'vault_token_cache_ttl_secs' },
  'vault.vault_transit_mount': { needless: 'with transit_enabled it is at /v1/transit' },
  'vault.vault_pki_mount': { needless: 'Warder has no pki mount' },
  'vault.vault_pki_ca_key_label': { needless: 'Warder has no pki mount' },

  'audit.enabled': { to: 'audit_enabled', env: 'KMS_AUDIT_ENABLE' },
  'audit.failure_mode': { to: 'audit_failure_mode', env: 'KMS_AUDIT_FAILURE_MODE' },
  'audit.trusted_proxy_cidrs': { to: 'audit_trusted_proxy_cidrs', env: 'KMS_AUDIT_TRUSTED_PROXY_CIDRS' },
  'audit.audit_failure_mode': { to: 'audit_failure_mode' },
  'audit.audit_trusted_proxy_cidrs': { to: 'audit_trusted_proxy_cidrs' },
  'audit.channel_capacity': {
    needless: 'records wait in a bounded queue of fixed size',
    env: 'KMS_AUDIT_CHANNEL_CAPACITY',
  },
  'audit.file.path': {
    refused:
      'the log is in audit/kms of the home folder; make that a mount or a link, and remove this setting',
    env: 'KMS_AUDIT_FILE_PATH',
  },
  'audit.file.max_size_bytes': {
    to: 'audit_rotate_bytes',
    but: 'at that size the log continues in a new file',
    env: 'KMS_AUDIT_FILE_MAX_SIZE_BYTES',
  },
  'audit.postgres.url': {
    refused: 'the log is kept in files; ship them with a log agent',
    env: 'KMS_AUDIT_POSTGRES_URL',
  },
  'audit.postgres.instance_id': { needless: 'node_name distinguishes nodes', env: 'KMS_AUDIT_INSTANCE_ID' },

  'jwks_endpoint.jwks_endpoint_enabled': { to: 'jwks_endpoint_enabled' },
  'jwks_endpoint.jwks_endpoint_max_keys': { to: 'jwks_endpoint_max_keys' },
  'jwks_endpoint.jwks_endpoint_auto_tag': { to: 'jwks_endpoint_auto_tag' },

  'ui_config.enable': { needless: 'the console at /ui is always served', env: 'KMS_UI_ENABLE' },
  'ui_config.ui_index_html_folder': {
    refused: 'Warder serves only its own page; remove this setting',
    env: 'COSMIAN_UI_DIST_PATH',
  },
  'ui_config.ui_session_salt': {
    needless: 'session cookies are sealed with a key that all nodes share',
    env: 'KMS_SESSION_SALT',
  },
  'ui_config.ui_oidc_auth.ui_oidc_logout_url': {
    needless: 'a logout ends the session here, but not at the provider',
    env: 'UI_OIDC_LOGOUT_URL',
  },

  'logging.rust_log': { to: 'log_level', value: levelIn },
  'logging.otlp': {
    refused: 'set otlp_endpoint to the OTLP/HTTP address of the collector (https, usually port 4318)',
    env: 'KMS_OTLP_URL',
  },
  'logging.otlp_allow_insecure': { refused: 'metrics are sent only over https; remove this setting' },
  'logging.quiet': { needless: 'use log_level', env: 'KMS_LOG_QUIET' },
  'logging.log_to_syslog': { refused: logFile, env: 'KMS_LOG_TO_SYSLOG' },
  'logging.rolling_log_dir': { refused: logFile },
  'logging.rolling_log_name': { refused: logFile },
  'logging.enable_metering': { refused: 'set metrics_port, from which Prometheus fetches metrics' },
  'logging.environment': { needless: 'it only named the process in its traces' },
  'logging.ansi_colors': { needless: 'the log is JSON' },

  'workspace.root_data_path': { needless: 'the home folder is --home or WARDER_HOME' },
  'workspace.tmp_path': { needless: 'nothing is written outside the home folder' },

  kms_public_url: { to: 'kms_public_url', env: 'KMS_PUBLIC_URL' },
  vendor_identification: { needless: 'clients choose the vendor of their own attributes' },
  info: { refused: '`warder config show` prints the effective settings' },
  print_default_config: { refused: '`warder config print kms` prints every setting' },
  default_unwrap_type: { refused: 'objects are stored as they are registered; remove this setting' },
  non_revocable_key_id: {
    refused: 'rights determine who may revoke a key: grant Destroy to no user, and remove this setting',
  },
  privileged_users: { to: 'roles.crypto_officer_users' },
  'roles.crypto_officer_require_ceremony': { to: 'roles.crypto_officer_require_ceremony' },
  'roles.ceremony_secret': { needless: 'records of ceremonies are sealed with the root key' },
  'roles.ceremony_key_id': { needless: 'records of ceremonies are sealed with the root key' },
  'roles.ceremony_wrapping_key_id': { needless: 'shares are sealed with the root key' },
  auto_rotation_check_interval_secs: {
    refused:
      'Warder renews certificates, and pairs with theirs, if RotateAutomatic is set, and rotates keys by RotateInterval or rotate_every (docs/how-to/rotation.md)',
  },
  keyset_warn_depth: { needless: 'it only caused warnings' },
  crl_refresh_check_hours: { needless: 'revocation lists are signed again before they expire' },
  ms_dke_service_url: {
    refused: 'Double Key Encryption has a section of its own: `warder external microsoft enable` writes it',
  },
  'google_cse_config.google_cse_disable_tokens_validation': {
    refused: 'tokens are always verified',
    harmless: [false],
    env: 'KMS_GOOGLE_CSE_DISABLE_TOKENS_VALIDATION',
  },
  'google_cse_config.google_cse_migration_key': {
    needless: 'import it as a key, and name it as google_cse_signing_key',
  },
  'azure_ekm_config.azure_ekm_path_prefix': {
    to: 'azure_ekm_config.azure_ekm_path_prefixes',
    env: 'KMS_AZURE_EKM_PATH_PREFIX',
    value: (prefix) => [prefix],
  },
  'azure_ekm_config.azure_ekm_disable_client_auth': {
    refused: 'pools are identified by their client certificates: list them in azure_ekm_client_names',
    harmless: [false],
    env: 'KMS_AZURE_EKM_DISABLE_CLIENT_AUTH',
  },
  'azure_ekm_config.*': { needless: 'the proxy reports its own name and version' },
  'notifications.*': { needless: 'Warder sends no mail' },
  'opa.opa_mode': {
    refused: 'Warder uses no policy service; grant rights with /access',
    harmless: ['disabled'],
  },
  'opa.opa_url': { needless: 'opa_mode determines whether it is used' },
  'proxy.proxy_url': {
    to: 'outbound_proxy',
    but: 'names are resolved here, and the proxy receives addresses, unless outbound_proxy_resolves is true',
  },
  'proxy.proxy_basic_auth_username': { refused: proxyCredentials },
  'proxy.proxy_basic_auth_password': { refused: proxyCredentials },
  'proxy.proxy_custom_auth_header': {
    refused: `Warder authenticates to a proxy with Basic alone; ${proxyCredentials}`,
  },
  'proxy.proxy_exclusion_list': { to: 'outbound_no_proxy', env: 'KMS_PROXY_NO_PROXY' },
}
