/** Longest address: 64 characters, @, 255 (RFC 5321 §4.5.3.1); longer with characters outside of ASCII. */
const longest = 320

/**
 * An e-mail address as it is compared and recorded: A to Z in lower case and nothing else changed. Upper and lower case
 * of other letters are not mixed: U+212A (Kelvin sign) and U+017F (long s) would become the letters k and s, and an
 * address of somebody else the same.
 * @returns undefined for what is no address
 */
export function foldedEmail(claim: unknown): string | undefined {
  if (typeof claim !== 'string' || claim.length > longest || !claim.isWellFormed()) return undefined
  // A colon stands in names of grants that are no addresses: `role:`.
  if (!/^[^@:\s\p{C}]+@[^@:\s\p{C}]+$/u.test(claim)) return undefined
  return foldAscii(claim)
}

/** A to Z in lower case, all else as it is. */
export function foldAscii(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}
