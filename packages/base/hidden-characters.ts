/**
 * Characters that a reader does not see, or that change the appearance of others: format characters (bidirectional
 * controls among them), separators of lines and paragraphs, DEL and C1 controls.
 */
const hidden = /[\p{Cf}\p{Zl}\p{Zp}\u007f-\u009f]/gu

/** JSON with these characters as `\uXXXX`: another way to write the same value. */
export function escapeHidden(json: string): string {
  return json.replace(hidden, escapeUnits)
}

/** The text with each UTF-16 unit as `\uXXXX`. */
export function escapeUnits(text: string): string {
  let result = ''
  for (let index = 0; index < text.length; index += 1)
    result += `\\u${text.charCodeAt(index).toString(16).padStart(4, '0')}`
  return result
}

/** Reverts `escapeHidden`: canonical JSON (RFC 8785) has no other escapes of characters above U+001F. */
export function unescapeHidden(json: string): string {
  return json.replace(/\\(?:u([0-9a-f]{4})|.)/g, (whole, digits: string | undefined) => {
    const code = digits === undefined ? 0 : Number.parseInt(digits, 16)
    return code < 0x7f ? whole : String.fromCharCode(code)
  })
}
