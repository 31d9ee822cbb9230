import type { Extractability, ManagedObject } from '@warder/keys'
import Type from 'typebox'

/** `ext` of a JWK (Web Cryptography API §15, in the JOSE registry of IANA): whether the key may be exported. */
export const Ext = Type.Optional(
  Type.Boolean({
    description:
      'false: no user can export the secret or private key, wrapped or not, not even its owner (KMIP: not Extractable, Sensitive), unless a user with the right to modify its attributes changes that over KMIP. Default true: a KMIP client with the right can export it.',
  }),
)

/**
 * A key with `ext: false` is never exported. The last two members state that this was so from the beginning (KMIP 2.1
 * §4.3, §4.33): they become false for good if an authorized user makes the key extractable later.
 */
export function toExtractability(ext: boolean | undefined): Extractability | undefined {
  if (ext !== false) return undefined
  return { extractable: false, sensitive: true, neverExtractable: true, alwaysSensitive: true }
}

/** false: no caller gets its bytes in clear. undefined for objects without secret material. */
export function toExt({ type, extractable, sensitive }: ManagedObject): boolean | undefined {
  if (type !== 'SymmetricKey' && type !== 'PrivateKey') return undefined
  return extractable && !sensitive
}
