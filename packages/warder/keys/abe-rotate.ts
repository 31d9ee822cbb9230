import { StartupError } from '@warder/base'
import type { Input, Reply } from '@warder/client'
import { type Options, printable, requireOneName, UsageError, type ValuesOf } from '@warder/command-line'
import { type KmsVerb, kmsVerb, readKid, withKeyErrors } from '@warder/command-line/kms'

type Action = Input<'crypto.keys.rotate'>['body']
type MasterRotation = Extract<Reply<'crypto.keys.rotate'>, { readonly digest: string }>

const refreshHelp = `User keys of MASTER that are not revoked are refreshed in the same commit. Requires the right rekey on both keys of the
pair.`

function rotationVerb<const O extends Options>(parts: {
  readonly name: string
  readonly words: string
  readonly summary: string
  readonly about: string
  readonly examples: readonly string[]
  readonly options: O
  action(values: ValuesOf<O>, rest: readonly string[]): Action
}): KmsVerb {
  const { action, ...verb } = parts
  return kmsVerb({
    ...verb,
    parse(values, [first, ...rest]) {
      if (first === undefined) throw new UsageError('name the master key')
      const kid = readKid(first)
      const body = action(values as ValuesOf<O>, rest)
      return async ({ kms, show, note }) => {
        const done = await withKeyErrors('master key', kid, () =>
          kms.call('crypto.keys.rotate', { path: { kid }, body }),
        )
        if (!('digest' in done))
          throw new StartupError(`${printable(kid)} is not a master key, and was rotated to a new version`)
        for (const other of done.not_refreshed)
          note(`${printable(other)} was not refreshed: it belongs to another master key`)
        show(done, [formatRotation(done)])
        return 0
      }
    },
  })
}

function formatRotation({ kid_public, digest, refreshed: users }: MasterRotation): string {
  const count = `${users.length} user ${users.length === 1 ? 'key' : 'keys'} refreshed`
  return `${printable(kid_public)}  changed, digest ${printable(digest)}; ${count}`
}

const policy = {
  type: 'text',
  value: 'POLICY',
  required: true,
  help: 'policy whose keys are renewed',
} as const

function requireNoMore(rest: readonly string[]): void {
  if (rest[0] !== undefined) throw new UsageError(`unknown argument: ${rest[0]}`)
}

function requireAttributes(rest: readonly string[]): string[] {
  if (rest.length === 0) throw new UsageError('name the attributes: Dimension::Attribute')
  return [...rest]
}

const modes: Readonly<Record<string, string>> = {
  classic: 'Classic',
  hybrid: 'Hybridized',
  'post-quantum': 'PostQuantum',
}

export const rotationVerbs: readonly KmsVerb[] = [
  rotationVerb({
    name: 'abe rekey',
    words: 'MASTER',
    summary: 'Renew the keys of a policy; user keys that are not refreshed decrypt nothing new',
    about: `To remove the access of a user: destroy or revoke the user key, then rekey its policy. Existing data stays readable with
the old user keys; to end that, encrypt it again and prune.
${refreshHelp}`,
    examples: ["warder keys abe rekey MASTER --policy 'Team::blue'"],
    options: { policy },
    action({ policy }, rest) {
      requireNoMore(rest)
      return { RekeyAccessPolicy: policy }
    },
  }),
  rotationVerb({
    name: 'abe prune',
    words: 'MASTER',
    summary: 'Delete the former secrets of a policy: data from before its last rekey becomes unreadable',
    about: refreshHelp,
    examples: ["warder keys abe prune MASTER --policy 'Team::blue'"],
    options: { policy: { ...policy, help: 'policy whose former secrets are deleted' } },
    action({ policy }, rest) {
      requireNoMore(rest)
      return { PruneAccessPolicy: policy }
    },
  }),
  rotationVerb({
    name: 'abe add',
    words: 'MASTER ATTRIBUTE',
    summary: 'Add an attribute to a dimension; existing user keys do not get it',
    about: 'No existing user key gets the attribute, not even with the policy *: create new user keys.',
    examples: [
      'warder keys abe add MASTER Team::green',
      'warder keys abe add MASTER Level::top --above high',
    ],
    options: {
      above: {
        type: 'text',
        value: 'NAME',
        help: 'in a hierarchy, the next lower attribute (default: the new one is the lowest)',
      },
      protection: { type: 'text', value: 'P', help: 'classic (default), hybrid or post-quantum' },
    },
    action({ above, protection = 'classic' }, rest) {
      const mode = Object.hasOwn(modes, protection) ? modes[protection] : undefined
      if (mode === undefined)
        throw new UsageError(`--protection must be one of ${Object.keys(modes).join(', ')}`)
      return {
        AddAttribute: [[requireOneName(rest, 'attribute: Dimension::Attribute'), mode, above ?? null]],
      }
    },
  }),
  rotationVerb({
    name: 'abe rename',
    words: 'MASTER ATTRIBUTE NAME',
    summary: 'Rename an attribute; rights do not change',
    about: 'Policies must use the new name from then on.',
    examples: ['warder keys abe rename MASTER Team::red crimson'],
    options: {},
    action(_, [attribute, name, ...rest]) {
      if (attribute === undefined || name === undefined)
        throw new UsageError('name the attribute and its new name: Team::red crimson')
      requireNoMore(rest)
      return { RenameAttribute: [[attribute, name]] }
    },
  }),
  rotationVerb({
    name: 'abe disable',
    words: 'MASTER ATTRIBUTE...',
    summary: 'Disable encryption for attributes; encrypted data stays readable',
    about: 'It cannot be undone.',
    examples: ['warder keys abe disable MASTER Team::red'],
    options: {},
    action: (_, rest) => ({ DisableAttribute: requireAttributes(rest) }),
  }),
  rotationVerb({
    name: 'abe delete',
    words: 'MASTER ATTRIBUTE...',
    summary: 'Delete attributes: no key in the service decrypts their data any more',
    about: `The names can be reused for other attributes.
${refreshHelp}`,
    examples: ['warder keys abe delete MASTER Team::red'],
    options: {},
    action: (_, rest) => ({ DeleteAttribute: requireAttributes(rest) }),
  }),
]
