/**
 * Normalizes a name for comparison: only letters and digits, in lower case. `PKCS#8`, `PKCS_8`, `PKCS8` and
 * `pkcs-8` are the same name, as are `Cryptographic Length` (KMIP 1.x) and `CryptographicLength` (2.x). The
 * names of a table do not collide (the generator refuses such a table).
 */
export function normaliseName(name: string): string {
  let plain = ''
  for (let index = 0; index < name.length; index++) {
    const code = name.charCodeAt(index)
    if ((code >= 0x30 && code <= 0x39) || (code >= 0x61 && code <= 0x7a)) plain += name[index]
    else if (code >= 0x41 && code <= 0x5a) plain += String.fromCharCode(code + 32)
    else if (
      code !== 0x5f &&
      code !== 0x2d &&
      code !== 0x20 &&
      code !== 0x23 &&
      code !== 0x2e &&
      code !== 0x2f
    )
      return ''
  }
  return plain
}
