/** Characters (code points). */
const maxNameLength = 256
/** Control, format (bidirectional controls and zero-width characters among them), line and paragraph separators. */
const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u

/**
 * Whether a text may be the name of a user or an object in lists, logs and addresses: 1 to 256 characters, none
 * of them invisible or able to reorder the text around it (Unicode UAX #9), no lone surrogate (which a database keeps as
 * another character), no blank at either end, and neither `.` nor `..`, which clients resolve away in a path
 * (RFC 3986 §5.2.4).
 */
export function isName(text: string): boolean {
  return (
    text !== '' &&
    text.length <= 2 * maxNameLength &&
    [...text].length <= maxNameLength &&
    text.isWellFormed() &&
    !invisible.test(text) &&
    text.trim() === text &&
    text !== '.' &&
    text !== '..'
  )
}
