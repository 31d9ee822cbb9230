import { StartupError } from '@warder/base'
import type { KmsClient } from '@warder/client'
import { printable, requireOneName, UsageError } from '@warder/command-line'
import { type KmsVerb, kmsVerb, readKid, withKeyErrors } from '@warder/command-line/kms'
import { readRight, rightsLines } from './rights.ts'

type Change = 'grant' | 'revoke'

/** The named key and, with `pair`, the other half of its pair. */
async function listKids(kms: KmsClient, kid: string, pair: boolean): Promise<readonly string[]> {
  if (!pair) return [kid]
  const { linked_kid } = await withKeyErrors('key', kid, () => kms.call('crypto.keys.get', { path: { kid } }))
  if (linked_kid === undefined)
    throw new StartupError(`key ${printable(kid)} is not half of a pair: omit --pair`)
  return [kid, linked_kid]
}

function formatUser(user: string): string {
  return user === '*' ? 'all users' : printable(user)
}

const anywayOption = {
  anyway: {
    type: 'flag',
    help: 'accepts a name that no user has yet: the user who gets it later has the rights',
  },
} as const

/** A right can be revoked from any name, so `revoke` does not know the flag. */
function selectAnywayOption(change: Change): typeof anywayOption {
  return change === 'grant' ? anywayOption : ({} as typeof anywayOption)
}

/** The keys or the tag of a change, the user and the rights. */
interface ChangeWords {
  readonly kid: string | undefined
  readonly user: string
  readonly rights: readonly string[]
}

/** @throws UsageError */
function readWords(change: Change, tag: string | undefined, words: readonly string[]): ChangeWords {
  const [key, user, ...names] = tag === undefined ? words : ['', ...words]
  if (key === undefined || user === undefined || names.length === 0)
    throw new UsageError(
      tag === undefined
        ? `name a key, a user and at least one right: warder access ${change} KEY USER RIGHT...`
        : `with --tag name a user and at least one right: warder access ${change} --tag TAG USER RIGHT...`,
    )
  const rights = [...new Set(names.map(readRight))]
  return { kid: tag === undefined ? readKid(key) : undefined, user, rights }
}

function changeVerb(change: Change, parts: Pick<KmsVerb, 'summary' | 'about' | 'examples'>): KmsVerb {
  return kmsVerb({
    name: change,
    words: 'KEY USER RIGHT...',
    usage: `KEY|--tag TAG USER RIGHT... [--pair]${change === 'grant' ? ' [--anyway]' : ''}`,
    ...parts,
    options: {
      pair: { type: 'flag', help: 'applies to both halves of the pair' },
      tag: {
        type: 'text',
        value: 'TAG',
        help: 'in place of KEY: all keys that you own and that have this tag, now or later',
      },
      ...selectAnywayOption(change),
    },
    parse({ pair, tag, anyway }, words) {
      const { kid, user, rights } = readWords(change, tag, words)
      if (tag === '') throw new UsageError('--tag is empty')
      if (pair && tag !== undefined) throw new UsageError('--pair and --tag exclude each other')
      return async ({ kms, show }) => {
        const common = { operation_types: [...rights], known: !anyway }
        const verb = change === 'grant' ? 'may now' : 'may no longer'
        const what = `${verb}: ${rights.join(', ')}  `
        if (kid === undefined) {
          const body = { ...common, tag: tag ?? '', user_id: user }
          const { user_id } = await kms.call(`access.${change}`, { body })
          show({ [change]: rights, user: user_id, tag }, [
            `${formatUser(user_id)} ${what} on your keys with the tag ${printable(tag ?? '')}`,
          ])
          return 0
        }
        const kids = await listKids(kms, kid, pair)
        let meant = user
        for (const unique_identifier of kids) {
          const body = { ...common, unique_identifier, user_id: meant }
          const done = await withKeyErrors('key', unique_identifier, () =>
            kms.call(`access.${change}`, { body }),
          )
          meant = done.user_id
        }
        show(
          { [change]: rights, user: meant, keys: kids },
          kids.map((id) => `${formatUser(meant)} ${what} on key ${printable(id)}`),
        )
        return 0
      }
    },
  })
}

const aboutUser = `USER is the name at the service (warder access me shows yours), realm/NAME for a realm other than _, app:ID for a
machine (app: is optional if no user has that name), group:NAME (warder access group), role:SOURCE/NAME for a role of a
login, or '*' for all authenticated users. The halves of a pair are two keys: sign is a right on the private key,
signatureverify on the public key.`

export const grantVerb = changeVerb('grant', {
  summary: 'Grant a user rights on a key, from the next request on',
  about: `Requires the owner of the key, a crypto officer, or a user with the right authorize.
${aboutUser}

${rightsLines}`,
  examples: [
    'warder access grant KEY bob encrypt decrypt',
    'warder access grant KEY bob UseKey Read --pair',
    'warder access grant KEY group:ops encrypt',
    'warder access grant --tag prod role:corp/dev encrypt decrypt',
    "warder access grant PUBLIC_KEY '*' signatureverify",
  ],
})

export const revokeVerb = changeVerb('revoke', {
  summary: 'Revoke rights on a key, from the next request on',
  about: `Revoking a right that USER does not have is not an error. Rights of all users ('*') remain.
${aboutUser}

${rightsLines}`,
  examples: [
    'warder access revoke KEY bob decrypt',
    "warder access revoke KEY '*' UseKey Read Modify",
    'warder access revoke --tag prod group:ops decrypt',
  ],
})

/** Rights that are on no key: who may grant them, and the sentence after a change. */
const generalRights = {
  create: {
    about: `Requires a crypto officer ([roles] crypto_officer_users in kms.toml). If officers are configured, other users need this
right to create keys; if not, all users may create keys and this has no effect.`,
    effect: 'create keys, if crypto officers control key creation',
  },
  audit: {
    about: `Requires a crypto officer ([roles] crypto_officer_users in kms.toml). USER may also be a role: role:SOURCE/NAME. The
right is to search, verify and export the audit logs of all nodes (warder audit find), and no other. Without officers
only the default user may do that, and this has no effect.`,
    effect: 'read the audit log, if crypto officers are configured',
  },
} as const

function generalVerb(
  change: Change,
  right: keyof typeof generalRights,
  parts: Pick<KmsVerb, 'summary' | 'examples'>,
): KmsVerb {
  const { about, effect } = generalRights[right]
  return kmsVerb({
    name: `${change}-${right}`,
    words: 'USER',
    ...parts,
    about,
    options: selectAnywayOption(change),
    parse({ anyway }, names) {
      const named = requireOneName(names, 'user')
      return async ({ kms, show }) => {
        const body = { user_id: named, operation_types: [right], known: !anyway }
        const { user_id: user } = await kms.call(`access.${change}`, { body })
        const verb = change === 'grant' ? 'may' : 'may no longer'
        show({ [change]: [right], user }, [`${formatUser(user)} ${verb} ${effect}`])
        return 0
      }
    },
  })
}

export const grantCreateVerb = generalVerb('grant', 'create', {
  summary: 'Let a user create keys, if crypto officers decide that',
  examples: ['warder access grant-create carl'],
})

export const revokeCreateVerb = generalVerb('revoke', 'create', {
  summary: 'Revoke the right to create keys; existing keys stay',
  examples: ['warder access revoke-create carl'],
})

export const grantAuditVerb = generalVerb('grant', 'audit', {
  summary: 'Let a user or a role read the audit log of the key management service',
  examples: ['warder access grant-audit erin', 'warder access grant-audit role:corp/auditor'],
})

export const revokeAuditVerb = generalVerb('revoke', 'audit', {
  summary: 'Revoke the right to read the audit log, from the next request on',
  examples: ['warder access revoke-audit erin'],
})
