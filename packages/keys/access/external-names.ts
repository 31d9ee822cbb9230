import { domainToASCII, domainToUnicode } from 'node:url'
import { failure, isName } from '@warder/base'
import type { Principal } from '@warder/server'

/** Longest address: 64 characters, @, 255 (RFC 5321 §4.5.3.1); longer with characters outside of ASCII. */
const longest = 320

/** A Dot-string (RFC 5321 §4.1.2), with letters outside of ASCII (RFC 6531 §3.3): no quotes, no comments, no empty part. */
const atom = "(?:[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]|(?!\\p{ASCII})[\\p{L}\\p{M}\\p{N}])+"
const localPart = new RegExp(`^${atom}(?:\\.${atom})*$`, 'u')
/** Labels of letters, digits and hyphens (RFC 1123 §2.1), after names outside of ASCII were encoded (RFC 5890). */
const domainName = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/

/**
 * Folds an e-mail address for comparison and records: A to Z in lower case, and the domain in its DNS form. The case of
 * other letters is not folded: U+212A (Kelvin sign) and U+017F (long s) would become the letters k and s, and could
 * equal an address of another user.
 * @returns undefined if the claim is not an address
 */
export function foldEmail(claim: unknown): string | undefined {
  if (typeof claim !== 'string' || claim.length > longest || !claim.isWellFormed()) return undefined
  const at = claim.indexOf('@')
  if (at < 1) return undefined
  const local = foldAscii(claim.slice(0, at))
  const domain = foldDomain(claim.slice(at + 1))
  if (domain === undefined || !localPart.test(local)) return undefined
  // Of letters that can be composed in several ways one form alone is an address (Unicode, Annex 15).
  if (local.normalize('NFC') !== local) return undefined
  return `${local}@${domain}`
}

/** The one form of a domain; undefined for one that the DNS would take for another (UTS 46 maps it). */
function foldDomain(text: string): string | undefined {
  const folded = foldAscii(text)
  const encoded = /^\p{ASCII}*$/u.test(folded) ? folded : domainToASCII(folded)
  if (encoded.length > 253 || !domainName.test(encoded)) return undefined
  return encoded === folded || domainToUnicode(encoded) === folded ? encoded : undefined
}

/** Converts A to Z to lower case; other characters are unchanged. */
export function foldAscii(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}

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

/** Name of a principal of a store in this service; the vendor's own name follows the prefix, as received. */
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

/** Names that only one kind of credential may give, so that no other can pretend to be it. */
const reserved: Readonly<Record<string, readonly string[]>> = {
  'app:': ['app_token'],
  'spiffe://': ['spiffe'],
  ...Object.fromEntries(externalStoreNames.map((store) => [externalPrefix(store), []])),
  // Deleted owners: `formerOwnerName`.
  'ended:': [],
  // Grantees that represent several principals.
  'group:': [],
  'role:': [],
}

/**
 * Creates the principal if its name is valid: `isName` accepts it, it is not `*` (all users, in grants), and it is not
 * in the name space of another method.
 * @throws failure('unauthorized')
 */
export function principalNamed(name: string, method: string, realm?: string): Principal {
  if (!isName(name) || name === '*') throw unauthorized('the name in the credential is not a valid user name')
  for (const [prefix, methods] of Object.entries(reserved)) {
    if (name.startsWith(prefix) && !methods.includes(method)) {
      throw unauthorized(`names with the prefix ${prefix} are not allowed for ${method}`)
    }
  }
  return realm === undefined ? { name, method } : { name, method, realm }
}

/** 401 with one sentence for everything; why goes to the log. */
export function unauthorized(detail: string, cause?: unknown): Error {
  return failure('unauthorized', undefined, { detail, cause })
}
