import type { Reply } from '@warder/client'
import { UsageError } from '../cli/command.ts'
import type { Options, ValuesOf } from '../cli/options.ts'
import { printable } from '../cli/table.ts'
import { readKid } from '../kms/key-argument.ts'
import { withKeyErrors } from '../kms/refusal.ts'
import { type KmsContext, type KmsVerb, kmsVerb } from '../kms/verb.ts'
import { formatState } from './life-format.ts'

type Version = Reply<'crypto.keys.versions.revoke'>
type VersionPath = { readonly kid: string; readonly version: string }

function versionVerb<const O extends Options>(
  name: string,
  parts: Pick<KmsVerb, 'summary' | 'about' | 'examples'> & {
    readonly options: O
    act(context: KmsContext, path: VersionPath, values: ValuesOf<O>): Promise<Version>
  },
): KmsVerb {
  const { act, ...help } = parts
  return kmsVerb({
    name: `version ${name}`,
    words: 'KEY N',
    ...help,
    parse(values, [key, version, ...more]) {
      if (key === undefined || version === undefined || more.length > 0)
        throw new UsageError('say one key, and the number of one version (see warder keys versions KEY)')
      const kid = readKid(key)
      if (!/^[1-9]\d{0,8}$/.test(version))
        throw new UsageError(
          `a version is a number from 1 on, not '${version}' (see warder keys versions KEY)`,
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

/** A verb of a version that needs no more to be said. */
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
    summary: 'takes an old version out of use until it is enabled: a rehearsal of its end',
    about: 'Nothing of it is lost. Takes the right revoke, which is in the group Destroy.',
    examples: ['warder keys version disable KEY 1'],
  }),
  plainVersionVerb('enable', {
    summary: 'gives a disabled version back to use',
    about: 'Takes the right activate, which is in the group Modify.',
    examples: ['warder keys version enable KEY 1'],
  }),
  versionVerb('revoke', {
    summary: 'ends an old version: it protects nothing; what it protected still opens',
    about: `With --compromised the loss is written down, and a public half leaves the published key set. The newest version
protects: rotate first. Takes the right revoke, which is in the group Destroy.`,
    examples: ['warder keys version revoke KEY 1', 'warder keys version revoke KEY 1 --compromised'],
    options: { compromised: { type: 'flag', help: 'others may know it' } },
    act: ({ kms }, path, { compromised }) =>
      kms.call('crypto.keys.versions.revoke', { path, body: compromised ? { compromised } : {} }),
  }),
  versionVerb('destroy', {
    summary: 'destroys an old version: what it encrypted cannot be read again; asks first',
    about: `warder crypto rewrap gives files the newest version before. Where the service is configured so, the destruction
waits for days. Takes the right destroy.`,
    examples: ['warder keys version destroy KEY 1'],
    options: {},
    async act({ kms, confirm }, path) {
      await confirm(
        `Destroy version ${path.version} of ${path.kid}? What was encrypted with it cannot be read again.`,
      )
      return kms.call('crypto.keys.versions.destroy', { path, body: {} })
    },
  }),
  plainVersionVerb('restore', {
    summary: 'takes the destruction of a version back that waits',
    about: 'Takes the right activate, which is in the group Modify.',
    examples: ['warder keys version restore KEY 1'],
  }),
]
