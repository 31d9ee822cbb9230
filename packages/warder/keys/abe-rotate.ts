import type { Input, Reply } from '@warder/client'
import { StartupError } from '@warder/foundation/errors'
import { UsageError } from '../cli/command.ts'
import { type Options, requireOneName, type ValuesOf } from '../cli/options.ts'
import { printable } from '../cli/table.ts'
import { readKid } from '../kms/key-argument.ts'
import { withKeyErrors } from '../kms/refusal.ts'
import { type KmsVerb, kmsVerb } from '../kms/verb.ts'

type Action = Input<'crypto.keys.rotate'>['body']
type MasterRotation = Extract<Reply<'crypto.keys.rotate'>, { readonly digest: string }>

const refreshHelp = `User keys that MASTER made and that are not revoked are refreshed with it, in the same commit. Takes the right rekey on
both keys of the pair.`

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
      if (first === undefined) throw new UsageError('say which master key')
      const kid = readKid(first)
      const body = action(values as ValuesOf<O>, rest)
      return async ({ kms, show, note }) => {
        const done = await withKeyErrors('master key', kid, () =>
          kms.call('crypto.keys.rotate', { path: { kid }, body }),
        )
        if (!('digest' in done))
          throw new StartupError(`${printable(kid)} is no master key: it has a new version now`)
        for (const other of done.not_refreshed)
          note(`${printable(other)} was not refreshed: it is not of this master key`)
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

const policy = { type: 'text', value: 'POLICY', required: true, help: 'what is renewed' } as const

function requireNoMore(rest: readonly string[]): void {
  if (rest[0] !== undefined) throw new UsageError(`unknown argument: ${rest[0]}`)
}

function requireAttributes(rest: readonly string[]): string[] {
  if (rest.length === 0) throw new UsageError('say which attributes: Dimension::Attribute')
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
    summary: 'renews what a policy reads: keys that are not refreshed open nothing new of it',
    about: `To shut somebody out: destroy or revoke the user key, then rekey its policy. What was encrypted before stays readable
for those who could read it; to end that, encrypt it anew and prune.
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
    summary:
      'forgets the former secrets of a policy: what was encrypted before its last rekey opens for nobody',
    about: refreshHelp,
    examples: ["warder keys abe prune MASTER --policy 'Team::blue'"],
    options: { policy: { ...policy, help: 'whose former secrets go' } },
    action({ policy }, rest) {
      requireNoMore(rest)
      return { PruneAccessPolicy: policy }
    },
  }),
  rotationVerb({
    name: 'abe add',
    words: 'MASTER ATTRIBUTE',
    summary: 'adds an attribute to a dimension; user keys of before do not read it',
    about: 'No user key gains a right, not even one of the policy *: make new ones.',
    examples: [
      'warder keys abe add MASTER Team::green',
      'warder keys abe add MASTER Level::top --above high',
    ],
    options: {
      above: {
        type: 'text',
        value: 'NAME',
        help: 'in a hierarchy, the attribute just below (default: the new one is the lowest)',
      },
      protection: { type: 'text', value: 'P', help: 'classic (default), hybrid or post-quantum' },
    },
    action({ above, protection = 'classic' }, rest) {
      const mode = Object.hasOwn(modes, protection) ? modes[protection] : undefined
      if (mode === undefined) throw new UsageError(`--protection is one of ${Object.keys(modes).join(', ')}`)
      return {
        AddAttribute: [[requireOneName(rest, 'attribute: Dimension::Attribute'), mode, above ?? null]],
      }
    },
  }),
  rotationVerb({
    name: 'abe rename',
    words: 'MASTER ATTRIBUTE NAME',
    summary: 'gives an attribute another name; who reads what stays',
    about: 'Policies name it by its new name from then on.',
    examples: ['warder keys abe rename MASTER Team::red crimson'],
    options: {},
    action(_, [attribute, name, ...rest]) {
      if (attribute === undefined || name === undefined)
        throw new UsageError('say which attribute, and its new name: Team::red crimson')
      requireNoMore(rest)
      return { RenameAttribute: [[attribute, name]] }
    },
  }),
  rotationVerb({
    name: 'abe disable',
    words: 'MASTER ATTRIBUTE...',
    summary: 'ends encryption for attributes; what was encrypted stays readable',
    about: 'It cannot be undone.',
    examples: ['warder keys abe disable MASTER Team::red'],
    options: {},
    action: (_, rest) => ({ DisableAttribute: requireAttributes(rest) }),
  }),
  rotationVerb({
    name: 'abe delete',
    words: 'MASTER ATTRIBUTE...',
    summary: 'deletes attributes: what was encrypted for them opens for no key that is kept here',
    about: `Their names may be used again, and mean other attributes then.
${refreshHelp}`,
    examples: ['warder keys abe delete MASTER Team::red'],
    options: {},
    action: (_, rest) => ({ DeleteAttribute: requireAttributes(rest) }),
  }),
]
