import { hsmKeyStatements, hsmWrappingStatements, rightsJournalStatements } from '@warder/keys'
import { convertAttributeBags, convertNamesAndLinks, deviceStatements } from '@warder/kmip-server'
import type { Migration } from '@warder/storage'

/**
 * Tables of the key management service. Times are Unix milliseconds. `managed_object` contains keys of REST and KMIP
 * alike; `material` is sealed for its row. Searches use `object_name`, `object_link` and `object_attribute`, which are
 * written from the row's attributes in the same commit. Rows that belong to an object carry its id and are deleted with
 * it in one commit (`keys/object-store.ts`). `gcm_budget` is a table of its own, so that counting does not change an
 * object's version.
 */
export const kmsMigrations: readonly Migration[] = [
  {
    number: 1,
    name: 'managed objects, tags, names, links, grants, invocation budgets',
    statements: [
      `CREATE TABLE managed_object (
        id TEXT NOT NULL PRIMARY KEY, object_type TEXT NOT NULL, algorithm TEXT, bits BIGINT, curve TEXT,
        bound_alg TEXT, state TEXT NOT NULL, owner TEXT NOT NULL, usage_mask BIGINT NOT NULL, material BYTES,
        linked_id TEXT, created_at BIGINT NOT NULL, changed_at BIGINT NOT NULL, activation_at BIGINT,
        deactivation_at BIGINT, compromised_at BIGINT, destroyed_at BIGINT, revocation_reason TEXT,
        revocation_message TEXT, attributes TEXT NOT NULL, version BIGINT NOT NULL) /* rowid */`,
      'CREATE INDEX managed_object_by_owner ON managed_object (owner, id)',
      'CREATE INDEX managed_object_by_activation ON managed_object (state, activation_at)',
      'CREATE INDEX managed_object_by_deactivation ON managed_object (state, deactivation_at)',
      `CREATE TABLE object_tag (
        object_id TEXT NOT NULL, tag TEXT NOT NULL, PRIMARY KEY (object_id, tag))`,
      'CREATE INDEX object_tag_by_tag ON object_tag (tag, object_id)',
      `CREATE TABLE object_name (
        object_id TEXT NOT NULL, name TEXT NOT NULL, name_type TEXT NOT NULL, PRIMARY KEY (object_id, name))`,
      'CREATE INDEX object_name_by_name ON object_name (name, object_id)',
      `CREATE TABLE object_link (
        object_id TEXT NOT NULL, link_type TEXT NOT NULL, linked_id TEXT NOT NULL,
        PRIMARY KEY (object_id, link_type, linked_id))`,
      'CREATE INDEX object_link_by_linked ON object_link (linked_id, link_type)',
      `CREATE TABLE object_grant (
        object_id TEXT NOT NULL, user_id TEXT NOT NULL, operation TEXT NOT NULL,
        PRIMARY KEY (object_id, user_id, operation))`,
      'CREATE INDEX object_grant_by_user ON object_grant (user_id, object_id)',
      `CREATE TABLE gcm_budget (
        object_id TEXT NOT NULL PRIMARY KEY, reserved BIGINT NOT NULL)`,
    ],
  },
  {
    number: 2,
    name: 'searchable KMIP attributes, replies to asynchronous requests, operations in parts',
    statements: [
      `CREATE TABLE object_attribute (
        object_id TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (object_id, name, value))`,
      'CREATE INDEX object_attribute_by_value ON object_attribute (name, value, object_id)',
      `CREATE TABLE kmip_pending (
        id TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL, operation TEXT NOT NULL, expires_at BIGINT NOT NULL,
        result BYTES)`,
      'CREATE INDEX kmip_pending_by_owner ON kmip_pending (owner, expires_at)',
      'CREATE INDEX kmip_pending_by_expiry ON kmip_pending (expires_at)',
      `CREATE TABLE kmip_stream (
        id TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL, object_id TEXT NOT NULL, operation TEXT NOT NULL,
        parts BIGINT NOT NULL, bytes BIGINT NOT NULL, tip TEXT NOT NULL, replayed BIGINT NOT NULL,
        expires_at BIGINT NOT NULL)`,
      'CREATE INDEX kmip_stream_by_owner ON kmip_stream (owner, expires_at)',
      'CREATE INDEX kmip_stream_by_expiry ON kmip_stream (expires_at)',
      `CREATE TABLE kmip_stream_part (
        stream_id TEXT NOT NULL, part BIGINT NOT NULL, data BYTES NOT NULL, PRIMARY KEY (stream_id, part))`,
      `CREATE TABLE kmip_creation_rule (
        owner TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (owner, name))`,
    ],
  },
  {
    number: 3,
    name: 'revoked sessions of the web page',
    statements: [
      'CREATE TABLE ended_session (id TEXT NOT NULL PRIMARY KEY, until_ms BIGINT NOT NULL)',
      'CREATE INDEX ended_session_by_end ON ended_session (until_ms)',
    ],
  },
  {
    number: 4,
    name: 'columns for the limits of an object, and one for attributes that only KMIP clients read',
    statements: [
      'ALTER TABLE managed_object RENAME COLUMN attributes TO form',
      'ALTER TABLE managed_object ADD COLUMN kmip TEXT',
      'ALTER TABLE managed_object ADD COLUMN process_start_at BIGINT',
      'ALTER TABLE managed_object ADD COLUMN protect_stop_at BIGINT',
      'ALTER TABLE managed_object ADD COLUMN usage_limits TEXT',
      'ALTER TABLE managed_object ADD COLUMN archived_at BIGINT',
      'ALTER TABLE managed_object ADD COLUMN extractable BIGINT NOT NULL DEFAULT 1',
      'ALTER TABLE managed_object ADD COLUMN sensitive BIGINT NOT NULL DEFAULT 0',
      'ALTER TABLE managed_object ADD COLUMN never_extractable BIGINT NOT NULL DEFAULT 0',
      'ALTER TABLE managed_object ADD COLUMN always_sensitive BIGINT NOT NULL DEFAULT 0',
    ],
  },
  {
    number: 5,
    name: 'moves attributes of objects to their columns',
    statements: [],
    convert: convertAttributeBags,
  },
  {
    number: 6,
    name: 'index of the halves of a pair by the other half',
    statements: [
      'CREATE INDEX managed_object_by_link ON managed_object (linked_id) WHERE linked_id IS NOT NULL',
    ],
  },
  {
    number: 7,
    name: 'columns for the names and links of an object',
    statements: [
      'ALTER TABLE managed_object ADD COLUMN names TEXT',
      'ALTER TABLE managed_object ADD COLUMN links TEXT',
    ],
  },
  {
    number: 8,
    name: 'moves names and links of objects to their columns',
    statements: [],
    convert: convertNamesAndLinks,
  },
  {
    number: 9,
    name: 'ceremonies of crypto officers, and their activations',
    statements: [
      'CREATE TABLE officer_ceremony (id TEXT NOT NULL PRIMARY KEY, record BYTES NOT NULL, created_at BIGINT NOT NULL)',
      `CREATE TABLE officer_activation (
        ceremony_id TEXT NOT NULL, user_id TEXT NOT NULL, record BYTES NOT NULL, activated_at BIGINT NOT NULL,
        until_ms BIGINT NOT NULL, ended_at BIGINT, ended_by TEXT, PRIMARY KEY (ceremony_id, user_id))`,
      'CREATE INDEX officer_activation_by_user ON officer_activation (user_id, until_ms)',
    ],
  },
  {
    number: 10,
    name: 'requests for the approval of officers',
    statements: [
      `CREATE TABLE approval_request (
        id TEXT NOT NULL PRIMARY KEY, requester TEXT NOT NULL, object_id TEXT NOT NULL, operation TEXT NOT NULL,
        state TEXT NOT NULL, record BYTES NOT NULL, created_at BIGINT NOT NULL, until_ms BIGINT NOT NULL,
        version BIGINT NOT NULL)`,
      'CREATE INDEX approval_request_by_requester ON approval_request (requester, object_id, until_ms)',
      'CREATE INDEX approval_request_by_end ON approval_request (until_ms)',
      `CREATE TABLE approval_vote (
        request_id TEXT NOT NULL, user_id TEXT NOT NULL, record BYTES NOT NULL, at_ms BIGINT NOT NULL,
        PRIMARY KEY (request_id, user_id))`,
    ],
  },
  {
    number: 11,
    name: 'external key stores, and whether they are stopped',
    statements: [
      `CREATE TABLE external_store (
        name TEXT NOT NULL PRIMARY KEY, stopped_at BIGINT, stopped_by TEXT, version BIGINT NOT NULL)`,
      `INSERT INTO external_store (name, version) VALUES
        ('aws', 1), ('google', 1), ('microsoft', 1), ('azure', 1)`,
    ],
  },
  {
    number: 12,
    name: 'access keys of AWS KMS',
    statements: [
      `CREATE TABLE aws_access_key (
        id TEXT NOT NULL PRIMARY KEY, uri_prefix TEXT NOT NULL, region TEXT NOT NULL, secret BYTES NOT NULL,
        created_at BIGINT NOT NULL, created_by TEXT NOT NULL, version BIGINT NOT NULL)`,
    ],
  },
  {
    number: 13,
    name: 'certificate authorities, issued certificates, revocation lists and responders',
    statements: [
      `CREATE TABLE pki_issuer (
        id TEXT NOT NULL PRIMARY KEY, crl_number BIGINT NOT NULL, crl_due_at BIGINT NOT NULL,
        responder_due_at BIGINT NOT NULL, version BIGINT NOT NULL)`,
      'CREATE INDEX pki_issuer_by_crl_due ON pki_issuer (crl_due_at)',
      'CREATE INDEX pki_issuer_by_responder_due ON pki_issuer (responder_due_at)',
      'CREATE TABLE pki_issuer_hash (hash TEXT NOT NULL PRIMARY KEY, issuer TEXT NOT NULL)',
      `CREATE TABLE pki_authority (
        certificate_id TEXT NOT NULL PRIMARY KEY, issuer TEXT NOT NULL, key_id TEXT NOT NULL, key_hash TEXT NOT NULL,
        certificate BYTES NOT NULL, chain BYTES NOT NULL, settings TEXT NOT NULL, created_at BIGINT NOT NULL,
        version BIGINT NOT NULL)`,
      'CREATE INDEX pki_authority_by_issuer ON pki_authority (issuer, created_at)',
      'CREATE INDEX pki_authority_by_key ON pki_authority (key_hash)',
      `CREATE TABLE pki_issued (
        id TEXT NOT NULL PRIMARY KEY, issuer TEXT NOT NULL, authority_id TEXT NOT NULL, certificate_id TEXT,
        owner TEXT NOT NULL, profile TEXT NOT NULL, subject TEXT NOT NULL, fingerprint TEXT NOT NULL,
        not_before BIGINT NOT NULL, not_after BIGINT NOT NULL, issued_at BIGINT NOT NULL, revoked_at BIGINT,
        reason TEXT, invalidity_at BIGINT, changed_at BIGINT NOT NULL, crl_number BIGINT, version BIGINT NOT NULL)`,
      'CREATE INDEX pki_issued_by_certificate ON pki_issued (certificate_id) WHERE certificate_id IS NOT NULL',
      'CREATE INDEX pki_issued_by_authority ON pki_issued (authority_id, not_after, id)',
      'CREATE INDEX pki_issued_revoked ON pki_issued (issuer, id) WHERE revoked_at IS NOT NULL',
      `CREATE TABLE pki_crl (
        issuer TEXT NOT NULL PRIMARY KEY, number BIGINT NOT NULL, this_update BIGINT NOT NULL,
        next_update BIGINT NOT NULL, etag TEXT NOT NULL, der BYTES NOT NULL)`,
      `CREATE TABLE pki_responder (
        issuer TEXT NOT NULL PRIMARY KEY, private_key BYTES NOT NULL, certificate BYTES NOT NULL,
        not_after BIGINT NOT NULL, version BIGINT NOT NULL)`,
    ],
  },
  {
    number: 14,
    name: 'ACME: open authorities, credentials, accounts, orders, authorizations, certificates, nonces',
    statements: [
      'CREATE TABLE acme_secret (id TEXT NOT NULL PRIMARY KEY, secret BYTES NOT NULL)',
      'CREATE TABLE acme_used_nonce (nonce TEXT NOT NULL PRIMARY KEY, until_ms BIGINT NOT NULL)',
      'CREATE INDEX acme_used_nonce_by_end ON acme_used_nonce (until_ms)',
      `CREATE TABLE acme_directory (
        authority_id TEXT NOT NULL PRIMARY KEY, settings TEXT NOT NULL, opened_by TEXT NOT NULL,
        created_at BIGINT NOT NULL, version BIGINT NOT NULL)`,
      `CREATE TABLE acme_credential (
        id TEXT NOT NULL PRIMARY KEY, authority_id TEXT NOT NULL, owner TEXT NOT NULL, name TEXT NOT NULL,
        created_at BIGINT NOT NULL, expires_at BIGINT NOT NULL, account TEXT, mac_key BYTES NOT NULL)`,
      'CREATE INDEX acme_credential_by_authority ON acme_credential (authority_id, id)',
      'CREATE INDEX acme_credential_unused ON acme_credential (expires_at) WHERE account IS NULL',
      `CREATE TABLE acme_account (
        id TEXT NOT NULL PRIMARY KEY, authority_id TEXT NOT NULL, thumbprint TEXT NOT NULL, jwk TEXT NOT NULL,
        status TEXT NOT NULL, contact TEXT NOT NULL, owner TEXT NOT NULL, credential TEXT,
        created_at BIGINT NOT NULL, version BIGINT NOT NULL)`,
      'CREATE UNIQUE INDEX acme_account_by_key ON acme_account (authority_id, thumbprint)',
      'CREATE INDEX acme_account_by_authority ON acme_account (authority_id, id)',
      'CREATE INDEX acme_account_by_time ON acme_account (authority_id, created_at)',
      `CREATE TABLE acme_order (
        id TEXT NOT NULL PRIMARY KEY, account_id TEXT NOT NULL, status TEXT NOT NULL, identifiers TEXT NOT NULL,
        not_before BIGINT, not_after BIGINT, replaces TEXT, certificate TEXT, error TEXT,
        created_at BIGINT NOT NULL, expires_at BIGINT NOT NULL, version BIGINT NOT NULL)`,
      'CREATE INDEX acme_order_by_account ON acme_order (account_id, id)',
      'CREATE INDEX acme_order_by_time ON acme_order (account_id, created_at)',
      'CREATE INDEX acme_order_by_end ON acme_order (expires_at)',
      'CREATE INDEX acme_order_replacing ON acme_order (replaces) WHERE replaces IS NOT NULL',
      `CREATE TABLE acme_authorization (
        id TEXT NOT NULL PRIMARY KEY, order_id TEXT NOT NULL, account_id TEXT NOT NULL, identifier TEXT NOT NULL,
        wildcard BIGINT NOT NULL, status TEXT NOT NULL, challenges TEXT NOT NULL, expires_at BIGINT NOT NULL,
        version BIGINT NOT NULL)`,
      'CREATE INDEX acme_authorization_by_order ON acme_authorization (order_id, id)',
      'CREATE INDEX acme_authorization_by_name ON acme_authorization (account_id, identifier)',
      'CREATE INDEX acme_authorization_by_end ON acme_authorization (expires_at)',
      `CREATE TABLE acme_certificate (
        id TEXT NOT NULL PRIMARY KEY, account_id TEXT NOT NULL, authority_id TEXT NOT NULL,
        register_id TEXT NOT NULL, der BYTES NOT NULL, not_after BIGINT NOT NULL)`,
      'CREATE UNIQUE INDEX acme_certificate_by_entry ON acme_certificate (register_id)',
      'CREATE INDEX acme_certificate_by_end ON acme_certificate (not_after)',
    ],
  },
  {
    number: 15,
    name: 'index of objects with automatic renewal',
    statements: [
      `INSERT INTO object_attribute (object_id, name, value)
         SELECT o.id, 'RotateAutomatic', 'true' FROM managed_object o
           WHERE o.kmip LIKE '%{"tag":"RotateAutomatic","type":"Boolean","value":true}%'
             AND NOT EXISTS (
               SELECT 1 FROM object_attribute a WHERE a.object_id = o.id AND a.name = 'RotateAutomatic')`,
    ],
  },
  {
    number: 16,
    name: 'blocked users',
    statements: [
      `CREATE TABLE access_block (
        user_id TEXT NOT NULL PRIMARY KEY, blocked_at BIGINT NOT NULL, blocked_by TEXT NOT NULL, reason TEXT NOT NULL)`,
      'CREATE TABLE access_block_head (name TEXT NOT NULL PRIMARY KEY, version BIGINT NOT NULL)',
      "INSERT INTO access_block_head (name, version) VALUES ('all', 1)",
    ],
  },
  {
    number: 17,
    name: 'history of user names',
    statements: [
      `CREATE TABLE user_subject (
        user_id TEXT NOT NULL, subject_id TEXT NOT NULL, seen_at BIGINT NOT NULL, ended_at BIGINT,
        PRIMARY KEY (user_id, subject_id))`,
    ],
  },
  {
    number: 18,
    name: 'aliases of keys',
    older: true,
    statements: [
      `CREATE TABLE key_alias (
        id TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL, name TEXT NOT NULL, key_id TEXT NOT NULL,
        created_at BIGINT NOT NULL, changed_at BIGINT NOT NULL, version BIGINT NOT NULL)`,
      'CREATE UNIQUE INDEX key_alias_by_owner ON key_alias (owner, name)',
      'CREATE INDEX key_alias_by_key ON key_alias (key_id)',
    ],
  },
  {
    number: 19,
    name: 'disabled objects, pending destructions, running time of the service, last uses of objects',
    older: 'uses disabled keys, and destroys keys without their delay',
    statements: [
      'ALTER TABLE managed_object ADD COLUMN disabled_at BIGINT',
      'ALTER TABLE managed_object ADD COLUMN destruction_at BIGINT',
      'ALTER TABLE managed_object ADD COLUMN destruction TEXT',
      'ALTER TABLE managed_object ADD COLUMN last_used_day BIGINT',
      'CREATE INDEX managed_object_by_destruction ON managed_object (id) WHERE destruction_at IS NOT NULL',
      'CREATE TABLE running_time (name TEXT NOT NULL PRIMARY KEY, ran_ms BIGINT NOT NULL, seen_at BIGINT NOT NULL)',
      "INSERT INTO running_time (name, ran_ms, seen_at) VALUES ('service', 0, 0)",
      `CREATE TABLE object_use (
        object_id TEXT NOT NULL, user_id TEXT NOT NULL, day BIGINT NOT NULL, PRIMARY KEY (object_id, user_id))`,
      'CREATE INDEX object_use_by_day ON object_use (day)',
    ],
  },
  {
    number: 20,
    name: 'versions of keys',
    older: 'does not know versions: it decrypts and signs with the named one',
    statements: [
      'ALTER TABLE managed_object ADD COLUMN chain_id TEXT',
      'ALTER TABLE managed_object ADD COLUMN generation BIGINT NOT NULL DEFAULT 0',
      'ALTER TABLE managed_object ADD COLUMN newest_id TEXT',
      'ALTER TABLE managed_object ADD COLUMN superseded_at BIGINT',
      'ALTER TABLE managed_object ADD COLUMN min_generation BIGINT NOT NULL DEFAULT 0',
      `CREATE UNIQUE INDEX managed_object_by_chain ON managed_object (chain_id, generation)
         WHERE chain_id IS NOT NULL`,
      'CREATE INDEX managed_object_first_by_owner ON managed_object (owner, id) WHERE generation = 0',
    ],
  },
  {
    number: 21,
    name: 'settings of officers and approvals in force',
    older: 'uses the settings of officers with which it was started',
    statements: [
      'CREATE TABLE governance (id TEXT NOT NULL PRIMARY KEY, record BYTES NOT NULL, version BIGINT NOT NULL)',
      "CREATE INDEX approval_request_by_object ON approval_request (object_id, operation) WHERE state = 'approved'",
    ],
  },
  {
    number: 22,
    name: 'indexes for listing keys',
    older: true,
    statements: [
      'CREATE INDEX managed_object_by_creation ON managed_object (created_at, id)',
      'CREATE INDEX managed_object_by_use ON managed_object (COALESCE(last_used_day, created_at / 86400000), id)',
      'CREATE INDEX managed_object_by_end ON managed_object (deactivation_at, id) WHERE deactivation_at IS NOT NULL',
      'CREATE INDEX managed_object_by_algorithm ON managed_object (algorithm, id)',
      'CREATE INDEX managed_object_by_state ON managed_object (state, id)',
      'CREATE INDEX managed_object_disabled ON managed_object (id) WHERE disabled_at IS NOT NULL',
    ],
  },
  {
    number: 23,
    name: 'rotation of keys by time and by use',
    older: true,
    statements: [
      'ALTER TABLE managed_object ADD COLUMN rotate_every BIGINT',
      'ALTER TABLE managed_object ADD COLUMN rotate_at BIGINT',
      'ALTER TABLE managed_object ADD COLUMN rotate_after BIGINT',
      'CREATE INDEX managed_object_by_rotation ON managed_object (rotate_at) WHERE rotate_at IS NOT NULL',
      'CREATE INDEX managed_object_rotated_by_use ON managed_object (rotate_after) WHERE rotate_after IS NOT NULL',
    ],
  },
  {
    number: 24,
    name: 'restored backups that wait for crypto officers',
    older: 'serves a restored backup before crypto officers approve it',
    statements: [
      'CREATE TABLE restore_hold (id TEXT NOT NULL PRIMARY KEY, record BYTES NOT NULL, version BIGINT NOT NULL)',
    ],
  },
  {
    number: 25,
    name: 'index of the last rotation',
    older: true,
    statements: [
      'CREATE INDEX managed_object_superseded ON managed_object (superseded_at) WHERE superseded_at IS NOT NULL',
    ],
  },
  {
    number: 26,
    name: 'rotation of keys by policy',
    statements: [
      'ALTER TABLE managed_object ADD COLUMN rotation_look_at BIGINT DEFAULT 0',
      'ALTER TABLE managed_object ADD COLUMN rotation_plan TEXT',
      `CREATE INDEX managed_object_by_rotation_look ON managed_object (rotation_look_at)
         WHERE generation = 0 AND rotate_at IS NULL AND rotation_look_at IS NOT NULL`,
      `CREATE INDEX managed_object_scheduled ON managed_object (rotation_look_at)
         WHERE rotate_at IS NOT NULL AND rotation_look_at IS NOT NULL`,
      'CREATE INDEX gcm_budget_much_used ON gcm_budget (reserved) WHERE reserved >= 1048576',
      'CREATE TABLE rotation_policy (name TEXT NOT NULL PRIMARY KEY, digest TEXT NOT NULL, walked TEXT)',
      "INSERT INTO rotation_policy (name, digest) VALUES ('settings', '')",
    ],
  },
  {
    number: 27,
    name: 'indexes that omit keys without future dates',
    older: true,
    statements: [
      'DROP INDEX managed_object_by_activation',
      "CREATE INDEX managed_object_to_activate ON managed_object (activation_at) WHERE state = 'PreActive'",
      'DROP INDEX managed_object_by_deactivation',
      `CREATE INDEX managed_object_to_deactivate ON managed_object (deactivation_at)
         WHERE state = 'Active' AND deactivation_at IS NOT NULL`,
      'DROP INDEX managed_object_by_state',
      "CREATE INDEX managed_object_not_active ON managed_object (state, id) WHERE state <> 'Active'",
    ],
  },
  {
    number: 28,
    name: 'covering index for revocation lists',
    older: true,
    statements: [
      'DROP INDEX pki_issued_revoked',
      `CREATE INDEX pki_issued_on_crl ON pki_issued
         (issuer, id, revoked_at, reason, invalidity_at, not_after, changed_at) WHERE revoked_at IS NOT NULL`,
    ],
  },
  {
    number: 29,
    name: 'offset before the first rotation of a key',
    older: true,
    statements: ['ALTER TABLE managed_object ADD COLUMN rotate_offset BIGINT'],
  },
  {
    number: 30,
    name: 'indexes for objects and grants of a name',
    older: true,
    statements: [
      'CREATE INDEX approval_vote_by_user ON approval_vote (user_id)',
      'CREATE INDEX acme_directory_by_opener ON acme_directory (opened_by)',
      'CREATE INDEX acme_credential_by_owner ON acme_credential (owner)',
      'CREATE INDEX acme_account_by_owner ON acme_account (owner)',
    ],
  },
  {
    number: 31,
    name: 'next check of the AES-GCM messages of a version, and its last notification',
    older: true,
    statements: [
      'ALTER TABLE gcm_budget ADD COLUMN look_from BIGINT NOT NULL DEFAULT 1048576',
      'ALTER TABLE gcm_budget ADD COLUMN look_at BIGINT NOT NULL DEFAULT 0',
      'ALTER TABLE gcm_budget ADD COLUMN told BIGINT NOT NULL DEFAULT 0',
      `UPDATE gcm_budget SET look_from = 0 WHERE object_id IN (
         SELECT COALESCE(newest_id, id) FROM managed_object WHERE rotate_after IS NOT NULL)`,
      'CREATE INDEX gcm_budget_to_look_at ON gcm_budget (look_at) WHERE reserved >= look_from',
    ],
  },
  {
    number: 32,
    name: 'compromised keys, and the key of each certificate',
    older: true,
    statements: [
      `CREATE TABLE pki_compromised_key (
        key_id TEXT NOT NULL, owner TEXT NOT NULL, reported_at BIGINT NOT NULL, PRIMARY KEY (key_id, owner))`,
      'ALTER TABLE pki_issued ADD COLUMN key_id TEXT',
    ],
  },
  {
    number: 33,
    name: 'identifiers of removed objects, reserved for their owners',
    older: 'reuses the identifiers of removed objects for any user',
    statements: [
      'CREATE TABLE removed_object (id TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL, removed_at BIGINT NOT NULL)',
      'CREATE INDEX removed_object_by_owner ON removed_object (owner)',
      'CREATE INDEX removed_object_by_time ON removed_object (removed_at)',
      'CREATE TABLE removed_forgotten (id TEXT NOT NULL PRIMARY KEY, before_at BIGINT NOT NULL)',
      // Earlier removals are unknown; a new installation has none.
      `INSERT INTO removed_forgotten (id, before_at) VALUES ('removed',
         (SELECT COALESCE(MAX(changed_at), 0) FROM managed_object))`,
      `CREATE TABLE named_key (key_id TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL, seen_at BIGINT NOT NULL)`,
    ],
  },
  {
    number: 34,
    name: 'times at which administrators set credentials of crypto officers',
    older: 'permits credentials that an administrator set to vote at once',
    statements: [
      'CREATE TABLE officer_credential (user_id TEXT NOT NULL PRIMARY KEY, set_at BIGINT NOT NULL)',
    ],
  },
  {
    number: 35,
    name: 'groups of principals, and grants by tag',
    older: 'does not know groups and grants by tag: their rights are refused',
    statements: [
      `CREATE TABLE access_group (
        id TEXT NOT NULL PRIMARY KEY, created_by TEXT NOT NULL, created_at BIGINT NOT NULL, changed_at BIGINT NOT NULL,
        version BIGINT NOT NULL)`,
      'CREATE INDEX access_group_by_creator ON access_group (created_by)',
      `CREATE TABLE access_group_owner (
        group_id TEXT NOT NULL, owner TEXT NOT NULL, PRIMARY KEY (group_id, owner))`,
      'CREATE INDEX access_group_owner_by_owner ON access_group_owner (owner, group_id)',
      `CREATE TABLE access_group_member (
        group_id TEXT NOT NULL, member TEXT NOT NULL, lookup TEXT NOT NULL, head TEXT NOT NULL, tail TEXT NOT NULL,
        PRIMARY KEY (group_id, member))`,
      'CREATE INDEX access_group_member_by_member ON access_group_member (member, group_id)',
      'CREATE INDEX access_group_member_by_lookup ON access_group_member (lookup)',
      `CREATE TABLE access_membership (
        lookup TEXT NOT NULL, group_id TEXT NOT NULL, head TEXT NOT NULL, tail TEXT NOT NULL,
        PRIMARY KEY (lookup, group_id, head, tail))`,
      'CREATE INDEX access_membership_by_group ON access_membership (group_id, lookup)',
      'CREATE TABLE access_group_head (id TEXT NOT NULL PRIMARY KEY, version BIGINT NOT NULL)',
      "INSERT INTO access_group_head (id, version) VALUES ('all', 1)",
      `CREATE TABLE tag_grant (
        owner TEXT NOT NULL, tag TEXT NOT NULL, user_id TEXT NOT NULL, operation TEXT NOT NULL,
        PRIMARY KEY (owner, tag, user_id, operation))`,
      'CREATE INDEX tag_grant_by_user ON tag_grant (user_id, owner, tag)',
    ],
  },
  { number: 36, name: 'journal of changes of rights', older: true, statements: rightsJournalStatements },
  { number: 37, name: 'keys in HSMs', older: 'does not know keys in HSMs', statements: hsmKeyStatements },
  { number: 38, name: 'wrapped material', older: 'cannot unwrap it', statements: hsmWrappingStatements },
  { number: 39, name: 'KMIP clients and their certificates', older: true, statements: deviceStatements },
]
