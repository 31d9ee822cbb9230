// Generated from the OpenAPI document of the authentication service: change the declarations there, then run
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
  /** Show the caller, the session and the enrolled second factors */
  readonly 'account.get': {
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: {
      readonly realm_id: string
      readonly username: string
      readonly auth_scheme: string
      readonly session_id: string
      /** Begin of the session, in Unix seconds. */
      readonly created_at: number
      /** End of the session if it is not used before. */
      readonly ends_at: number
      /** Latest end of the session. */
      readonly expires_at: number
      /** Realms; `_` means all of them. */
      readonly administers: readonly string[]
      /** Registered with a password. */
      readonly password: boolean
      /** The credential is as it was created: its user has not chosen the password. */
      readonly password_initial: boolean
      /** An authenticator app is enrolled. */
      readonly totp: boolean
      /** Number of passkeys. */
      readonly passkeys: number
      /** Number of unused codes. */
      readonly recovery_codes: number
    }
  }
  /** Create ten new recovery codes for the caller; earlier ones become invalid */
  readonly 'account.renew_codes': {
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: {
      readonly recovery_codes: readonly string[]
    }
  }
  /** Add a realm to an administrator */
  readonly 'admins.add_realm': {
    readonly path: {
      readonly admin_id: string
      readonly realm_id: string
    }
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: {
      readonly id: string
      readonly realms: readonly string[]
      readonly userpass: string | null
      readonly jwt: string | null
      readonly fido2: string | null
      readonly digital_credentials: Readonly<Record<string, unknown>> | null
      readonly client_certificate: string | null
      readonly saml: string | null
      readonly totp_enabled: boolean
      /** Never returned: the secret is sealed. */
      readonly totp_secret: null
      /** Never returned: it contains the secret. */
      readonly totp_auth_url: null
    }
  }
  /** Create an administrator */
  readonly 'admins.create': {
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly body: ({
      readonly id?: string | null
      readonly realms: readonly string[]
      readonly userpass?: string | null
      readonly jwt?: string | null
      readonly fido2?: string | null
      readonly digital_credentials?: Readonly<Record<string, unknown>> | null
      readonly client_certificate?: string | null
      readonly saml?: string | null
      /** Read-only: ignored. */
      readonly totp_enabled?: boolean | string | null
      /** Read-only: ignored. */
      readonly totp_secret?: boolean | string | null
      /** Read-only: ignored. */
      readonly totp_auth_url?: boolean | string | null
    }) & {
      readonly id: string
    }
    readonly reply: {
      readonly id: string
      readonly realms: readonly string[]
      readonly userpass: string | null
      readonly jwt: string | null
      readonly fido2: string | null
      readonly digital_credentials: Readonly<Record<string, unknown>> | null
      readonly client_certificate: string | null
      readonly saml: string | null
      readonly totp_enabled: boolean
      /** Never returned: the secret is sealed. */
      readonly totp_secret: null
      /** Never returned: it contains the secret. */
      readonly totp_auth_url: null
    }
  }
  /** Delete an administrator; the credential stays */
  readonly 'admins.delete': {
    readonly path: {
      readonly admin_id: string
    }
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: undefined
  }
  /** An administrator */
  readonly 'admins.get': {
    readonly path: {
      readonly admin_id: string
    }
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: {
      readonly id: string
      readonly realms: readonly string[]
      readonly userpass: string | null
      readonly jwt: string | null
      readonly fido2: string | null
      readonly digital_credentials: Readonly<Record<string, unknown>> | null
      readonly client_certificate: string | null
      readonly saml: string | null
      readonly totp_enabled: boolean
      /** Never returned: the secret is sealed. */
      readonly totp_secret: null
      /** Never returned: it contains the secret. */
      readonly totp_auth_url: null
    }
  }
  /** Every administrator */
  readonly 'admins.list': {
    readonly query?: {
      /** 1 to 9999 entries. */
      readonly limit?: string
      /** The key of the last entry of the previous page. */
      readonly after?: string
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: readonly {
      readonly id: string
      readonly realms: readonly string[]
      readonly userpass: string | null
      readonly jwt: string | null
      readonly fido2: string | null
      readonly digital_credentials: Readonly<Record<string, unknown>> | null
      readonly client_certificate: string | null
      readonly saml: string | null
      readonly totp_enabled: boolean
      /** Never returned: the secret is sealed. */
      readonly totp_secret: null
      /** Never returned: it contains the secret. */
      readonly totp_auth_url: null
    }[]
    readonly paged: true
  }
  /** Remove a realm from an administrator */
  readonly 'admins.remove_realm': {
    readonly path: {
      readonly admin_id: string
      readonly realm_id: string
    }
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: {
      readonly id: string
      readonly realms: readonly string[]
      readonly userpass: string | null
      readonly jwt: string | null
      readonly fido2: string | null
      readonly digital_credentials: Readonly<Record<string, unknown>> | null
      readonly client_certificate: string | null
      readonly saml: string | null
      readonly totp_enabled: boolean
      /** Never returned: the secret is sealed. */
      readonly totp_secret: null
      /** Never returned: it contains the secret. */
      readonly totp_auth_url: null
    }
  }
  /** Replace an administrator */
  readonly 'admins.replace': {
    readonly path: {
      readonly admin_id: string
    }
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly body: {
      readonly id?: string | null
      readonly realms: readonly string[]
      readonly userpass?: string | null
      readonly jwt?: string | null
      readonly fido2?: string | null
      readonly digital_credentials?: Readonly<Record<string, unknown>> | null
      readonly client_certificate?: string | null
      readonly saml?: string | null
      /** Read-only: ignored. */
      readonly totp_enabled?: boolean | string | null
      /** Read-only: ignored. */
      readonly totp_secret?: boolean | string | null
      /** Read-only: ignored. */
      readonly totp_auth_url?: boolean | string | null
    }
    readonly reply: {
      readonly id: string
      readonly realms: readonly string[]
      readonly userpass: string | null
      readonly jwt: string | null
      readonly fido2: string | null
      readonly digital_credentials: Readonly<Record<string, unknown>> | null
      readonly client_certificate: string | null
      readonly saml: string | null
      readonly totp_enabled: boolean
      /** Never returned: the secret is sealed. */
      readonly totp_secret: null
      /** Never returned: it contains the secret. */
      readonly totp_auth_url: null
    }
  }
  /** Exchange a RoleID and a SecretID for a token */
  readonly 'approle.login': {
    readonly body: {
      readonly role_id: string
      readonly secret_id?: string | null
    }
    readonly reply: {
      readonly auth: {
        readonly client_token: string
        readonly renewable: boolean
        readonly lease_duration: number
        readonly policies: readonly string[]
        readonly metadata: Readonly<Record<string, string>>
      }
    }
  }
  /** Delete a role, its secret ids and its tokens */
  readonly 'approle.role.delete': {
    readonly path: {
      readonly name: string
    }
    readonly query?: {
      readonly realm?: string
      readonly list?: string
    }
    readonly reply: undefined
  }
  /** The settings of a role */
  readonly 'approle.role.get': {
    readonly path: {
      readonly name: string
    }
    readonly query?: {
      readonly realm?: string
      readonly list?: string
    }
    readonly reply: {
      readonly data: {
        readonly token_ttl: number
        readonly secret_id_ttl: number
        readonly token_policies: readonly string[]
        readonly bind_secret_id: boolean
        /** Absent: no limit. */
        readonly secret_id_num_uses?: number
        /** Absent: no limit. */
        readonly secret_id_bound_cidrs?: readonly string[]
        /** Absent: no limit. */
        readonly token_bound_cidrs?: readonly string[]
        /** Absent: no limit. */
        readonly token_num_uses?: number
        /** Absent: no limit. */
        readonly token_max_ttl?: number
        /** Absent: no limit. */
        readonly token_explicit_max_ttl?: number
      }
      /** Realm of the role. */
      readonly realm: string
    }
  }
  /** Names of the roles that the caller administers */
  readonly 'approle.role.list': {
    readonly query?: {
      readonly realm?: string
      readonly list?: string
    }
    readonly reply: {
      readonly data: {
        readonly keys: readonly string[]
      }
    }
  }
  /** The RoleID of a role */
  readonly 'approle.role.role_id': {
    readonly path: {
      readonly name: string
    }
    readonly query?: {
      readonly realm?: string
      readonly list?: string
    }
    readonly reply: {
      readonly data: {
        readonly role_id: string
      }
    }
  }
  /** Create a role or update its settings */
  readonly 'approle.role.save': {
    readonly path: {
      readonly name: string
    }
    readonly query?: {
      readonly realm?: string
      readonly list?: string
    }
    readonly body?: {
      readonly token_ttl?: number | string | null
      readonly secret_id_ttl?: number | string | null
      readonly token_policies?: readonly string[] | string | null
      /** Deprecated name of token_policies. */
      readonly policies?: readonly string[] | string | null
      readonly bind_secret_id?: boolean | 'true' | 'false' | null
      /** Maximum number of uses of a SecretID; 0 = unlimited. */
      readonly secret_id_num_uses?: number | string | null
      /** Address blocks from which clients may log in with the role. */
      readonly secret_id_bound_cidrs?: readonly string[] | string | null
      readonly local_secret_ids?: boolean | 'true' | 'false' | null
      readonly enable_local_secret_ids?: boolean | 'true' | 'false' | null
      /** Address blocks from which its tokens may be used. */
      readonly token_bound_cidrs?: readonly string[] | string | null
      /** Maximum number of requests with a token; 0 = unlimited. */
      readonly token_num_uses?: number | string | null
      /** Maximum lifetime of a token, including renewals; 0 = unlimited. */
      readonly token_max_ttl?: number | string | null
      /** Like token_max_ttl, but fixed at login: later changes of the role do not affect it. */
      readonly token_explicit_max_ttl?: number | string | null
      /** default or service. */
      readonly token_type?: string | null
      readonly token_period?: number | string | null
      readonly period?: number | string | null
      /** Has no effect: there is no default policy. */
      readonly token_no_default_policy?: boolean | 'true' | 'false' | null
    }
    readonly reply: undefined
  }
  /** Create a secret id; its value is returned once */
  readonly 'approle.secret_id.create': {
    readonly path: {
      readonly name: string
    }
    readonly query?: {
      readonly realm?: string
      readonly list?: string
    }
    readonly body?: {
      /** At most secret_id_ttl of the role, which is the default if this is absent or 0. */
      readonly ttl?: number | string | null
      readonly num_uses?: number | string | null
      /** Address blocks from which the SecretID may be used, within those of the role. */
      readonly cidr_list?: readonly string[] | string | null
      /** Address blocks of its tokens, within those of the role. */
      readonly token_bound_cidrs?: readonly string[] | string | null
      /** Not supported: must be empty or {}. */
      readonly metadata?: string | null
    }
    readonly reply: {
      readonly data: {
        readonly secret_id: string
        readonly secret_id_accessor: string
      }
    }
  }
  /** Destroy a SecretID of this role, by its accessor or its value */
  readonly 'approle.secret_id.destroy': {
    readonly path: {
      readonly name: string
    }
    readonly query?: {
      readonly realm?: string
      readonly list?: string
    }
    readonly body: {
      readonly secret_id_accessor?: string | null
      /** The SecretID. */
      readonly secret_id?: string | null
    }
    readonly reply: undefined
  }
  /** Accessors of the usable SecretIDs of a role, at most a thousand */
  readonly 'approle.secret_id.list': {
    readonly path: {
      readonly name: string
    }
    readonly query?: {
      readonly realm?: string
      readonly list?: string
    }
    readonly reply: {
      readonly data: {
        readonly keys: readonly string[]
      }
    }
  }
  /** Properties of a SecretID */
  readonly 'approle.secret_id.lookup': {
    readonly path: {
      readonly name: string
    }
    readonly query?: {
      readonly realm?: string
      readonly list?: string
    }
    readonly body: {
      readonly secret_id: string
    }
    readonly reply: {
      readonly data: {
        readonly secret_id_accessor: string
        /** Remaining uses; 0 = unlimited. */
        readonly secret_id_num_uses: number
        /** Unix seconds; 0 = never. */
        readonly expiration_time: number
        readonly cidr_list?: readonly string[]
        readonly token_bound_cidrs?: readonly string[]
      }
    }
  }
  /** Destroy a SecretID of this role, by its accessor */
  readonly 'approle.secret_id_accessor.destroy': {
    readonly path: {
      readonly name: string
    }
    readonly query?: {
      readonly realm?: string
      readonly list?: string
    }
    readonly body: {
      readonly secret_id_accessor: string
    }
    readonly reply: undefined
  }
  /** Properties of a SecretID, by its accessor */
  readonly 'approle.secret_id_accessor.lookup': {
    readonly path: {
      readonly name: string
    }
    readonly query?: {
      readonly realm?: string
      readonly list?: string
    }
    readonly body: {
      readonly secret_id_accessor: string
    }
    readonly reply: {
      readonly data: {
        readonly secret_id_accessor: string
        /** Remaining uses; 0 = unlimited. */
        readonly secret_id_num_uses: number
        /** Unix seconds; 0 = never. */
        readonly expiration_time: number
        readonly cidr_list?: readonly string[]
        readonly token_bound_cidrs?: readonly string[]
      }
    }
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
      /** The realm in the path, or of the caller. */
      readonly realm?: string
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
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
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
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
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
      /** The realm in the path, or of the caller. */
      readonly realm?: string
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
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
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
  /** Certify a public key under the identity of the session */
  readonly certify: {
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly body: {
      readonly verification_key: string
      readonly claims?: readonly string[] | null
      readonly exclude_sub?: boolean | null
    }
    readonly reply: {
      readonly certificate: string
    }
  }
  /** Create a username and password */
  readonly 'credentials.create': {
    readonly path: {
      readonly realm_id: string
    }
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly body: {
      readonly realm?: string | null
      readonly username?: string | null
      /** Read-only, ignored in requests: password_input sets a password. */
      readonly password_hash?: string | null
      readonly password_input?: {
        readonly plaintext?: string | null
        readonly hashed?: string | null
      } | null
      readonly change_password?: boolean | null
      readonly roles?: readonly string[] | null
      readonly extra_claims?: Readonly<Record<string, unknown>> | null
      /** Read-only, ignored in requests. */
      readonly warnings?: readonly string[] | null
    }
    readonly reply: {
      readonly realm: string
      readonly username: string
      readonly password_hash: ''
      readonly change_password: boolean
      readonly roles: readonly string[]
      readonly extra_claims?: Readonly<Record<string, unknown>>
      /** Problems that did not prevent the change. */
      readonly warnings?: readonly string[]
    }
  }
  /** Delete a credential, its second factors and its sessions */
  readonly 'credentials.delete': {
    readonly path: {
      readonly realm_id: string
      readonly username: string
    }
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: undefined
  }
  /** A credential */
  readonly 'credentials.get': {
    readonly path: {
      readonly realm_id: string
      readonly username: string
    }
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: {
      readonly realm: string
      readonly username: string
      readonly password_hash: ''
      readonly change_password: boolean
      readonly roles: readonly string[]
      readonly extra_claims?: Readonly<Record<string, unknown>>
    }
  }
  /** Credentials of a realm */
  readonly 'credentials.list': {
    readonly path: {
      readonly realm_id: string
    }
    readonly query?: {
      /** 1 to 9999 entries. */
      readonly limit?: string
      /** The key of the last entry of the previous page. */
      readonly after?: string
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: readonly {
      readonly realm: string
      readonly username: string
      readonly password_hash: ''
      readonly change_password: boolean
      readonly roles: readonly string[]
      readonly extra_claims?: Readonly<Record<string, unknown>>
    }[]
    readonly paged: true
  }
  /** Credentials of every realm */
  readonly 'credentials.list_all': {
    readonly query?: {
      /** 1 to 9999 entries. */
      readonly limit?: string
      /** The key of the last entry of the previous page. */
      readonly after?: string
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: readonly {
      readonly realm: string
      readonly username: string
      readonly password_hash: ''
      readonly change_password: boolean
      readonly roles: readonly string[]
      readonly extra_claims?: Readonly<Record<string, unknown>>
    }[]
    readonly paged: true
  }
  /** Replace a credential; without password_input the password is unchanged */
  readonly 'credentials.replace': {
    readonly path: {
      readonly realm_id: string
      readonly username: string
    }
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly body: {
      readonly realm?: string | null
      readonly username?: string | null
      /** Read-only, ignored in requests: password_input sets a password. */
      readonly password_hash?: string | null
      readonly password_input?: {
        readonly plaintext?: string | null
        readonly hashed?: string | null
      } | null
      readonly change_password?: boolean | null
      readonly roles?: readonly string[] | null
      readonly extra_claims?: Readonly<Record<string, unknown>> | null
      /** Read-only, ignored in requests. */
      readonly warnings?: readonly string[] | null
    }
    readonly reply: {
      readonly realm: string
      readonly username: string
      readonly password_hash: ''
      readonly change_password: boolean
      readonly roles: readonly string[]
      readonly extra_claims?: Readonly<Record<string, unknown>>
      /** Problems that did not prevent the change. */
      readonly warnings?: readonly string[]
    }
  }
  /** Feed of revocations: sessions, users, machines */
  readonly 'ended.follow': {
    readonly query: {
      /** UUID of the subscriber, constant while it runs. */
      readonly follower: string
      /** Number of the last entry that the subscriber has received. */
      readonly after: string
      /** Number of the last entry that the subscriber has applied, if lower than `after` (default `after`). */
      readonly acknowledged?: string
      /** Unique for each request. */
      readonly nonce: string
      /** Seconds to wait for an entry, 0 to 20. */
      readonly wait?: string
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: {
      readonly after: number
      /** Number of the last entry of this page. */
      readonly last: number
      /** Number of the last entry of the feed. */
      readonly head: number
      readonly entries: readonly (readonly (string | number)[])[]
    }
  }
  /** Hand the session of this request over to the service that requested it */
  readonly 'handover.give': {
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly body: {
      readonly request: string
      /** true: the user wants a program on this computer to use the session. */
      readonly confirmed?: boolean | null
    }
    readonly reply: {
      readonly location?: string
      /** Instead of `location`: ask the user. */
      readonly confirm?: 'program'
    }
  }
  /** Request the hand-over of a session to a service of the installation */
  readonly 'handover.request': {
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly body: {
      /** https URL to which the browser returns. */
      readonly return_to: string
      /** Returned together with the code. */
      readonly state: string
      /** BASE64URL(SHA-256(verifier)) (RFC 7636, S256). */
      readonly code_challenge: string
    }
    readonly reply: {
      readonly request: string
      readonly expires_at: number
    }
  }
  /** Request the hand-over of a session to a program on the computer of the user */
  readonly 'handover.request_program': {
    readonly body: {
      /** Address to which the browser returns: `http://127.0.0.1:PORT/…` or `http://[::1]:PORT/…`. */
      readonly return_to: string
      /** Returned together with the code. */
      readonly state: string
      /** BASE64URL(SHA-256(verifier)) (RFC 7636, S256). */
      readonly code_challenge: string
    }
    readonly reply: {
      readonly request: string
      readonly expires_at: number
      /** Address for the browser; null if this service does not know the one by which browsers reach it. */
      readonly page: string | null
    }
  }
  /** Nodes, certificates, backups, disks, database and settings of the service, for administrators */
  readonly 'health.details': {
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
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
  /** Issuers of session tokens: of every node that shares the signing keys */
  readonly 'issuers.session': {
    readonly reply: {
      readonly issuers: readonly string[]
    }
  }
  /** Public keys of certificates */
  readonly 'jwks.certificate': {
    readonly reply: {
      readonly keys: readonly {
        readonly kty: string
        readonly crv: string
        readonly x: string
        readonly y: string
        readonly use: string
        readonly alg: string
        readonly kid: string
      }[]
    }
  }
  /** Public keys of session tokens */
  readonly 'jwks.session': {
    readonly reply: {
      readonly keys: readonly {
        readonly kty: string
        readonly crv: string
        readonly x: string
        readonly y: string
        readonly use: string
        readonly alg: string
        readonly kid: string
      }[]
    }
  }
  /** Assign a name to one of the identity providers of a realm */
  readonly 'jwt_subjects.assign': {
    readonly path: {
      readonly realm_id: string
      readonly subject: string
    }
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly body: {
      /** One of the identity providers that the realm lists. */
      readonly jwt_issuer_uri: string
    }
    readonly reply: {
      /** `sub` of the tokens; the username in the realm. */
      readonly subject: string
      /** Identity provider that the name is bound to. */
      readonly jwt_issuer_uri: string
      /** True if an administrator assigned it; false if the provider was the first to use it. */
      readonly assigned: boolean
      /** Unix seconds. */
      readonly created_at: number
    }
  }
  /** Names of a realm that are bound to its identity providers */
  readonly 'jwt_subjects.list': {
    readonly path: {
      readonly realm_id: string
    }
    readonly query?: {
      /** 1 to 9999 entries. */
      readonly limit?: string
      /** The key of the last entry of the previous page. */
      readonly after?: string
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: readonly {
      /** `sub` of the tokens; the username in the realm. */
      readonly subject: string
      /** Identity provider that the name is bound to. */
      readonly jwt_issuer_uri: string
      /** True if an administrator assigned it; false if the provider was the first to use it. */
      readonly assigned: boolean
      /** Unix seconds. */
      readonly created_at: number
    }[]
    readonly paged: true
  }
  /** Release a name from its identity provider and end its sessions */
  readonly 'jwt_subjects.release': {
    readonly path: {
      readonly realm_id: string
      readonly subject: string
    }
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: undefined
  }
  /** Exchange a service-account token for a machine token */
  readonly 'kubernetes.login': {
    readonly body: {
      readonly role: string
      readonly jwt: string
    }
    readonly reply: {
      readonly auth: {
        readonly client_token: string
        readonly renewable: boolean
        readonly lease_duration: number
        readonly policies: readonly string[]
        readonly metadata: Readonly<Record<string, string>>
      }
    }
  }
  /** Delete a role and its tokens */
  readonly 'kubernetes.role.delete': {
    readonly path: {
      readonly name: string
    }
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: undefined
  }
  /** The settings of a role */
  readonly 'kubernetes.role.get': {
    readonly path: {
      readonly name: string
    }
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: {
      readonly data: {
        readonly jwks_url: string
        readonly bound_service_account_names: readonly string[]
        readonly bound_service_account_namespaces: readonly string[]
        readonly token_ttl: number
        readonly expected_issuer?: string
        readonly bound_audiences?: readonly string[]
        readonly token_policies?: readonly string[]
        /** Absent: no limit. */
        readonly token_bound_cidrs?: readonly string[]
        /** Absent: no limit. */
        readonly token_num_uses?: number
        /** Absent: no limit. */
        readonly token_max_ttl?: number
        /** Absent: no limit. */
        readonly token_explicit_max_ttl?: number
      }
    }
  }
  /** Names of the roles that the caller administers */
  readonly 'kubernetes.role.list': {
    readonly query?: {
      readonly realm?: string
      readonly list?: string
    }
    readonly reply: {
      readonly data: {
        readonly keys: readonly string[]
      }
    }
  }
  /** Create a role or update its settings */
  readonly 'kubernetes.role.save': {
    readonly path: {
      readonly name: string
    }
    readonly query?: {
      readonly realm?: string
      readonly list?: string
    }
    readonly body: {
      readonly jwks_url: string
      readonly bound_service_account_names?: readonly string[] | string | null
      readonly bound_service_account_namespaces?: readonly string[] | string | null
      readonly token_ttl?: number | string | null
      /** Empty: not validated. */
      readonly expected_issuer?: string | null
      readonly bound_audiences?: readonly string[] | string | null
      /** Vault's name for one of bound_audiences. */
      readonly audience?: string | null
      readonly token_policies?: readonly string[] | string | null
      /** Deprecated name of token_policies. */
      readonly policies?: readonly string[] | string | null
      /** serviceaccount_name: the entity is namespace and name. */
      readonly alias_name_source?: string | null
      /** Address blocks from which its tokens may be used. */
      readonly token_bound_cidrs?: readonly string[] | string | null
      /** Maximum number of requests with a token; 0 = unlimited. */
      readonly token_num_uses?: number | string | null
      /** Maximum lifetime of a token, including renewals; 0 = unlimited. */
      readonly token_max_ttl?: number | string | null
      /** Like token_max_ttl, but fixed at login: later changes of the role do not affect it. */
      readonly token_explicit_max_ttl?: number | string | null
      /** default or service. */
      readonly token_type?: string | null
      readonly token_period?: number | string | null
      readonly period?: number | string | null
      /** Has no effect: there is no default policy. */
      readonly token_no_default_policy?: boolean | 'true' | 'false' | null
    }
    readonly reply: undefined
  }
  /** Log in to a realm */
  readonly login: {
    readonly query: {
      readonly realm: string
    }
    readonly body?: {
      readonly totp_code?: string | null
      /** AuthenticationResponseJSON (WebAuthn Level 3 §5.1). */
      readonly passkey?: {
        readonly id: string
        readonly rawId: string
        readonly type: 'public-key'
        readonly authenticatorAttachment?: string | null
        readonly clientExtensionResults?: Readonly<Record<string, unknown>> | null
        readonly response: {
          readonly clientDataJSON: string
          readonly authenticatorData: string
          readonly signature: string
          readonly userHandle?: string | null
        }
      } | null
    }
    readonly reply: {
      readonly next_step: 'Authenticated' | 'TotpRequired' | 'ChangePassword'
      readonly session_id: string | null
      /** With `TotpRequired`: the factors of the user, one of which suffices. Absent: `totp`. */
      readonly second_factors?: readonly string[]
      /** For the factor `passkey`: PublicKeyCredentialRequestOptionsJSON. */
      readonly passkey_options?: unknown
    }
  }
  /** Methods of login that a realm has */
  readonly 'login.methods': {
    readonly path: {
      readonly realm_id: string
    }
    readonly reply: {
      /** password, jwt, totp, passkey, certificate, saml */
      readonly methods: readonly string[]
    }
  }
  /** Whether a user and a machine of this name are known */
  readonly 'names.known': {
    readonly query: {
      readonly realm: string
      readonly username: string
      /** Entity of a machine. */
      readonly entity: string
    }
    readonly reply: {
      readonly user: boolean
      readonly machine: boolean | null
    }
  }
  /** Send a test notice to the webhook and by e-mail, at once */
  readonly 'notices.test': {
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
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
  /** Exchange a service-account token for a machine token */
  readonly 'orchestrator.login': {
    readonly body: {
      readonly role: string
      readonly jwt: string
    }
    readonly reply: {
      readonly auth: {
        readonly client_token: string
        readonly renewable: boolean
        readonly lease_duration: number
        readonly policies: readonly string[]
        readonly metadata: Readonly<Record<string, string>>
      }
    }
  }
  /** Delete a role and its tokens */
  readonly 'orchestrator.role.delete': {
    readonly path: {
      readonly name: string
    }
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: undefined
  }
  /** The settings of a role */
  readonly 'orchestrator.role.get': {
    readonly path: {
      readonly name: string
    }
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: {
      readonly data: {
        readonly jwks_url: string
        readonly bound_service_account_names: readonly string[]
        readonly bound_service_account_namespaces: readonly string[]
        readonly token_ttl: number
        readonly expected_issuer?: string
        readonly bound_audiences?: readonly string[]
        readonly token_policies?: readonly string[]
        /** Absent: no limit. */
        readonly token_bound_cidrs?: readonly string[]
        /** Absent: no limit. */
        readonly token_num_uses?: number
        /** Absent: no limit. */
        readonly token_max_ttl?: number
        /** Absent: no limit. */
        readonly token_explicit_max_ttl?: number
      }
    }
  }
  /** Names of the roles that the caller administers */
  readonly 'orchestrator.role.list': {
    readonly query?: {
      readonly realm?: string
      readonly list?: string
    }
    readonly reply: {
      readonly data: {
        readonly keys: readonly string[]
      }
    }
  }
  /** Create a role or update its settings */
  readonly 'orchestrator.role.save': {
    readonly path: {
      readonly name: string
    }
    readonly query?: {
      readonly realm?: string
      readonly list?: string
    }
    readonly body: {
      readonly jwks_url: string
      readonly bound_service_account_names?: readonly string[] | string | null
      readonly bound_service_account_namespaces?: readonly string[] | string | null
      readonly token_ttl?: number | string | null
      /** Empty: not validated. */
      readonly expected_issuer?: string | null
      readonly bound_audiences?: readonly string[] | string | null
      /** Vault's name for one of bound_audiences. */
      readonly audience?: string | null
      readonly token_policies?: readonly string[] | string | null
      /** Deprecated name of token_policies. */
      readonly policies?: readonly string[] | string | null
      /** serviceaccount_name: the entity is namespace and name. */
      readonly alias_name_source?: string | null
      /** Address blocks from which its tokens may be used. */
      readonly token_bound_cidrs?: readonly string[] | string | null
      /** Maximum number of requests with a token; 0 = unlimited. */
      readonly token_num_uses?: number | string | null
      /** Maximum lifetime of a token, including renewals; 0 = unlimited. */
      readonly token_max_ttl?: number | string | null
      /** Like token_max_ttl, but fixed at login: later changes of the role do not affect it. */
      readonly token_explicit_max_ttl?: number | string | null
      /** default or service. */
      readonly token_type?: string | null
      readonly token_period?: number | string | null
      readonly period?: number | string | null
      /** Has no effect: there is no default policy. */
      readonly token_no_default_policy?: boolean | 'true' | 'false' | null
    }
    readonly reply: undefined
  }
  /** Delete a passkey of the caller */
  readonly 'passkeys.delete': {
    readonly path: {
      readonly passkey_id: string
    }
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: undefined
  }
  /** Delete the passkeys of a user, who has lost them, and end their sessions */
  readonly 'passkeys.delete_user': {
    readonly path: {
      readonly realm_id: string
      readonly username: string
    }
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: undefined
  }
  /** Passkeys of the caller */
  readonly 'passkeys.list': {
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: {
      readonly passkeys: readonly {
        /** The credential ID, base64url. */
        readonly id: string
        readonly name: string
        /** Unix seconds. */
        readonly created_at: number
        readonly last_used_at: number | null
        /** Copied to other devices by its provider. */
        readonly backed_up: boolean
        /** Model of the authenticator; proven only with `passkey_attestation = "direct"`. */
        readonly aaguid: string
        /** Last refused use with a counter that had gone back: a copy of the authenticator may exist. */
        readonly counter_regressed_at: number | null
      }[]
    }
  }
  /** Passkeys of a user */
  readonly 'passkeys.list_user': {
    readonly path: {
      readonly realm_id: string
      readonly username: string
    }
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: {
      readonly passkeys: readonly {
        /** The credential ID, base64url. */
        readonly id: string
        readonly name: string
        /** Unix seconds. */
        readonly created_at: number
        readonly last_used_at: number | null
        /** Copied to other devices by its provider. */
        readonly backed_up: boolean
        /** Model of the authenticator; proven only with `passkey_attestation = "direct"`. */
        readonly aaguid: string
        /** Last refused use with a counter that had gone back: a copy of the authenticator may exist. */
        readonly counter_regressed_at: number | null
      }[]
    }
  }
  /** Log in to a realm with a passkey */
  readonly 'passkeys.login': {
    readonly query: {
      readonly realm: string
    }
    readonly body: {
      /** AuthenticationResponseJSON (WebAuthn Level 3 §5.1). */
      readonly credential: {
        readonly id: string
        readonly rawId: string
        readonly type: 'public-key'
        readonly authenticatorAttachment?: string | null
        readonly clientExtensionResults?: Readonly<Record<string, unknown>> | null
        readonly response: {
          readonly clientDataJSON: string
          readonly authenticatorData: string
          readonly signature: string
          readonly userHandle?: string | null
        }
      }
    }
    readonly reply: {
      readonly next_step: 'Authenticated'
      readonly session_id: string
    }
  }
  /** Options for a login with a passkey */
  readonly 'passkeys.login_options': {
    readonly query: {
      readonly realm: string
    }
    readonly reply: {
      readonly challenge: string
      readonly rpId: string
      readonly timeout: number
      readonly userVerification: 'required'
      readonly allowCredentials: readonly {
        readonly type: 'public-key'
        readonly id: string
        readonly transports: readonly string[]
      }[]
    }
  }
  /** Register a passkey of the caller */
  readonly 'passkeys.register': {
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly body: {
      /** Chosen by the user, for their list. */
      readonly name: string
      /** RegistrationResponseJSON (WebAuthn Level 3 §5.1). */
      readonly credential: {
        readonly id: string
        readonly rawId: string
        readonly type: 'public-key'
        readonly authenticatorAttachment?: string | null
        readonly clientExtensionResults?: Readonly<Record<string, unknown>> | null
        readonly response: {
          readonly clientDataJSON: string
          readonly attestationObject: string
          readonly transports?: readonly string[] | null
          readonly authenticatorData?: string | null
          readonly publicKey?: string | null
          readonly publicKeyAlgorithm?: number | null
        }
      }
    }
    readonly reply: {
      /** The credential ID, base64url. */
      readonly id: string
      readonly name: string
      /** Unix seconds. */
      readonly created_at: number
      readonly last_used_at: number | null
      /** Copied to other devices by its provider. */
      readonly backed_up: boolean
      /** Model of the authenticator; proven only with `passkey_attestation = "direct"`. */
      readonly aaguid: string
      /** Last refused use with a counter that had gone back: a copy of the authenticator may exist. */
      readonly counter_regressed_at: number | null
      /** Codes that replace a lost second factor; only if the user had no unused ones. They are never shown again. */
      readonly recovery_codes?: readonly string[]
    }
  }
  /** Options for the registration of a passkey of the caller */
  readonly 'passkeys.register_options': {
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: {
      readonly rp: {
        readonly id: string
        readonly name: string
      }
      readonly user: {
        readonly id: string
        readonly name: string
        readonly displayName: string
      }
      readonly challenge: string
      readonly pubKeyCredParams: readonly {
        readonly type: 'public-key'
        readonly alg: number
      }[]
      readonly timeout: number
      readonly excludeCredentials: readonly {
        readonly type: 'public-key'
        readonly id: string
        readonly transports: readonly string[]
      }[]
      readonly authenticatorSelection: {
        readonly residentKey: 'required'
        readonly requireResidentKey: true
        readonly userVerification: 'required'
      }
      readonly attestation: string
    }
  }
  /** Rename a passkey of the caller */
  readonly 'passkeys.rename': {
    readonly path: {
      readonly passkey_id: string
    }
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly body: {
      /** Chosen by the user, for their list. */
      readonly name: string
    }
    readonly reply: {
      /** The credential ID, base64url. */
      readonly id: string
      readonly name: string
      /** Unix seconds. */
      readonly created_at: number
      readonly last_used_at: number | null
      /** Copied to other devices by its provider. */
      readonly backed_up: boolean
      /** Model of the authenticator; proven only with `passkey_attestation = "direct"`. */
      readonly aaguid: string
      /** Last refused use with a counter that had gone back: a copy of the authenticator may exist. */
      readonly counter_regressed_at: number | null
    }
  }
  /** Change the password of the caller */
  readonly 'password.change': {
    readonly query: {
      readonly realm: string
    }
    readonly body: {
      readonly new_password: string
      readonly totp_code?: string | null
      /** AuthenticationResponseJSON (WebAuthn Level 3 §5.1). */
      readonly passkey?: {
        readonly id: string
        readonly rawId: string
        readonly type: 'public-key'
        readonly authenticatorAttachment?: string | null
        readonly clientExtensionResults?: Readonly<Record<string, unknown>> | null
        readonly response: {
          readonly clientDataJSON: string
          readonly authenticatorData: string
          readonly signature: string
          readonly userHandle?: string | null
        }
      } | null
    }
    readonly reply: undefined
  }
  /** Remove the person of an unregistered name, and end their sessions */
  readonly 'persons.end': {
    readonly path: {
      readonly realm_id: string
      readonly username: string
    }
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: undefined
  }
  /** Use of a user name, and the state of the second factors */
  readonly 'persons.get': {
    readonly path: {
      readonly realm_id: string
      readonly username: string
    }
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: {
      readonly username: string
      /** Registered with a password. */
      readonly password: boolean
      /** The name is bound to an identity provider (JWT) of the realm. */
      readonly provider: boolean
      /** A user has logged in with the name, with any scheme. */
      readonly person: boolean
      /** An authenticator app is enrolled. */
      readonly totp: boolean
      /** Number of passkeys. */
      readonly passkeys: number
      /** Number of unused codes. */
      readonly recovery_codes: number
    }
  }
  /** Create a realm */
  readonly 'realms.create': {
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly body: ({
      readonly id?: string | null
      readonly auth_params: {
        readonly username_password_params?: {
          readonly allow_expired_passwords: boolean
        } | null
        readonly jwt_params?: {
          readonly idp_params: readonly {
            readonly jwt_issuer_uri: string
            readonly jwks_uri: string
            readonly jwt_audience?: string | null
          }[]
          readonly smallest_refresh_interval_seconds?: number | null
        } | null
        readonly totp_params?: {
          readonly algorithm?: string | null
          readonly step?: number | null
        } | null
        readonly fido2_params?: Readonly<Record<string, unknown>> | null
        readonly client_certificate_params?: {
          readonly allowed_common_names?: readonly string[] | null
        } | null
        readonly saml_params?: {
          /** Metadata of the identity provider; everything idp_… is derived from it. */
          readonly metadata_xml: string
          readonly metadata_url?: string | null
          readonly metadata_certificates?: readonly string[] | null
          readonly predecessor_entity_ids?: readonly string[] | null
          readonly sp_entity_id: string
          readonly sp_acs_url: string
          readonly subject_attribute?: string | null
          readonly normalize_subject_case?: boolean | null
          readonly role_attribute?: string | null
          readonly attribute_claim_map?: Readonly<Record<string, string>> | null
          readonly allowed_return_origins?: readonly string[] | null
          readonly default_return_url: string
          readonly offer_encryption_key?: boolean | null
          /** Read-only, ignored in requests: derived from metadata_xml. */
          readonly idp_entity_id?: unknown
          /** Read-only, ignored in requests: derived from metadata_xml. */
          readonly idp_sso_url?: unknown
          /** Read-only, ignored in requests: derived from metadata_xml. */
          readonly idp_signing_certificates?: unknown
          /** Read-only, ignored in requests: derived from metadata_xml. */
          readonly idp_nameid_format?: unknown
          /** Read-only, ignored in requests: derived from metadata_xml. */
          readonly idp_slo_url?: unknown
          /** Read-only, ignored in requests: derived from metadata_xml. */
          readonly idp_slo_response_url?: unknown
        } | null
      }
      readonly session_max_age_seconds: number
      readonly session_max_stale_age_seconds: number
      readonly certificate_max_age_seconds?: number | null
    }) & {
      readonly id: string
    }
    readonly reply: {
      readonly id: string
      readonly auth_params: Readonly<Record<string, unknown>>
      readonly session_max_age_seconds: number
      readonly session_max_stale_age_seconds: number
      readonly certificate_max_age_seconds: number
    }
  }
  /** Delete a realm with everything that belongs to it */
  readonly 'realms.delete': {
    readonly path: {
      readonly realm_id: string
    }
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: undefined
  }
  /** A realm */
  readonly 'realms.get': {
    readonly path: {
      readonly realm_id: string
    }
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: {
      readonly id: string
      readonly auth_params: Readonly<Record<string, unknown>>
      readonly session_max_age_seconds: number
      readonly session_max_stale_age_seconds: number
      readonly certificate_max_age_seconds: number
    }
  }
  /** Realms that the caller administers */
  readonly 'realms.list': {
    readonly query?: {
      /** 1 to 9999 entries. */
      readonly limit?: string
      /** The key of the last entry of the previous page. */
      readonly after?: string
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: readonly {
      readonly id: string
      readonly auth_params: Readonly<Record<string, unknown>>
      readonly session_max_age_seconds: number
      readonly session_max_stale_age_seconds: number
      readonly certificate_max_age_seconds: number
    }[]
    readonly paged: true
  }
  /** Replace the configuration of a realm */
  readonly 'realms.replace': {
    readonly path: {
      readonly realm_id: string
    }
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly body: {
      readonly id?: string | null
      readonly auth_params: {
        readonly username_password_params?: {
          readonly allow_expired_passwords: boolean
        } | null
        readonly jwt_params?: {
          readonly idp_params: readonly {
            readonly jwt_issuer_uri: string
            readonly jwks_uri: string
            readonly jwt_audience?: string | null
          }[]
          readonly smallest_refresh_interval_seconds?: number | null
        } | null
        readonly totp_params?: {
          readonly algorithm?: string | null
          readonly step?: number | null
        } | null
        readonly fido2_params?: Readonly<Record<string, unknown>> | null
        readonly client_certificate_params?: {
          readonly allowed_common_names?: readonly string[] | null
        } | null
        readonly saml_params?: {
          /** Metadata of the identity provider; everything idp_… is derived from it. */
          readonly metadata_xml: string
          readonly metadata_url?: string | null
          readonly metadata_certificates?: readonly string[] | null
          readonly predecessor_entity_ids?: readonly string[] | null
          readonly sp_entity_id: string
          readonly sp_acs_url: string
          readonly subject_attribute?: string | null
          readonly normalize_subject_case?: boolean | null
          readonly role_attribute?: string | null
          readonly attribute_claim_map?: Readonly<Record<string, string>> | null
          readonly allowed_return_origins?: readonly string[] | null
          readonly default_return_url: string
          readonly offer_encryption_key?: boolean | null
          /** Read-only, ignored in requests: derived from metadata_xml. */
          readonly idp_entity_id?: unknown
          /** Read-only, ignored in requests: derived from metadata_xml. */
          readonly idp_sso_url?: unknown
          /** Read-only, ignored in requests: derived from metadata_xml. */
          readonly idp_signing_certificates?: unknown
          /** Read-only, ignored in requests: derived from metadata_xml. */
          readonly idp_nameid_format?: unknown
          /** Read-only, ignored in requests: derived from metadata_xml. */
          readonly idp_slo_url?: unknown
          /** Read-only, ignored in requests: derived from metadata_xml. */
          readonly idp_slo_response_url?: unknown
        } | null
      }
      readonly session_max_age_seconds: number
      readonly session_max_stale_age_seconds: number
      readonly certificate_max_age_seconds?: number | null
    }
    readonly reply: {
      readonly id: string
      readonly auth_params: Readonly<Record<string, unknown>>
      readonly session_max_age_seconds: number
      readonly session_max_stale_age_seconds: number
      readonly certificate_max_age_seconds: number
    }
  }
  /** End a session that was handed over */
  readonly 'saml.end': {
    readonly path: {
      readonly realm_id: string
    }
    readonly body: {
      readonly logout_handle: string
    }
    readonly reply: undefined
  }
  /** Remove a key of the SAML service provider from the metadata */
  readonly 'saml.keys.delete': {
    readonly path: {
      readonly generation: string
    }
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: undefined
  }
  /** Keys of the SAML service provider, the newest first */
  readonly 'saml.keys.list': {
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: readonly {
      readonly generation: number
      readonly certificate: string
      /** Fingerprint of the certificate, in hex. */
      readonly sha256: string
      readonly signs_from: number
      readonly created_at: number
      readonly state: 'next' | 'signing' | 'previous'
    }[]
  }
  /** Generate the next key of the SAML service provider */
  readonly 'saml.keys.renew': {
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly body?: {
      /** Default: 7 days. */
      readonly signs_after_seconds?: number | null
    }
    readonly reply: {
      readonly generation: number
      readonly certificate: string
      /** Fingerprint of the certificate, in hex. */
      readonly sha256: string
      readonly signs_from: number
      readonly created_at: number
      readonly state: 'next' | 'signing' | 'previous'
    }
  }
  /** Realms with SAML that allow an address as the return URL */
  readonly 'saml.realms': {
    readonly query: {
      /** As for the login. */
      readonly return_to: string
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: {
      readonly realms: readonly {
        readonly realm_id: string
        readonly login_url: string
      }[]
    }
  }
  /** Redeem the session of a login that was started with a code challenge */
  readonly 'saml.redeem': {
    readonly path: {
      readonly realm_id: string
    }
    readonly body: {
      readonly code: string
      /** The secret that `code_challenge` was derived from (RFC 7636 §4.1). */
      readonly code_verifier: string
    }
    readonly reply: {
      readonly next_step: 'Authenticated'
      readonly session_id: string
      /** Handle for ending the session (`POST /saml/{realm_id}/session/end`); it has no other use. */
      readonly logout_handle: string
    }
  }
  /** Check a captured SAML response against the settings of a realm */
  readonly 'saml.test': {
    readonly path: {
      readonly realm_id: string
    }
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly body: {
      /** The form field, in base64. */
      readonly saml_response: string
    }
    readonly reply: {
      readonly accepted: boolean
      /** The failed check. */
      readonly check: string | null
      readonly reason: string | null
      readonly subject: string | null
      readonly roles: readonly string[]
      readonly claims: Readonly<Record<string, unknown>>
      /** Names of the attributes of the assertion. */
      readonly attributes: readonly string[]
    }
  }
  /** A session, and log out sessions of its clients */
  readonly 'sessions.act': {
    readonly path: {
      readonly session_id: string
    }
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly body: {
      readonly authenticated_clients: readonly {
        readonly username: string
        readonly auth_scheme: 'UsernamePassword' | 'Jwt' | 'ClientCertificate' | 'Fido2' | 'DigitalCredentials' | 'Saml' | 'up' | 'jwt' | 'cc' | 'f2' | 'dc' | 'sa'
      }[]
      readonly sessions_action?: 'LogoutOtherSessions' | 'LogoutAllSessions' | null
    }
    readonly reply: {
      readonly session_id: string
      readonly realm_id: string
      readonly username: string
      readonly auth_scheme: string
      /** Empty unless the caller owns the session. */
      readonly cookie_string: string
      readonly max_age_seconds: number
      readonly max_stale_age_seconds: number
      readonly created_at: number
    } | null
  }
  /** End sessions by id */
  readonly 'sessions.end': {
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly body: {
      readonly session_ids: readonly string[]
    }
    readonly reply: undefined
  }
  /** End all sessions of the caller but the one of this request */
  readonly 'sessions.end_others': {
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: undefined
  }
  /** End every session of a realm */
  readonly 'sessions.end_realm': {
    readonly path: {
      readonly realm_id: string
    }
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: undefined
  }
  /** A session, or null if it does not exist, has ended or is not visible to the caller */
  readonly 'sessions.get': {
    readonly path: {
      readonly session_id: string
    }
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: {
      readonly session_id: string
      readonly realm_id: string
      readonly username: string
      readonly auth_scheme: string
      /** Empty unless the caller owns the session. */
      readonly cookie_string: string
      readonly max_age_seconds: number
      readonly max_stale_age_seconds: number
      readonly created_at: number
    } | null
  }
  /** Ids of the live sessions of clients of a realm */
  readonly 'sessions.list': {
    readonly path: {
      readonly realm_id: string
    }
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly body: readonly {
      readonly username: string
      readonly auth_scheme: 'UsernamePassword' | 'Jwt' | 'ClientCertificate' | 'Fido2' | 'DigitalCredentials' | 'Saml' | 'up' | 'jwt' | 'cc' | 'f2' | 'dc' | 'sa'
    }[] | {
      readonly authenticated_clients: readonly {
        readonly username: string
        readonly auth_scheme: 'UsernamePassword' | 'Jwt' | 'ClientCertificate' | 'Fido2' | 'DigitalCredentials' | 'Saml' | 'up' | 'jwt' | 'cc' | 'f2' | 'dc' | 'sa'
      }[]
    }
    readonly reply: {
      readonly session_ids: readonly string[]
    }
  }
  /** End the session of this request, and remove its cookie */
  readonly 'sessions.logout': {
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: undefined
  }
  /** Live sessions of a realm, or of one of its users, without their cookies */
  readonly 'sessions.of_realm': {
    readonly path: {
      readonly realm_id: string
    }
    readonly query?: {
      /** 1 to 9999 entries. */
      readonly limit?: string
      /** The key of the last entry of the previous page. */
      readonly after?: string
      readonly username?: string
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: {
      readonly sessions: readonly {
        readonly session_id: string
        readonly realm_id: string
        readonly username: string
        readonly auth_scheme: string
        readonly created_at: number
        /** Time at which it ends if it is not used before, in Unix seconds. */
        readonly ends_at: number
      }[]
      readonly next?: string
    }
    readonly paged: true
  }
  /** Live sessions of the caller */
  readonly 'sessions.own': {
    readonly query?: {
      /** 1 to 9999 entries. */
      readonly limit?: string
      /** The key of the last entry of the previous page. */
      readonly after?: string
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: {
      readonly sessions: readonly {
        readonly session_id: string
        readonly realm_id: string
        readonly username: string
        readonly auth_scheme: string
        readonly created_at: number
        /** Time at which it ends if it is not used before, in Unix seconds. */
        readonly ends_at: number
        /** Whether it is the session of this request. */
        readonly current: boolean
      }[]
      readonly next?: string
    }
    readonly paged: true
  }
  /** Delete sessions that have ended */
  readonly 'sessions.sweep': {
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: undefined
  }
  /** Properties of the token */
  readonly 'token.lookup_self': {
    readonly reply: {
      readonly data: {
        readonly id: string
        readonly entity_id: string
        readonly policies: readonly string[]
        readonly renewable: boolean
        readonly ttl: number
        readonly creation_time: number
        /** Remaining uses of a token with a limit; -1: this request was the last one. */
        readonly num_uses?: number
        /** Address blocks from which the token may be used, if it is bound to any. */
        readonly bound_cidrs?: readonly string[]
      }
    }
  }
  /** Renew the lease of the token */
  readonly 'token.renew_self': {
    readonly body?: Readonly<Record<string, unknown>>
    readonly reply: {
      readonly auth: {
        readonly client_token: string
        readonly renewable: boolean
        readonly lease_duration: number
        readonly policies: readonly string[]
        readonly metadata: Readonly<Record<string, string>>
      }
    }
  }
  /** Revoke the token */
  readonly 'token.revoke_self': {
    readonly reply: undefined
  }
  /** Remove the TOTP enrollment of a user */
  readonly 'totp.disable': {
    readonly path: {
      readonly realm_id: string
      readonly username: string
    }
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: undefined
  }
  /** Confirm a TOTP secret of the caller with a code; replaces an earlier one */
  readonly 'totp.enroll': {
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly body: {
      readonly enrollment: string
      /** The present code of the app. */
      readonly code: string
    }
    readonly reply: {
      /** Codes that replace a lost second factor, each once. They are never shown again. */
      readonly recovery_codes: readonly string[]
    }
  }
  /** A new TOTP secret for the caller; nothing is stored */
  readonly 'totp.enroll_options': {
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: {
      readonly secret_base32: string
      /** For the QR code. */
      readonly otpauth_url: string
      /** For the confirmation, within ten minutes. */
      readonly enrollment: string
    }
  }
  /** Generate a TOTP secret for a user; nothing is stored */
  readonly 'totp.generate': {
    readonly path: {
      readonly realm_id: string
    }
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly body: {
      readonly username: string
      readonly issuer?: string | null
    }
    readonly reply: {
      readonly secret_base32: string
      readonly otpauth_url: string
    }
  }
  /** Remove the TOTP enrollment of the caller, and the recovery codes if it was the last second factor */
  readonly 'totp.leave': {
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: undefined
  }
  /** A one-time token with which a user enrolls TOTP; the administrator never sees the secret */
  readonly 'totp.link': {
    readonly path: {
      readonly realm_id: string
      readonly username: string
    }
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly body?: {
      /** Default: one day. */
      readonly expires_in_seconds?: number | null
    }
    readonly reply: {
      readonly token: string
      readonly expires_at: number
    }
  }
  /** Confirm the TOTP secret of a one-time link with a code; uses the link up */
  readonly 'totp.link_enroll': {
    readonly body: {
      /** The token of the link. */
      readonly token: string
      readonly enrollment: string
      /** The present code of the app. */
      readonly code: string
    }
    readonly reply: {
      /** Codes that replace a lost second factor, each once. They are never shown again. */
      readonly recovery_codes: readonly string[]
    }
  }
  /** A new TOTP secret for the user of a one-time link; nothing is stored */
  readonly 'totp.link_options': {
    readonly body: {
      /** The token of the link. */
      readonly token: string
    }
    readonly reply: {
      readonly secret_base32: string
      /** For the QR code. */
      readonly otpauth_url: string
      /** For the confirmation, within ten minutes. */
      readonly enrollment: string
      readonly realm_id: string
      readonly username: string
    }
  }
  /** Enroll a user after proof of possession of the secret */
  readonly 'totp.verify': {
    readonly path: {
      readonly realm_id: string
    }
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly body: {
      readonly username: string
      readonly token: string
      readonly secret: string
      readonly issuer?: string | null
    }
    readonly reply: undefined
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
  /** The claims of the session */
  readonly whoami: {
    readonly query?: {
      /** The realm in the path, or of the caller. */
      readonly realm?: string
    }
    readonly reply: {
      readonly iss: string
      readonly sub: string
      readonly aud: readonly string[]
      readonly exp: number
      readonly nbf: number
      readonly iat: number
      readonly jti: string
      readonly roles: readonly string[]
      readonly as_as: string
      readonly as_rid: string
      /** Changes when the name is assigned to another user. */
      readonly as_sid: string
    }
  }
}

/** Path and method of each operation. */
export const routes = {
  'account.get': { method: 'GET', path: '/account' },
  'account.renew_codes': { method: 'POST', path: '/account/recovery-codes' },
  'admins.add_realm': { method: 'PUT', path: '/admins/{admin_id}/realms/{realm_id}' },
  'admins.create': { method: 'POST', path: '/admins' },
  'admins.delete': { method: 'DELETE', path: '/admins/{admin_id}' },
  'admins.get': { method: 'GET', path: '/admins/{admin_id}' },
  'admins.list': { method: 'GET', path: '/admins' },
  'admins.remove_realm': { method: 'DELETE', path: '/admins/{admin_id}/realms/{realm_id}' },
  'admins.replace': { method: 'PUT', path: '/admins/{admin_id}' },
  'approle.login': { method: 'POST', path: '/auth/approle/login' },
  'approle.role.delete': { method: 'DELETE', path: '/auth/approle/role/{name}' },
  'approle.role.get': { method: 'GET', path: '/auth/approle/role/{name}' },
  'approle.role.list': { method: 'GET', path: '/auth/approle/role' },
  'approle.role.role_id': { method: 'GET', path: '/auth/approle/role/{name}/role-id' },
  'approle.role.save': { method: 'POST', path: '/auth/approle/role/{name}' },
  'approle.secret_id.create': { method: 'POST', path: '/auth/approle/role/{name}/secret-id' },
  'approle.secret_id.destroy': { method: 'POST', path: '/auth/approle/role/{name}/secret-id/destroy' },
  'approle.secret_id.list': { method: 'GET', path: '/auth/approle/role/{name}/secret-id' },
  'approle.secret_id.lookup': { method: 'POST', path: '/auth/approle/role/{name}/secret-id/lookup' },
  'approle.secret_id_accessor.destroy': { method: 'POST', path: '/auth/approle/role/{name}/secret-id-accessor/destroy' },
  'approle.secret_id_accessor.lookup': { method: 'POST', path: '/auth/approle/role/{name}/secret-id-accessor/lookup' },
  'audit.counts': { method: 'GET', path: '/v1/audit/counts' },
  'audit.node': { method: 'POST', path: '/v1/audit/node' },
  'audit.nodes.forget': { method: 'DELETE', path: '/v1/audit/nodes/{node}' },
  'audit.records': { method: 'GET', path: '/v1/audit/records' },
  'audit.verify': { method: 'GET', path: '/v1/audit/verify' },
  certify: { method: 'POST', path: '/certify' },
  'credentials.create': { method: 'POST', path: '/realms/{realm_id}/userpass' },
  'credentials.delete': { method: 'DELETE', path: '/realms/{realm_id}/userpass/{username}' },
  'credentials.get': { method: 'GET', path: '/realms/{realm_id}/userpass/{username}' },
  'credentials.list': { method: 'GET', path: '/realms/{realm_id}/userpass' },
  'credentials.list_all': { method: 'GET', path: '/admins/userpass' },
  'credentials.replace': { method: 'PUT', path: '/realms/{realm_id}/userpass/{username}' },
  'ended.follow': { method: 'GET', path: '/ended' },
  'handover.give': { method: 'POST', path: '/account/handover' },
  'handover.request': { method: 'POST', path: '/handover' },
  'handover.request_program': { method: 'POST', path: '/handover/program' },
  'health.details': { method: 'GET', path: '/v1/health/details' },
  'issuers.session': { method: 'GET', path: '/.well-known/session-issuers' },
  'jwks.certificate': { method: 'GET', path: '/.well-known/certificate-jwks.json' },
  'jwks.session': { method: 'GET', path: '/.well-known/jwks.json' },
  'jwt_subjects.assign': { method: 'PUT', path: '/realms/{realm_id}/jwt-subjects/{subject}' },
  'jwt_subjects.list': { method: 'GET', path: '/realms/{realm_id}/jwt-subjects' },
  'jwt_subjects.release': { method: 'DELETE', path: '/realms/{realm_id}/jwt-subjects/{subject}' },
  'kubernetes.login': { method: 'POST', path: '/auth/kubernetes/login' },
  'kubernetes.role.delete': { method: 'DELETE', path: '/auth/kubernetes/role/{name}' },
  'kubernetes.role.get': { method: 'GET', path: '/auth/kubernetes/role/{name}' },
  'kubernetes.role.list': { method: 'GET', path: '/auth/kubernetes/role' },
  'kubernetes.role.save': { method: 'POST', path: '/auth/kubernetes/role/{name}' },
  login: { method: 'POST', path: '/login' },
  'login.methods': { method: 'GET', path: '/public/realms/{realm_id}/logins' },
  'names.known': { method: 'GET', path: '/known' },
  'notices.test': { method: 'POST', path: '/notices/test' },
  'orchestrator.login': { method: 'POST', path: '/auth/orchestrator/login' },
  'orchestrator.role.delete': { method: 'DELETE', path: '/auth/orchestrator/role/{name}' },
  'orchestrator.role.get': { method: 'GET', path: '/auth/orchestrator/role/{name}' },
  'orchestrator.role.list': { method: 'GET', path: '/auth/orchestrator/role' },
  'orchestrator.role.save': { method: 'POST', path: '/auth/orchestrator/role/{name}' },
  'passkeys.delete': { method: 'DELETE', path: '/account/passkeys/{passkey_id}' },
  'passkeys.delete_user': { method: 'DELETE', path: '/realms/{realm_id}/passkeys/{username}' },
  'passkeys.list': { method: 'GET', path: '/account/passkeys' },
  'passkeys.list_user': { method: 'GET', path: '/realms/{realm_id}/passkeys/{username}' },
  'passkeys.login': { method: 'POST', path: '/passkeys/login' },
  'passkeys.login_options': { method: 'POST', path: '/passkeys/login/options' },
  'passkeys.register': { method: 'POST', path: '/account/passkeys' },
  'passkeys.register_options': { method: 'POST', path: '/account/passkeys/options' },
  'passkeys.rename': { method: 'PUT', path: '/account/passkeys/{passkey_id}' },
  'password.change': { method: 'POST', path: '/password' },
  'persons.end': { method: 'DELETE', path: '/realms/{realm_id}/persons/{username}' },
  'persons.get': { method: 'GET', path: '/realms/{realm_id}/persons/{username}' },
  'realms.create': { method: 'POST', path: '/admins/realms' },
  'realms.delete': { method: 'DELETE', path: '/admins/realms/{realm_id}' },
  'realms.get': { method: 'GET', path: '/admins/realms/{realm_id}' },
  'realms.list': { method: 'GET', path: '/admins/realms' },
  'realms.replace': { method: 'PUT', path: '/admins/realms/{realm_id}' },
  'saml.end': { method: 'POST', path: '/saml/{realm_id}/session/end' },
  'saml.keys.delete': { method: 'DELETE', path: '/admins/saml/keys/{generation}' },
  'saml.keys.list': { method: 'GET', path: '/admins/saml/keys' },
  'saml.keys.renew': { method: 'POST', path: '/admins/saml/keys' },
  'saml.realms': { method: 'GET', path: '/saml/realms' },
  'saml.redeem': { method: 'POST', path: '/saml/{realm_id}/session' },
  'saml.test': { method: 'POST', path: '/realms/{realm_id}/saml/test' },
  'sessions.act': { method: 'POST', path: '/sessions/{session_id}' },
  'sessions.end': { method: 'DELETE', path: '/sessions' },
  'sessions.end_others': { method: 'DELETE', path: '/account/sessions' },
  'sessions.end_realm': { method: 'DELETE', path: '/sessions/realms/{realm_id}' },
  'sessions.get': { method: 'GET', path: '/sessions/{session_id}' },
  'sessions.list': { method: 'POST', path: '/sessions/realms/{realm_id}/clients' },
  'sessions.logout': { method: 'POST', path: '/logout' },
  'sessions.of_realm': { method: 'GET', path: '/sessions/realms/{realm_id}' },
  'sessions.own': { method: 'GET', path: '/account/sessions' },
  'sessions.sweep': { method: 'DELETE', path: '/sessions/expired' },
  'token.lookup_self': { method: 'GET', path: '/auth/token/lookup-self' },
  'token.renew_self': { method: 'POST', path: '/auth/token/renew-self' },
  'token.revoke_self': { method: 'POST', path: '/auth/token/revoke-self' },
  'totp.disable': { method: 'DELETE', path: '/realms/{realm_id}/totp/{username}' },
  'totp.enroll': { method: 'POST', path: '/account/totp' },
  'totp.enroll_options': { method: 'POST', path: '/account/totp/options' },
  'totp.generate': { method: 'POST', path: '/realms/{realm_id}/totp/generate' },
  'totp.leave': { method: 'DELETE', path: '/account/totp' },
  'totp.link': { method: 'POST', path: '/realms/{realm_id}/totp/{username}/link' },
  'totp.link_enroll': { method: 'POST', path: '/totp/enroll' },
  'totp.link_options': { method: 'POST', path: '/totp/enroll/options' },
  'totp.verify': { method: 'POST', path: '/realms/{realm_id}/totp/verify' },
  'ui.info': { method: 'GET', path: '/ui/info' },
  whoami: { method: 'GET', path: '/whoami' },
} as const
