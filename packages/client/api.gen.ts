// Generated from the OpenAPI document of the key management service: change the declarations there, then run
// npm run docs

/** The error: a kind for programs and a sentence for users. */
export interface ErrorSchema {
  readonly error: 'bad_request' | 'unauthorized' | 'forbidden' | 'not_found' | 'method_not_allowed' | 'conflict' | 'payload_too_large' | 'unsupported_media_type' | 'expectation_failed' | 'unsupported_algorithm' | 'crypto_failure' | 'decryption_failed' | 'rate_limited' | 'request_timeout' | 'headers_too_large' | 'internal_error' | 'not_implemented' | 'certificate_signing_unconfigured' | 'bad_gateway' | 'overloaded' | 'storage_unavailable' | 'sealed' | 'hsm_unavailable' | 'auth_unavailable' | 'audit_unavailable'
  readonly description: string
  /** On 5xx: identifies the log entry with the detail. */
  readonly request_id?: string
  /** For Vault-compatible clients. */
  readonly errors?: readonly string[]
}

/** By operationId: what goes in (`path`, `query`, `body`) and what comes back (`reply`). */
export interface Operations {
  /** Approve a request; the last required approval executes it */
  readonly 'access.approvals.approve': {
    readonly path: {
      readonly id: string
    }
    readonly body: {
      /** Hash of the request that the officer has read. */
      readonly hash: string
    }
    readonly reply: {
      readonly id: string
      /** SHA-256 of the request: officers send it when they decide. */
      readonly hash: string
      readonly operation: 'destroy' | 'export' | 'grant' | 'stop_store' | 'start_store' | 'access_key' | 'settings' | 'root_key' | 'restore_backup' | 'activate'
      /** The key; for other operations the store, the officer, the digest of the settings, root_key, or the SHA-256 of the backup file. */
      readonly key: string
      /** In replies of `GET`: the names of the key, of KMIP and the aliases of its owner; for officers and the owner. Absent if the key has been removed. */
      readonly key_names?: readonly string[]
      /** For settings: all of [roles] and [approvals] for the next start. */
      readonly settings?: {
        readonly crypto_officer_users: readonly string[]
        readonly crypto_officer_require_ceremony: boolean
        readonly ceremony_quorum: number | null
        readonly ceremony_validity: number
        readonly operations: readonly ('destroy' | 'export' | 'grant' | 'stop_store' | 'start_store' | 'access_key' | 'settings' | 'root_key' | 'restore_backup')[]
        readonly tags: readonly string[]
        readonly algorithms: readonly string[]
        readonly owners: readonly string[]
        readonly validity: number
        readonly vote_with?: readonly string[]
        readonly credential_wait?: number
      }
      readonly user_id?: string
      readonly operation_types?: readonly string[]
      /** For an export: the key that must wrap the material. Absent: any form is permitted. */
      readonly wrapping_key?: string
      /** For an access key: path of its key store. */
      readonly uri_prefix?: string
      /** For an access key: its AWS region. */
      readonly region?: string
      /** For a restored backup. */
      readonly restore?: {
        readonly made_at: string
        readonly restored_at: string
      }
      /** Why, in the words of the requester. */
      readonly reason?: string
      /** A user; `.` means a start of the service. */
      readonly requester: string
      /** open, approved, done, refused, withdrawn, void or expired. */
      readonly state: string
      /** Number of required approvals. */
      readonly needed: number
      readonly approved_by: readonly string[]
      readonly refused_by: readonly string[]
      /** Of the officers who gave one. */
      readonly refusal_reasons?: readonly {
        readonly user: string
        readonly reason: string
      }[]
      readonly created_at: string
      readonly until: string
    }
  }
  /** Request the approval of the crypto officers for an operation */
  readonly 'access.approvals.ask': {
    readonly body: {
      /** activate: the caller becomes an active crypto officer, like after a ceremony. */
      readonly operation: 'destroy' | 'export' | 'grant' | 'stop_store' | 'start_store' | 'access_key' | 'settings' | 'root_key' | 'restore_backup' | 'activate'
      /** For destroy, export and grant: the key. */
      readonly key?: string | null
      /** For stop_store and start_store: aws, google, microsoft or azure. */
      readonly store?: string | null
      /** For access_key: the AWS region of the key store. */
      readonly region?: string | null
      /** For access_key: the path before `/kms/xks/v1`; default /aws. */
      readonly uri_prefix?: string | null
      /** For settings: all of [roles] and [approvals] for the next start. */
      readonly settings?: {
        readonly crypto_officer_users: readonly string[]
        readonly crypto_officer_require_ceremony: boolean
        readonly ceremony_quorum: number | null
        readonly ceremony_validity: number
        readonly operations: readonly ('destroy' | 'export' | 'grant' | 'stop_store' | 'start_store' | 'access_key' | 'settings' | 'root_key' | 'restore_backup')[]
        readonly tags: readonly string[]
        readonly algorithms: readonly string[]
        readonly owners: readonly string[]
        readonly validity: number
        readonly vote_with?: readonly string[] | null
        readonly credential_wait?: number | null
      } | null
      /** For a grant: the user. */
      readonly user_id?: string | null
      /** Of a grant. */
      readonly operation_types?: readonly string[] | null
      /** For an export: the only key that may wrap the material. */
      readonly wrapping_key?: string | null
      /** Why; for the officers and the requester. */
      readonly reason?: string | null
      /** For a grant: true as in `/access/grant`, the user must be known. */
      readonly known?: boolean | null
    }
    readonly reply: {
      readonly id: string
      /** SHA-256 of the request: officers send it when they decide. */
      readonly hash: string
      readonly operation: 'destroy' | 'export' | 'grant' | 'stop_store' | 'start_store' | 'access_key' | 'settings' | 'root_key' | 'restore_backup' | 'activate'
      /** The key; for other operations the store, the officer, the digest of the settings, root_key, or the SHA-256 of the backup file. */
      readonly key: string
      /** In replies of `GET`: the names of the key, of KMIP and the aliases of its owner; for officers and the owner. Absent if the key has been removed. */
      readonly key_names?: readonly string[]
      /** For settings: all of [roles] and [approvals] for the next start. */
      readonly settings?: {
        readonly crypto_officer_users: readonly string[]
        readonly crypto_officer_require_ceremony: boolean
        readonly ceremony_quorum: number | null
        readonly ceremony_validity: number
        readonly operations: readonly ('destroy' | 'export' | 'grant' | 'stop_store' | 'start_store' | 'access_key' | 'settings' | 'root_key' | 'restore_backup')[]
        readonly tags: readonly string[]
        readonly algorithms: readonly string[]
        readonly owners: readonly string[]
        readonly validity: number
        readonly vote_with?: readonly string[]
        readonly credential_wait?: number
      }
      readonly user_id?: string
      readonly operation_types?: readonly string[]
      /** For an export: the key that must wrap the material. Absent: any form is permitted. */
      readonly wrapping_key?: string
      /** For an access key: path of its key store. */
      readonly uri_prefix?: string
      /** For an access key: its AWS region. */
      readonly region?: string
      /** For a restored backup. */
      readonly restore?: {
        readonly made_at: string
        readonly restored_at: string
      }
      /** Why, in the words of the requester. */
      readonly reason?: string
      /** A user; `.` means a start of the service. */
      readonly requester: string
      /** open, approved, done, refused, withdrawn, void or expired. */
      readonly state: string
      /** Number of required approvals. */
      readonly needed: number
      readonly approved_by: readonly string[]
      readonly refused_by: readonly string[]
      /** Of the officers who gave one. */
      readonly refusal_reasons?: readonly {
        readonly user: string
        readonly reason: string
      }[]
      readonly created_at: string
      readonly until: string
    }
  }
  /** One request for approval */
  readonly 'access.approvals.get': {
    readonly path: {
      readonly id: string
    }
    readonly reply: {
      readonly id: string
      /** SHA-256 of the request: officers send it when they decide. */
      readonly hash: string
      readonly operation: 'destroy' | 'export' | 'grant' | 'stop_store' | 'start_store' | 'access_key' | 'settings' | 'root_key' | 'restore_backup' | 'activate'
      /** The key; for other operations the store, the officer, the digest of the settings, root_key, or the SHA-256 of the backup file. */
      readonly key: string
      /** In replies of `GET`: the names of the key, of KMIP and the aliases of its owner; for officers and the owner. Absent if the key has been removed. */
      readonly key_names?: readonly string[]
      /** For settings: all of [roles] and [approvals] for the next start. */
      readonly settings?: {
        readonly crypto_officer_users: readonly string[]
        readonly crypto_officer_require_ceremony: boolean
        readonly ceremony_quorum: number | null
        readonly ceremony_validity: number
        readonly operations: readonly ('destroy' | 'export' | 'grant' | 'stop_store' | 'start_store' | 'access_key' | 'settings' | 'root_key' | 'restore_backup')[]
        readonly tags: readonly string[]
        readonly algorithms: readonly string[]
        readonly owners: readonly string[]
        readonly validity: number
        readonly vote_with?: readonly string[]
        readonly credential_wait?: number
      }
      readonly user_id?: string
      readonly operation_types?: readonly string[]
      /** For an export: the key that must wrap the material. Absent: any form is permitted. */
      readonly wrapping_key?: string
      /** For an access key: path of its key store. */
      readonly uri_prefix?: string
      /** For an access key: its AWS region. */
      readonly region?: string
      /** For a restored backup. */
      readonly restore?: {
        readonly made_at: string
        readonly restored_at: string
      }
      /** Why, in the words of the requester. */
      readonly reason?: string
      /** A user; `.` means a start of the service. */
      readonly requester: string
      /** open, approved, done, refused, withdrawn, void or expired. */
      readonly state: string
      /** Number of required approvals. */
      readonly needed: number
      readonly approved_by: readonly string[]
      readonly refused_by: readonly string[]
      /** Of the officers who gave one. */
      readonly refusal_reasons?: readonly {
        readonly user: string
        readonly reason: string
      }[]
      readonly created_at: string
      readonly until: string
    }
  }
  /** Requests for approval: officers see all, other users their own */
  readonly 'access.approvals.list': {
    readonly query?: {
      readonly after?: string
      /** 1 to 1000, default 100. */
      readonly limit?: string
    }
    readonly reply: readonly {
      readonly id: string
      /** SHA-256 of the request: officers send it when they decide. */
      readonly hash: string
      readonly operation: 'destroy' | 'export' | 'grant' | 'stop_store' | 'start_store' | 'access_key' | 'settings' | 'root_key' | 'restore_backup' | 'activate'
      /** The key; for other operations the store, the officer, the digest of the settings, root_key, or the SHA-256 of the backup file. */
      readonly key: string
      /** In replies of `GET`: the names of the key, of KMIP and the aliases of its owner; for officers and the owner. Absent if the key has been removed. */
      readonly key_names?: readonly string[]
      /** For settings: all of [roles] and [approvals] for the next start. */
      readonly settings?: {
        readonly crypto_officer_users: readonly string[]
        readonly crypto_officer_require_ceremony: boolean
        readonly ceremony_quorum: number | null
        readonly ceremony_validity: number
        readonly operations: readonly ('destroy' | 'export' | 'grant' | 'stop_store' | 'start_store' | 'access_key' | 'settings' | 'root_key' | 'restore_backup')[]
        readonly tags: readonly string[]
        readonly algorithms: readonly string[]
        readonly owners: readonly string[]
        readonly validity: number
        readonly vote_with?: readonly string[]
        readonly credential_wait?: number
      }
      readonly user_id?: string
      readonly operation_types?: readonly string[]
      /** For an export: the key that must wrap the material. Absent: any form is permitted. */
      readonly wrapping_key?: string
      /** For an access key: path of its key store. */
      readonly uri_prefix?: string
      /** For an access key: its AWS region. */
      readonly region?: string
      /** For a restored backup. */
      readonly restore?: {
        readonly made_at: string
        readonly restored_at: string
      }
      /** Why, in the words of the requester. */
      readonly reason?: string
      /** A user; `.` means a start of the service. */
      readonly requester: string
      /** open, approved, done, refused, withdrawn, void or expired. */
      readonly state: string
      /** Number of required approvals. */
      readonly needed: number
      readonly approved_by: readonly string[]
      readonly refused_by: readonly string[]
      /** Of the officers who gave one. */
      readonly refusal_reasons?: readonly {
        readonly user: string
        readonly reason: string
      }[]
      readonly created_at: string
      readonly until: string
    }[]
    readonly paged: true
  }
  /** Refuse a request */
  readonly 'access.approvals.refuse': {
    readonly path: {
      readonly id: string
    }
    readonly body: {
      /** Hash of the request that the officer has read. */
      readonly hash: string
      /** Why; for the officers and the requester. */
      readonly reason?: string | null
    }
    readonly reply: {
      readonly id: string
      /** SHA-256 of the request: officers send it when they decide. */
      readonly hash: string
      readonly operation: 'destroy' | 'export' | 'grant' | 'stop_store' | 'start_store' | 'access_key' | 'settings' | 'root_key' | 'restore_backup' | 'activate'
      /** The key; for other operations the store, the officer, the digest of the settings, root_key, or the SHA-256 of the backup file. */
      readonly key: string
      /** In replies of `GET`: the names of the key, of KMIP and the aliases of its owner; for officers and the owner. Absent if the key has been removed. */
      readonly key_names?: readonly string[]
      /** For settings: all of [roles] and [approvals] for the next start. */
      readonly settings?: {
        readonly crypto_officer_users: readonly string[]
        readonly crypto_officer_require_ceremony: boolean
        readonly ceremony_quorum: number | null
        readonly ceremony_validity: number
        readonly operations: readonly ('destroy' | 'export' | 'grant' | 'stop_store' | 'start_store' | 'access_key' | 'settings' | 'root_key' | 'restore_backup')[]
        readonly tags: readonly string[]
        readonly algorithms: readonly string[]
        readonly owners: readonly string[]
        readonly validity: number
        readonly vote_with?: readonly string[]
        readonly credential_wait?: number
      }
      readonly user_id?: string
      readonly operation_types?: readonly string[]
      /** For an export: the key that must wrap the material. Absent: any form is permitted. */
      readonly wrapping_key?: string
      /** For an access key: path of its key store. */
      readonly uri_prefix?: string
      /** For an access key: its AWS region. */
      readonly region?: string
      /** For a restored backup. */
      readonly restore?: {
        readonly made_at: string
        readonly restored_at: string
      }
      /** Why, in the words of the requester. */
      readonly reason?: string
      /** A user; `.` means a start of the service. */
      readonly requester: string
      /** open, approved, done, refused, withdrawn, void or expired. */
      readonly state: string
      /** Number of required approvals. */
      readonly needed: number
      readonly approved_by: readonly string[]
      readonly refused_by: readonly string[]
      /** Of the officers who gave one. */
      readonly refusal_reasons?: readonly {
        readonly user: string
        readonly reason: string
      }[]
      readonly created_at: string
      readonly until: string
    }
  }
  /** Withdraw an own request */
  readonly 'access.approvals.withdraw': {
    readonly path: {
      readonly id: string
    }
    readonly reply: {
      readonly id: string
      /** SHA-256 of the request: officers send it when they decide. */
      readonly hash: string
      readonly operation: 'destroy' | 'export' | 'grant' | 'stop_store' | 'start_store' | 'access_key' | 'settings' | 'root_key' | 'restore_backup' | 'activate'
      /** The key; for other operations the store, the officer, the digest of the settings, root_key, or the SHA-256 of the backup file. */
      readonly key: string
      /** In replies of `GET`: the names of the key, of KMIP and the aliases of its owner; for officers and the owner. Absent if the key has been removed. */
      readonly key_names?: readonly string[]
      /** For settings: all of [roles] and [approvals] for the next start. */
      readonly settings?: {
        readonly crypto_officer_users: readonly string[]
        readonly crypto_officer_require_ceremony: boolean
        readonly ceremony_quorum: number | null
        readonly ceremony_validity: number
        readonly operations: readonly ('destroy' | 'export' | 'grant' | 'stop_store' | 'start_store' | 'access_key' | 'settings' | 'root_key' | 'restore_backup')[]
        readonly tags: readonly string[]
        readonly algorithms: readonly string[]
        readonly owners: readonly string[]
        readonly validity: number
        readonly vote_with?: readonly string[]
        readonly credential_wait?: number
      }
      readonly user_id?: string
      readonly operation_types?: readonly string[]
      /** For an export: the key that must wrap the material. Absent: any form is permitted. */
      readonly wrapping_key?: string
      /** For an access key: path of its key store. */
      readonly uri_prefix?: string
      /** For an access key: its AWS region. */
      readonly region?: string
      /** For a restored backup. */
      readonly restore?: {
        readonly made_at: string
        readonly restored_at: string
      }
      /** Why, in the words of the requester. */
      readonly reason?: string
      /** A user; `.` means a start of the service. */
      readonly requester: string
      /** open, approved, done, refused, withdrawn, void or expired. */
      readonly state: string
      /** Number of required approvals. */
      readonly needed: number
      readonly approved_by: readonly string[]
      readonly refused_by: readonly string[]
      /** Of the officers who gave one. */
      readonly refusal_reasons?: readonly {
        readonly user: string
        readonly reason: string
      }[]
      readonly created_at: string
      readonly until: string
    }
  }
  /** Block a user: all requests are rejected, with any credential */
  readonly 'access.block': {
    readonly body: {
      /** A user name as in `GET /me`; `app:` and the entity for a machine. */
      readonly user_id: string
      /** Reason, for the list and the audit log. */
      readonly reason?: string | null
    }
    readonly reply: {
      readonly success: string
    }
  }
  /** Blocked users, in pages */
  readonly 'access.blocked': {
    readonly query?: {
      /** Last user of the previous page. */
      readonly after?: string
    }
    readonly reply: readonly {
      readonly user_id: string
      /** Unix seconds. */
      readonly blocked_at: number
      readonly blocked_by: string
      readonly reason: string
    }[]
    readonly paged: true
  }
  /** Whether the caller may create objects */
  readonly 'access.create': {
    readonly reply: {
      readonly has_create_permission: boolean
    }
  }
  /** Why a user may or may not use a key for an operation */
  readonly 'access.explain': {
    readonly body: {
      /** A user or machine, by the name at this service. */
      readonly user_id: string
      /** The key, or an alias. */
      readonly unique_identifier: string
      /** One KMIP operation name: `encrypt`, `get` … */
      readonly operation: string
    }
    readonly reply: {
      readonly user_id: string
      readonly unique_identifier: string
      readonly operation: string
      readonly allowed: boolean
      readonly reasons: readonly {
        /** owner, direct, wildcard, role, group, tag, officer, no_grant, role_unknown, reserved, block, state, or approval. */
        readonly kind: string
        /** true: it grants the right; false: it forbids the use. */
        readonly allows: boolean
        readonly text: string
        /** The grantee of a grant. */
        readonly user_id?: string
        readonly tag?: string
        /** From the group of the grant to the member. */
        readonly path?: readonly string[]
      }[]
      /** What would change the answer. */
      readonly step?: string
    }
  }
  /** Grant rights on a key */
  readonly 'access.grant': {
    readonly body: {
      /** The key. Optional if only `create`, `external` or `audit` is granted. */
      readonly unique_identifier?: string | null
      /** In place of a key: all keys of the caller that have this tag, now or later. */
      readonly tag?: string | null
      /** A user, `*` for every authenticated user, `group:NAME`, `role:SOURCE/NAME`, or a principal of a cloud: `aws:arn:…`, `google:EMAIL`. */
      readonly user_id: string
      /** KMIP operation names, or the groups Read, UseKey, Modify, Destroy, Authorize. */
      readonly operation_types: readonly string[]
      /** true: a grant to an unknown name is refused, and a machine may be named without `app:` if no user has the name. */
      readonly known?: boolean | null
    }
    readonly reply: {
      readonly success: string
      /** The user whose rights were changed. */
      readonly user_id: string
      /** For a grant: whether the name is known. Absent if that cannot be determined. */
      readonly known?: boolean
    }
  }
  /** Delete a group, with the grants to it */
  readonly 'access.groups.delete': {
    readonly path: {
      readonly name: string
    }
    readonly reply: undefined
  }
  /** Groups that the caller owns or is in, for crypto officers all of them, in pages */
  readonly 'access.groups.list': {
    readonly query?: {
      /** `user_id` of the last group of the previous page. */
      readonly after?: string
    }
    readonly reply: readonly {
      readonly name: string
      /** Its name in grants: `group:NAME`. */
      readonly user_id: string
      readonly created_by: string
      /** RFC 3339, UTC. */
      readonly created_at: string
      /** RFC 3339, UTC. */
      readonly changed_at: string
      /** Raised by each change. */
      readonly version: number
    }[]
    readonly paged: true
  }
  /** Members and owners of a group, for both and for crypto officers */
  readonly 'access.groups.read': {
    readonly path: {
      readonly name: string
    }
    readonly reply: {
      readonly name: string
      /** Its name in grants: `group:NAME`. */
      readonly user_id: string
      readonly members: readonly string[]
      readonly owners: readonly string[]
      readonly created_by: string
      /** RFC 3339, UTC. */
      readonly created_at: string
      /** RFC 3339, UTC. */
      readonly changed_at: string
      /** Raised by each change. */
      readonly version: number
    }
  }
  /** Create a group, or replace its members and owners */
  readonly 'access.groups.replace': {
    readonly path: {
      readonly name: string
    }
    readonly body: {
      readonly members: readonly string[]
      /** Who may change it. Default: as they are; of a new group: its creator, who is always one. */
      readonly owners?: readonly string[] | null
      /** The version that was read: the group is changed only if it still has it. 0: it must be new. */
      readonly version?: number | null
    }
    readonly reply: {
      readonly name: string
      /** Its name in grants: `group:NAME`. */
      readonly user_id: string
      readonly members: readonly string[]
      readonly owners: readonly string[]
      readonly created_by: string
      /** RFC 3339, UTC. */
      readonly created_at: string
      /** RFC 3339, UTC. */
      readonly changed_at: string
      /** Raised by each change. */
      readonly version: number
    }
  }
  /** Number of objects of a user, and of objects with grants to the user */
  readonly 'access.holdings': {
    readonly query: {
      /** A user name as in `GET /me`; the owner of objects. */
      readonly user_id: string
      /** Realm of the authentication service; `user_id` is then a username of it. */
      readonly realm?: string
    }
    readonly reply: {
      readonly user_id: string
      readonly owned: number
      readonly granted: number
    }
  }
  /** All that a user has here: items that are deleted with the user, and items that need a new owner */
  readonly 'access.leaver': {
    readonly query: {
      /** A user or a machine, or a deleted user. */
      readonly user_id: string
    }
    readonly reply: {
      readonly user_id: string
      readonly items: readonly {
        /** keys, aliases, grants, general_rights, tag_grants, own_tag_grants, memberships, sole_groups, shared_groups, approval_requests, votes, access_keys, acme_accounts, activations, patterns, officer */
        readonly kind: string
        readonly count: number
        /** At most 100, sorted. */
        readonly names: readonly string[]
        /** When the user is deleted. */
        readonly outcome: 'deleted' | 'needs_new_owner' | 'stays'
        readonly note: string
      }[]
    }
  }
  /** Grants on an object */
  readonly 'access.list': {
    readonly path: {
      readonly object_id: string
    }
    readonly reply: readonly {
      /** A user, `*`, `group:NAME`, or `role:SOURCE/NAME`. */
      readonly user_id: string
      readonly operations: readonly string[]
      /** The tag by which it was granted. */
      readonly tag?: string
    }[]
  }
  /** Objects of others on which the caller has rights, in pages */
  readonly 'access.obtained': {
    readonly query?: {
      /** `X-Next-After` of the previous page. */
      readonly after?: string
      /** 1 to 1000, default 1000. */
      readonly limit?: string
    }
    readonly reply: readonly {
      readonly object_id: string
      readonly owner_id: string
      readonly state: string
      readonly operations: readonly string[]
      /** Groups, roles and tags by which the rights come, if any. */
      readonly via?: readonly string[]
    }[]
    readonly paged: true
  }
  /** Become an active crypto officer with the shares of other officers */
  readonly 'access.officers.activate': {
    readonly body: {
      readonly share_ids: readonly string[]
    }
    readonly reply: {
      readonly success: string
    }
  }
  /** Begin a ceremony: a new key, split among the crypto officers */
  readonly 'access.officers.begin': {
    readonly body?: {
      /** true: requires the shares of all officers. Default: of a quorum. */
      readonly everybody?: boolean | null
    }
    readonly reply: {
      readonly id: string
      /** The caller's own share. */
      readonly share_id: string
    }
  }
  /** The latest ceremony of the crypto officers */
  readonly 'access.officers.ceremony': {
    readonly reply: {
      readonly id: string
      /** Number of officers whose shares are required. */
      readonly threshold: number
      readonly officers: readonly {
        readonly user: string
        readonly share_id: string
      }[]
      readonly created_by: string
      /** Time at which the activation of the caller ends. */
      readonly active_until: string | null
    }
  }
  /** End the activation of a crypto officer */
  readonly 'access.officers.disable': {
    readonly body?: {
      /** Absent: the caller. */
      readonly target_user?: string | null
    }
    readonly reply: {
      readonly success: string
    }
  }
  /** List the crypto officers */
  readonly 'access.officers.status': {
    readonly reply: {
      readonly enabled: boolean
      readonly users: readonly string[]
      readonly active_co_users: readonly string[]
      readonly custodians_count: number
      readonly require_ceremony: boolean
      readonly ceremony_activated: boolean
      readonly is_crypto_officer: boolean
    }
  }
  /** Objects that the caller owns, in pages */
  readonly 'access.owned': {
    readonly query?: {
      /** `X-Next-After` of the previous page. */
      readonly after?: string
      /** 1 to 1000, default 1000. */
      readonly limit?: string
    }
    readonly reply: readonly {
      readonly object_id: string
      readonly state: string
      readonly attributes: {
        readonly object_type: string
        readonly cryptographic_algorithm: string | null
        readonly cryptographic_length: number | null
        readonly cryptographic_usage_mask: number
      }
    }[]
    readonly paged: true
  }
  /** Whether the caller is a crypto officer */
  readonly 'access.privileged': {
    readonly reply: {
      readonly has_privileged_access: boolean
    }
  }
  /** Who has which rights on which keys, and how each right came, in pages */
  readonly 'access.report': {
    readonly query?: {
      /** Only rights of this user or machine, or those granted to this group, this role or `*`. */
      readonly user_id?: string
      /** Only rights on this key; an alias is resolved. */
      readonly unique_identifier?: string
      /** Only this right: `decrypt`, `get` …; owners have each. */
      readonly right?: string
      /** Only rights that came in this way. */
      readonly way?: 'owner' | 'direct' | 'wildcard' | 'group' | 'role' | 'tag'
      /** The rights at this time (RFC 3339) in place of the present ones, from the audit log; for crypto officers. Without last uses. */
      readonly as_of?: string
      /** `X-Next-After` of the previous page. */
      readonly after?: string
      /** 1 to 1000, default 1000. */
      readonly limit?: string
    }
    readonly reply: readonly {
      /** Who has the right. `*`, a role, a pattern or a group if single principals are not known or not shown. */
      readonly user_id: string
      /** The key; `*` for rights on no key. */
      readonly unique_identifier: string
      readonly owner_id?: string
      /** Present aliases of the owner for the key, for crypto officers and the owner; absent: none. */
      readonly aliases?: readonly string[]
      /** `*`: every right, of the owner. */
      readonly right: string
      /** owner, direct, wildcard, group, role, or tag. */
      readonly way: string
      /** The grantee of the grant, if it is not `user_id`. */
      readonly granted_to?: string
      /** The tag of a grant by tag. */
      readonly tag?: string
      /** Day (UTC) of the last use of the key by the user, with any right; known for 400 days, a few seconds after the use. */
      readonly last_used?: string
    }[]
    readonly paged: true
  }
  /** Revoke rights on a key */
  readonly 'access.revoke': {
    readonly body: {
      /** The key. Optional if only `create`, `external` or `audit` is granted. */
      readonly unique_identifier?: string | null
      /** In place of a key: all keys of the caller that have this tag, now or later. */
      readonly tag?: string | null
      /** A user, `*` for every authenticated user, `group:NAME`, `role:SOURCE/NAME`, or a principal of a cloud: `aws:arn:…`, `google:EMAIL`. */
      readonly user_id: string
      /** KMIP operation names, or the groups Read, UseKey, Modify, Destroy, Authorize. */
      readonly operation_types: readonly string[]
      /** true: a grant to an unknown name is refused, and a machine may be named without `app:` if no user has the name. */
      readonly known?: boolean | null
    }
    readonly reply: {
      readonly success: string
      /** The user whose rights were changed. */
      readonly user_id: string
      /** For a grant: whether the name is known. Absent if that cannot be determined. */
      readonly known?: boolean
    }
  }
  /** Transfer the objects and grants of a user to another user */
  readonly 'access.transfer': {
    readonly body: {
      /** A user name as in `GET /me`; the owner of objects. */
      readonly from_user_id: string
      /** A user name as in `GET /me`; the owner of objects. */
      readonly to_user_id: string
    }
    readonly reply: {
      readonly objects: number
      readonly grants: number
    }
  }
  /** Unblock a user */
  readonly 'access.unblock': {
    readonly body: {
      /** A user name as in `GET /me`; `app:` and the entity for a machine. */
      readonly user_id: string
    }
    readonly reply: {
      readonly success: string
    }
  }
  /** Create an account, or find the account of a key */
  readonly 'acme.new_account': {
    readonly path: {
      readonly authority: string
    }
    readonly reply: {
      readonly type: string
      readonly detail: string
      readonly status: number
    }
  }
  /** Get a nonce for the next request */
  readonly 'acme.new_nonce': {
    readonly path: {
      readonly authority: string
    }
    readonly reply: undefined
  }
  /** Count records of the audit log by hour or day, with those of failures, in pages */
  readonly 'audit.counts': {
    readonly query: {
      /** Only records from this time on (RFC 3339). */
      readonly since: string
      /** Only records before this time (RFC 3339). */
      readonly until?: string
      /** The caller: a user name as in `GET /me`, `app:` and the entity for a machine. */
      readonly principal?: string
      /** Id of the key, certificate or other object. */
      readonly object?: string
      /** Name of the operation, or the beginning of one and `*`: `crypto.encrypt`, `crypto.*`. */
      readonly operation?: string
      readonly outcome?: 'success' | 'failure'
      /** Address of the client. */
      readonly address?: string
      /** Id of the request. */
      readonly request_id?: string
      /** Part of a name or a value in the details; case is ignored. */
      readonly text?: string
      /** Length of the intervals, which begin at whole hours or days (UTC); default hour. At most 1000 of them are counted: without until the first ones from since on. */
      readonly step?: 'hour' | 'day'
      /** `X-Next-After` of the previous page. */
      readonly after?: string
    }
    readonly reply: {
      readonly buckets: readonly {
        /** Begin of the interval. */
        readonly start: string
        readonly records: number
        /** Those whose outcome is failure: also refusals. */
        readonly failures: number
      }[]
      readonly nodes: readonly {
        readonly node: string
        readonly answered: boolean
        /** Why it did not answer. */
        readonly reason?: string
        readonly head?: {
          readonly seq: number
          readonly hash: string
        }
        /** Its records since this time were searched. Absent: unknown, or all of them. */
        readonly searched_to?: string
        readonly problems: readonly string[]
      }[]
    }
    readonly paged: true
  }
  /** Search, count or verify the audit log of this node, for another node of its database */
  readonly 'audit.node': {
    readonly body: {
      readonly type: 'search' | 'count' | 'verify'
      readonly filter?: {
        readonly since?: number | null
        readonly until?: number | null
        readonly principal?: string | null
        readonly object?: string | null
        readonly operation?: string | null
        readonly outcome?: 'success' | 'failure' | null
        readonly address?: string | null
        readonly requestId?: string | null
        readonly text?: string | null
      } | null
      readonly limit?: number | null
      readonly before?: number | null
      readonly stepMs?: 3600000 | 86400000 | null
    }
    readonly reply: Readonly<Record<string, unknown>>
  }
  /** Forget a node that was retired, which is named as missing otherwise */
  readonly 'audit.nodes.forget': {
    readonly path: {
      readonly node: string
    }
    readonly reply: undefined
  }
  /** Search the audit log, newest records first, in pages */
  readonly 'audit.records': {
    readonly query?: {
      /** Only records from this time on (RFC 3339). */
      readonly since?: string
      /** Only records before this time (RFC 3339). */
      readonly until?: string
      /** The caller: a user name as in `GET /me`, `app:` and the entity for a machine. */
      readonly principal?: string
      /** Id of the key, certificate or other object. */
      readonly object?: string
      /** Name of the operation, or the beginning of one and `*`: `crypto.encrypt`, `crypto.*`. */
      readonly operation?: string
      readonly outcome?: 'success' | 'failure'
      /** Address of the client. */
      readonly address?: string
      /** Id of the request. */
      readonly request_id?: string
      /** Part of a name or a value in the details; case is ignored. */
      readonly text?: string
      /** `X-Next-After` of the previous page. */
      readonly after?: string
      /** 1 to 1000, default 100. */
      readonly limit?: string
    }
    readonly reply: {
      readonly records: readonly {
        /** Number in the log of the node. */
        readonly seq: number
        readonly time: string
        readonly node: string
        readonly service: string
        readonly request_id: string
        readonly operation: string
        readonly principal: string
        readonly auth_method: string
        readonly realm?: string
        readonly object?: string
        readonly algorithm?: string
        readonly client_ip: string
        readonly outcome: string
        readonly status: number
        readonly reason?: string
        readonly duration_ms: number
        readonly details?: Readonly<Record<string, unknown>>
        /** Hash of the record before. */
        readonly prev: string
        readonly hash: string
      }[]
      readonly nodes: readonly {
        readonly node: string
        readonly answered: boolean
        /** Why it did not answer. */
        readonly reason?: string
        readonly head?: {
          readonly seq: number
          readonly hash: string
        }
        /** Its records since this time were searched. Absent: unknown, or all of them. */
        readonly searched_to?: string
        readonly problems: readonly string[]
      }[]
    }
    readonly paged: true
  }
  /** Verify the hash chains of the audit logs of all nodes */
  readonly 'audit.verify': {
    readonly reply: {
      readonly ok: boolean
      readonly nodes: readonly {
        readonly node: string
        readonly answered: boolean
        readonly reason?: string
        readonly ok: boolean
        readonly records?: number
        readonly files?: number
        /** Files that were removed. */
        readonly removed?: number
        readonly unexplained?: readonly string[]
        readonly unread?: readonly string[]
        readonly head?: {
          readonly seq: number
          readonly hash: string
        }
        readonly broken?: {
          readonly file: string
          readonly line: number
          readonly reason: string
        }
      }[]
    }
  }
  /** Create an alias for a key */
  readonly 'crypto.aliases.create': {
    readonly body: {
      /** `alias/invoices`, or `invoices`. */
      readonly alias: string
      /** The key, by its id or another alias. */
      readonly kid: string
    }
    readonly reply: {
      /** Form for its owner. */
      readonly alias: string
      /** Form for other users. */
      readonly full_alias: string
      /** The key of the alias. */
      readonly kid: string
      /** RFC 3339, UTC. */
      readonly created_at: string
      readonly changed_at: string
    }
  }
  /** Delete an alias; the key stays */
  readonly 'crypto.aliases.delete': {
    readonly path: {
      /** `alias/invoices`, or `invoices`. */
      readonly alias: string
    }
    readonly reply: undefined
  }
  /** Get an alias of the caller, or of a key on which the caller has a right */
  readonly 'crypto.aliases.get': {
    readonly path: {
      /** `alias/invoices`, or `invoices`. */
      readonly alias: string
    }
    readonly reply: {
      /** Form for its owner. */
      readonly alias: string
      /** Form for other users. */
      readonly full_alias: string
      /** The key of the alias. */
      readonly kid: string
      /** RFC 3339, UTC. */
      readonly created_at: string
      readonly changed_at: string
    }
  }
  /** The aliases of the caller, by name, in pages */
  readonly 'crypto.aliases.list': {
    readonly query?: {
      /** Only aliases of this key. */
      readonly kid?: string
      /** Last alias of the previous page. */
      readonly after?: string
    }
    readonly reply: readonly {
      /** Form for its owner. */
      readonly alias: string
      /** Form for other users. */
      readonly full_alias: string
      /** The key of the alias. */
      readonly kid: string
      /** RFC 3339, UTC. */
      readonly created_at: string
      readonly changed_at: string
    }[]
    readonly paged: true
  }
  /** Move an alias to another key, atomically */
  readonly 'crypto.aliases.move': {
    readonly path: {
      /** `alias/invoices`, or `invoices`. */
      readonly alias: string
    }
    readonly body: {
      /** The key, by its id or another alias. */
      readonly kid: string
      /** The expected current key; another one is 409. */
      readonly from?: string | null
    }
    readonly reply: {
      /** Form for its owner. */
      readonly alias: string
      /** Form for other users. */
      readonly full_alias: string
      /** The key of the alias. */
      readonly kid: string
      /** RFC 3339, UTC. */
      readonly created_at: string
      readonly changed_at: string
    }
  }
  /** Many crypto operations in one request */
  readonly 'crypto.batch': {
    readonly body: {
      readonly operations: readonly {
        /** encrypt, decrypt, sign, verify, mac, rewrap or datakey */
        readonly op: string
      }[]
    }
    readonly reply: {
      readonly results: readonly ({
        readonly op: string
        readonly status: 200
        readonly result: unknown
      } | {
        readonly op: string
        readonly status: number
        readonly error: string
        readonly description: string
      })[]
    }
  }
  /** Create a data key: in clear and wrapped, or only wrapped */
  readonly 'crypto.datakey': {
    readonly body: {
      /** The key under which the data key is wrapped. */
      readonly kid: string
      /** As for encrypt, but not ABE. */
      readonly alg: string
      /** A128GCM, A192GCM or A256GCM: content encryption of the wrapped form. */
      readonly enc: string
      /** Size of the data key: 128, 192, 256 (default), 384 or 512. */
      readonly bits?: number | null
      /** false: returns only the wrapped form. Default true. */
      readonly plaintext?: boolean | null
      /** Additional authenticated data, base64url. */
      readonly aad?: string | null
    }
    readonly reply: {
      /** The wrapping key, as named in the request. */
      readonly kid: string
      readonly bits: number
      /** The data key, base64url. */
      readonly plaintext?: string
      readonly wrapped: {
        readonly protected: string
        readonly encrypted_key: string
        readonly iv: string
        readonly ciphertext: string
        readonly tag: string
        readonly aad?: string
      }
    }
  }
  /** Decrypt a flattened JWE, or data that was encrypted for a policy */
  readonly 'crypto.decrypt': {
    readonly body: {
      /** Contains alg, enc and kid; base64url. */
      readonly protected: string
      /** Required for RSA-OAEP; empty or absent for `dir`. */
      readonly encrypted_key?: string | null
      /** 12 bytes, base64url. */
      readonly iv: string
      readonly ciphertext: string
      /** 16 bytes, base64url. */
      readonly tag: string
      readonly aad?: string | null
      /** May have epk, apu, apv, iv and tag instead of `protected`. */
      readonly header?: Readonly<Record<string, unknown>> | null
      /** As `header`. */
      readonly unprotected?: Readonly<Record<string, unknown>> | null
      /** With ABE, and only then: the user key to open it with. */
      readonly kid?: string | null
    }
    readonly reply: {
      readonly kid: string
      readonly data: string
    }
  }
  /** Encrypt with a symmetric key, a public key, or for a policy */
  readonly 'crypto.encrypt': {
    readonly body: {
      /** A symmetric key for `dir` and the key wrapping algorithms, either half of a pair for RSA-OAEP and ECDH-ES, the public key for ABE. */
      readonly kid: string
      /** dir, RSA-OAEP, RSA-OAEP-256, A192KW, A256KW, A128GCMKW to A256GCMKW, ECDH-ES+A128KW to ECDH-ES+A256KW or ABE; more if `jose_optional_algorithms` enables them. */
      readonly alg: string
      /** A128GCM, A192GCM or A256GCM */
      readonly enc: string
      /** Plaintext, base64url. */
      readonly data: string
      /** Additional authenticated data, base64url. */
      readonly aad?: string | null
      /** With ABE: who may read it, `Team::Blue && Level::Low`. `*` is every user key. */
      readonly policy?: string | null
    }
    readonly reply: {
      readonly protected: string
      readonly encrypted_key: string
      readonly iv: string
      readonly ciphertext: string
      readonly tag: string
      readonly aad?: string
    }
  }
  /** List the keys in an HSM, for one of its administrators */
  readonly 'crypto.hsms.keys.list': {
    readonly path: {
      /** Name of the HSM in the settings. */
      readonly hsm: string
    }
    readonly query?: {
      /** Position of the first key; default 0. */
      readonly from?: string
    }
    readonly reply: {
      readonly keys: readonly {
        readonly label: string
        /** CKA_ID, hexadecimal; empty if the key has none. */
        readonly key_id: string
        /** secret or private */
        readonly class: string
        /** AES, HMAC, RSA, EC, Ed25519, or unknown: such a key cannot be registered. */
        readonly type: string
        /** Of a secret key. */
        readonly bits?: number
        readonly sensitive: boolean
        readonly extractable: boolean
        readonly never_extractable: boolean
        /** Generated in the HSM. */
        readonly local: boolean
        /** The key of this service, if it is registered. */
        readonly kid?: string
      }[]
      /** Number of keys; a reply contains at most 100. */
      readonly total: number
    }
  }
  /** Register a key that exists in an HSM, for one of its administrators */
  readonly 'crypto.hsms.keys.register': {
    readonly path: {
      /** Name of the HSM in the settings. */
      readonly hsm: string
    }
    readonly body: {
      /** CKA_LABEL of the key. */
      readonly label: string
      /** CKA_ID, hexadecimal; required if several keys have the label. */
      readonly key_id?: string | null
      /** secret or private; required if a secret and a private key have the label. */
      readonly class?: string | null
      /** The only permitted algorithm of the key. Default: every algorithm of its type. */
      readonly alg?: string | null
      readonly tags?: readonly string[] | null
    }
    readonly reply: {
      readonly kid: string
      readonly kid_public?: string
      readonly kty: string
      /** The HSM reports that the key was generated in it, always sensitive and never extractable. */
      readonly hardware: boolean
    }
  }
  /** Check the wrapping of all objects again, for one administrator of the HSM */
  readonly 'crypto.hsms.wrapping.check': {
    readonly path: {
      /** Name of the HSM in the settings. */
      readonly hsm: string
    }
    readonly reply: {
      /** Tables of hsm_wrapping with a key in this HSM; key_encryption_key is the last one. */
      readonly rules: readonly {
        readonly key: string
        readonly tags: readonly string[]
        readonly owners: readonly string[]
      }[]
      readonly keys: readonly {
        /** Version of a wrapping key. */
        readonly kid: string
        /** Objects whose material it wraps. */
        readonly objects: number
      }[]
      /** Keys whose tags or owner changed, and which have to be checked; at most 1000. */
      readonly waiting: number
      /** The last check of all objects, of all HSMs. */
      readonly check?: {
        /** running or finished */
        readonly state: string
        readonly checked: number
        readonly rewrapped: number
        /** Objects that could not be wrapped as the settings require. */
        readonly failed: number
        /** RFC 3339, UTC. */
        readonly started_at: string
        /** RFC 3339, UTC. */
        readonly finished_at?: string
      }
    }
  }
  /** Objects that keys of an HSM wrap, for one of its administrators */
  readonly 'crypto.hsms.wrapping.get': {
    readonly path: {
      /** Name of the HSM in the settings. */
      readonly hsm: string
    }
    readonly reply: {
      /** Tables of hsm_wrapping with a key in this HSM; key_encryption_key is the last one. */
      readonly rules: readonly {
        readonly key: string
        readonly tags: readonly string[]
        readonly owners: readonly string[]
      }[]
      readonly keys: readonly {
        /** Version of a wrapping key. */
        readonly kid: string
        /** Objects whose material it wraps. */
        readonly objects: number
      }[]
      /** Keys whose tags or owner changed, and which have to be checked; at most 1000. */
      readonly waiting: number
      /** The last check of all objects, of all HSMs. */
      readonly check?: {
        /** running or finished */
        readonly state: string
        readonly checked: number
        readonly rewrapped: number
        /** Objects that could not be wrapped as the settings require. */
        readonly failed: number
        /** RFC 3339, UTC. */
        readonly started_at: string
        /** RFC 3339, UTC. */
        readonly finished_at?: string
      }
    }
  }
  /** Generate a key, or import one */
  readonly 'crypto.keys.create': {
    readonly body: {
      /** oct, RSA, EC, OKP, AKP or ABE */
      readonly kty: string
      /** The key is bound to it. Required for oct. */
      readonly alg?: string | null
      /** P-256, P-384, P-521, Ed25519 or X25519 */
      readonly crv?: string | null
      /** RSA: 2048 to 8192, default 2048. For an import or another type: the size of the key. */
      readonly bits?: number | null
      readonly tags?: readonly string[] | null
      /** false: no user can export the secret or private key, wrapped or not, not even its owner (KMIP: not Extractable, Sensitive), unless a user with the right to modify its attributes changes that over KMIP. Default true: a KMIP client with the right can export it. */
      readonly ext?: boolean | null
      /** Name of an HSM of the settings. The key is generated in this HSM and never leaves it. Alternatively, set kid to an identifier hsm::NAME::LABEL. */
      readonly hsm?: string | null
      /** For an import: sig or enc limits the key to that use (RFC 7517 §4.2). */
      readonly use?: string | null
      /** For an import: limits the key to these operations (RFC 7517 §4.3). */
      readonly key_ops?: readonly string[] | null
      /** For an import: accepted without effect. */
      readonly kid?: unknown
      /** For an import: accepted without effect. */
      readonly x5u?: unknown
      /** For an import: accepted without effect. */
      readonly x5c?: unknown
      /** For an import: accepted without effect. */
      readonly x5t?: unknown
      /** For an import: accepted without effect. */
      readonly 'x5t#S256'?: unknown
      /** base64url */
      readonly k?: string | null
      /** base64url */
      readonly n?: string | null
      /** base64url */
      readonly e?: string | null
      /** base64url */
      readonly d?: string | null
      /** base64url */
      readonly p?: string | null
      /** base64url */
      readonly q?: string | null
      /** base64url */
      readonly dp?: string | null
      /** base64url */
      readonly dq?: string | null
      /** base64url */
      readonly qi?: string | null
      /** base64url */
      readonly x?: string | null
      /** base64url */
      readonly y?: string | null
      /** base64url */
      readonly priv?: string | null
      /** base64url */
      readonly pub?: string | null
      /** ABE, a master key: dimension to attributes. `::<` after a dimension makes it a hierarchy, lowest first; `::+` after an attribute adds post-quantum protection. */
      readonly access_structure?: Readonly<Record<string, readonly string[]>> | null
      /** ABE, a user key: its master key. Requires the right derivekey on it. */
      readonly master?: string | null
      /** ABE, a user key: its policy, such as `Team::Blue && Level::High`. */
      readonly policy?: string | null
    }
    readonly reply: {
      readonly kid: string
      readonly kid_public?: string | null
      readonly kty: string
      readonly alg?: string
      readonly crv?: string
      readonly key_ops: readonly string[]
      /** ABE: SHA-256 of the public key, base64url, for detecting a changed one. */
      readonly digest?: string
      /** As requested; absent if the request did not contain it. */
      readonly ext?: boolean
    }
  }
  /** Set dates of the life cycle of a key */
  readonly 'crypto.keys.dates': {
    readonly path: {
      readonly kid: string
    }
    readonly body: {
      /** Active from then on; can be set only before it is Active. RFC 3339, or a date (its start in UTC); null removes it. */
      readonly activation_at?: string | null
      /** Decrypts and verifies nothing before that time. RFC 3339, or a date (its start in UTC); null removes it. */
      readonly process_start_at?: string | null
      /** Encrypts and signs nothing from that time on. RFC 3339, or a date (its start in UTC); null removes it. */
      readonly protect_stop_at?: string | null
      /** Deactivated from that time on. RFC 3339, or a date (its start in UTC); null removes it. */
      readonly deactivation_at?: string | null
    }
    readonly reply: {
      readonly kid: string
      /** The state of an object does not change when it is disabled or its destruction is pending. */
      readonly state: string
      /** Active from that time on. RFC 3339, UTC. */
      readonly activation_at?: string
      /** Decrypts and verifies nothing before that time. RFC 3339, UTC. */
      readonly process_start_at?: string
      /** Encrypts and signs nothing from that time on. RFC 3339, UTC. */
      readonly protect_stop_at?: string
      /** Deactivated from that time on. RFC 3339, UTC. */
      readonly deactivation_at?: string
      /** Reported as compromised. RFC 3339, UTC. */
      readonly compromised_at?: string
      /** Its material was destroyed. RFC 3339, UTC. */
      readonly destroyed_at?: string
      /** Archived: cannot be used until it is recovered. RFC 3339, UTC. */
      readonly archived_at?: string
      /** Disabled: cannot be used until it is enabled. RFC 3339, UTC. */
      readonly disabled_at?: string
      /** Earliest time of its pending destruction; until then it cannot be used. RFC 3339, UTC. */
      readonly destruction_at?: string
      /** User who requested its destruction. */
      readonly destruction_by?: string
    }
  }
  /** Revoke and remove a key, with the other half of a pair */
  readonly 'crypto.keys.destroy': {
    readonly path: {
      readonly kid: string
    }
    readonly reply: {
      readonly kid: string
      /** RFC 3339, UTC. */
      readonly destruction_at: string
    } | undefined
  }
  /** Disable a key, with the other half of a pair, until it is enabled */
  readonly 'crypto.keys.disable': {
    readonly path: {
      readonly kid: string
    }
    readonly reply: {
      readonly kid: string
      /** The state of an object does not change when it is disabled or its destruction is pending. */
      readonly state: string
      /** Active from that time on. RFC 3339, UTC. */
      readonly activation_at?: string
      /** Decrypts and verifies nothing before that time. RFC 3339, UTC. */
      readonly process_start_at?: string
      /** Encrypts and signs nothing from that time on. RFC 3339, UTC. */
      readonly protect_stop_at?: string
      /** Deactivated from that time on. RFC 3339, UTC. */
      readonly deactivation_at?: string
      /** Reported as compromised. RFC 3339, UTC. */
      readonly compromised_at?: string
      /** Its material was destroyed. RFC 3339, UTC. */
      readonly destroyed_at?: string
      /** Archived: cannot be used until it is recovered. RFC 3339, UTC. */
      readonly archived_at?: string
      /** Disabled: cannot be used until it is enabled. RFC 3339, UTC. */
      readonly disabled_at?: string
      /** Earliest time of its pending destruction; until then it cannot be used. RFC 3339, UTC. */
      readonly destruction_at?: string
      /** User who requested its destruction. */
      readonly destruction_by?: string
    }
  }
  /** Enable a disabled key, with the other half of a pair */
  readonly 'crypto.keys.enable': {
    readonly path: {
      readonly kid: string
    }
    readonly reply: {
      readonly kid: string
      /** The state of an object does not change when it is disabled or its destruction is pending. */
      readonly state: string
      /** Active from that time on. RFC 3339, UTC. */
      readonly activation_at?: string
      /** Decrypts and verifies nothing before that time. RFC 3339, UTC. */
      readonly process_start_at?: string
      /** Encrypts and signs nothing from that time on. RFC 3339, UTC. */
      readonly protect_stop_at?: string
      /** Deactivated from that time on. RFC 3339, UTC. */
      readonly deactivation_at?: string
      /** Reported as compromised. RFC 3339, UTC. */
      readonly compromised_at?: string
      /** Its material was destroyed. RFC 3339, UTC. */
      readonly destroyed_at?: string
      /** Archived: cannot be used until it is recovered. RFC 3339, UTC. */
      readonly archived_at?: string
      /** Disabled: cannot be used until it is enabled. RFC 3339, UTC. */
      readonly disabled_at?: string
      /** Earliest time of its pending destruction; until then it cannot be used. RFC 3339, UTC. */
      readonly destruction_at?: string
      /** User who requested its destruction. */
      readonly destruction_by?: string
    }
  }
  /** Attributes of a key, with its public key */
  readonly 'crypto.keys.get': {
    readonly path: {
      readonly kid: string
    }
    readonly reply: {
      readonly kid: string
      readonly object_type: string
      readonly kty: string
      readonly alg?: string
      readonly crv?: string
      readonly bits?: number
      readonly key_ops: readonly string[]
      /** For a secret or private key. false: no user can export its bytes in clear, not even over KMIP. */
      readonly ext?: boolean
      /** Name of the HSM that has the key; its value is not on this server. */
      readonly hsm?: string
      /** For a key in an HSM. true: the HSM reported that the key was generated in it, has always been sensitive and has never been extractable. */
      readonly hardware?: boolean
      /** Version of a key in an HSM that wraps the secret material of this key in the database. */
      readonly wrapping_key?: string
      readonly state: string
      readonly owner: string
      /** The other half of a pair. */
      readonly linked_kid?: string
      /** The current version, or the named one; 1 = never rotated. */
      readonly version: number
      /** Id of the version, if the key was rotated. */
      readonly version_kid?: string
      /** If a version was named: its key. */
      readonly version_of?: string
      /** Creation time of that version; RFC 3339, UTC. */
      readonly rotated_at?: string
      readonly tags: readonly string[]
      /** RFC 3339, UTC. */
      readonly created_at: string
      /** Active from that time on. RFC 3339, UTC. */
      readonly activation_at?: string
      /** Decrypts and verifies nothing before that time. RFC 3339, UTC. */
      readonly process_start_at?: string
      /** Encrypts and signs nothing from that time on. RFC 3339, UTC. */
      readonly protect_stop_at?: string
      /** Deactivated from that time on. RFC 3339, UTC. */
      readonly deactivation_at?: string
      /** Reported as compromised. RFC 3339, UTC. */
      readonly compromised_at?: string
      /** Its material was destroyed. RFC 3339, UTC. */
      readonly destroyed_at?: string
      /** Archived: cannot be used until it is recovered. RFC 3339, UTC. */
      readonly archived_at?: string
      /** Disabled: cannot be used until it is enabled. RFC 3339, UTC. */
      readonly disabled_at?: string
      /** Earliest time of its pending destruction; until then it cannot be used. RFC 3339, UTC. */
      readonly destruction_at?: string
      /** User who requested its destruction. */
      readonly destruction_by?: string
      /** Days for which its destruction would wait, by the settings. Absent: it is destroyed at once. */
      readonly destruction_days?: number
      /** Operations on it that require the approval of crypto officers: destroy, export, grant. */
      readonly approvals?: readonly string[]
      readonly public_jwk?: Readonly<Record<string, string>>
      readonly abe?: {
        /** master, public or user */
        readonly kind: string
        /** SHA-256 of the key, base64url. */
        readonly digest: string
        /** For a user key: its policy. */
        readonly policy?: string
        /** For a user key that this service created. */
        readonly master?: string
      }
    }
  }
  /** Keys of the caller, or for crypto officers of other users, by filters and in pages */
  readonly 'crypto.keys.list': {
    readonly query?: {
      /** Default: the caller. Only crypto officers may use another user, or `*` for all. */
      readonly owner?: string
      readonly tag?: string
      /** AES, HMAC, RSA, EC, Ed25519 … */
      readonly algorithm?: string
      /** Algorithm that it is bound to: A256GCM, ES256 … */
      readonly alg?: string
      /** Type of the object. */
      readonly type?: 'SymmetricKey' | 'PrivateKey' | 'PublicKey' | 'Certificate' | 'SecretData' | 'OpaqueObject' | 'SplitKey' | 'CertificateRequest' | 'PGPKey' | 'Template'
      /** Excludes objects of this type. */
      readonly excluded_type?: 'SymmetricKey' | 'PrivateKey' | 'PublicKey' | 'Certificate' | 'SecretData' | 'OpaqueObject' | 'SplitKey' | 'CertificateRequest' | 'PGPKey' | 'Template'
      readonly state?: 'PreActive' | 'Active' | 'Deactivated' | 'Compromised' | 'Destroyed' | 'Destroyed_Compromised'
      /** Whether it is disabled. */
      readonly disabled?: 'true' | 'false'
      /** Whether its destruction is pending. */
      readonly awaits_destruction?: 'true' | 'false'
      /** Created then or later. RFC 3339, or a date (its start in UTC). */
      readonly created_after?: string
      /** Made earlier. RFC 3339, or a date (its start in UTC). */
      readonly created_before?: string
      /** Its newest version was created then or later. RFC 3339, or a date (its start in UTC). */
      readonly rotated_after?: string
      /** Its newest version was created earlier, or it is older and was never rotated. RFC 3339, or a date (its start in UTC). */
      readonly rotated_before?: string
      /** Its deactivation_at is then or later. RFC 3339, or a date (its start in UTC). */
      readonly expires_after?: string
      /** Its deactivation_at is earlier. RFC 3339, or a date (its start in UTC). */
      readonly expires_before?: string
      /** Used on that day or later, or created then and not used. RFC 3339, or a date (its start in UTC). */
      readonly used_since?: string
      /** Not used on that day or later, and created earlier. RFC 3339, or a date (its start in UTC). */
      readonly unused_since?: string
      /** `next` of the previous page, with the same filter. */
      readonly after?: string
      /** 1 to 1000, default 100. */
      readonly limit?: string
    }
    readonly reply: {
      readonly keys: readonly {
        readonly kid: string
        readonly object_type: string
        /** The first name that KMIP clients assigned to it. */
        readonly name?: string
        readonly kty: string
        readonly algorithm?: string
        readonly alg?: string
        readonly crv?: string
        readonly bits?: number
        readonly state: string
        readonly owner: string
        /** The other half of a pair. */
        readonly linked_kid?: string
        readonly tags: readonly string[]
        /** Aliases of its owner. */
        readonly aliases: readonly string[]
        /** The current version; 1 = never rotated. */
        readonly version: number
        /** RFC 3339, UTC. */
        readonly created_at: string
        /** Creation time of that version; RFC 3339, UTC. */
        readonly rotated_at?: string
        /** Active from that time on. RFC 3339, UTC. */
        readonly activation_at?: string
        /** Decrypts and verifies nothing before that time. RFC 3339, UTC. */
        readonly process_start_at?: string
        /** Encrypts and signs nothing from that time on. RFC 3339, UTC. */
        readonly protect_stop_at?: string
        /** Deactivated from that time on. RFC 3339, UTC. */
        readonly deactivation_at?: string
        /** Reported as compromised. RFC 3339, UTC. */
        readonly compromised_at?: string
        /** Its material was destroyed. RFC 3339, UTC. */
        readonly destroyed_at?: string
        /** Archived: cannot be used until it is recovered. RFC 3339, UTC. */
        readonly archived_at?: string
        /** Disabled: cannot be used until it is enabled. RFC 3339, UTC. */
        readonly disabled_at?: string
        /** Earliest time of its pending destruction; until then it cannot be used. RFC 3339, UTC. */
        readonly destruction_at?: string
        /** User who requested its destruction. */
        readonly destruction_by?: string
        /** Day of its last use, UTC; absent: never used. */
        readonly last_used?: string
      }[]
      /** `after` of the next page. */
      readonly next: string | null
    }
    readonly paged: true
  }
  /** Cancel a pending destruction, with that of the other half of a pair */
  readonly 'crypto.keys.restore': {
    readonly path: {
      readonly kid: string
    }
    readonly reply: {
      readonly kid: string
      /** The state of an object does not change when it is disabled or its destruction is pending. */
      readonly state: string
      /** Active from that time on. RFC 3339, UTC. */
      readonly activation_at?: string
      /** Decrypts and verifies nothing before that time. RFC 3339, UTC. */
      readonly process_start_at?: string
      /** Encrypts and signs nothing from that time on. RFC 3339, UTC. */
      readonly protect_stop_at?: string
      /** Deactivated from that time on. RFC 3339, UTC. */
      readonly deactivation_at?: string
      /** Reported as compromised. RFC 3339, UTC. */
      readonly compromised_at?: string
      /** Its material was destroyed. RFC 3339, UTC. */
      readonly destroyed_at?: string
      /** Archived: cannot be used until it is recovered. RFC 3339, UTC. */
      readonly archived_at?: string
      /** Disabled: cannot be used until it is enabled. RFC 3339, UTC. */
      readonly disabled_at?: string
      /** Earliest time of its pending destruction; until then it cannot be used. RFC 3339, UTC. */
      readonly destruction_at?: string
      /** User who requested its destruction. */
      readonly destruction_by?: string
    }
  }
  /** Rotate a key to a new version, or change an attribute-based master key */
  readonly 'crypto.keys.rotate': {
    readonly path: {
      readonly kid: string
    }
    readonly body: {
      /** Renews the secrets of the rights in this policy. */
      readonly RekeyAccessPolicy?: string | null
      /** Removes their former secrets. */
      readonly PruneAccessPolicy?: string | null
      /** `["Dimension::Name", "Classic" | "PostQuantum" | "Hybridized", null | "attribute just below in a hierarchy"]` */
      readonly AddAttribute?: readonly (readonly (string | null)[])[] | null
      /** `["Dimension::Name", "NewName"]` */
      readonly RenameAttribute?: readonly (readonly string[])[] | null
      readonly DisableAttribute?: readonly string[] | null
      readonly DeleteAttribute?: readonly string[] | null
    }
    readonly reply: {
      /** The id of the key, unchanged. */
      readonly kid: string
      /** The version that protects from now on, from 1. */
      readonly version: number
      /** Id of the version, used in headers of JWE and JWS. */
      readonly version_kid: string
      /** For a pair: the public half of the version. */
      readonly version_kid_public?: string
    } | {
      readonly kid: string
      readonly kid_public: string
      /** SHA-256 of the public key, base64url. */
      readonly digest: string
      readonly refreshed: readonly string[]
      /** User keys that do not belong to the master key. */
      readonly not_refreshed: readonly string[]
    }
  }
  /** Rotation of a key, and the versions that it still uses */
  readonly 'crypto.keys.rotation.get': {
    readonly path: {
      readonly kid: string
    }
    readonly reply: {
      readonly kid: string
      /** The newest. */
      readonly version: number
      readonly min_decrypt_version: number
      /** Seconds. */
      readonly rotate_every?: number
      /** Time of the next rotation, by its own interval or by the policy: RFC 3339, UTC. */
      readonly rotates_at?: string
      readonly rotate_after_messages?: number
      /** AES-GCM messages of the newest version, counted in blocks. At 4294967296 (2^32) it stops encrypting. */
      readonly messages?: number
      /** Values from the rules in the settings. Its own rotate_every and rotate_after_messages take precedence. */
      readonly policy?: {
        /** Seconds. */
        readonly rotate_every?: number
        readonly rotate_after_messages?: number
      }
    }
  }
  /** Set the rotation of a key, and the versions that it still uses */
  readonly 'crypto.keys.rotation.set': {
    readonly path: {
      readonly kid: string
    }
    readonly body: {
      /** Versions below it can no longer decrypt, verify or unwrap. It may be lowered again. */
      readonly min_decrypt_version?: number | null
      /** Seconds between automatic rotations, at least 3600; 0 = no rotation by time. */
      readonly rotate_every?: number | null
      /** AES-GCM messages of one version after which the service rotates, counted in blocks; 0 = no rotation by use. A version encrypts at most 2^32. */
      readonly rotate_after_messages?: number | null
    }
    readonly reply: {
      readonly kid: string
      /** The newest. */
      readonly version: number
      readonly min_decrypt_version: number
      /** Seconds. */
      readonly rotate_every?: number
      /** Time of the next rotation, by its own interval or by the policy: RFC 3339, UTC. */
      readonly rotates_at?: string
      readonly rotate_after_messages?: number
      /** AES-GCM messages of the newest version, counted in blocks. At 4294967296 (2^32) it stops encrypting. */
      readonly messages?: number
      /** Values from the rules in the settings. Its own rotate_every and rotate_after_messages take precedence. */
      readonly policy?: {
        /** Seconds. */
        readonly rotate_every?: number
        readonly rotate_after_messages?: number
      }
    }
  }
  /** The access structure of an attribute-based master key, and its user keys */
  readonly 'crypto.keys.structure': {
    readonly path: {
      readonly kid: string
    }
    readonly query?: {
      readonly policy?: string
    }
    readonly reply: {
      readonly kid: string
      readonly kid_public: string
      /** SHA-256 of the public key, base64url. */
      readonly digest: string
      readonly dimensions: readonly {
        readonly name: string
        /** A hierarchy; its attributes are listed from the lowest. */
        readonly ordered: boolean
        readonly attributes: readonly {
          readonly name: string
          readonly mode: string
          readonly enabled: boolean
        }[]
      }[]
      readonly user_keys: readonly {
        readonly kid: string
        readonly owner: string
        readonly state: string
        /** Policy with which it was created. */
        readonly policy?: string
        /** Attributes such that the key decrypts data that is encrypted for each of them alone. */
        readonly reads: readonly string[]
        /** Whether it decrypts data that is encrypted for `policy`. */
        readonly opens?: boolean
      }[]
    }
  }
  /** Import the wrapped key of a JWE */
  readonly 'crypto.keys.unwrap': {
    readonly body: {
      /** JWE header with kid, alg and enc; base64url. */
      readonly protected: string
      /** The wrapped key, base64url. */
      readonly encrypted_key: string
      /** false: no user can export the secret or private key, wrapped or not, not even its owner (KMIP: not Extractable, Sensitive), unless a user with the right to modify its attributes changes that over KMIP. Default true: a KMIP client with the right can export it. */
      readonly ext?: boolean | null
    }
    readonly reply: {
      readonly kid: string
      readonly kid_public?: string | null
      readonly kty: string
      readonly alg?: string
      readonly crv?: string
      readonly key_ops: readonly string[]
      /** ABE: SHA-256 of the public key, base64url, for detecting a changed one. */
      readonly digest?: string
      /** As requested; absent if the request did not contain it. */
      readonly ext?: boolean
    }
  }
  /** Users of a key, with the day of their last use */
  readonly 'crypto.keys.uses': {
    readonly path: {
      readonly kid: string
    }
    readonly reply: {
      readonly kid: string
      readonly uses: readonly {
        readonly user: string
        /** A day, UTC. */
        readonly last_used: string
      }[]
    }
  }
  /** Versions of a key, the newest first, in pages */
  readonly 'crypto.keys.versions': {
    readonly path: {
      readonly kid: string
    }
    readonly query?: {
      /** Versions below this one: the last of the previous page. */
      readonly before?: string
      /** 1 to 1000, default 1000. */
      readonly limit?: string
    }
    readonly reply: {
      readonly kid: string
      readonly min_decrypt_version: number
      readonly versions: readonly {
        /** Counted from 1. */
        readonly version: number
        /** Id of the version, used in headers of JWE and JWS. */
        readonly kid: string
        /** The other half of a pair. */
        readonly linked_kid?: string
        readonly state: string
        /** Whether it is the version that protects. */
        readonly newest: boolean
        /** RFC 3339, UTC. */
        readonly created_at: string
        /** Time at which the next version replaced it. */
        readonly superseded_at?: string
        /** Disabled: cannot be used until it is enabled. RFC 3339, UTC. */
        readonly disabled_at?: string
        /** Earliest time of its pending destruction; until then it cannot be used. RFC 3339, UTC. */
        readonly destruction_at?: string
      }[]
    }
    readonly paged: true
  }
  /** Activate one version of a key before its date */
  readonly 'crypto.keys.versions.activate': {
    readonly path: {
      readonly kid: string
      readonly version: string
    }
    readonly body: Readonly<Record<string, unknown>>
    readonly reply: {
      /** Counted from 1. */
      readonly version: number
      /** Id of the version, used in headers of JWE and JWS. */
      readonly kid: string
      /** The other half of a pair. */
      readonly linked_kid?: string
      readonly state: string
      /** Whether it is the version that protects. */
      readonly newest: boolean
      /** RFC 3339, UTC. */
      readonly created_at: string
      /** Time at which the next version replaced it. */
      readonly superseded_at?: string
      /** Disabled: cannot be used until it is enabled. RFC 3339, UTC. */
      readonly disabled_at?: string
      /** Earliest time of its pending destruction; until then it cannot be used. RFC 3339, UTC. */
      readonly destruction_at?: string
    }
  }
  /** Destroy one version of a key, now or after the delay of the settings: data that it protects is lost */
  readonly 'crypto.keys.versions.destroy': {
    readonly path: {
      readonly kid: string
      readonly version: string
    }
    readonly body: Readonly<Record<string, unknown>>
    readonly reply: {
      /** Counted from 1. */
      readonly version: number
      /** Id of the version, used in headers of JWE and JWS. */
      readonly kid: string
      /** The other half of a pair. */
      readonly linked_kid?: string
      readonly state: string
      /** Whether it is the version that protects. */
      readonly newest: boolean
      /** RFC 3339, UTC. */
      readonly created_at: string
      /** Time at which the next version replaced it. */
      readonly superseded_at?: string
      /** Disabled: cannot be used until it is enabled. RFC 3339, UTC. */
      readonly disabled_at?: string
      /** Earliest time of its pending destruction; until then it cannot be used. RFC 3339, UTC. */
      readonly destruction_at?: string
    }
  }
  /** Disable one version of a key until it is enabled */
  readonly 'crypto.keys.versions.disable': {
    readonly path: {
      readonly kid: string
      readonly version: string
    }
    readonly body: Readonly<Record<string, unknown>>
    readonly reply: {
      /** Counted from 1. */
      readonly version: number
      /** Id of the version, used in headers of JWE and JWS. */
      readonly kid: string
      /** The other half of a pair. */
      readonly linked_kid?: string
      readonly state: string
      /** Whether it is the version that protects. */
      readonly newest: boolean
      /** RFC 3339, UTC. */
      readonly created_at: string
      /** Time at which the next version replaced it. */
      readonly superseded_at?: string
      /** Disabled: cannot be used until it is enabled. RFC 3339, UTC. */
      readonly disabled_at?: string
      /** Earliest time of its pending destruction; until then it cannot be used. RFC 3339, UTC. */
      readonly destruction_at?: string
    }
  }
  /** Enable a disabled version of a key */
  readonly 'crypto.keys.versions.enable': {
    readonly path: {
      readonly kid: string
      readonly version: string
    }
    readonly body: Readonly<Record<string, unknown>>
    readonly reply: {
      /** Counted from 1. */
      readonly version: number
      /** Id of the version, used in headers of JWE and JWS. */
      readonly kid: string
      /** The other half of a pair. */
      readonly linked_kid?: string
      readonly state: string
      /** Whether it is the version that protects. */
      readonly newest: boolean
      /** RFC 3339, UTC. */
      readonly created_at: string
      /** Time at which the next version replaced it. */
      readonly superseded_at?: string
      /** Disabled: cannot be used until it is enabled. RFC 3339, UTC. */
      readonly disabled_at?: string
      /** Earliest time of its pending destruction; until then it cannot be used. RFC 3339, UTC. */
      readonly destruction_at?: string
    }
  }
  /** Cancel the pending destruction of one version of a key */
  readonly 'crypto.keys.versions.restore': {
    readonly path: {
      readonly kid: string
      readonly version: string
    }
    readonly body: Readonly<Record<string, unknown>>
    readonly reply: {
      /** Counted from 1. */
      readonly version: number
      /** Id of the version, used in headers of JWE and JWS. */
      readonly kid: string
      /** The other half of a pair. */
      readonly linked_kid?: string
      readonly state: string
      /** Whether it is the version that protects. */
      readonly newest: boolean
      /** RFC 3339, UTC. */
      readonly created_at: string
      /** Time at which the next version replaced it. */
      readonly superseded_at?: string
      /** Disabled: cannot be used until it is enabled. RFC 3339, UTC. */
      readonly disabled_at?: string
      /** Earliest time of its pending destruction; until then it cannot be used. RFC 3339, UTC. */
      readonly destruction_at?: string
    }
  }
  /** Deactivate one version of a key, or report it as compromised */
  readonly 'crypto.keys.versions.revoke': {
    readonly path: {
      readonly kid: string
      readonly version: string
    }
    readonly body: {
      /** For revoke: the version is compromised. Default: false, the version is only deactivated. */
      readonly compromised?: boolean | null
    }
    readonly reply: {
      /** Counted from 1. */
      readonly version: number
      /** Id of the version, used in headers of JWE and JWS. */
      readonly kid: string
      /** The other half of a pair. */
      readonly linked_kid?: string
      readonly state: string
      /** Whether it is the version that protects. */
      readonly newest: boolean
      /** RFC 3339, UTC. */
      readonly created_at: string
      /** Time at which the next version replaced it. */
      readonly superseded_at?: string
      /** Disabled: cannot be used until it is enabled. RFC 3339, UTC. */
      readonly disabled_at?: string
      /** Earliest time of its pending destruction; until then it cannot be used. RFC 3339, UTC. */
      readonly destruction_at?: string
    }
  }
  /** Compute or verify a MAC */
  readonly 'crypto.mac': {
    readonly body: {
      readonly kid: string
      /** HS256, HS384 or HS512 */
      readonly alg: string
      /** base64url */
      readonly data: string
      /** MAC to verify; absent: a MAC is computed. */
      readonly mac?: string | null
    }
    readonly reply: {
      readonly kid: string
      readonly mac: string
      /** For a rotated key: the only version that can verify it. */
      readonly version_kid?: string
    } | {
      readonly kid: string
      readonly valid: boolean
    }
  }
  /** Re-encrypt a flattened JWE with the newest version of its key */
  readonly 'crypto.rewrap': {
    readonly body: {
      /** Contains alg, enc and kid; base64url. */
      readonly protected: string
      /** Required for RSA-OAEP; empty or absent for `dir`. */
      readonly encrypted_key?: string | null
      /** 12 bytes, base64url. */
      readonly iv: string
      readonly ciphertext: string
      /** 16 bytes, base64url. */
      readonly tag: string
      readonly aad?: string | null
      /** May have epk, apu, apv, iv and tag instead of `protected`. */
      readonly header?: Readonly<Record<string, unknown>> | null
      /** As `header`. */
      readonly unprotected?: Readonly<Record<string, unknown>> | null
    }
    readonly reply: {
      readonly protected: string
      readonly encrypted_key: string
      readonly iv: string
      readonly ciphertext: string
      readonly tag: string
      readonly aad?: string
    }
  }
  /** Sign with a private key */
  readonly 'crypto.sign': {
    readonly body: {
      /** The private key. */
      readonly kid: string
      /** RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA, MLDSA44, ML-DSA-65, ML-DSA-87 */
      readonly alg: string
      /** Payload, base64url. */
      readonly data: string
    }
    readonly reply: {
      readonly protected: string
      readonly signature: string
    }
  }
  /** Verify a detached JWS */
  readonly 'crypto.verify': {
    readonly body: {
      /** Contains alg and kid, the public key; base64url. */
      readonly protected: string
      /** Payload, base64url. */
      readonly data: string
      readonly signature: string
    }
    readonly reply: {
      readonly kid: string
      readonly valid: boolean
    }
  }
  /** Create an access key for AWS KMS */
  readonly 'external.aws.keys.create': {
    readonly body: {
      /** AWS region of the key store. */
      readonly region: string
      /** Path before `/kms/xks/v1`; default /aws. */
      readonly uri_prefix?: string | null
    }
    readonly reply: {
      /** AccessKeyId */
      readonly id: string
      readonly uri_prefix: string
      readonly region: string
      readonly created_at: string
      readonly created_by: string
      /** Why the access key no longer works: it ends with the user who created it. */
      readonly ended: null | 'maker_blocked' | 'maker_gone' | 'maker_without_right'
      /** RawSecretAccessKey */
      readonly secret: string
    }
  }
  /** Delete an access key: its requests are rejected from then on */
  readonly 'external.aws.keys.delete': {
    readonly path: {
      readonly id: string
    }
    readonly reply: undefined
  }
  /** Access keys of AWS KMS, without their secrets */
  readonly 'external.aws.keys.list': {
    readonly reply: readonly {
      /** AccessKeyId */
      readonly id: string
      readonly uri_prefix: string
      readonly region: string
      readonly created_at: string
      readonly created_by: string
      /** Why the access key no longer works: it ends with the user who created it. */
      readonly ended: null | 'maker_blocked' | 'maker_gone' | 'maker_without_right'
    }[]
  }
  /** Check whether a cloud can use its external key store, as far as this node can tell; changes nothing */
  readonly 'external.check': {
    readonly path: {
      /** aws, google, microsoft or azure */
      readonly name: string
    }
    readonly reply: {
      readonly name: string
      readonly ok: boolean
      readonly steps: readonly {
        readonly what: string
        /** With the way out. */
        readonly problem: null | string
      }[]
    }
  }
  /** The external key stores, and which of them are stopped */
  readonly 'external.list': {
    readonly reply: readonly {
      readonly name: string
      /** Whether the settings of this node enable it. */
      readonly enabled: boolean
      /** Address of this service for clouds: `kms_public_url`, if it is set. */
      readonly public_url: string
      readonly stopped: null | {
        readonly at: string
        readonly by: string
      }
      /** AWS and Azure: URL of this service. */
      readonly endpoint?: string
      /** AWS: access key of the settings, for the first path. */
      readonly access_key_id?: string
      /** AWS and Azure: one for each store. */
      readonly paths?: readonly string[]
      /** AWS, if it needs a client certificate, and Azure: permitted Common Names. */
      readonly client_names?: readonly string[]
      /** Google: URL of the key service. */
      readonly kacls_url?: string
      /** Google: key that wraps. */
      readonly wrapping_key?: string
      /** Google: key that signs tokens of the service. */
      readonly signing_key?: string
      /** Google and Microsoft: key of tests. */
      readonly trial_key?: string
      /** Microsoft: URL before the names of keys. */
      readonly service_url?: string
      /** Microsoft: one for each key. */
      readonly key_urls?: readonly string[]
      /** Microsoft: ids of keys by their names. */
      readonly keys?: Readonly<Record<string, string>>
    }[]
  }
  /** Start a stopped external key store again */
  readonly 'external.start': {
    readonly path: {
      /** aws, google, microsoft or azure */
      readonly name: string
    }
    readonly reply: {
      readonly name: string
      /** Whether the settings of this node enable it. */
      readonly enabled: boolean
      /** Address of this service for clouds: `kms_public_url`, if it is set. */
      readonly public_url: string
      readonly stopped: null | {
        readonly at: string
        readonly by: string
      }
      /** AWS and Azure: URL of this service. */
      readonly endpoint?: string
      /** AWS: access key of the settings, for the first path. */
      readonly access_key_id?: string
      /** AWS and Azure: one for each store. */
      readonly paths?: readonly string[]
      /** AWS, if it needs a client certificate, and Azure: permitted Common Names. */
      readonly client_names?: readonly string[]
      /** Google: URL of the key service. */
      readonly kacls_url?: string
      /** Google: key that wraps. */
      readonly wrapping_key?: string
      /** Google: key that signs tokens of the service. */
      readonly signing_key?: string
      /** Google and Microsoft: key of tests. */
      readonly trial_key?: string
      /** Microsoft: URL before the names of keys. */
      readonly service_url?: string
      /** Microsoft: one for each key. */
      readonly key_urls?: readonly string[]
      /** Microsoft: ids of keys by their names. */
      readonly keys?: Readonly<Record<string, string>>
    }
  }
  /** Stop an external key store: all requests of the cloud are rejected on every node */
  readonly 'external.stop': {
    readonly path: {
      /** aws, google, microsoft or azure */
      readonly name: string
    }
    readonly reply: {
      readonly name: string
      /** Whether the settings of this node enable it. */
      readonly enabled: boolean
      /** Address of this service for clouds: `kms_public_url`, if it is set. */
      readonly public_url: string
      readonly stopped: null | {
        readonly at: string
        readonly by: string
      }
      /** AWS and Azure: URL of this service. */
      readonly endpoint?: string
      /** AWS: access key of the settings, for the first path. */
      readonly access_key_id?: string
      /** AWS and Azure: one for each store. */
      readonly paths?: readonly string[]
      /** AWS, if it needs a client certificate, and Azure: permitted Common Names. */
      readonly client_names?: readonly string[]
      /** Google: URL of the key service. */
      readonly kacls_url?: string
      /** Google: key that wraps. */
      readonly wrapping_key?: string
      /** Google: key that signs tokens of the service. */
      readonly signing_key?: string
      /** Google and Microsoft: key of tests. */
      readonly trial_key?: string
      /** Microsoft: URL before the names of keys. */
      readonly service_url?: string
      /** Microsoft: one for each key. */
      readonly key_urls?: readonly string[]
      /** Microsoft: ids of keys by their names. */
      readonly keys?: Readonly<Record<string, string>>
    }
  }
  /** State of the service and of its parts */
  readonly health: {
    readonly reply: {
      readonly status: 'UP' | 'DOWN'
      readonly latency_ms: number
      readonly dependencies: {
        readonly database: {
          readonly name: string
          readonly status: 'UP' | 'DOWN'
          readonly message?: string
        }
        readonly audit?: {
          readonly name: string
          readonly status: 'UP' | 'DOWN'
          readonly message?: string
        }
        readonly auth_feed?: {
          readonly name: string
          readonly status: 'UP' | 'DOWN'
          readonly message?: string
        }
        readonly restore?: {
          readonly name: string
          readonly status: 'UP' | 'DOWN'
          readonly message?: string
        }
        readonly root_key?: {
          readonly name: string
          readonly status: 'UP' | 'DOWN'
          readonly message?: string
        }
        readonly hsm?: {
          readonly name: string
          readonly status: 'UP' | 'DOWN'
          readonly message?: string
        }
      }
      /** The service waits for shares of its root key; the reply contains the number of entered shares. */
      readonly sealed?: {
        readonly entered: number
        readonly threshold: number
      }
    }
  }
  /** Nodes, certificates, backups, disks, database and settings of the service, for administrators */
  readonly 'health.details': {
    readonly reply: {
      readonly service: string
      readonly version: string
      /** The node that answers: what follows is about it, if nothing else is said. */
      readonly node: string
      readonly started_at: string
      /** A result is reused for some seconds. */
      readonly checked_at: string
      /** What is wrong, with the way out. Empty: nothing. */
      readonly problems: readonly {
        /** The member of the reply. */
        readonly about: 'parts' | 'nodes' | 'certificates' | 'backups' | 'disks' | 'database' | 'audit' | 'root_key'
        /** danger: something fails now, or soon. */
        readonly level: 'warning' | 'danger'
        readonly problem: string
        readonly remedy: string
        /** Words of a command that helps. */
        readonly command?: readonly string[]
      }[]
      /** As in `GET /health`. */
      readonly parts: {
        readonly database: {
          readonly name: string
          readonly status: 'UP' | 'DOWN'
          readonly message?: string
        }
        readonly audit?: {
          readonly name: string
          readonly status: 'UP' | 'DOWN'
          readonly message?: string
        }
        readonly auth_feed?: {
          readonly name: string
          readonly status: 'UP' | 'DOWN'
          readonly message?: string
        }
        readonly restore?: {
          readonly name: string
          readonly status: 'UP' | 'DOWN'
          readonly message?: string
        }
        readonly root_key?: {
          readonly name: string
          readonly status: 'UP' | 'DOWN'
          readonly message?: string
        }
        readonly hsm?: {
          readonly name: string
          readonly status: 'UP' | 'DOWN'
          readonly message?: string
        }
      }
      /** Nodes that were started with this database, and not forgotten. */
      readonly nodes: readonly {
        readonly node: string
        readonly answered: boolean
        /** Why it did not answer. */
        readonly reason?: string
        /** Number of the last record of its audit log. */
        readonly records?: number
        readonly problems: readonly string[]
      }[]
      /** Those in force; intermediates are left out. */
      readonly certificates: readonly {
        /** HTTPS; the listener beside it; authorities of client certificates, also those of clouds. */
        readonly use: 'https' | 'socket' | 'client_authority'
        readonly subject: string
        readonly issuer: string
        /** subjectAltName */
        readonly names?: string
        readonly not_after: string
        readonly sha256: string
      }[]
      readonly backups: {
        readonly last_backup_at: string | null
        readonly last_drill_at: string | null
      }
      readonly disks: readonly {
        /** Home, audit log or database on this disk. */
        readonly path: string
        readonly free_bytes: number
        readonly total_bytes: number
      }[]
      readonly database: {
        /** sqlite or postgresql */
        readonly engine: string
        readonly version: string
        /** Path of the file, or hosts and name; without user and password. */
        readonly location: string
        /** SQLite: size of the file and its write-ahead log. */
        readonly bytes?: number
        readonly migrations: readonly {
          readonly component: string
          readonly done: number
          readonly pending: number
          /** Carried out by a newer version of the program. */
          readonly newer: number
        }[]
        readonly problems: readonly string[]
      }
      readonly audit: {
        readonly enabled: boolean
        readonly failure_mode: string
        readonly encrypted: boolean
      }
      readonly root_key: {
        /** `root_key_source` */
        readonly source: string
        /** false: a restart could not open the database with it. */
        readonly usable: boolean
        /** false: a sealed service answers `GET /health` alone. */
        readonly sealed: boolean
      }
      /** Settings with another value than their default. */
      readonly settings: readonly {
        readonly name: string
        /** `file`, `environment` or `flag` */
        readonly from: string
        /** Absent for secrets. Users, passwords and queries in addresses are replaced by … */
        readonly value?: unknown
      }[]
    }
  }
  /** Public keys that are Active and tagged jwks */
  readonly jwks: {
    readonly reply: {
      readonly keys: readonly Readonly<Record<string, string>>[]
    }
  }
  /** Add tags to a key */
  readonly 'key.tags.add': {
    readonly path: {
      readonly kid: string
    }
    readonly body: {
      readonly tags: readonly string[]
    }
    readonly reply: {
      readonly kid: string
      readonly tags: readonly string[]
    }
  }
  /** Tags of a key */
  readonly 'key.tags.list': {
    readonly path: {
      readonly kid: string
    }
    readonly reply: {
      readonly kid: string
      readonly tags: readonly string[]
    }
  }
  /** Remove tags from a key */
  readonly 'key.tags.remove': {
    readonly path: {
      readonly kid: string
    }
    readonly body: {
      readonly tags: readonly string[]
    }
    readonly reply: {
      readonly kid: string
      readonly tags: readonly string[]
    }
  }
  /** One KMIP client, with its certificates */
  readonly 'kmip.devices.get': {
    readonly path: {
      readonly name: string
    }
    readonly reply: {
      /** The user that owns the objects of the device. */
      readonly name: string
      /** Those that end last come first. */
      readonly certificates: readonly {
        /** Hexadecimal. */
        readonly serial: string
        /** SHA-256, hexadecimal. */
        readonly fingerprint: string
        /** RFC 4514. */
        readonly issuer?: string
        /** RFC 3339, UTC. */
        readonly not_before: string
        /** RFC 3339, UTC. */
        readonly not_after: string
        /** Revocations by authorities that are not of this installation are not known here. */
        readonly state: 'valid' | 'hold' | 'revoked' | 'expired'
        readonly revoked_at?: string
        readonly reason?: string
        /** local: the local authority issued it (`warder kmip certificate`); authority: one of `/v1/pki/authorities`; presented: another one. */
        readonly source: 'local' | 'authority' | 'presented'
        /** At `/v1/pki/certificates`. */
        readonly id?: string
        /** At `/v1/pki/authorities`. */
        readonly authority?: string
      }[]
      /** End of the certificate that ends last and is not revoked. */
      readonly ends_at?: string
      /** Last message, exact to about a minute; absent: none in the last 400 days. RFC 3339, UTC. */
      readonly last_seen?: string
      /** Version of the protocol at that time. */
      readonly kmip_version?: string
      /** ttlv, json or xml. */
      readonly encoding?: string
      /** Objects that it owns, without earlier versions; 1000: this number or more. */
      readonly keys: number
      readonly blocked: boolean
    }
  }
  /** KMIP clients with a client certificate, in pages */
  readonly 'kmip.devices.list': {
    readonly query?: {
      /** Substring of the name, case-insensitive. */
      readonly search?: string
      /** Only devices whose `ends_at` is within this number of days, from 1 on. */
      readonly expiring_days?: string
      /** `X-Next-After` of the previous page. */
      readonly after?: string
      /** 1 to 1000, default 100. */
      readonly limit?: string
    }
    readonly reply: readonly {
      /** The user that owns the objects of the device. */
      readonly name: string
      /** Those that end last come first. */
      readonly certificates: readonly {
        /** Hexadecimal. */
        readonly serial: string
        /** SHA-256, hexadecimal. */
        readonly fingerprint: string
        /** RFC 4514. */
        readonly issuer?: string
        /** RFC 3339, UTC. */
        readonly not_before: string
        /** RFC 3339, UTC. */
        readonly not_after: string
        /** Revocations by authorities that are not of this installation are not known here. */
        readonly state: 'valid' | 'hold' | 'revoked' | 'expired'
        readonly revoked_at?: string
        readonly reason?: string
        /** local: the local authority issued it (`warder kmip certificate`); authority: one of `/v1/pki/authorities`; presented: another one. */
        readonly source: 'local' | 'authority' | 'presented'
        /** At `/v1/pki/certificates`. */
        readonly id?: string
        /** At `/v1/pki/authorities`. */
        readonly authority?: string
      }[]
      /** End of the certificate that ends last and is not revoked. */
      readonly ends_at?: string
      /** Last message, exact to about a minute; absent: none in the last 400 days. RFC 3339, UTC. */
      readonly last_seen?: string
      /** Version of the protocol at that time. */
      readonly kmip_version?: string
      /** ttlv, json or xml. */
      readonly encoding?: string
      /** Objects that it owns, without earlier versions; 1000: this number or more. */
      readonly keys: number
      readonly blocked: boolean
    }[]
    readonly paged: true
  }
  /** Send a test notice to the webhook and by e-mail, at once */
  readonly 'notices.test': {
    readonly body: {
      /** Only this receiver; absent: all. */
      readonly to?: 'webhook' | 'email' | null
    }
    readonly reply: {
      readonly receivers: readonly {
        readonly to: 'webhook' | 'email'
        readonly outcome: 'delivered' | 'failed' | 'not_configured'
        /** The reply of the receiver, or the reason why there was none. */
        readonly reply: string
      }[]
    }
  }
  /** The ACME accounts of an authority */
  readonly 'pki.acme.accounts.list': {
    readonly path: {
      readonly id: string
    }
    readonly query?: {
      readonly after?: string
    }
    readonly reply: {
      readonly accounts: readonly {
        readonly id: string
        readonly owner: string
        readonly status: string
        readonly contact: readonly string[]
        readonly created_at: string
        readonly credential?: string
      }[]
      readonly next?: string
    }
    readonly paged: true
  }
  /** Revoke the access of an account; its certificates stay valid */
  readonly 'pki.acme.accounts.revoke': {
    readonly path: {
      readonly id: string
      readonly account: string
    }
    readonly reply: undefined
  }
  /** Close an authority for ACME */
  readonly 'pki.acme.close': {
    readonly path: {
      readonly id: string
    }
    readonly reply: undefined
  }
  /** Create a credential that binds one ACME account to the caller */
  readonly 'pki.acme.credentials.create': {
    readonly path: {
      readonly id: string
    }
    readonly body: {
      /** Description for users. */
      readonly name?: string | null
      /** Time in which an account can be bound with it. */
      readonly days?: number | null
    }
    readonly reply: {
      readonly kid: string
      /** Base64url; shown only once. */
      readonly hmac_key: string
      readonly directory: string
      readonly expires_at: string
    }
  }
  /** Delete a credential; an account that was bound with it stays */
  readonly 'pki.acme.credentials.delete': {
    readonly path: {
      readonly id: string
      readonly kid: string
    }
    readonly reply: undefined
  }
  /** The credentials of an authority, without their keys */
  readonly 'pki.acme.credentials.list': {
    readonly path: {
      readonly id: string
    }
    readonly query?: {
      readonly after?: string
    }
    readonly reply: {
      readonly credentials: readonly {
        readonly kid: string
        readonly owner: string
        readonly name: string
        readonly created_at: string
        /** Time until which an account can be bound with it. */
        readonly expires_at: string
        /** Account that was bound with it. */
        readonly account?: string
      }[]
      readonly next?: string
    }
    readonly paged: true
  }
  /** Open an authority for ACME, or change its ACME settings */
  readonly 'pki.acme.open': {
    readonly path: {
      readonly id: string
    }
    readonly body: {
      readonly profile?: 'server' | 'client' | null
      /** Validity of certificates. */
      readonly days?: number | null
      /** Whether accounts require an external account binding (default true). */
      readonly external_account_required?: boolean | null
      readonly challenges?: readonly ('http-01' | 'dns-01' | 'tls-alpn-01')[] | null
      readonly orders_per_hour?: number | null
      /** Names of the authority in CAA records (RFC 8659). With at least one, the CAA records of DNS names are checked before a certificate is issued. */
      readonly caa_identities?: readonly string[] | null
      readonly terms_of_service?: string | null
      readonly website?: string | null
    }
    readonly reply: {
      /** Address of the directory for clients. */
      readonly directory: string
      readonly profile: string
      readonly days: number
      readonly external_account_required: boolean
      readonly challenges: readonly string[]
      readonly orders_per_hour: number
      readonly caa_identities?: readonly string[]
      readonly terms_of_service?: string
      readonly website?: string
    }
  }
  /** ACME settings of an authority */
  readonly 'pki.acme.show': {
    readonly path: {
      readonly id: string
    }
    readonly reply: {
      /** Address of the directory for clients. */
      readonly directory: string
      readonly profile: string
      readonly days: number
      readonly external_account_required: boolean
      readonly challenges: readonly string[]
      readonly orders_per_hour: number
      readonly caa_identities?: readonly string[]
      readonly terms_of_service?: string
      readonly website?: string
    }
  }
  /** Create or import a certificate authority */
  readonly 'pki.authorities.create': {
    readonly body: {
      /** RFC 4514: `CN=Root, O=Acme` */
      readonly subject?: string | null
      /** RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA, MLDSA44, ML-DSA-65, ML-DSA-87; SLH-DSA by the names of RFC 9909 (SLH-DSA-SHA2-128s), ML-KEM by those of RFC 9935 (ML-KEM-768). For an authority all except RSASSA-PSS and ML-KEM. */
      readonly alg?: string | null
      /** RSA: 2048 to 8192, default 2048. */
      readonly bits?: number | null
      /** An existing private key, instead of a new one. */
      readonly kid?: string | null
      readonly days?: number | null
      /** Authority that signs the certificate; absent: it signs itself. */
      readonly issuer?: string | null
      /** Maximum number of authorities below it in a path. */
      readonly path_length?: number | null
      /** `DNS:example.com`, `IP:192.0.2.0/24`, `email:.example.com`, `URI:.example.com` */
      readonly permitted_names?: readonly string[] | null
      /** `DNS:example.com`, `IP:192.0.2.0/24`, `email:.example.com`, `URI:.example.com` */
      readonly excluded_names?: readonly string[] | null
      /** For an import: its certificate and chain, PEM; or only the certificate, DER in base64. Requires kid or key. */
      readonly certificate?: string | null
      /** For an import: its private key, as POST /v1/crypto/keys accepts it. Key and authority are stored in one commit. */
      readonly key?: {
        /** oct, RSA, EC, OKP, AKP or ABE */
        readonly kty: string
        /** The key is bound to it. Required for oct. */
        readonly alg?: string | null
        /** P-256, P-384, P-521, Ed25519 or X25519 */
        readonly crv?: string | null
        /** RSA: 2048 to 8192, default 2048. For an import or another type: the size of the key. */
        readonly bits?: number | null
        readonly tags?: readonly string[] | null
        /** false: no user can export the secret or private key, wrapped or not, not even its owner (KMIP: not Extractable, Sensitive), unless a user with the right to modify its attributes changes that over KMIP. Default true: a KMIP client with the right can export it. */
        readonly ext?: boolean | null
        /** Name of an HSM of the settings. The key is generated in this HSM and never leaves it. Alternatively, set kid to an identifier hsm::NAME::LABEL. */
        readonly hsm?: string | null
        /** For an import: sig or enc limits the key to that use (RFC 7517 §4.2). */
        readonly use?: string | null
        /** For an import: limits the key to these operations (RFC 7517 §4.3). */
        readonly key_ops?: readonly string[] | null
        /** For an import: accepted without effect. */
        readonly kid?: unknown
        /** For an import: accepted without effect. */
        readonly x5u?: unknown
        /** For an import: accepted without effect. */
        readonly x5c?: unknown
        /** For an import: accepted without effect. */
        readonly x5t?: unknown
        /** For an import: accepted without effect. */
        readonly 'x5t#S256'?: unknown
        /** base64url */
        readonly k?: string | null
        /** base64url */
        readonly n?: string | null
        /** base64url */
        readonly e?: string | null
        /** base64url */
        readonly d?: string | null
        /** base64url */
        readonly p?: string | null
        /** base64url */
        readonly q?: string | null
        /** base64url */
        readonly dp?: string | null
        /** base64url */
        readonly dq?: string | null
        /** base64url */
        readonly qi?: string | null
        /** base64url */
        readonly x?: string | null
        /** base64url */
        readonly y?: string | null
        /** base64url */
        readonly priv?: string | null
        /** base64url */
        readonly pub?: string | null
        /** ABE, a master key: dimension to attributes. `::<` after a dimension makes it a hierarchy, lowest first; `::+` after an attribute adds post-quantum protection. */
        readonly access_structure?: Readonly<Record<string, readonly string[]>> | null
        /** ABE, a user key: its master key. Requires the right derivekey on it. */
        readonly master?: string | null
        /** ABE, a user key: its policy, such as `Team::Blue && Level::High`. */
        readonly policy?: string | null
      } | null
      /** Profiles of certificates that it issues; absent: all. */
      readonly profiles?: readonly ('server' | 'client' | 'code_signing' | 'spiffe' | 'authority')[] | null
      /** Maximum validity of the certificates that it issues. */
      readonly max_days?: number | null
    }
    readonly reply: {
      /** Identifies its revocation list in /public/certificates. */
      readonly id: string
      readonly kid: string
      /** PEM */
      readonly certificate: string
      /** The chain up to the root, nearest issuer first, PEM; empty for a root. */
      readonly chain: string
      /** false: the key usage of its certificate lacks cRLSign, so no revocation list is published (RFC 5280 §6.3.3); use OCSP. */
      readonly signs_crl: boolean
      /** Address in the certificates that it issues; absent while the service does not know its own address. */
      readonly crl_url?: string
      readonly ocsp_url?: string
    }
  }
  /** One authority */
  readonly 'pki.authorities.get': {
    readonly path: {
      readonly id: string
    }
    readonly reply: {
      readonly id: string
      readonly kid: string
      /** RFC 4514 */
      readonly subject: string
      /** Id of the authority of this service that issued it; null for a root, and below an authority that is not here. */
      readonly issuer: string | null
      /** RFC 4514; the subject for a root. */
      readonly issuer_name: string
      /** SHA-256 of its certificate, hexadecimal. */
      readonly fingerprint: string
      readonly not_before: string
      readonly not_after: string
      /** Maximum number of authorities below it in a path. */
      readonly path_length?: number
      readonly profiles?: readonly string[]
      readonly max_days?: number
      /** Certificates that it issued and that have not expired, also those of its OCSP responders; counted up to 1000. */
      readonly unexpired: number
      readonly crl?: {
        readonly number: number
        readonly this_update: string
        readonly next_update: string
      }
      /** false: the key usage of its certificate lacks cRLSign, so no revocation list is published (RFC 5280 §6.3.3); use OCSP. */
      readonly signs_crl: boolean
      readonly crl_url?: string
      readonly ocsp_url?: string
      /** PEM */
      readonly certificate: string
      /** The chain up to the root, nearest issuer first, PEM. */
      readonly chain: string
    }
  }
  /** Authorities that the caller owns or has a right on, in pages */
  readonly 'pki.authorities.list': {
    readonly query?: {
      readonly after?: string
      /** 1 to 100, default 100. */
      readonly limit?: string
    }
    readonly reply: readonly {
      readonly id: string
      readonly kid: string
      /** RFC 4514 */
      readonly subject: string
      /** Id of the authority of this service that issued it; null for a root, and below an authority that is not here. */
      readonly issuer: string | null
      /** RFC 4514; the subject for a root. */
      readonly issuer_name: string
      /** SHA-256 of its certificate, hexadecimal. */
      readonly fingerprint: string
      readonly not_before: string
      readonly not_after: string
      /** Maximum number of authorities below it in a path. */
      readonly path_length?: number
      readonly profiles?: readonly string[]
      readonly max_days?: number
      /** Certificates that it issued and that have not expired, also those of its OCSP responders; counted up to 1000. */
      readonly unexpired: number
      readonly crl?: {
        readonly number: number
        readonly this_update: string
        readonly next_update: string
      }
      /** false: the key usage of its certificate lacks cRLSign, so no revocation list is published (RFC 5280 §6.3.3); use OCSP. */
      readonly signs_crl: boolean
      readonly crl_url?: string
      readonly ocsp_url?: string
    }[]
    readonly paged: true
  }
  /** Get a certificate as JSON, PEM, DER or with its chain, by the header Accept */
  readonly 'pki.certificates.get': {
    readonly path: {
      readonly id: string
    }
    readonly reply: {
      /** Id of the object. */
      readonly id?: string
      /** Hexadecimal. */
      readonly serial: string
      /** RFC 4514 */
      readonly subject: string
      readonly state: 'valid' | 'hold' | 'revoked' | 'expired'
      readonly profile?: string
      readonly owner: string
      readonly not_before: string
      readonly not_after: string
      readonly authority?: string
      readonly revoked_at?: string
      readonly reason?: string
      readonly invalidity_date?: string
      readonly issuer?: string
      readonly names?: readonly string[]
      /** SHA-256, hexadecimal. */
      readonly fingerprint?: string
      /** PEM; absent if the object was removed. */
      readonly certificate?: string
    }
  }
  /** Issue a certificate for a request, a public key, an existing key, or a new one */
  readonly 'pki.certificates.issue': {
    readonly path: {
      readonly id: string
    }
    readonly body: {
      /** PKCS#10 request, PEM; or DER in base64 */
      readonly csr?: string | null
      /** SubjectPublicKeyInfo, PEM; or DER in base64 */
      readonly public_key?: string | null
      /** An existing key. */
      readonly kid?: string | null
      /** RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA, MLDSA44, ML-DSA-65, ML-DSA-87; SLH-DSA by the names of RFC 9909 (SLH-DSA-SHA2-128s), ML-KEM by those of RFC 9935 (ML-KEM-768). For an authority all except RSASSA-PSS and ML-KEM. */
      readonly alg?: string | null
      /** RSA: 2048 to 8192, default 2048. */
      readonly bits?: number | null
      /** RFC 4514: `CN=Root, O=Acme` */
      readonly subject?: string | null
      readonly profile?: 'server' | 'client' | 'code_signing' | 'spiffe' | null
      /** DNS names, IP addresses, mailboxes and URIs, with or without the prefix `DNS:`, `IP:`, `email:` or `URI:`. */
      readonly names?: readonly string[] | null
      readonly days?: number | null
    }
    readonly reply: {
      readonly id: string
      /** Hexadecimal. */
      readonly serial: string
      /** PEM */
      readonly certificate: string
      /** The authority and its chain, PEM. */
      readonly chain: string
      /** The private key, if it is in this service. */
      readonly kid?: string
    }
  }
  /** Certificates of an authority, ordered by expiry, in pages */
  readonly 'pki.certificates.list': {
    readonly path: {
      readonly id: string
    }
    readonly query?: {
      /** X-Next-After of the previous page. */
      readonly after?: string
      /** 1 to 1000, default 100. */
      readonly limit?: string
      readonly state?: 'valid' | 'hold' | 'revoked' | 'expired'
      /** Substring of the subject, case-insensitive. */
      readonly subject?: string
      /** RFC 3339 */
      readonly expires_before?: string
    }
    readonly reply: readonly {
      /** Id of the object. */
      readonly id?: string
      /** Hexadecimal. */
      readonly serial: string
      /** RFC 4514 */
      readonly subject: string
      readonly state: 'valid' | 'hold' | 'revoked' | 'expired'
      readonly profile?: string
      readonly owner: string
      readonly not_before: string
      readonly not_after: string
      readonly authority?: string
      readonly revoked_at?: string
      readonly reason?: string
      readonly invalidity_date?: string
      /** The certificate that replaced it, if that is not revoked. */
      readonly replaced_by?: string
      /** Whether it is renewed automatically, as the certificates of OCSP responders always are. */
      readonly renews: boolean
    }[]
    readonly paged: true
  }
  /** Release a certificate from hold */
  readonly 'pki.certificates.release': {
    readonly path: {
      readonly id: string
    }
    readonly reply: {
      /** Id of the object. */
      readonly id?: string
      /** Hexadecimal. */
      readonly serial: string
      /** RFC 4514 */
      readonly subject: string
      readonly state: 'valid' | 'hold' | 'revoked' | 'expired'
      readonly profile?: string
      readonly owner: string
      readonly not_before: string
      readonly not_after: string
      readonly authority?: string
      readonly revoked_at?: string
      readonly reason?: string
      readonly invalidity_date?: string
    }
  }
  /** Renew a certificate: same authority, same key, same content */
  readonly 'pki.certificates.renew': {
    readonly path: {
      readonly id: string
    }
    readonly body?: {
      readonly days?: number | null
    }
    readonly reply: {
      readonly id: string
      /** Hexadecimal. */
      readonly serial: string
      /** PEM */
      readonly certificate: string
      /** The authority and its chain, PEM. */
      readonly chain: string
      /** The private key, if it is in this service. */
      readonly kid?: string
    }
  }
  /** Get the automatic renewal of a certificate */
  readonly 'pki.certificates.renewal.get': {
    readonly path: {
      readonly id: string
    }
    readonly reply: {
      readonly automatic: boolean
      readonly new_key: boolean
      readonly interval_days?: number
      readonly due_at?: string
    }
  }
  /** Set the automatic renewal of a certificate */
  readonly 'pki.certificates.renewal.set': {
    readonly path: {
      readonly id: string
    }
    readonly body: {
      /** Whether it is renewed automatically before it expires. */
      readonly automatic: boolean
      /** With a new key each time, which has to be one of here: the pair is renewed. Default: false. */
      readonly new_key?: boolean | null
      /** Days after its creation or last renewal. Default: two thirds of its validity. */
      readonly interval_days?: number | null
    }
    readonly reply: {
      readonly automatic: boolean
      readonly new_key: boolean
      readonly interval_days?: number
      readonly due_at?: string
    }
  }
  /** Revoke a certificate */
  readonly 'pki.certificates.revoke': {
    readonly path: {
      readonly id: string
    }
    readonly body?: {
      /** RFC 5280 §5.3.1; absent: unspecified. Only certificateHold can be lifted, by release. */
      readonly reason?: 'unspecified' | 'keyCompromise' | 'cACompromise' | 'affiliationChanged' | 'superseded' | 'cessationOfOperation' | 'certificateHold' | 'removeFromCRL' | 'privilegeWithdrawn' | 'aACompromise' | null
      /** Time since which the key is not trusted. */
      readonly invalidity_date?: string | null
    }
    readonly reply: {
      /** Id of the object. */
      readonly id?: string
      /** Hexadecimal. */
      readonly serial: string
      /** RFC 4514 */
      readonly subject: string
      readonly state: 'valid' | 'hold' | 'revoked' | 'expired'
      readonly profile?: string
      readonly owner: string
      readonly not_before: string
      readonly not_after: string
      readonly authority?: string
      readonly revoked_at?: string
      readonly reason?: string
      readonly invalidity_date?: string
    }
  }
  /** Create a request (PKCS#10) for a certificate of an authority, signed by an external one */
  readonly 'pki.requests.create': {
    readonly body: {
      /** RFC 4514: `CN=Root, O=Acme` */
      readonly subject: string
      /** RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA, MLDSA44, ML-DSA-65, ML-DSA-87; SLH-DSA by the names of RFC 9909 (SLH-DSA-SHA2-128s), ML-KEM by those of RFC 9935 (ML-KEM-768). For an authority all except RSASSA-PSS and ML-KEM. */
      readonly alg?: string | null
      /** RSA: 2048 to 8192, default 2048. */
      readonly bits?: number | null
      /** An existing private key, instead of a new one. */
      readonly kid?: string | null
      /** DNS names, IP addresses, mailboxes and URIs, with or without the prefix `DNS:`, `IP:`, `email:` or `URI:`. */
      readonly names?: readonly string[] | null
    }
    readonly reply: {
      readonly kid: string
      /** PEM */
      readonly csr: string
    }
  }
  /** HSMs of the settings, and whether each can be used now */
  readonly 'server.hsms': {
    readonly reply: readonly {
      /** Prefix of the identifiers of its keys, hsm::NAME. */
      readonly prefix: string
      readonly model: string
      readonly slots: readonly {
        readonly slot_id: number | null
        /** Whether its token can be used now. */
        readonly accessible: boolean
      }[]
    }[]
  }
  /** Version and capabilities of this server */
  readonly 'server.info': {
    readonly reply: {
      readonly version: string
      /** Whether only algorithms of FIPS builds are accepted. */
      readonly fips_mode: boolean
      /** Whether the FIPS provider of OpenSSL is active. */
      readonly fips_provider: boolean
      /** The name, version and status that the active FIPS provider reports. */
      readonly fips_provider_details?: {
        readonly name: string
        readonly version: string
        readonly build: string
        readonly status: 'active' | 'error'
        readonly self_tests: 'passed' | 'failed'
      }
      readonly hsm_instances: readonly {
        /** Prefix of the identifiers of its keys, hsm::NAME. */
        readonly prefix: string
        readonly model: string
        readonly slots: readonly {
          readonly slot_id: number | null
          /** Whether its token can be used now. */
          readonly accessible: boolean
        }[]
      }[]
      readonly default_username: string
      readonly external_stores: readonly {
        readonly name: string
        readonly stopped: boolean
      }[]
    }
  }
  /** Identity of the caller */
  readonly 'server.me': {
    readonly reply: {
      readonly user: string
      /** Roles of the credential, as grants name them. */
      readonly roles?: readonly string[]
      /** Latest end of the session of the web page; absent for other credentials. */
      readonly until?: string
    }
  }
  /** The service, its version, and its ways to log in, for the console */
  readonly 'ui.info': {
    readonly reply: {
      readonly service: 'auth' | 'kms'
      readonly version: string
      /** The other service of the installation, if its address is known. */
      readonly other: {
        readonly service: 'auth' | 'kms'
        readonly url: string
      } | null
      /** Logins of the key management service: at the authentication service, or here. The authentication service has methods for each realm: `login.methods`. */
      readonly ways: readonly ('handover' | 'password' | 'saml' | 'openid')[]
      /** Realms with SAML, if they are disclosed. */
      readonly realms: readonly string[]
      /** SHA-256 of the certificate at `/ui/authority.crt`, to compare with the one that the start printed; null if the certificate of the service is not of a local authority. */
      readonly authority_sha256: string | null
      /** Whether the request has the cookie of a session or another credential, valid or not. */
      readonly has_credential: boolean
    }
  }
  /** Log in for the web page */
  readonly 'ui.login': {
    readonly body: {
      readonly username: string
      readonly password: string
      /** A TOTP code or a recovery code. */
      readonly totp_code?: string | null
    }
    readonly reply: {
      readonly next_step: string
    }
  }
  /** End the session of the web page */
  readonly 'ui.logout': {
    readonly reply: undefined
  }
  /** Enter one share of the root key of a sealed service */
  readonly unseal: {
    readonly body: {
      /** One line that begins with warder-share-1. */
      readonly share: string
    }
    readonly reply: {
      readonly sealed: boolean
      /** Shares that were entered. */
      readonly entered?: number
      /** Shares that are needed. */
      readonly threshold?: number
    }
  }
  /** Version of the service and of its cryptographic library */
  readonly version: {
    readonly reply: string
  }
}

/** Path and method of each operation. */
export const routes = {
  'access.approvals.approve': { method: 'POST', path: '/access/approvals/{id}/approve' },
  'access.approvals.ask': { method: 'POST', path: '/access/approvals' },
  'access.approvals.get': { method: 'GET', path: '/access/approvals/{id}' },
  'access.approvals.list': { method: 'GET', path: '/access/approvals' },
  'access.approvals.refuse': { method: 'POST', path: '/access/approvals/{id}/refuse' },
  'access.approvals.withdraw': { method: 'POST', path: '/access/approvals/{id}/withdraw' },
  'access.block': { method: 'POST', path: '/access/block' },
  'access.blocked': { method: 'GET', path: '/access/block' },
  'access.create': { method: 'GET', path: '/access/create' },
  'access.explain': { method: 'POST', path: '/access/explain' },
  'access.grant': { method: 'POST', path: '/access/grant' },
  'access.groups.delete': { method: 'DELETE', path: '/access/groups/{name}' },
  'access.groups.list': { method: 'GET', path: '/access/groups' },
  'access.groups.read': { method: 'GET', path: '/access/groups/{name}' },
  'access.groups.replace': { method: 'PUT', path: '/access/groups/{name}' },
  'access.holdings': { method: 'GET', path: '/access/holdings' },
  'access.leaver': { method: 'GET', path: '/access/leaver' },
  'access.list': { method: 'GET', path: '/access/list/{object_id}' },
  'access.obtained': { method: 'GET', path: '/access/obtained' },
  'access.officers.activate': { method: 'POST', path: '/access/crypto_officer/ceremony/activate' },
  'access.officers.begin': { method: 'POST', path: '/access/crypto_officer/ceremony' },
  'access.officers.ceremony': { method: 'GET', path: '/access/crypto_officer/ceremony' },
  'access.officers.disable': { method: 'POST', path: '/access/crypto_officer/disable' },
  'access.officers.status': { method: 'GET', path: '/access/crypto_officer/status' },
  'access.owned': { method: 'GET', path: '/access/owned' },
  'access.privileged': { method: 'GET', path: '/access/privileged' },
  'access.report': { method: 'GET', path: '/access/report' },
  'access.revoke': { method: 'POST', path: '/access/revoke' },
  'access.transfer': { method: 'POST', path: '/access/transfer' },
  'access.unblock': { method: 'DELETE', path: '/access/block' },
  'acme.new_account': { method: 'POST', path: '/acme/{authority}/new-account' },
  'acme.new_nonce': { method: 'GET', path: '/acme/{authority}/new-nonce' },
  'audit.counts': { method: 'GET', path: '/v1/audit/counts' },
  'audit.node': { method: 'POST', path: '/v1/audit/node' },
  'audit.nodes.forget': { method: 'DELETE', path: '/v1/audit/nodes/{node}' },
  'audit.records': { method: 'GET', path: '/v1/audit/records' },
  'audit.verify': { method: 'GET', path: '/v1/audit/verify' },
  'crypto.aliases.create': { method: 'POST', path: '/v1/crypto/aliases' },
  'crypto.aliases.delete': { method: 'DELETE', path: '/v1/crypto/aliases/{alias}' },
  'crypto.aliases.get': { method: 'GET', path: '/v1/crypto/aliases/{alias}' },
  'crypto.aliases.list': { method: 'GET', path: '/v1/crypto/aliases' },
  'crypto.aliases.move': { method: 'PUT', path: '/v1/crypto/aliases/{alias}' },
  'crypto.batch': { method: 'POST', path: '/v1/crypto/batch' },
  'crypto.datakey': { method: 'POST', path: '/v1/crypto/datakey' },
  'crypto.decrypt': { method: 'POST', path: '/v1/crypto/decrypt' },
  'crypto.encrypt': { method: 'POST', path: '/v1/crypto/encrypt' },
  'crypto.hsms.keys.list': { method: 'GET', path: '/v1/crypto/hsms/{hsm}/keys' },
  'crypto.hsms.keys.register': { method: 'POST', path: '/v1/crypto/hsms/{hsm}/keys' },
  'crypto.hsms.wrapping.check': { method: 'POST', path: '/v1/crypto/hsms/{hsm}/wrapping' },
  'crypto.hsms.wrapping.get': { method: 'GET', path: '/v1/crypto/hsms/{hsm}/wrapping' },
  'crypto.keys.create': { method: 'POST', path: '/v1/crypto/keys' },
  'crypto.keys.dates': { method: 'PATCH', path: '/v1/crypto/keys/{kid}' },
  'crypto.keys.destroy': { method: 'DELETE', path: '/v1/crypto/keys/{kid}' },
  'crypto.keys.disable': { method: 'POST', path: '/v1/crypto/keys/{kid}/disable' },
  'crypto.keys.enable': { method: 'POST', path: '/v1/crypto/keys/{kid}/enable' },
  'crypto.keys.get': { method: 'GET', path: '/v1/crypto/keys/{kid}' },
  'crypto.keys.list': { method: 'GET', path: '/v1/crypto/keys' },
  'crypto.keys.restore': { method: 'POST', path: '/v1/crypto/keys/{kid}/restore' },
  'crypto.keys.rotate': { method: 'POST', path: '/v1/crypto/keys/{kid}/rotate' },
  'crypto.keys.rotation.get': { method: 'GET', path: '/v1/crypto/keys/{kid}/rotation' },
  'crypto.keys.rotation.set': { method: 'PUT', path: '/v1/crypto/keys/{kid}/rotation' },
  'crypto.keys.structure': { method: 'GET', path: '/v1/crypto/keys/{kid}/structure' },
  'crypto.keys.unwrap': { method: 'POST', path: '/v1/crypto/keys/unwrap' },
  'crypto.keys.uses': { method: 'GET', path: '/v1/crypto/keys/{kid}/uses' },
  'crypto.keys.versions': { method: 'GET', path: '/v1/crypto/keys/{kid}/versions' },
  'crypto.keys.versions.activate': { method: 'POST', path: '/v1/crypto/keys/{kid}/versions/{version}/activate' },
  'crypto.keys.versions.destroy': { method: 'POST', path: '/v1/crypto/keys/{kid}/versions/{version}/destroy' },
  'crypto.keys.versions.disable': { method: 'POST', path: '/v1/crypto/keys/{kid}/versions/{version}/disable' },
  'crypto.keys.versions.enable': { method: 'POST', path: '/v1/crypto/keys/{kid}/versions/{version}/enable' },
  'crypto.keys.versions.restore': { method: 'POST', path: '/v1/crypto/keys/{kid}/versions/{version}/restore' },
  'crypto.keys.versions.revoke': { method: 'POST', path: '/v1/crypto/keys/{kid}/versions/{version}/revoke' },
  'crypto.mac': { method: 'POST', path: '/v1/crypto/mac' },
  'crypto.rewrap': { method: 'POST', path: '/v1/crypto/rewrap' },
  'crypto.sign': { method: 'POST', path: '/v1/crypto/sign' },
  'crypto.verify': { method: 'POST', path: '/v1/crypto/verify' },
  'external.aws.keys.create': { method: 'POST', path: '/v1/external-stores/aws/access-keys' },
  'external.aws.keys.delete': { method: 'DELETE', path: '/v1/external-stores/aws/access-keys/{id}' },
  'external.aws.keys.list': { method: 'GET', path: '/v1/external-stores/aws/access-keys' },
  'external.check': { method: 'POST', path: '/v1/external-stores/{name}/check' },
  'external.list': { method: 'GET', path: '/v1/external-stores' },
  'external.start': { method: 'POST', path: '/v1/external-stores/{name}/start' },
  'external.stop': { method: 'POST', path: '/v1/external-stores/{name}/stop' },
  health: { method: 'GET', path: '/health' },
  'health.details': { method: 'GET', path: '/v1/health/details' },
  jwks: { method: 'GET', path: '/.well-known/jwks.json' },
  'key.tags.add': { method: 'POST', path: '/v1/crypto/keys/{kid}/tags' },
  'key.tags.list': { method: 'GET', path: '/v1/crypto/keys/{kid}/tags' },
  'key.tags.remove': { method: 'DELETE', path: '/v1/crypto/keys/{kid}/tags' },
  'kmip.devices.get': { method: 'GET', path: '/v1/kmip/devices/{name}' },
  'kmip.devices.list': { method: 'GET', path: '/v1/kmip/devices' },
  'notices.test': { method: 'POST', path: '/v1/notices/test' },
  'pki.acme.accounts.list': { method: 'GET', path: '/v1/pki/authorities/{id}/acme/accounts' },
  'pki.acme.accounts.revoke': { method: 'DELETE', path: '/v1/pki/authorities/{id}/acme/accounts/{account}' },
  'pki.acme.close': { method: 'DELETE', path: '/v1/pki/authorities/{id}/acme' },
  'pki.acme.credentials.create': { method: 'POST', path: '/v1/pki/authorities/{id}/acme/credentials' },
  'pki.acme.credentials.delete': { method: 'DELETE', path: '/v1/pki/authorities/{id}/acme/credentials/{kid}' },
  'pki.acme.credentials.list': { method: 'GET', path: '/v1/pki/authorities/{id}/acme/credentials' },
  'pki.acme.open': { method: 'PUT', path: '/v1/pki/authorities/{id}/acme' },
  'pki.acme.show': { method: 'GET', path: '/v1/pki/authorities/{id}/acme' },
  'pki.authorities.create': { method: 'POST', path: '/v1/pki/authorities' },
  'pki.authorities.get': { method: 'GET', path: '/v1/pki/authorities/{id}' },
  'pki.authorities.list': { method: 'GET', path: '/v1/pki/authorities' },
  'pki.certificates.get': { method: 'GET', path: '/v1/pki/certificates/{id}' },
  'pki.certificates.issue': { method: 'POST', path: '/v1/pki/authorities/{id}/certificates' },
  'pki.certificates.list': { method: 'GET', path: '/v1/pki/authorities/{id}/certificates' },
  'pki.certificates.release': { method: 'POST', path: '/v1/pki/certificates/{id}/release' },
  'pki.certificates.renew': { method: 'POST', path: '/v1/pki/certificates/{id}/renew' },
  'pki.certificates.renewal.get': { method: 'GET', path: '/v1/pki/certificates/{id}/renewal' },
  'pki.certificates.renewal.set': { method: 'PUT', path: '/v1/pki/certificates/{id}/renewal' },
  'pki.certificates.revoke': { method: 'POST', path: '/v1/pki/certificates/{id}/revoke' },
  'pki.requests.create': { method: 'POST', path: '/v1/pki/requests' },
  'server.hsms': { method: 'GET', path: '/hsm/status' },
  'server.info': { method: 'GET', path: '/server-info' },
  'server.me': { method: 'GET', path: '/me' },
  'ui.info': { method: 'GET', path: '/ui/info' },
  'ui.login': { method: 'POST', path: '/ui/login' },
  'ui.logout': { method: 'POST', path: '/ui/logout' },
  unseal: { method: 'POST', path: '/unseal' },
  version: { method: 'GET', path: '/version' },
} as const
