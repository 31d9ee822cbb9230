/** The external key stores: clouds that use keys of this service, each by a protocol of its own. */
export const externalStoreNames = ['aws', 'google', 'microsoft', 'azure'] as const
export type ExternalStoreName = (typeof externalStoreNames)[number]

/**
 * Prefix of the names of a store's principals in grants and in the audit log: `aws:arn:aws:iam::123456789012:role/r`.
 * No other credential gives such a name.
 */
export function externalPrefix(store: ExternalStoreName): `${ExternalStoreName}:` {
  return `${store}:`
}

/** Name of a principal of a store in this service; the vendor's own name follows the prefix as it came. */
export function externalPrincipal(store: ExternalStoreName, name: string): string {
  return `${externalPrefix(store)}${name}`
}

/** Whether a name is that of a whole cloud or its key store, not of one of the people who use it. */
export function isStoreItself(name: string): boolean {
  return name.startsWith(externalPrefix('aws')) || name.startsWith(externalPrefix('azure'))
}
