import { derMembers, type Extension, extensionIdentifiers } from '@warder/pki'

/** DER of each alternative name. @throws PkiError */
export function readAlternativeNames(extensions: readonly Extension[]): readonly Uint8Array[] {
  const found = extensions.find(({ identifier }) => identifier === extensionIdentifiers.subjectAltName)
  return found === undefined ? [] : derMembers(found.value, 'subjectAltName').map(({ whole }) => whole)
}
