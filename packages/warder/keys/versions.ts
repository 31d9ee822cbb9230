import { StartupError } from '@warder/base'
import type { Reply } from '@warder/client'
import { printable, requireOneName } from '@warder/command-line'
import { kmsVerb, readKid, withKeyErrors } from '@warder/command-line/kms'
import { formatState } from './life-format.ts'

export const rotateKeyVerb = kmsVerb({
  name: 'rotate',
  words: 'KEY',
  summary: 'Rotate a key: a new version protects from now on; the id stays',
  about: `Old versions still decrypt and verify: data and signatures name their version. Both halves of a pair get a new version.
Requires the right rekey. To rewrap data of old versions: warder crypto rewrap for files, POST /v1/crypto/rewrap for
JWEs.`,
  examples: ['warder keys rotate KEY', 'warder keys versions KEY'],
  options: {},
  parse(_, names) {
    const kid = readKid(requireOneName(names, 'key'))
    return async ({ kms, show }) => {
      const done = await withKeyErrors('key', kid, () =>
        kms.call('crypto.keys.rotate', { path: { kid }, body: {} }),
      )
      if (!('version' in done))
        throw new StartupError('this is an attribute-based key: use warder keys abe rekey')
      const half = done.version_kid_public === undefined ? '' : `, public half ${done.version_kid_public}`
      show(done, [printable(`${done.kid}  version ${done.version}: ${done.version_kid}${half}`)])
      return 0
    }
  },
})

type Version = Reply<'crypto.keys.versions'>['versions'][number]

function formatVersion(shown: Version, oldest: number): string {
  const { version, kid, newest, created_at } = shown
  const role = newest ? 'protects' : version < oldest ? 'decrypts nothing' : ''
  return printable(
    `${String(version).padStart(5)}  ${kid}  ${formatState(shown).padEnd(11)}  ${created_at}  ${role}`,
  ).trimEnd()
}

export const keyVersionsVerb = kmsVerb({
  name: 'versions',
  words: 'KEY',
  summary: 'List the versions of a key, newest first',
  about: 'Requires the right getattributes. Shows at most 1000 versions; the API returns all, in pages.',
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
