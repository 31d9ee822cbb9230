import type { KmsClient } from '@warder/client'
import { StartupError } from '@warder/foundation/errors'
import { UsageError } from '../cli/command.ts'
import { requireOneName } from '../cli/options.ts'
import { printable } from '../cli/table.ts'
import { readKid } from '../kms/key-argument.ts'
import { withKeyErrors } from '../kms/refusal.ts'
import { type KmsVerb, kmsVerb } from '../kms/verb.ts'
import { readRight, rightsLines } from './rights.ts'

type Change = 'grant' | 'revoke'

/** The named key, and the other half of its pair when both are meant. */
async function listKids(kms: KmsClient, kid: string, pair: boolean): Promise<readonly string[]> {
  if (!pair) return [kid]
  const { linked_kid } = await withKeyErrors('key', kid, () => kms.call('crypto.keys.get', { path: { kid } }))
  if (linked_kid === undefined)
    throw new StartupError(`key ${printable(kid)} is no half of a pair: leave --pair out`)
  return [kid, linked_kid]
}

function formatUser(user: string): string {
  return user === '*' ? 'everybody' : printable(user)
}

const anywayOption = {
  anyway: {
    type: 'flag',
    help: 'grants to a name that nobody has yet: whoever gets it later has the rights',
  },
} as const

/** Rights are taken back from whatever name: the flag is unknown there, and never given. */
function selectAnywayOption(change: Change): typeof anywayOption {
  return change === 'grant' ? anywayOption : ({} as typeof anywayOption)
}

function changeVerb(change: Change, parts: Pick<KmsVerb, 'summary' | 'about' | 'examples'>): KmsVerb {
  return kmsVerb({
    name: change,
    words: 'KEY USER RIGHT...',
    ...parts,
    options: {
      pair: { type: 'flag', help: 'means both halves of the pair' },
      ...selectAnywayOption(change),
    },
    parse({ pair, anyway }, [key, user, ...names]) {
      if (key === undefined || user === undefined || names.length === 0) {
        throw new UsageError(
          `say which key, which user, and which rights: warder access ${change} KEY USER RIGHT...`,
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

const aboutUser = `USER is a name as the service knows it (warder access me shows one's own), realm/NAME of another realm than _,
app:ID for a machine (app: may be left out where no user has the name), or '*' for everybody who is authenticated.
The halves of a pair are two keys: sign is a right on the private one, signatureverify on the public one.`

export const grantVerb = changeVerb('grant', {
  summary: 'lets a user do something with a key, from the next request on',
  about: `For the owner of the key, a crypto officer, or whom they granted Authorize.
${aboutUser}

${rightsLines}`,
  examples: [
    'warder access grant KEY bob encrypt decrypt',
    'warder access grant KEY bob UseKey Read --pair',
    "warder access grant PUBLIC_KEY '*' signatureverify",
  ],
})

export const revokeVerb = changeVerb('revoke', {
  summary: 'takes rights back, from the next request on',
  about: `What was not granted to USER is no error. What everybody may ('*') USER still may.
${aboutUser}

${rightsLines}`,
  examples: ['warder access revoke KEY bob decrypt', "warder access revoke KEY '*' UseKey Read Modify"],
})

function createRightVerb(change: Change, parts: Pick<KmsVerb, 'summary' | 'examples'>): KmsVerb {
  return kmsVerb({
    name: `${change}-create`,
    words: 'USER',
    ...parts,
    about: `For crypto officers ([roles] crypto_officer_users in kms.toml): where they are named, nobody else may make keys unless
they say so. Where nobody is named, everybody may, and this changes nothing.`,
    options: selectAnywayOption(change),
    parse({ anyway }, names) {
      const named = requireOneName(names, 'user')
      return async ({ kms, show }) => {
        const body = { user_id: named, operation_types: ['create'], known: !anyway }
        const { user_id: user } = await kms.call(`access.${change}`, { body })
        const verb = change === 'grant' ? 'may make' : 'may no longer make'
        show({ [change]: ['create'], user }, [
          `${formatUser(user)} ${verb} keys, as far as crypto officers decide it`,
        ])
        return 0
      }
    },
  })
}

export const grantCreateVerb = createRightVerb('grant', {
  summary: 'lets a user make keys, where crypto officers decide that',
  examples: ['warder access grant-create carl'],
})

export const revokeCreateVerb = createRightVerb('revoke', {
  summary: 'takes that back; keys that were made stay',
  examples: ['warder access revoke-create carl'],
})
