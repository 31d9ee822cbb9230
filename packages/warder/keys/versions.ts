import type { Reply } from '@warder/client'
import { StartupError } from '@warder/foundation/errors'
import { requireOneName } from '../cli/options.ts'
import { printable } from '../cli/table.ts'
import { readKid } from '../kms/key-argument.ts'
import { withKeyErrors } from '../kms/refusal.ts'
import { kmsVerb } from '../kms/verb.ts'
import { formatState } from './life-format.ts'

export const rotateKeyVerb = kmsVerb({
  name: 'rotate',
  words: 'KEY',
  summary: 'gives a key a new version, which protects from now on; the id stays',
  about: `Nothing is lost: what was encrypted or signed before names its version, and opens as ever. Of a pair both halves
get a new version. Takes the right rekey. Files that are encrypted
under old versions are renewed by warder crypto rewrap, JWEs by POST /v1/crypto/rewrap.`,
  examples: ['warder keys rotate KEY', 'warder keys versions KEY'],
  options: {},
  parse(_, names) {
    const kid = readKid(requireOneName(names, 'key'))
    return async ({ kms, show }) => {
      const done = await withKeyErrors('key', kid, () =>
        kms.call('crypto.keys.rotate', { path: { kid }, body: {} }),
      )
      if (!('version' in done)) throw new StartupError('the service answers as of an attribute-based key')
      const half = done.version_kid_public === undefined ? '' : `, public half ${done.version_kid_public}`
      show(done, [printable(`${done.kid}  version ${done.version}: ${done.version_kid}${half}`)])
      return 0
    }
  },
})

type Version = Reply<'crypto.keys.versions'>['versions'][number]

function formatVersion(shown: Version, oldest: number): string {
  const { version, kid, newest, created_at } = shown
  const role = newest ? 'protects' : version < oldest ? 'opens nothing' : ''
  return printable(
    `${String(version).padStart(5)}  ${kid}  ${formatState(shown).padEnd(11)}  ${created_at}  ${role}`,
  ).trimEnd()
}

export const keyVersionsVerb = kmsVerb({
  name: 'versions',
  words: 'KEY',
  summary: 'the versions of a key, the newest first',
  about: 'Takes the right getattributes. Shows at most 1000; the API has pages.',
  examples: ['warder keys versions KEY', 'warder keys versions KEY --json | jq -r .versions[0].kid'],
  options: {},
  parse(_, names) {
    const kid = readKid(requireOneName(names, 'key'))
    return async ({ kms, show }) => {
      const answer = await withKeyErrors('key', kid, () =>
        kms.call('crypto.keys.versions', { path: { kid } }),
      )
      show(
        answer,
        answer.versions.map((version) => formatVersion(version, answer.min_decrypt_version)),
      )
      return 0
    }
  },
})
