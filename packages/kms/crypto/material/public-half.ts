import { createPublicKey, type KeyObject } from 'node:crypto'

const publicHalves = new WeakMap<KeyObject, KeyObject>()

/** The public half of a private key, derived once. */
export function publicOf(key: KeyObject): KeyObject {
  const known = publicHalves.get(key)
  if (known !== undefined) return known
  const made = createPublicKey(key)
  publicHalves.set(key, made)
  return made
}

/** Bits of an RSA modulus. */
export function modulusBits(key: KeyObject): number {
  return key.asymmetricKeyDetails?.modulusLength ?? 0
}
