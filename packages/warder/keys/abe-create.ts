import { readFileSync } from 'node:fs'
import { StartupError } from '@warder/base'
import type { Input } from '@warder/client'
import { printable, requireOneName, UsageError } from '@warder/command-line'
import { kmsVerb, readKid, withKeyErrors } from '@warder/command-line/kms'

type Structure = NonNullable<Input<'crypto.keys.create'>['body']['access_structure']>

const commonOptions = {
  tag: { type: 'list', value: 'T', help: 'tag of the key; repeatable' },
  'not-extractable': {
    type: 'flag',
    help: 'the key cannot be exported: KMIP clients do not get it, not even wrapped',
  },
} as const

const maxStructureBytes = 256 * 1024

export const createMasterVerb = kmsVerb({
  name: 'abe create',
  words: 'STRUCTURE',
  summary: 'Create a master key pair from an access structure: a JSON file, or - for standard input',
  about: `The structure names dimensions and their attributes: {"Level::<":["low","high"],"Team":["blue","red"]}. The attributes
of a dimension are independent, or with ::< after its name a hierarchy from the lowest to the highest: a higher
attribute includes the lower ones. ::+ after an attribute adds post-quantum protection. Encryption requires the right
encrypt on the public key; user keys are derived from the master key. Store the digest to recognize the public key.`,
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
    throw new StartupError(`${file} cannot be read`, { cause: error })
  }
}

/** Parses the JSON; the service validates the structure. @throws StartupError */
function parseStructure(file: string, text: string): Structure {
  const name = file === '-' ? 'standard input' : file
  if (Buffer.byteLength(text) > maxStructureBytes)
    throw new StartupError(`${name}: the access structure is too large`)
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Structure
  } catch {
    // Reported below.
  }
  throw new StartupError(`${name}: an access structure must be a JSON object like {"Team":["blue","red"]}`)
}

export const createUserVerb = kmsVerb({
  name: 'abe user',
  words: 'MASTER',
  summary: 'Create a user key that decrypts data within its policy',
  about: `A policy consists of Dimension::Attribute with &&, || and parentheses. A dimension that it does not name is
unrestricted: Team::blue decrypts data of the team blue at every level. * decrypts everything. Requires the right
derivekey on MASTER. To give the key to its user: warder access grant KEY USER decrypt.`,
  examples: [
    "warder keys abe user MASTER --policy 'Team::blue && Level::low'",
    "KEY=$(warder keys abe user MASTER --policy 'Team::red' --json | jq -r .kid)",
  ],
  options: {
    policy: { type: 'text', value: 'POLICY', required: true, help: 'policy of the user key' },
    ...commonOptions,
  },
  parse({ policy, tag, 'not-extractable': notExtractable }, names) {
    const master = readKid(requireOneName(names, 'master key'))
    if (policy.trim() === '') throw new UsageError('--policy must not be empty: use * for everything')
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
