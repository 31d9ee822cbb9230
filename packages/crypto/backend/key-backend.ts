import type { KeyObject } from 'node:crypto'
import type { MaybePromise } from '@warder/base'
import type { OaepHash } from '../algorithms/key-managements.ts'
import type { AlgorithmPolicy } from '../algorithms/policy.ts'
import type { SignaturePlan } from '../algorithms/signatures.ts'
import type { CipherPlan } from '../cipher/cipher-plan.ts'
import type { CipherInput, CipherStream, Encrypted, PlainInput } from '../cipher/symmetric.ts'
import type { Derivation } from '../derivation/derive-key.ts'
import type { MacPlan } from '../mac.ts'
import type { KeyShape, MaterialKind } from '../material/material.ts'
import type { RsaPlan } from '../rsa/rsa-encryption.ts'
import type { ToSign } from '../signature/sign.ts'

/**
 * Executes the operations of keys: between the rule of use (`keys/may-use.ts`) and the primitives (`crypto/`). The only
 * implementation stores keys in the memory of this process (`software.ts`). One for a security module or another key
 * management service would store references and return promises (docs/adr/key-architecture.md). Encryption and MACs of
 * a key in this process are faster than a promise: they may return synchronously.
 */
export interface KeyBackend {
  /**
   * Loads a key from the material in its row.
   * @param material canonical bytes of the key, or the reference that this backend returned; the caller wipes them
   * @throws Failure internal_error when it is neither
   */
  open(kind: MaterialKind, material: Uint8Array): Promise<BackendKey>
}

/**
 * A key, used by reference: no function here discloses its secret part. Plans were made and permitted before; whether
 * the key may be used was decided before. Every operation rejects with, or throws, a CryptoFailure or a Failure. One
 * that the backend cannot do throws CryptoFailure unsupported.
 */
export interface BackendKey {
  /** Facts that planning needs about the key. */
  readonly shape: KeyShape
  /** The public half, or the public key itself; undefined of a secret key. Operations with it need no backend. */
  readonly publicKey: KeyObject | undefined
  /** With a secret key. */
  encrypt(plan: CipherPlan, input: PlainInput): MaybePromise<Encrypted>
  /** With a secret key. */
  decrypt(plan: CipherPlan, input: CipherInput): MaybePromise<Buffer>
  /** With an RSA private key. */
  decryptRsa(plan: RsaPlan, data: Uint8Array): Promise<Buffer>
  /**
   * A content key of `bytes` bytes, with an RSA private key: the wrapped one, or another one if it cannot be
   * decrypted (implicit rejection, RFC 7516 §11.5).
   */
  unwrapContentKey(hash: OaepHash, wrapped: Uint8Array, bytes: number): Promise<Buffer>
  /** The shared secret of an encapsulation, with an ML-KEM private key. */
  decapsulate(encapsulation: Uint8Array): Promise<Buffer>
  /** With a private key. */
  sign(plan: SignaturePlan, what: ToSign): Promise<Buffer>
  /** With a secret key. */
  mac(plan: MacPlan, data: Uint8Array): MaybePromise<Buffer>
  /**
   * The HMAC key derived from a secret or private key, which reveals nothing about it (docs/adr/transit.md).
   * The reference is kept as long as this key.
   */
  openHmacKey(): Promise<BackendKey>
  /** New key material from a secret key. */
  derive(derivation: DerivationFromKey, policy: AlgorithmPolicy): Promise<Buffer>
  /** The raw shared secret of this private key and another's public key, for a key derivation. */
  agree(other: KeyObject, derivation: DerivationFromKey, policy: AlgorithmPolicy): Promise<Buffer>
  /** Ciphers that are fed part by part; undefined if a backend requires its data in one piece. */
  readonly parts: CipherParts | undefined
  /** The key itself, if it is in this process: for work in another thread. */
  readonly local: KeyObject | undefined
}

export type DerivationFromKey = Omit<Derivation, 'secret' | 'agreement'>

export interface CipherParts {
  openEncryption(
    plan: CipherPlan,
    input: Omit<PlainInput, 'data'>,
  ): CipherStream & { readonly iv: Buffer | undefined }
  openDecryption(plan: CipherPlan, input: Omit<PlainInput, 'data'>): CipherStream
}
