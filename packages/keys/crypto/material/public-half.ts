import { createPublicKey, type KeyObject } from 'node:crypto'

const publicHalves = new WeakMap<KeyObject, KeyObject>()

/** The public half of a private key, derived once. */
export function getPublicHalf(key: KeyObject): KeyObject {
  const known = publicHalves.get(key)
  if (known !== undefined) return known
  const made = createPublicKey(key)
  publicHalves.set(key, made)
  return made
}

/** Facts that planning needs about a key, wherever the key itself is; node's KeyObject has these members. */
export type KeyShape = Pick<
  KeyObject,
  'type' | 'asymmetricKeyType' | 'asymmetricKeyDetails' | 'symmetricKeySize'
>

/** Bits of an RSA modulus. */
export function modulusBits(key: KeyShape): number {
  return key.asymmetricKeyDetails?.modulusLength ?? 0
}
