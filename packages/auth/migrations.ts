import type { Migration } from '@warder/storage'

/**
 * Tables of the authentication service. Times are Unix seconds. Everything that belongs to a realm carries its id and
 * is deleted in the same commit as the realm (`realms/realm-store.ts`). No secret is stored in clear: passwords are
 * argon2id hashes, tokens and secret ids SHA-256 hashes, and the rest is sealed (`sealed_…`).
 */
export const authMigrations: readonly Migration[] = [
  {
    number: 1,
    name: 'realms, admins, credentials, sessions, TOTP, machines',
    statements: [
      `CREATE TABLE signing_key (
        purpose TEXT NOT NULL, kid TEXT NOT NULL, public_jwk TEXT NOT NULL, sealed_private BYTES NOT NULL,
        created_at BIGINT NOT NULL, PRIMARY KEY (purpose, kid))`,

      `CREATE TABLE realm (
        id TEXT NOT NULL PRIMARY KEY, auth_params TEXT NOT NULL, session_max_age BIGINT NOT NULL,
        session_max_stale_age BIGINT NOT NULL, certificate_max_age BIGINT NOT NULL, version BIGINT NOT NULL)`,

      `CREATE TABLE admin (
        id TEXT NOT NULL PRIMARY KEY, userpass TEXT, jwt TEXT, client_certificate TEXT, fido2 TEXT,
        digital_credentials TEXT, version BIGINT NOT NULL)`,
      'CREATE INDEX admin_by_userpass ON admin (userpass)',
      'CREATE INDEX admin_by_jwt ON admin (jwt)',
      'CREATE INDEX admin_by_certificate ON admin (client_certificate)',
      `CREATE TABLE admin_realm (
        admin_id TEXT NOT NULL, realm_id TEXT NOT NULL, PRIMARY KEY (admin_id, realm_id))`,
      'CREATE INDEX admin_realm_by_realm ON admin_realm (realm_id, admin_id)',

      `CREATE TABLE credential (
        realm_id TEXT NOT NULL, username TEXT NOT NULL, password_hash TEXT NOT NULL, change_password BIGINT NOT NULL,
        roles TEXT NOT NULL, extra_claims TEXT, version BIGINT NOT NULL, PRIMARY KEY (realm_id, username))`,

      `CREATE TABLE totp (
        realm_id TEXT NOT NULL, username TEXT NOT NULL, sealed_secret BYTES NOT NULL, algorithm TEXT NOT NULL,
        period BIGINT NOT NULL, last_step BIGINT NOT NULL, PRIMARY KEY (realm_id, username))`,

      `CREATE TABLE session (
        session_id TEXT NOT NULL PRIMARY KEY, realm_id TEXT NOT NULL, username TEXT NOT NULL, auth_scheme TEXT NOT NULL,
        certificate_sha256 TEXT, sealed_cookie BYTES NOT NULL, created_at BIGINT NOT NULL, max_age BIGINT NOT NULL,
        max_stale_age BIGINT NOT NULL, ends_at BIGINT NOT NULL) /* rowid */`,
      'CREATE INDEX session_by_user ON session (realm_id, username, auth_scheme)',
      'CREATE INDEX session_by_end ON session (ends_at)',

      `CREATE TABLE login_failure (
        slot BIGINT NOT NULL PRIMARY KEY, failures BIGINT NOT NULL, last_at BIGINT NOT NULL,
        blocked_until BIGINT NOT NULL)`,
      'CREATE INDEX login_failure_by_time ON login_failure (last_at)',

      `CREATE TABLE approle_role (
        name TEXT NOT NULL PRIMARY KEY, role_id TEXT NOT NULL, realm_id TEXT NOT NULL, token_ttl BIGINT NOT NULL,
        secret_id_ttl BIGINT NOT NULL, token_policies TEXT NOT NULL, bind_secret_id BIGINT NOT NULL,
        version BIGINT NOT NULL)`,
      'CREATE UNIQUE INDEX approle_role_by_id ON approle_role (role_id)',
      'CREATE INDEX approle_role_by_realm ON approle_role (realm_id, name)',
      `CREATE TABLE secret_id (
        accessor TEXT NOT NULL PRIMARY KEY, secret_hash BYTES NOT NULL, role_name TEXT NOT NULL,
        expires_at BIGINT NOT NULL, uses_left BIGINT NOT NULL, created_at BIGINT NOT NULL)`,
      'CREATE UNIQUE INDEX secret_id_by_hash ON secret_id (secret_hash)',
      'CREATE INDEX secret_id_by_role ON secret_id (role_name)',
      'CREATE INDEX secret_id_by_expiry ON secret_id (expires_at)',

      `CREATE TABLE orchestrator_role (
        name TEXT NOT NULL PRIMARY KEY, realm_id TEXT NOT NULL, jwks_url TEXT NOT NULL, names TEXT NOT NULL,
        namespaces TEXT NOT NULL, token_ttl BIGINT NOT NULL, expected_issuer TEXT, bound_audiences TEXT,
        version BIGINT NOT NULL)`,
      'CREATE INDEX orchestrator_role_by_realm ON orchestrator_role (realm_id, name)',

      `CREATE TABLE app_token (
        token_hash BYTES NOT NULL PRIMARY KEY, entity TEXT NOT NULL, realm_id TEXT NOT NULL, policies TEXT NOT NULL,
        renewable BIGINT NOT NULL, lease_duration BIGINT NOT NULL, expires_at BIGINT NOT NULL,
        created_at BIGINT NOT NULL, role_kind TEXT NOT NULL, role_name TEXT NOT NULL)`,
      'CREATE INDEX app_token_by_expiry ON app_token (expires_at)',
      'CREATE INDEX app_token_by_role ON app_token (role_kind, role_name)',
    ],
  },
  {
    number: 2,
    name: 'index for listing the sessions of a realm',
    statements: [
      'DROP INDEX session_by_user',
      'CREATE INDEX session_by_user ON session (realm_id, username, session_id)',
    ],
  },
  {
    number: 3,
    name: 'identity provider of each JWT name in a realm',
    statements: [
      `CREATE TABLE jwt_subject (
        realm_id TEXT NOT NULL, subject TEXT NOT NULL, issuer TEXT NOT NULL, assigned BIGINT NOT NULL,
        created_at BIGINT NOT NULL, PRIMARY KEY (realm_id, subject))`,
      'CREATE INDEX jwt_subject_by_issuer ON jwt_subject (realm_id, issuer, subject)',
      // The provider of these sessions is unknown: their users log in again.
      "DELETE FROM session WHERE auth_scheme = 'jwt'",
    ],
  },
  {
    number: 4,
    name: 'issuers of session tokens, of all nodes',
    statements: [
      'CREATE TABLE session_issuer (issuer TEXT NOT NULL PRIMARY KEY, started_at BIGINT NOT NULL)',
    ],
  },
  {
    number: 5,
    name: 'revocation feed; current users of names',
    statements: [
      'CREATE TABLE ended_head (id BIGINT NOT NULL PRIMARY KEY, seq BIGINT NOT NULL)',
      'INSERT INTO ended_head (id, seq) VALUES (1, 0)',
      `CREATE TABLE ended (
        seq BIGINT NOT NULL PRIMARY KEY, kind TEXT NOT NULL, subject TEXT NOT NULL, realm_id TEXT NOT NULL,
        username TEXT NOT NULL, ended_at BIGINT NOT NULL, until_at BIGINT NOT NULL, reason TEXT NOT NULL)`,
      'CREATE INDEX ended_by_subject ON ended (subject)',
      'CREATE INDEX ended_by_end ON ended (until_at)',
      `CREATE TABLE person (
        realm_id TEXT NOT NULL, username TEXT NOT NULL, subject_id TEXT NOT NULL, created_at BIGINT NOT NULL,
        PRIMARY KEY (realm_id, username))`,
    ],
  },
  {
    number: 6,
    name: 'SAML: keys of the service provider, pending messages, used assertions, sessions of identity providers; administrators by SAML',
    statements: [
      `CREATE TABLE saml_key (
        generation BIGINT NOT NULL PRIMARY KEY, sealed_private BYTES NOT NULL, certificate TEXT NOT NULL,
        signs_from BIGINT NOT NULL, created_at BIGINT NOT NULL)`,
      `CREATE TABLE saml_request (
        request_id TEXT NOT NULL PRIMARY KEY, realm_id TEXT NOT NULL, return_url TEXT NOT NULL,
        expires_at BIGINT NOT NULL, purpose TEXT NOT NULL)`,
      'CREATE INDEX saml_request_by_expiry ON saml_request (expires_at)',
      'CREATE INDEX saml_request_by_realm ON saml_request (realm_id)',
      'CREATE TABLE saml_assertion (assertion_hash BYTES NOT NULL PRIMARY KEY, expires_at BIGINT NOT NULL)',
      'CREATE INDEX saml_assertion_by_expiry ON saml_assertion (expires_at)',
      `CREATE TABLE saml_session (
        session_id TEXT NOT NULL PRIMARY KEY, realm_id TEXT NOT NULL, name_id TEXT NOT NULL, name_id_format TEXT,
        name_qualifier TEXT, sp_name_qualifier TEXT, session_index TEXT, ends_at BIGINT NOT NULL)`,
      'CREATE INDEX saml_session_by_name ON saml_session (realm_id, name_id)',
      'CREATE INDEX saml_session_by_end ON saml_session (ends_at)',
      'ALTER TABLE admin ADD COLUMN saml TEXT',
      'CREATE INDEX admin_by_saml ON admin (saml)',
    ],
  },
  {
    number: 7,
    name: 'SAML: sessions that are handed over to another service',
    older: true,
    statements: [
      'ALTER TABLE saml_request ADD COLUMN code_challenge TEXT',
      'ALTER TABLE saml_request ADD COLUMN client_state TEXT',
      'DROP INDEX saml_request_by_realm',
      'CREATE INDEX saml_request_by_realm ON saml_request (realm_id, expires_at)',
      `CREATE TABLE saml_handover (
        code_hash BYTES NOT NULL PRIMARY KEY, session_id TEXT NOT NULL, realm_id TEXT NOT NULL,
        code_challenge TEXT NOT NULL, expires_at BIGINT NOT NULL)`,
      'CREATE INDEX saml_handover_by_expiry ON saml_handover (expires_at)',
      'CREATE INDEX saml_handover_by_realm ON saml_handover (realm_id)',
    ],
  },
  {
    number: 8,
    name: 'SAML: identity provider of each person',
    older: 'registers SAML users without their identity provider',
    statements: [
      'ALTER TABLE person ADD COLUMN provider TEXT',
      // Users without a registration logged in with the current identity provider of the realm; '' means it.
      `UPDATE person SET provider = '' WHERE realm_id IN
           (SELECT id FROM realm WHERE auth_params LIKE '%"saml_params":{%')
         AND NOT EXISTS (SELECT 1 FROM credential c
           WHERE c.realm_id = person.realm_id AND c.username = person.username)
         AND NOT EXISTS (SELECT 1 FROM jwt_subject j
           WHERE j.realm_id = person.realm_id AND j.subject = person.username)`,
    ],
  },
  {
    number: 9,
    name: 'limits of machine roles, SecretIDs and tokens',
    older: 'ignores limits of roles, SecretIDs and machine tokens',
    statements: [
      'ALTER TABLE approle_role ADD COLUMN limits TEXT',
      'ALTER TABLE orchestrator_role ADD COLUMN limits TEXT',
      'ALTER TABLE secret_id ADD COLUMN bound_cidrs TEXT',
      'ALTER TABLE secret_id ADD COLUMN token_bound_cidrs TEXT',
      'ALTER TABLE app_token ADD COLUMN bound_cidrs TEXT',
      'ALTER TABLE app_token ADD COLUMN uses_left BIGINT NOT NULL DEFAULT -1',
      'ALTER TABLE app_token ADD COLUMN explicit_end BIGINT NOT NULL DEFAULT 0',
    ],
  },
  {
    number: 10,
    name: 'recoveries of administrators that are not yet in the audit log',
    older: 'does not record warder admin recover; the next node of this version does',
    statements: ['CREATE TABLE admin_recovery (id TEXT NOT NULL PRIMARY KEY, record BYTES NOT NULL)'],
  },
  {
    number: 11,
    name: 'passkeys',
    older:
      'requires no passkey as the second factor of users who have one, and keeps passkeys of deleted users',
    statements: [
      `CREATE TABLE passkey (
        credential_id TEXT NOT NULL PRIMARY KEY, realm_id TEXT NOT NULL, username TEXT NOT NULL,
        subject_id TEXT NOT NULL, name TEXT NOT NULL, public_key BYTES NOT NULL, sign_count BIGINT NOT NULL,
        backup_eligible BIGINT NOT NULL, backed_up BIGINT NOT NULL, aaguid TEXT NOT NULL, transports TEXT NOT NULL,
        created_at BIGINT NOT NULL, last_used_at BIGINT NOT NULL, regressed_at BIGINT NOT NULL)`,
      'CREATE INDEX passkey_by_user ON passkey (realm_id, username, credential_id)',
      'CREATE TABLE used_challenge (challenge_hash BYTES NOT NULL PRIMARY KEY, expires_at BIGINT NOT NULL)',
      'CREATE INDEX used_challenge_by_expiry ON used_challenge (expires_at)',
      'CREATE INDEX admin_by_fido2 ON admin (fido2)',
    ],
  },
  {
    number: 12,
    name: 'recovery codes, one-time links for enrollment',
    older: 'accepts no recovery codes',
    statements: [
      `CREATE TABLE recovery_code (
        code_hash BYTES NOT NULL PRIMARY KEY, realm_id TEXT NOT NULL, username TEXT NOT NULL,
        created_at BIGINT NOT NULL)`,
      'CREATE INDEX recovery_code_by_user ON recovery_code (realm_id, username)',
      `CREATE TABLE enrollment_link (
        token_hash BYTES NOT NULL PRIMARY KEY, realm_id TEXT NOT NULL, username TEXT NOT NULL,
        expires_at BIGINT NOT NULL)`,
      'CREATE INDEX enrollment_link_by_user ON enrollment_link (realm_id, username)',
      'CREATE INDEX enrollment_link_by_expiry ON enrollment_link (expires_at)',
    ],
  },
]
