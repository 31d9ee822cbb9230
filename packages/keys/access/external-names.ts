import { foldAscii, foldEmail } from './email.ts'

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

/** Principal of a store that means all of its principals. */
export const everyPrincipal = '*'

/** The vendor's name in the one form in which it is compared. */
const normalForms: Readonly<Record<ExternalStoreName, (name: string) => string>> = {
  aws(name) {
    const [, path, principal = name] = /^(\/[A-Za-z0-9_/-]*):(.*)$/s.exec(name) ?? []
    // IAM does not permit two names that differ only in case, but it permits such paths.
    return path === undefined ? foldAscii(name) : `${path}:${foldAscii(principal)}`
  },
  google: (name) => foldEmail(name.trim()) ?? foldAddress(name.trim()),
  microsoft(name) {
    const [, role] = /^role:(.*)$/is.exec(name) ?? []
    // Values of app roles are compared exactly by Entra; ids of groups are hexadecimal.
    if (role !== undefined) return `role:${isId(role) ? foldAscii(role) : role}`
    return foldEmail(name.trim()) ?? foldAscii(name.trim())
  },
  // caseIgnoreMatch of commonName (X.520; RFC 4517 §4.2.11).
  azure: (name) => foldAscii(name.trim().replaceAll(/ +/g, ' ')),
}

function isId(text: string): boolean {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)
}

/** The address of another key service, without a slash at its end. */
function foldAddress(text: string): string {
  const url = /^https:/i.test(text) ? URL.parse(text) : null
  return url === null ? foldAscii(text) : url.href.replace(/\/+$/, '')
}

const namedStore = /^(aws|google|microsoft|azure):/i

/**
 * Normalizes a name for comparison, for rights and for blocks alike: a principal of a cloud without the differences
 * that the cloud ignores, other names unchanged.
 */
export function normalizeName(name: string): string {
  const [prefix, word] = namedStore.exec(name) ?? []
  if (prefix === undefined || word === undefined) return name
  const store = foldAscii(word) as ExternalStoreName
  return externalPrincipal(store, normalForms[store](name.slice(prefix.length)))
}

/** The store of a name in its normal form; undefined: it is no name of a cloud. */
export function storeOfName(name: string): ExternalStoreName | undefined {
  return externalStoreNames.find((store) => name.startsWith(externalPrefix(store)))
}

/** Whether a normalized name means every principal of a store, or of one key store of AWS. */
export function isEveryPrincipal(name: string): boolean {
  const store = storeOfName(name)
  if (store === undefined) return false
  const principal = name.slice(externalPrefix(store).length)
  return principal === everyPrincipal || (store === 'aws' && /^\/[^:]*:\*$/.test(principal))
}

/** Whether a name is that of a whole cloud or its key store, not of one of its users. */
export function isStoreItself(name: string): boolean {
  return name.startsWith(externalPrefix('aws')) || name.startsWith(externalPrefix('azure'))
}
