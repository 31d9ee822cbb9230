import { UsageError } from '../cli/command.ts'

/** Rights on a key, with what each lets its holder do. */
export const rightsHelp: Readonly<Record<string, string>> = {
  encrypt: 'encrypt',
  decrypt: 'decrypt',
  sign: 'sign (on the private half of a pair)',
  signatureverify: 'verify signatures (on the public half)',
  mac: 'compute and verify MACs',
  getattributes: 'see what is known about the key: warder keys show',
  addattribute: 'add tags',
  deleteattribute: 'take tags off',
  revoke: 'take the key out of use',
  destroy: 'destroy it (together with revoke)',
  authorize: 'grant and revoke rights on the owner’s behalf, never more than one has oneself',
}

/** Those of them that give the key itself away. */
const readingRights = ['get', 'export'] as const

/** Rights that no command of this program uses; KMIP clients do. */
export const otherRights = [
  ...readingRights,
  'hash',
  'derivekey',
  'import',
  'locate',
  'certify',
  'validate',
  'rekey',
  'activate',
  'modifyattribute',
  'setattribute',
] as const

/** Names for several rights at once; the service writes the single ones down when it is granted. */
export const groupsHelp: Readonly<Record<string, string>> = {
  Read: 'get, getattributes, export, locate, validate',
  UseKey: 'encrypt, decrypt, sign, signatureverify, mac, derivekey, certify',
  Modify: 'rekey, activate, addattribute, modifyattribute, setattribute, deleteattribute',
  Destroy: 'revoke, destroy',
  Authorize: 'authorize',
}

const lines = (rows: Readonly<Record<string, string>>): string =>
  Object.entries(rows)
    .map(([name, meaning]) => `  ${name.padEnd(16)} ${meaning}`)
    .join('\n')

/** Lines of the help that explain rights. */
export const rightsLines = `Rights; none of them implies another:
${lines(rightsHelp)}
and for KMIP clients:
  ${readingRights.join(', ').padEnd(16)} have the key itself, in clear
  ${otherRights.slice(readingRights.length).join(', ')}
Groups, for several at once:
${lines(groupsHelp)}`

/**
 * A right or a group as somebody typed it, in the service's spelling; `use-key` and `get_attributes` are understood.
 * @throws UsageError
 */
export function readRight(text: string): string {
  const plain = text.toLowerCase().replaceAll(/[-_]/g, '')
  const groups = Object.keys(groupsHelp)
  const known = [...Object.keys(rightsHelp), ...otherRights]
  // `Destroy` is a group and `destroy` a right: as they are written.
  const found =
    groups.find((name) => name === text) ??
    known.find((name) => name === plain) ??
    groups.find((name) => name.toLowerCase() === plain)
  if (found !== undefined) return found
  if (plain === 'create') throw new UsageError('create is a right on no key: warder access grant-create USER')
  throw new UsageError(
    `there is no right '${text}'; groups: ${groups.join(', ')}; rights: ${known.join(', ')}`,
  )
}
