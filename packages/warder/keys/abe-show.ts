import type { Reply } from '@warder/client'
import { formatTable, printable, requireOneName } from '@warder/command-line'
import { kmsVerb, readKid, withKeyErrors } from '@warder/command-line/kms'

type Structure = Reply<'crypto.keys.structure'>

export const showStructureVerb = kmsVerb({
  name: 'abe show',
  words: 'MASTER',
  summary: 'Show the dimensions and attributes of a master key, and which user keys read which',
  about: `The table shows the actual rights of the user keys, not the policies that they were created for. An x means that the key
decrypts data for this attribute alone. --policy checks one policy instead. Requires the right getattributes on both
keys of the pair.`,
  examples: [
    'warder keys abe show MASTER',
    "warder keys abe show MASTER --policy 'Team::blue && Level::high'",
  ],
  options: {
    policy: { type: 'text', value: 'POLICY', help: 'shows which user keys decrypt data of this policy' },
  },
  parse({ policy }, names) {
    const kid = readKid(requireOneName(names, 'master key'))
    const query = policy === undefined ? {} : { policy }
    return async ({ kms, show }) => {
      const structure = await withKeyErrors('master key', kid, () =>
        kms.call('crypto.keys.structure', { path: { kid }, query }),
      )
      show(structure, [...formatDimensions(structure), '', ...formatReaders(structure, policy)])
      return 0
    }
  },
})

function formatDimensions({ kid_public, digest, dimensions }: Structure): readonly string[] {
  const lines = dimensions.map(({ name, ordered, attributes }) => {
    const names = attributes.map(({ name, mode, enabled }) => {
      const notes = [mode === 'Classic' ? [] : mode.toLowerCase(), enabled ? [] : 'disabled'].flat()
      return notes.length === 0 ? name : `${name} (${notes.join(', ')})`
    })
    return printable(`${name.padEnd(12)} ${names.join(ordered ? ' < ' : ', ')}`)
  })
  return [
    `${'public key'.padEnd(12)} ${printable(kid_public)}`,
    `${'digest'.padEnd(12)} ${printable(digest)}`,
    ...lines,
  ]
}

function formatReaders(
  { dimensions, user_keys: users }: Structure,
  policy: string | undefined,
): readonly string[] {
  const none = 'there are no user keys'
  const formatUserKey = ({ kid, owner, state, policy }: Structure['user_keys'][number]) => [
    kid,
    owner,
    state,
    policy ?? '',
  ]
  const headings = ['USER KEY', 'OWNER', 'STATE', 'MADE FOR']
  if (policy !== undefined)
    return formatTable(
      [...headings, 'READS IT'],
      users.map((user) => [...formatUserKey(user), user.opens === true ? 'yes' : 'no']),
      none,
    )
  const attributes = dimensions.flatMap(({ name, attributes }) =>
    attributes.map((one) => `${name}::${one.name}`),
  )
  return formatTable(
    [...headings, ...attributes.map(printable)],
    users.map((user) => [
      ...formatUserKey(user),
      ...attributes.map((name) => (user.reads.includes(name) ? 'x' : '-')),
    ]),
    none,
  )
}
