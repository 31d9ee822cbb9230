import { domainToASCII, domainToUnicode } from 'node:url'

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
