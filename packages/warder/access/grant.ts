import { StartupError } from '@warder/base'
import type { KmsClient } from '@warder/client'
import { requireOneName } from '../cli/options.ts'
import { printable } from '../cli/table.ts'
import { UsageError } from '../cli/usage-error.ts'
import { readKid } from '../kms/key-argument.ts'
import { withKeyErrors } from '../kms/refusal.ts'
import { type KmsVerb, kmsVerb } from '../kms/verb.ts'
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

function changeVerb(change: Change, parts: Pick<KmsVerb, 'summary' | 'about' | 'examples'>): KmsVerb {
  return kmsVerb({
    name: change,
    words: 'KEY USER RIGHT...',
    ...parts,
    options: {
      pair: { type: 'flag', help: 'applies to both halves of the pair' },
      ...selectAnywayOption(change),
    },
    parse({ pair, anyway }, [key, user, ...names]) {
      if (key === undefined || user === undefined || names.length === 0) {
        throw new UsageError(
          `name a key, a user and at least one right: warder access ${change} KEY USER RIGHT...`,
        )
      }
      const kid = readKid(key)
      const rights = [...new Set(names.map(readRight))]
      return async ({ kms, show }) => {
        const kids = await listKids(kms, kid, pair)
        let meant = user
        for (const unique_identifier of kids) {
          const body = { unique_identifier, user_id: meant, operation_types: rights, known: !anyway }
          const done = await withKeyErrors('key', unique_identifier, () =>
            kms.call(`access.${change}`, { body }),
          )
          meant = done.user_id
        }
        const verb = change === 'grant' ? 'may now' : 'may no longer'
        show(
          { [change]: rights, user: meant, keys: kids },
          kids.map((id) => `${formatUser(meant)} ${verb}: ${rights.join(', ')}   on key ${printable(id)}`),
        )
        return 0
      }
    },
  })
}

const aboutUser = `USER is the name at the service (warder access me shows yours), realm/NAME for a realm other than _, app:ID for a
machine (app: is optional if no user has that name), or '*' for all authenticated users. The halves of a pair are two
keys: sign is a right on the private key, signatureverify on the public key.`

export const grantVerb = changeVerb('grant', {
  summary: 'Grant a user rights on a key, from the next request on',
  about: `Requires the owner of the key, a crypto officer, or a user with the right authorize.
${aboutUser}

${rightsLines}`,
  examples: [
    'warder access grant KEY bob encrypt decrypt',
    'warder access grant KEY bob UseKey Read --pair',
    "warder access grant PUBLIC_KEY '*' signatureverify",
  ],
})

export const revokeVerb = changeVerb('revoke', {
  summary: 'Revoke rights on a key, from the next request on',
  about: `Revoking a right that USER does not have is not an error. Rights of all users ('*') remain.
${aboutUser}

${rightsLines}`,
  examples: ['warder access revoke KEY bob decrypt', "warder access revoke KEY '*' UseKey Read Modify"],
})

function createRightVerb(change: Change, parts: Pick<KmsVerb, 'summary' | 'examples'>): KmsVerb {
  return kmsVerb({
    name: `${change}-create`,
    words: 'USER',
    ...parts,
    about: `Requires a crypto officer ([roles] crypto_officer_users in kms.toml). If officers are configured, other users need this
right to create keys; if not, all users may create keys and this has no effect.`,
    options: selectAnywayOption(change),
    parse({ anyway }, names) {
      const named = requireOneName(names, 'user')
      return async ({ kms, show }) => {
        const body = { user_id: named, operation_types: ['create'], known: !anyway }
        const { user_id: user } = await kms.call(`access.${change}`, { body })
        const verb = change === 'grant' ? 'may create' : 'may no longer create'
        show({ [change]: ['create'], user }, [
          `${formatUser(user)} ${verb} keys, if crypto officers control key creation`,
        ])
        return 0
      }
    },
  })
}

export const grantCreateVerb = createRightVerb('grant', {
  summary: 'Let a user create keys, where crypto officers decide that',
  examples: ['warder access grant-create carl'],
})

export const revokeCreateVerb = createRightVerb('revoke', {
  summary: 'Revoke the right to create keys; existing keys stay',
  examples: ['warder access revoke-create carl'],
})
