/**
 * Whether XML 1.0 allows this code point (§2.2: no control characters except tab and line ends, no
 * surrogates, no FFFE, FFFF).
 */
export function isXmlCharacter(code: number): boolean {
  return (
    (code >= 0x20 && code <= 0xd7ff) ||
    code === 0x9 ||
    code === 0xa ||
    code === 0xd ||
    (code >= 0xe000 && code <= 0xfffd) ||
    (code >= 0x10000 && code <= 0x10ffff)
  )
}

/** Whether XML allows every character of a text. Surrogates pass: the encoder checks their pairs (`fits`). */
export function isXmlText(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit >= 0xd800 && unit <= 0xdfff) continue
    if (!isXmlCharacter(unit)) return false
  }
  return true
}
