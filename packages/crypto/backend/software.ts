import type { KeyObject } from 'node:crypto'
import { refuse } from '../algorithms/failure.ts'
import type { OaepHash } from '../algorithms/key-managements.ts'
import type { AlgorithmPolicy } from '../algorithms/policy.ts'
import type { SignaturePlan } from '../algorithms/signatures.ts'
import type { CipherPlan } from '../cipher/cipher-plan.ts'
import {
  type CipherInput,
  decryptSymmetric,
  type Encrypted,
  encryptSymmetric,
  openDecryption,
  openEncryption,
  type PlainInput,
} from '../cipher/symmetric.ts'
import { deriveKey } from '../derivation/derive-key.ts'
import { deriveHmacKey } from '../derivation/hmac-key.ts'
import { openEncapsulation } from '../kem.ts'
import { computeMac, type MacPlan } from '../mac.ts'
import {
  getPublicHalf,
  type KeyMaterial,
  type KeyShape,
  loadKey,
  type MaterialDescriptor,
} from '../material/material.ts'
import { decryptRsa, type RsaPlan } from '../rsa/rsa-encryption.ts'
import { oaepUnwrapCek } from '../rsa/rsa-oaep.ts'
import { signsInPlace, signWith, type ToSign } from '../signature/sign.ts'
import type { BackendKey, CipherParts, DerivationFromKey, KeyBackend } from './key-backend.ts'

/** Keys in the memory of this process. Operations of microseconds run synchronously, others on the thread pool. */
export const softwareBackend: KeyBackend = {
  open: async (kind, material) => new SoftwareKey(loadKey(kind, material)),
}

/** A key of this process without a row: of a certificate, or of one message. */
export function softwareKey(key: KeyObject): BackendKey {
  return new SoftwareKey(key)
}

class SoftwareKey implements BackendKey {
  readonly #key: KeyObject
  /** Asked of the key once: each time it costs as much as other steps of a request. */
  #inPlace: boolean | undefined
  #parts: CipherParts | undefined
  #hmacKey: BackendKey | undefined

  constructor(key: KeyObject) {
    this.#key = key
  }

  get shape(): KeyShape {
    return this.#key
  }

  get local(): KeyObject {
    return this.#key
  }

  get publicKey(): KeyObject | undefined {
    if (this.#key.type === 'secret') return undefined
    return this.#key.type === 'private' ? getPublicHalf(this.#key) : this.#key
  }

  encrypt(plan: CipherPlan, input: PlainInput): Encrypted {
    return encryptSymmetric(this.#key, plan, input)
  }

  decrypt(plan: CipherPlan, input: CipherInput): Buffer {
    return decryptSymmetric(this.#key, plan, input)
  }

  decryptRsa(plan: RsaPlan, data: Uint8Array): Promise<Buffer> {
    return decryptRsa(this.#key, plan, data)
  }

  unwrapContentKey(hash: OaepHash, wrapped: Uint8Array, bytes: number): Promise<Buffer> {
    return oaepUnwrapCek(hash, this.#key, wrapped, bytes)
  }

  async decapsulate(encapsulation: Uint8Array): Promise<Buffer> {
    return openEncapsulation(this.#key, encapsulation)
  }

  sign(plan: SignaturePlan, what: ToSign): Promise<Buffer> {
    this.#inPlace ??= signsInPlace(this.#key)
    return signWith(this.#key, plan, what, this.#inPlace)
  }

  mac(plan: MacPlan, data: Uint8Array): Buffer {
    return computeMac(this.#key, plan, data)
  }

  async openHmacKey(): Promise<BackendKey> {
    this.#hmacKey ??= new SoftwareKey(deriveHmacKey(this.#key))
    return this.#hmacKey
  }

  async derive(derivation: DerivationFromKey, policy: AlgorithmPolicy): Promise<Buffer> {
    if (this.#key.type !== 'secret') throw refuse('wrong_key', 'Keys can be derived only from secret keys.')
    const secret = this.#key.export()
    try {
      return await deriveKey({ ...derivation, secret, agreement: undefined }, policy)
    } finally {
      secret.fill(0)
    }
  }

  agree(other: KeyObject, derivation: DerivationFromKey, policy: AlgorithmPolicy): Promise<Buffer> {
    const agreement = { own: this.#key, other }
    return deriveKey({ ...derivation, secret: new Uint8Array(0), agreement }, policy)
  }

  get parts(): CipherParts {
    this.#parts ??= {
      openEncryption: (plan, input) => openEncryption(this.#key, plan, input),
      openDecryption: (plan, input) => openDecryption(this.#key, plan, input),
    }
    return this.#parts
  }
}

/** A key of the JOSE algorithms with the facts that their tables need, used by reference. */
export interface DescribedKey extends MaterialDescriptor {
  readonly held: BackendKey
}

/** The description of a key of this process without a row. */
export function toDescribedKey({ key, ...descriptor }: KeyMaterial): DescribedKey {
  return { ...descriptor, held: softwareKey(key) }
}
