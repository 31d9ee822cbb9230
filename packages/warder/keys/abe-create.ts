import { readFileSync } from 'node:fs'
import type { Input } from '@warder/client'
import { StartupError } from '@warder/foundation/errors'
import { UsageError } from '../cli/command.ts'
import { requireOneName } from '../cli/options.ts'
import { printable } from '../cli/table.ts'
import { readKid } from '../kms/key-argument.ts'
import { withKeyErrors } from '../kms/refusal.ts'
import { kmsVerb } from '../kms/verb.ts'

type Structure = NonNullable<Input<'crypto.keys.create'>['body']['access_structure']>

const commonOptions = {
  tag: { type: 'list', value: 'T', help: 'a word to know it by; also several times' },
  'not-extractable': {
    type: 'flag',
    help: 'it is used here and given to nobody: KMIP clients do not get it, wrapped or not',
  },
} as const

const maxStructureBytes = 256 * 1024

export const createMasterVerb = kmsVerb({
  name: 'abe create',
  words: 'STRUCTURE',
  summary:
    'makes a master key and its public key from an access structure, a JSON file or - for standard input',
  about: `The structure names dimensions and their attributes: {"Level::<":["low","high"],"Team":["blue","red"]}. Attributes
of a dimension are unrelated, or with ::< after its name a hierarchy, listed from the lowest: whoever has a higher one
reads what is for lower ones. ::+ after an attribute protects what is encrypted for it against quantum computers, too.
Whoever has the right encrypt on the public key encrypts; the master key makes user keys. Keep the digest: it tells
whether a public key that you are given is this one.`,
  examples: [
    'warder keys abe create hospital.json --tag hospital',
    `echo '{"Team":["blue","red"]}' | warder keys abe create -`,
  ],
  options: commonOptions,
  readsInput: (names) => names.includes('-'),
  parse({ tag, 'not-extractable': notExtractable }, names) {
    const file = requireOneName(names, 'file of an access structure')
    const read = file === '-' ? undefined : parseStructure(file, readStructure(file))
    return async ({ kms, show, readInput }) => {
      const access_structure =
        read ?? parseStructure(file, (await readInput(maxStructureBytes)).toString('utf8'))
      const body = { kty: 'ABE', access_structure, ...buildCommonBody(tag, notExtractable) }
      const made = await kms.call('crypto.keys.create', { body })
      show(made, [
        `${printable(made.kid)}  ABE, master`,
        `${printable(String(made.kid_public))}  ABE, public, digest ${printable(made.digest ?? '')}`,
      ])
      return 0
    }
  },
})

function readStructure(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new StartupError(`${file}: cannot be read`, { cause: error })
  }
}

/** The service checks what it means. @throws StartupError */
function parseStructure(file: string, text: string): Structure {
  const name = file === '-' ? 'standard input' : file
  if (Buffer.byteLength(text) > maxStructureBytes)
    throw new StartupError(`${name}: the access structure is too large`)
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Structure
  } catch {
    // Told below.
  }
  throw new StartupError(`${name}: an access structure is a JSON object, {"Team":["blue","red"]}`)
}

export const createUserVerb = kmsVerb({
  name: 'abe user',
  words: 'MASTER',
  summary: 'makes a user key, which reads what its policy lets it read',
  about: `A policy is Dimension::Attribute, joined by && and || and grouped by parentheses. A dimension that it does not name
is open: Team::blue reads what is for the team blue at every level. * reads everything. Takes the right derivekey on
MASTER. Give the key to its user: warder access grant USER KEY decrypt.`,
  examples: [
    "warder keys abe user MASTER --policy 'Team::blue && Level::low'",
    "KEY=$(warder keys abe user MASTER --policy 'Team::red' --json | jq -r .kid)",
  ],
  options: {
    policy: { type: 'text', value: 'POLICY', required: true, help: 'what it reads' },
    ...commonOptions,
  },
  parse({ policy, tag, 'not-extractable': notExtractable }, names) {
    const master = readKid(requireOneName(names, 'master key'))
    if (policy.trim() === '') throw new UsageError('--policy is not empty: * reads everything')
    const body = { kty: 'ABE', master, policy, ...buildCommonBody(tag, notExtractable) }
    return async ({ kms, show }) => {
      const made = await withKeyErrors('master key', master, () => kms.call('crypto.keys.create', { body }))
      show(made, [`${printable(made.kid)}  ABE, reads ${printable(policy)}`])
      return 0
    }
  },
})

function buildCommonBody(tags: readonly string[], notExtractable: boolean) {
  return { ...(tags.length > 0 && { tags: [...tags] }), ...(notExtractable && { ext: false }) }
}
