import type { KeyObject } from 'node:crypto'

export interface VerificationKey {
  readonly kid: string | undefined
  readonly key: KeyObject
  /** Algorithms that the key's type and size allow; a token's `alg` must be one of them. */
  readonly algorithms: readonly string[]
}

/** Keys of one issuer. `find` refreshes a remote set on an unknown kid (throttled) and keeps old keys on failure. */
export interface KeySet {
  find(kid: string | undefined): Promise<readonly VerificationKey[]>
  /**
   * For a token that names no key and fits none of those known: asks again, throttled as for an unknown kid.
   * undefined when there is nothing newer.
   */
  renewed?(): Promise<readonly VerificationKey[] | undefined>
}

export interface ExpectedToken {
  readonly issuer: string | undefined
  /** At least one of these must be in `aud`; undefined = not checked. */
  readonly audience: readonly string[] | undefined
  readonly requiredClaims: readonly string[]
  readonly leewaySeconds: number
  /** Further restriction of algorithms; undefined = what the keys allow. */
  readonly algorithms?: readonly string[]
}

export interface VerifiedToken {
  readonly header: Readonly<Record<string, unknown>>
  readonly claims: Readonly<Record<string, unknown>>
}
