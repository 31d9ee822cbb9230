const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '\t': '&#9;',
  '\n': '&#10;',
  '\r': '&#13;',
}

/** A text as it stands in XML or HTML, between tags or in an attribute. */
export function escapeXml(text: string): string {
  return text.replaceAll(/[&<>"'\t\n\r]/g, (character) => escapes[character] ?? '')
}
