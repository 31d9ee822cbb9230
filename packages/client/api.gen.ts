// Generated from the OpenAPI document of the key management service: change the declarations there, then run
// node packages/warder/client/generate.ts

/** What went wrong: a kind for programs, a sentence for people. */
export interface ErrorSchema {
  readonly error: 'bad_request' | 'unauthorized' | 'forbidden' | 'not_found' | 'method_not_allowed' | 'conflict' | 'payload_too_large' | 'unsupported_media_type' | 'expectation_failed' | 'unsupported_algorithm' | 'crypto_failure' | 'decryption_failed' | 'rate_limited' | 'request_timeout' | 'headers_too_large' | 'internal_error' | 'not_implemented' | 'certificate_signing_unconfigured' | 'bad_gateway' | 'overloaded' | 'storage_unavailable' | 'audit_unavailable'
  readonly description: string
  /** On 5xx: finds the detail in the log. */
  readonly request_id?: string
  /** For Vault-compatible clients. */
  readonly errors?: readonly string[]
}

/** By operationId: what goes in (`path`, `query`, `body`) and what comes back (`reply`). */
export interface Operations {
  /** Approve a request; the last approval that it takes carries it out */
  readonly 'access.approvals.approve': {
    readonly path: {
      readonly id: string
    }
    readonly body: {
      /** Hash of the request as the officer has read it. */
      readonly hash: string
    }
    readonly reply: {
      readonly id: string
      /** SHA-256 of exactly what is asked for: officers name it when they approve. */
      readonly hash: string
      readonly operation: 'destroy' | 'export' | 'grant'
      readonly key: string
      readonly user_id?: string
      readonly operation_types?: readonly string[]
      readonly requester: string
      /** open, approved, done, refused, withdrawn, void or expired. */
      readonly state: string
      /** Approvals that it takes. */
      readonly needed: number
      readonly approved_by: readonly string[]
      readonly refused_by: readonly string[]
      readonly created_at: string
      readonly until: string
    }
  }
  /** Ask the crypto officers to approve an operation */
  readonly 'access.approvals.ask': {
    readonly body: {
      readonly operation: 'destroy' | 'export' | 'grant'
      readonly key: string
      /** Of a grant: to whom. */
      readonly user_id?: string | null
      /** Of a grant. */
      readonly operation_types?: readonly string[] | null
    }
    readonly reply: {
      readonly id: string
      /** SHA-256 of exactly what is asked for: officers name it when they approve. */
      readonly hash: string
      readonly operation: 'destroy' | 'export' | 'grant'
      readonly key: string
      readonly user_id?: string
      readonly operation_types?: readonly string[]
      readonly requester: string
      /** open, approved, done, refused, withdrawn, void or expired. */
      readonly state: string
      /** Approvals that it takes. */
      readonly needed: number
      readonly approved_by: readonly string[]
      readonly refused_by: readonly string[]
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
      /** SHA-256 of exactly what is asked for: officers name it when they approve. */
      readonly hash: string
      readonly operation: 'destroy' | 'export' | 'grant'
      readonly key: string
      readonly user_id?: string
      readonly operation_types?: readonly string[]
      readonly requester: string
      /** open, approved, done, refused, withdrawn, void or expired. */
      readonly state: string
      /** Approvals that it takes. */
      readonly needed: number
      readonly approved_by: readonly string[]
      readonly refused_by: readonly string[]
      readonly created_at: string
      readonly until: string
    }
  }
  /** Requests for approval: all for officers, the own ones for everybody else */
  readonly 'access.approvals.list': {
    readonly query?: {
      readonly after?: string
      /** 1 to 1000, default 100. */
      readonly limit?: string
    }
    readonly reply: readonly {
      readonly id: string
      /** SHA-256 of exactly what is asked for: officers name it when they approve. */
      readonly hash: string
      readonly operation: 'destroy' | 'export' | 'grant'
      readonly key: string
      readonly user_id?: string
      readonly operation_types?: readonly string[]
      readonly requester: string
      /** open, approved, done, refused, withdrawn, void or expired. */
      readonly state: string
      /** Approvals that it takes. */
      readonly needed: number
      readonly approved_by: readonly string[]
      readonly refused_by: readonly string[]
      readonly created_at: string
      readonly until: string
    }[]
  }
  /** Refuse a request */
  readonly 'access.approvals.refuse': {
    readonly path: {
      readonly id: string
    }
    readonly body: {
      /** Hash of the request as the officer has read it. */
      readonly hash: string
    }
    readonly reply: {
      readonly id: string
      /** SHA-256 of exactly what is asked for: officers name it when they approve. */
      readonly hash: string
      readonly operation: 'destroy' | 'export' | 'grant'
      readonly key: string
      readonly user_id?: string
      readonly operation_types?: readonly string[]
      readonly requester: string
      /** open, approved, done, refused, withdrawn, void or expired. */
      readonly state: string
      /** Approvals that it takes. */
      readonly needed: number
      readonly approved_by: readonly string[]
      readonly refused_by: readonly string[]
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
      /** SHA-256 of exactly what is asked for: officers name it when they approve. */
      readonly hash: string
      readonly operation: 'destroy' | 'export' | 'grant'
      readonly key: string
      readonly user_id?: string
      readonly operation_types?: readonly string[]
      readonly requester: string
      /** open, approved, done, refused, withdrawn, void or expired. */
      readonly state: string
      /** Approvals that it takes. */
      readonly needed: number
      readonly approved_by: readonly string[]
      readonly refused_by: readonly string[]
      readonly created_at: string
      readonly until: string
    }
  }
  /** Refuse every request of a user, whatever credential it brings */
  readonly 'access.block': {
    readonly body: {
      /** A user, as `GET /me` says it; `app:` and its entity for a machine. */
      readonly user_id: string
      /** For the list and the audit log. */
      readonly reason?: string | null
    }
    readonly reply: {
      readonly success: string
    }
  }
  /** Users whose requests are refused, in pages */
  readonly 'access.blocked': {
    readonly query?: {
      /** Last user of the page before. */
      readonly after?: string
    }
    readonly reply: readonly {
      readonly user_id: string
      /** Unix seconds. */
      readonly blocked_at: number
      readonly blocked_by: string
      readonly reason: string
    }[]
  }
  /** Whether the caller may create objects */
  readonly 'access.create': {
    readonly reply: {
      readonly has_create_permission: boolean
    }
  }
  /** Grant rights on a key */
  readonly 'access.grant': {
    readonly body: {
      /** The key. May be left out when only `create` or `external` is named. */
      readonly unique_identifier?: string | null
      /** A user, or `*` for everybody who is authenticated. */
      readonly user_id: string
      /** KMIP operation names, or the groups Read, UseKey, Modify, Destroy, Authorize. */
      readonly operation_types: readonly string[]
    }
    readonly reply: {
      readonly success: string
    }
  }
  /** How much a user owns, and on how many objects they were granted something */
  readonly 'access.holdings': {
    readonly query: {
      /** A user, as `GET /me` says it; the owner of an object. */
      readonly user_id: string
      /** Realm of the authentication service, of which `user_id` is a username then. */
      readonly realm?: string
    }
    readonly reply: {
      readonly user_id: string
      readonly owned: number
      readonly granted: number
    }
  }
  /** Who was granted what on an object */
  readonly 'access.list': {
    readonly path: {
      readonly object_id: string
    }
    readonly reply: readonly {
      readonly user_id: string
      readonly operations: readonly string[]
    }[]
  }
  /** Objects of others on which the caller has rights, in pages */
  readonly 'access.obtained': {
    readonly query?: {
      /** Last id of the page before. */
      readonly after?: string
      /** 1 to 1000, default 1000. */
      readonly limit?: string
    }
    readonly reply: readonly {
      readonly object_id: string
      readonly owner_id: string
      readonly state: string
      readonly operations: readonly string[]
    }[]
  }
  /** Become an active crypto officer by the shares of the others */
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
      /** true: it takes the shares of all officers; default: of a quorum. */
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
      /** Officers whose shares it takes. */
      readonly threshold: number
      readonly officers: readonly {
        readonly user: string
        readonly share_id: string
      }[]
      readonly created_by: string
      /** When the activation of the caller ends. */
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
  /** Who is a crypto officer */
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
      /** Last id of the page before. */
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
  }
  /** Whether the caller is a crypto officer */
  readonly 'access.privileged': {
    readonly reply: {
      readonly has_privileged_access: boolean
    }
  }
  /** Take rights on a key back */
  readonly 'access.revoke': {
    readonly body: {
      /** The key. May be left out when only `create` or `external` is named. */
      readonly unique_identifier?: string | null
      /** A user, or `*` for everybody who is authenticated. */
      readonly user_id: string
      /** KMIP operation names, or the groups Read, UseKey, Modify, Destroy, Authorize. */
      readonly operation_types: readonly string[]
    }
    readonly reply: {
      readonly success: string
    }
  }
  /** Give what a user owns, and what was granted to them, to another user */
  readonly 'access.transfer': {
    readonly body: {
      /** A user, as `GET /me` says it; the owner of an object. */
      readonly from_user_id: string
      /** A user, as `GET /me` says it; the owner of an object. */
      readonly to_user_id: string
    }
    readonly reply: {
      readonly objects: number
      readonly grants: number
    }
  }
  /** Serve the requests of a user again */
  readonly 'access.unblock': {
    readonly body: {
      /** A user, as `GET /me` says it; `app:` and its entity for a machine. */
      readonly user_id: string
    }
    readonly reply: {
      readonly success: string
    }
  }
  /** Make an account, or find that of a key */
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
  /** A nonce for the next request */
  readonly 'acme.new_nonce': {
    readonly path: {
      readonly authority: string
    }
    readonly reply: undefined
  }
  /** Many crypto operations in one request */
  readonly 'crypto.batch': {
    readonly body: {
      readonly operations: readonly {
        /** encrypt, decrypt, sign, verify or mac */
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
  /** Decrypt a flattened JWE, or what was encrypted for a policy */
  readonly 'crypto.decrypt': {
    readonly body: {
      /** Holds alg, enc and kid; base64url. */
      readonly protected: string
      /** Needed for RSA-OAEP; empty or absent for `dir`. */
      readonly encrypted_key?: string | null
      /** 12 bytes, base64url. */
      readonly iv: string
      readonly ciphertext: string
      /** 16 bytes, base64url. */
      readonly tag: string
      readonly aad?: string | null
      /** With ABE, and only then: the user key to open it with. */
      readonly kid?: string | null
    }
    readonly reply: {
      readonly kid: string
      readonly data: string
    }
  }
  /** Encrypt with a symmetric key, for an RSA key, or for a policy */
  readonly 'crypto.encrypt': {
    readonly body: {
      /** A symmetric key for `dir`, either half of an RSA pair for RSA-OAEP, the public key for ABE. */
      readonly kid: string
      /** dir, RSA-OAEP, RSA-OAEP-256 or ABE */
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
  /** Generate a key, or import one */
  readonly 'crypto.keys.create': {
    readonly body: {
      /** oct, RSA, EC, OKP, AKP or ABE */
      readonly kty: string
      /** The key is bound to it. Needed for oct. */
      readonly alg?: string | null
      /** P-256, P-384, P-521 or Ed25519 */
      readonly crv?: string | null
      /** RSA: 2048 to 8192, default 2048. Of an import or another type: what the key has. */
      readonly bits?: number | null
      readonly tags?: readonly string[] | null
      /** false: the secret or private half is given to nobody, wrapped or not, its owner included (KMIP: not Extractable, Sensitive), unless somebody who may modify its attributes lifts that over KMIP. Default true: a KMIP client with the right to gets it. */
      readonly ext?: boolean | null
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
      /** ABE, a master key: dimension to attributes. `::<` after a dimension makes it a hierarchy, lowest first; `::+` after an attribute protects it against quantum computers, too. */
      readonly access_structure?: Readonly<Record<string, readonly string[]>> | null
      /** ABE, a user key: its master key. Takes the right derivekey on it. */
      readonly master?: string | null
      /** ABE, a user key: what it reads, `Team::Blue && Level::High`. */
      readonly policy?: string | null
    }
    readonly reply: {
      readonly kid: string
      readonly kid_public?: string | null
      readonly kty: string
      readonly alg?: string
      readonly crv?: string
      readonly key_ops: readonly string[]
      /** ABE: SHA-256 of the public key, base64url, by which a changed one is noticed. */
      readonly digest?: string
      /** As asked for; absent when the request did not say. */
      readonly ext?: boolean
    }
  }
  /** Revoke and remove a key, with the other half of a pair */
  readonly 'crypto.keys.destroy': {
    readonly path: {
      readonly kid: string
    }
    readonly reply: undefined
  }
  /** What is known about a key, and its public half */
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
      /** Of a secret or private key. false: nobody gets its bytes in clear, over KMIP either. */
      readonly ext?: boolean
      readonly state: string
      readonly owner: string
      /** The other half of a pair. */
      readonly linked_kid?: string
      readonly tags: readonly string[]
      /** RFC 3339, UTC. */
      readonly created_at: string
      readonly public_jwk?: Readonly<Record<string, string>>
      readonly abe?: {
        /** master, public or user */
        readonly kind: string
        /** SHA-256 of the key, base64url. */
        readonly digest: string
        /** Of a user key: what it reads. */
        readonly policy?: string
        /** Of a user key that was made here. */
        readonly master?: string
      }
    }
  }
  /** Rotate an attribute-based master key, or change its access structure */
  readonly 'crypto.keys.rotate': {
    readonly path: {
      readonly kid: string
    }
    readonly body: {
      /** Renews the rights of this policy. */
      readonly RekeyAccessPolicy?: string | null
      /** Forgets their former secrets. */
      readonly PruneAccessPolicy?: string | null
      /** `["Dimension::Name", "Classic" | "PostQuantum" | "Hybridized", null | "attribute just below in a hierarchy"]` */
      readonly AddAttribute?: readonly (readonly (string | null)[])[] | null
      /** `["Dimension::Name", "NewName"]` */
      readonly RenameAttribute?: readonly (readonly string[])[] | null
      readonly DisableAttribute?: readonly string[] | null
      readonly DeleteAttribute?: readonly string[] | null
    }
    readonly reply: {
      readonly kid: string
      readonly kid_public: string
      /** SHA-256 of the public key, base64url. */
      readonly digest: string
      readonly refreshed: readonly string[]
      /** User keys that the master key does not know. */
      readonly not_refreshed: readonly string[]
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
        /** What it was made for. */
        readonly policy?: string
        /** Attributes for each of which alone something may be encrypted that it opens. */
        readonly reads: readonly string[]
        /** Whether it opens what is encrypted for `policy`. */
        readonly opens?: boolean
      }[]
    }
  }
  /** Take the wrapped key of a JWE in */
  readonly 'crypto.keys.unwrap': {
    readonly body: {
      /** JWE header with kid, alg and enc; base64url. */
      readonly protected: string
      /** The wrapped key, base64url. */
      readonly encrypted_key: string
      /** false: the secret or private half is given to nobody, wrapped or not, its owner included (KMIP: not Extractable, Sensitive), unless somebody who may modify its attributes lifts that over KMIP. Default true: a KMIP client with the right to gets it. */
      readonly ext?: boolean | null
    }
    readonly reply: {
      readonly kid: string
      readonly kid_public?: string | null
      readonly kty: string
      readonly alg?: string
      readonly crv?: string
      readonly key_ops: readonly string[]
      /** ABE: SHA-256 of the public key, base64url, by which a changed one is noticed. */
      readonly digest?: string
      /** As asked for; absent when the request did not say. */
      readonly ext?: boolean
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
      /** To be verified; absent: computed. */
      readonly mac?: string | null
    }
    readonly reply: {
      readonly kid: string
      readonly mac: string
    } | {
      readonly kid: string
      readonly valid: boolean
    }
  }
  /** Sign with a private key */
  readonly 'crypto.sign': {
    readonly body: {
      /** The private key. */
      readonly kid: string
      /** RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA or MLDSA44 */
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
      /** Holds alg and kid, the public key; base64url. */
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
  /** Make an access key for AWS KMS */
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
      /** RawSecretAccessKey */
      readonly secret: string
    }
  }
  /** Take an access key away: what it signs is refused from the next request on */
  readonly 'external.aws.keys.delete': {
    readonly path: {
      readonly id: string
    }
    readonly reply: undefined
  }
  /** Access keys that AWS KMS may sign with, without their secrets */
  readonly 'external.aws.keys.list': {
    readonly reply: readonly {
      /** AccessKeyId */
      readonly id: string
      readonly uri_prefix: string
      readonly region: string
      readonly created_at: string
      readonly created_by: string
    }[]
  }
  /** The external key stores, and which of them are stopped */
  readonly 'external.list': {
    readonly reply: readonly {
      readonly name: string
      /** Whether the settings of this node switch it on. */
      readonly enabled: boolean
      readonly stopped: null | {
        readonly at: string
        readonly by: string
      }
    }[]
  }
  /** Let a cloud that was stopped use its keys again */
  readonly 'external.start': {
    readonly path: {
      /** aws, google, microsoft or azure */
      readonly name: string
    }
    readonly reply: {
      readonly name: string
      /** Whether the settings of this node switch it on. */
      readonly enabled: boolean
      readonly stopped: null | {
        readonly at: string
        readonly by: string
      }
    }
  }
  /** Refuse every request of a cloud from now on, on every node */
  readonly 'external.stop': {
    readonly path: {
      /** aws, google, microsoft or azure */
      readonly name: string
    }
    readonly reply: {
      readonly name: string
      /** Whether the settings of this node switch it on. */
      readonly enabled: boolean
      readonly stopped: null | {
        readonly at: string
        readonly by: string
      }
    }
  }
  /** Whether the service works, and which part of it does not */
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
      }
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
  }
  /** Take an account its access; its certificates stay valid */
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
  /** Make a credential that binds one ACME account to the caller */
  readonly 'pki.acme.credentials.create': {
    readonly path: {
      readonly id: string
    }
    readonly body: {
      /** For people: who it is for. */
      readonly name?: string | null
      /** How long an account can be bound with it. */
      readonly days?: number | null
    }
    readonly reply: {
      readonly kid: string
      /** Base64url; it is shown once. */
      readonly hmac_key: string
      readonly directory: string
      readonly expires_at: string
    }
  }
  /** Take a credential back; an account that was bound with it stays */
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
        /** Until then an account can be bound with it. */
        readonly expires_at: string
        /** That was bound with it. */
        readonly account?: string
      }[]
      readonly next?: string
    }
  }
  /** Open an authority for ACME, or change how it is open */
  readonly 'pki.acme.open': {
    readonly path: {
      readonly id: string
    }
    readonly body: {
      readonly profile?: 'server' | 'client' | null
      /** Validity of certificates. */
      readonly days?: number | null
      /** Accounts are bound with a credential (default true). */
      readonly external_account_required?: boolean | null
      readonly challenges?: readonly ('http-01' | 'dns-01' | 'tls-alpn-01')[] | null
      readonly orders_per_hour?: number | null
      readonly terms_of_service?: string | null
      readonly website?: string | null
    }
    readonly reply: {
      /** The address that clients are given. */
      readonly directory: string
      readonly profile: string
      readonly days: number
      readonly external_account_required: boolean
      readonly challenges: readonly string[]
      readonly orders_per_hour: number
      readonly terms_of_service?: string
      readonly website?: string
    }
  }
  /** How an authority is open for ACME */
  readonly 'pki.acme.show': {
    readonly path: {
      readonly id: string
    }
    readonly reply: {
      /** The address that clients are given. */
      readonly directory: string
      readonly profile: string
      readonly days: number
      readonly external_account_required: boolean
      readonly challenges: readonly string[]
      readonly orders_per_hour: number
      readonly terms_of_service?: string
      readonly website?: string
    }
  }
  /** Make a certificate authority, or import one */
  readonly 'pki.authorities.create': {
    readonly body: {
      /** RFC 4514: `CN=Root, O=Acme` */
      readonly subject?: string | null
      /** ES256, ES384, ES512, RS256, EdDSA or MLDSA44 */
      readonly alg?: string | null
      /** RSA: 2048 to 8192, default 2048. */
      readonly bits?: number | null
      /** A private key that is here, in place of a new one. */
      readonly kid?: string | null
      readonly days?: number | null
      /** Authority that signs the certificate; absent: it signs itself. */
      readonly issuer?: string | null
      /** Authorities that may follow below it. */
      readonly path_length?: number | null
      /** `DNS:example.com`, `IP:192.0.2.0/24`, `email:.example.com`, `URI:.example.com` */
      readonly permitted_names?: readonly string[] | null
      /** `DNS:example.com`, `IP:192.0.2.0/24`, `email:.example.com`, `URI:.example.com` */
      readonly excluded_names?: readonly string[] | null
      /** Import: its certificate and those above it, PEM. Needs kid. */
      readonly certificate?: string | null
      /** Kinds of certificates that it issues; absent: all. */
      readonly profiles?: readonly ('server' | 'client' | 'code_signing' | 'spiffe' | 'authority')[] | null
      /** Longest validity of what it issues. */
      readonly max_days?: number | null
    }
    readonly reply: {
      /** Of its certificate: the issuer_id of its revocation list. */
      readonly id: string
      readonly kid: string
      /** PEM */
      readonly certificate: string
      /** The certificates above it, the next one first, PEM; empty of a root. */
      readonly chain: string
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
      readonly not_before: string
      readonly not_after: string
      /** Authorities that may follow below it. */
      readonly path_length?: number
      readonly profiles?: readonly string[]
      readonly max_days?: number
      /** PEM */
      readonly certificate: string
      /** The certificates above it, the next one first, PEM. */
      readonly chain: string
      readonly crl?: {
        readonly number: number
        readonly this_update: string
        readonly next_update: string
      }
      readonly crl_url?: string
      readonly ocsp_url?: string
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
      readonly not_before: string
      readonly not_after: string
      /** Authorities that may follow below it. */
      readonly path_length?: number
      readonly profiles?: readonly string[]
      readonly max_days?: number
    }[]
  }
  /** One certificate: JSON, PEM, DER, or with those above it, as the header Accept asks */
  readonly 'pki.certificates.get': {
    readonly path: {
      readonly id: string
    }
    readonly reply: {
      /** Of the object that holds it. */
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
      /** PEM; absent where the object is gone. */
      readonly certificate?: string
    }
  }
  /** Issue a certificate: for a request, a public key, a key that is here, or a new one */
  readonly 'pki.certificates.issue': {
    readonly path: {
      readonly id: string
    }
    readonly body: {
      /** PKCS#10 request, PEM */
      readonly csr?: string | null
      /** SubjectPublicKeyInfo, PEM */
      readonly public_key?: string | null
      /** A key that is here. */
      readonly kid?: string | null
      /** ES256, ES384, ES512, RS256, EdDSA or MLDSA44 */
      readonly alg?: string | null
      /** RSA: 2048 to 8192, default 2048. */
      readonly bits?: number | null
      /** RFC 4514: `CN=Root, O=Acme` */
      readonly subject?: string | null
      readonly profile?: 'server' | 'client' | 'code_signing' | 'spiffe' | null
      /** DNS names, IP addresses, mailboxes and URIs; with `DNS:`, `IP:`, `email:` or `URI:` in front, or as they are. */
      readonly names?: readonly string[] | null
      readonly days?: number | null
    }
    readonly reply: {
      readonly id: string
      /** Hexadecimal. */
      readonly serial: string
      /** PEM */
      readonly certificate: string
      /** The authority and those above it, PEM. */
      readonly chain: string
      /** The private key, where it is here. */
      readonly kid?: string
    }
  }
  /** What an authority issued, in the order of its end, in pages */
  readonly 'pki.certificates.list': {
    readonly path: {
      readonly id: string
    }
    readonly query?: {
      /** X-Next-After of the page before. */
      readonly after?: string
      /** 1 to 1000, default 100. */
      readonly limit?: string
      readonly state?: 'valid' | 'hold' | 'revoked' | 'expired'
      /** Text within the subject, upper and lower case alike. */
      readonly subject?: string
      /** RFC 3339 */
      readonly expires_before?: string
    }
    readonly reply: readonly {
      /** Of the object that holds it. */
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
    }[]
  }
  /** Give a certificate back that is on hold */
  readonly 'pki.certificates.release': {
    readonly path: {
      readonly id: string
    }
    readonly reply: {
      /** Of the object that holds it. */
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
  /** Issue a certificate like this one, by the same authority, for the same key */
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
      /** The authority and those above it, PEM. */
      readonly chain: string
      /** The private key, where it is here. */
      readonly kid?: string
    }
  }
  /** Take a certificate back */
  readonly 'pki.certificates.revoke': {
    readonly path: {
      readonly id: string
    }
    readonly body?: {
      /** RFC 5280 §5.3.1; absent: unspecified. certificateHold can be taken back by release. */
      readonly reason?: 'unspecified' | 'keyCompromise' | 'cACompromise' | 'affiliationChanged' | 'superseded' | 'cessationOfOperation' | 'certificateHold' | 'removeFromCRL' | 'privilegeWithdrawn' | 'aACompromise' | null
      /** Since when the key was not to be trusted. */
      readonly invalidity_date?: string | null
    }
    readonly reply: {
      /** Of the object that holds it. */
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
  /** Make a request (PKCS#10) for the certificate of an authority, to be signed by an outside one */
  readonly 'pki.requests.create': {
    readonly body: {
      /** RFC 4514: `CN=Root, O=Acme` */
      readonly subject: string
      /** ES256, ES384, ES512, RS256, EdDSA or MLDSA44 */
      readonly alg?: string | null
      /** RSA: 2048 to 8192, default 2048. */
      readonly bits?: number | null
      /** A private key that is here, in place of a new one. */
      readonly kid?: string | null
      /** DNS names, IP addresses, mailboxes and URIs; with `DNS:`, `IP:`, `email:` or `URI:` in front, or as they are. */
      readonly names?: readonly string[] | null
    }
    readonly reply: {
      readonly kid: string
      /** PEM */
      readonly csr: string
    }
  }
  /** What this server is and can do */
  readonly 'server.info': {
    readonly reply: {
      readonly version: string
      /** Only algorithms of FIPS builds are accepted. */
      readonly fips_mode: boolean
      /** The FIPS provider of OpenSSL does the cryptography. */
      readonly fips_provider: boolean
      readonly hsm_instances: readonly unknown[]
      readonly default_username: string
      readonly external_stores: readonly {
        readonly name: string
        readonly stopped: boolean
      }[]
    }
  }
  /** Who the caller is to this service */
  readonly 'server.me': {
    readonly reply: {
      readonly user: string
    }
  }
  /** Log in for the web page */
  readonly 'ui.login': {
    readonly body: {
      readonly username: string
      readonly password: string
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
  /** Version of the service and of its cryptographic library */
  readonly version: {
    readonly reply: string
  }
}

/** Where each operation is. */
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
  'access.grant': { method: 'POST', path: '/access/grant' },
  'access.holdings': { method: 'GET', path: '/access/holdings' },
  'access.list': { method: 'GET', path: '/access/list/{object_id}' },
  'access.obtained': { method: 'GET', path: '/access/obtained' },
  'access.officers.activate': { method: 'POST', path: '/access/crypto_officer/ceremony/activate' },
  'access.officers.begin': { method: 'POST', path: '/access/crypto_officer/ceremony' },
  'access.officers.ceremony': { method: 'GET', path: '/access/crypto_officer/ceremony' },
  'access.officers.disable': { method: 'POST', path: '/access/crypto_officer/disable' },
  'access.officers.status': { method: 'GET', path: '/access/crypto_officer/status' },
  'access.owned': { method: 'GET', path: '/access/owned' },
  'access.privileged': { method: 'GET', path: '/access/privileged' },
  'access.revoke': { method: 'POST', path: '/access/revoke' },
  'access.transfer': { method: 'POST', path: '/access/transfer' },
  'access.unblock': { method: 'DELETE', path: '/access/block' },
  'acme.new_account': { method: 'POST', path: '/acme/{authority}/new-account' },
  'acme.new_nonce': { method: 'GET', path: '/acme/{authority}/new-nonce' },
  'crypto.batch': { method: 'POST', path: '/v1/crypto/batch' },
  'crypto.decrypt': { method: 'POST', path: '/v1/crypto/decrypt' },
  'crypto.encrypt': { method: 'POST', path: '/v1/crypto/encrypt' },
  'crypto.keys.create': { method: 'POST', path: '/v1/crypto/keys' },
  'crypto.keys.destroy': { method: 'DELETE', path: '/v1/crypto/keys/{kid}' },
  'crypto.keys.get': { method: 'GET', path: '/v1/crypto/keys/{kid}' },
  'crypto.keys.rotate': { method: 'POST', path: '/v1/crypto/keys/{kid}/rotate' },
  'crypto.keys.structure': { method: 'GET', path: '/v1/crypto/keys/{kid}/structure' },
  'crypto.keys.unwrap': { method: 'POST', path: '/v1/crypto/keys/unwrap' },
  'crypto.mac': { method: 'POST', path: '/v1/crypto/mac' },
  'crypto.sign': { method: 'POST', path: '/v1/crypto/sign' },
  'crypto.verify': { method: 'POST', path: '/v1/crypto/verify' },
  'external.aws.keys.create': { method: 'POST', path: '/v1/external-stores/aws/access-keys' },
  'external.aws.keys.delete': { method: 'DELETE', path: '/v1/external-stores/aws/access-keys/{id}' },
  'external.aws.keys.list': { method: 'GET', path: '/v1/external-stores/aws/access-keys' },
  'external.list': { method: 'GET', path: '/v1/external-stores' },
  'external.start': { method: 'POST', path: '/v1/external-stores/{name}/start' },
  'external.stop': { method: 'POST', path: '/v1/external-stores/{name}/stop' },
  health: { method: 'GET', path: '/health' },
  jwks: { method: 'GET', path: '/.well-known/jwks.json' },
  'key.tags.add': { method: 'POST', path: '/v1/crypto/keys/{kid}/tags' },
  'key.tags.list': { method: 'GET', path: '/v1/crypto/keys/{kid}/tags' },
  'key.tags.remove': { method: 'DELETE', path: '/v1/crypto/keys/{kid}/tags' },
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
  'pki.certificates.revoke': { method: 'POST', path: '/v1/pki/certificates/{id}/revoke' },
  'pki.requests.create': { method: 'POST', path: '/v1/pki/requests' },
  'server.info': { method: 'GET', path: '/server-info' },
  'server.me': { method: 'GET', path: '/me' },
  'ui.login': { method: 'POST', path: '/ui/login' },
  'ui.logout': { method: 'POST', path: '/ui/logout' },
  version: { method: 'GET', path: '/version' },
} as const
