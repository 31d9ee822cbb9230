import type { KeyObject } from 'node:crypto'
import type { SignatureAlgorithm } from '../../algorithms/algorithms.ts'
import { toDescribedKey } from '../../backend/software.ts'
import { decryptSymmetric, encryptSymmetric } from '../../cipher/symmetric.ts'
import { hmacCompute, sameTag } from '../../mac.ts'
import type { KeyMaterial } from '../../material/material.ts'
import { type ContentSealer, contentPlan, type FlattenedJwe, sealNow } from '../jwe-flattened.ts'
import { createSignature } from '../jws-detached.ts'

// The primitives of JOSE as tests call them: with a key of this process, at once.

export { hmacCompute }

const planOf = (key: KeyObject) => contentPlan({ bits: (key.symmetricKeySize ?? 0) * 8 })

export function gcmEncrypt(key: KeyObject, data: Uint8Array, aad: Uint8Array) {
  const { iv, data: ciphertext, tag } = encryptSymmetric(key, planOf(key), { data, iv: undefined, aad })
  return { iv: iv as Buffer, ciphertext, tag: tag as Buffer }
}

export function gcmDecrypt(key: KeyObject, sealed: ReturnType<typeof gcmEncrypt>, aad: Uint8Array): Buffer {
  const { iv, ciphertext, tag } = sealed
  return decryptSymmetric(key, planOf(key), { data: ciphertext, iv, aad, tag })
}

export function hmacVerify(hash: string, key: KeyObject, data: Uint8Array, tag: Uint8Array): boolean {
  return sameTag(hmacCompute(hash, key, data), tag)
}

export function signed(
  algorithm: SignatureAlgorithm,
  material: KeyMaterial,
  data: Uint8Array,
): Promise<Buffer> {
  return createSignature(algorithm, toDescribedKey(material), data)
}

export const seal: ContentSealer<FlattenedJwe> = (key, plan, content) => {
  const sealed = sealNow(key, plan, content)
  if (sealed instanceof Promise) throw new TypeError('a key of this process answers at once')
  return sealed
}
