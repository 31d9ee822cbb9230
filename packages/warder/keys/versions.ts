import { StartupError } from '@warder/base'
import type { Reply } from '@warder/client'
import { type Options, printable, requireOneName, UsageError, type ValuesOf } from '@warder/command-line'
import { type KmsContext, type KmsVerb, kmsVerb, readKid, withKeyErrors } from '@warder/command-line/kms'
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

type ChangedVersion = Reply<'crypto.keys.versions.revoke'>
type VersionPath = { readonly kid: string; readonly version: string }

function versionVerb<const O extends Options>(
  name: string,
  parts: Pick<KmsVerb, 'summary' | 'about' | 'examples'> & {
    readonly options: O
    act(context: KmsContext, path: VersionPath, values: ValuesOf<O>): Promise<ChangedVersion>
  },
): KmsVerb {
  const { act, ...help } = parts
  return kmsVerb({
    name: `version ${name}`,
    words: 'KEY N',
    ...help,
    parse(values, [key, version, ...more]) {
      if (key === undefined || version === undefined || more.length > 0)
        throw new UsageError('name one key and the number of one version (see warder keys versions KEY)')
      const kid = readKid(key)
      if (!/^[1-9]\d{0,8}$/.test(version))
        throw new UsageError(
          `a version must be a number from 1 on, not '${version}' (see warder keys versions KEY)`,
        )
      return async (context) => {
        const done = await withKeyErrors(`version ${version} of key`, kid, () =>
          act(context, { kid, version }, values as ValuesOf<O>),
        )
        context.show(done, [
          printable(`${done.kid}  version ${done.version} of ${kid}: ${formatState(done)}`),
        ])
        return 0
      }
    },
  })
}

/** Creates a verb of a version without options. */
function plainVersionVerb(
  name: 'disable' | 'enable' | 'restore',
  parts: Pick<KmsVerb, 'summary' | 'about' | 'examples'>,
): KmsVerb {
  return versionVerb(name, {
    ...parts,
    options: {},
    act: ({ kms }, path) => kms.call(`crypto.keys.versions.${name}`, { path, body: {} }),
  })
}

export const versionVerbs: readonly KmsVerb[] = [
  plainVersionVerb('disable', {
    summary: 'Disable an old version until it is enabled again: a test of its end',
    about: 'Nothing is lost. Requires the right revoke, which is in the group Destroy.',
    examples: ['warder keys version disable KEY 1'],
  }),
  plainVersionVerb('enable', {
    summary: 'Enable a disabled version',
    about: 'Requires the right activate, which is in the group Modify.',
    examples: ['warder keys version enable KEY 1'],
  }),
  versionVerb('revoke', {
    summary: 'Revoke an old version: it protects nothing new, and still decrypts',
    about: `--compromised records the compromise and removes a public half from the published key set. To revoke the newest version,
rotate the key first. Requires the right revoke, which is in the group Destroy.`,
    examples: ['warder keys version revoke KEY 1', 'warder keys version revoke KEY 1 --compromised'],
    options: { compromised: { type: 'flag', help: 'the key material may be known to others' } },
    act: ({ kms }, path, { compromised }) =>
      kms.call('crypto.keys.versions.revoke', { path, body: compromised ? { compromised } : {} }),
  }),
  versionVerb('destroy', {
    summary: 'Destroy an old version: data that it encrypted becomes unreadable; asks first',
    about: `First rewrap files with warder crypto rewrap. With pending_destruction_days the destruction is only scheduled. Requires
the right destroy.`,
    examples: ['warder keys version destroy KEY 1'],
    options: {},
    async act({ kms, confirm }, path) {
      await confirm(
        `Destroy version ${path.version} of ${path.kid}? Data that it encrypted becomes unreadable.`,
      )
      return kms.call('crypto.keys.versions.destroy', { path, body: {} })
    },
  }),
  plainVersionVerb('restore', {
    summary: 'Cancel the pending destruction of a version',
    about: 'Requires the right activate, which is in the group Modify.',
    examples: ['warder keys version restore KEY 1'],
  }),
]
