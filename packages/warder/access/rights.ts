import { UsageError } from '@warder/command-line'
import { keyRights, rightGroups } from '@warder/command-line/kms'

type Right = (typeof keyRights)[number]

/** Meanings of the rights that the commands of this program use. */
const meanings: Partial<Readonly<Record<Right, string>>> = {
  encrypt: 'encrypt',
  decrypt: 'decrypt',
  sign: 'sign (on the private half of a pair)',
  signatureverify: 'verify signatures (on the public half)',
  mac: 'compute and verify MACs',
  getattributes: 'read the attributes of the key: warder keys show',
  addattribute: 'add tags',
  deleteattribute: 'remove tags',
  revoke: 'disable or revoke the key',
  destroy: 'destroy it (together with revoke)',
  authorize: 'grant and revoke rights on behalf of the owner, up to your own rights',
}

/** Rights that reveal key material. */
const readingRights: readonly Right[] = ['get', 'export']

/** Rights that only KMIP clients use. */
const otherRights = keyRights.filter(
  (right) => meanings[right] === undefined && !readingRights.includes(right),
)

const formatRow = (name: string, meaning: string): string => `  ${name.padEnd(16)} ${meaning}`

/** Lines of the help that explain rights. */
export const rightsLines = `Rights (no right implies another):
${Object.entries(meanings)
  .map(([right, meaning]) => formatRow(right, meaning))
  .join('\n')}
and for KMIP clients:
${formatRow(readingRights.join(', '), 'read the key material in clear')}
  ${otherRights.join(', ')}
Groups of rights; a grant of a group is stored as its single rights:
${[...rightGroups].map(([group, rights]) => formatRow(group, rights.join(', '))).join('\n')}`

/**
 * Reads a right or a group in any usual spelling (`use-key`, `get_attributes`). @returns the spelling of the service
 * @throws UsageError
 */
export function readRight(text: string): string {
  const plain = text.toLowerCase().replaceAll(/[-_]/g, '')
  const groups = [...rightGroups.keys()]
  // `Destroy` is a group and `destroy` a right, so an exact match comes first.
  const found =
    groups.find((name) => name === text) ??
    keyRights.find((name) => name === plain) ??
    groups.find((name) => name.toLowerCase() === plain)
  if (found !== undefined) return found
  if (plain === 'create' || plain === 'audit')
    throw new UsageError(`${plain} is not a right on a key: use warder access grant-${plain} USER`)
  throw new UsageError(
    `there is no right '${text}'; groups: ${groups.join(', ')}; rights: ${keyRights.join(', ')}`,
  )
}
