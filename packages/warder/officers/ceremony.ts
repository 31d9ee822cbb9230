import { StartupError } from '@warder/base'
import type { KmsClient } from '@warder/client'
import { printable, requireNoNames, requireOneName, UsageError } from '@warder/command-line'
import { kmsVerb } from '@warder/command-line/kms'

export const statusVerb = kmsVerb({
  name: 'status',
  words: '',
  summary: 'List the crypto officers and which of them are active',
  about: 'A user who is not listed in [roles] crypto_officer_users does not see the officers.',
  examples: ['warder officers status', 'warder officers status --json | jq .active_co_users'],
  options: {},
  parse(_, names) {
    requireNoNames(names)
    return async ({ kms, show }) => {
      const status = await kms.call('access.officers.status')
      const lines = status.users.map((user) => {
        const active = status.active_co_users.includes(user)
        return `${printable(user).padEnd(24)} ${active ? 'active' : 'dormant'}`
      })
      const none = 'you are not listed in [roles] crypto_officer_users'
      show(status, status.enabled ? lines : [none])
      return 0
    }
  },
})

export const beginVerb = kmsVerb({
  name: 'begin',
  words: '',
  summary: 'Begin a ceremony: a new key, split among the crypto officers',
  about: `Each listed officer gets a share. Then the others run warder officers give NAME, and NAME runs warder officers activate.
The key itself is not stored; it exists only as its shares.`,
  examples: ['warder officers begin', 'warder officers begin --everybody'],
  options: { everybody: { type: 'flag', help: 'requires the shares of all officers instead of a quorum' } },
  parse({ everybody }, names) {
    requireNoNames(names)
    return async ({ kms, show }) => {
      const made = await kms.call('access.officers.begin', { body: { everybody } })
      show(made, [
        `ceremony ${made.id} begun; your share is ${made.share_id}`,
        'next: the others run  warder officers give YOUR-NAME',
      ])
      return 0
    }
  },
})

/** Fetches the latest ceremony and the share of the caller. @throws StartupError when the caller has none */
async function findCeremony(kms: KmsClient) {
  const ceremony = await kms.call('access.officers.ceremony')
  const { user } = await kms.call('server.me')
  const own = ceremony.officers.find((officer) => officer.user === user)?.share_id
  if (own === undefined)
    throw new StartupError(
      'you have no share of the latest ceremony: begin a new one (warder officers begin)',
    )
  return { ...ceremony, user, own }
}

export const giveVerb = kmsVerb({
  name: 'give',
  words: 'USER',
  summary: 'Let another officer use your share of the latest ceremony',
  about:
    'USER can then read your share, and become active with enough shares. warder officers disable USER revokes this.',
  examples: ['warder officers give ann'],
  options: {},
  parse(_, names) {
    const user = requireOneName(names, 'user')
    return async ({ kms, show }) => {
      const { own, officers } = await findCeremony(kms)
      if (!officers.some((officer) => officer.user === user))
        throw new UsageError(
          `${printable(user)} is not an officer of the latest ceremony: see warder officers status`,
        )
      const body = { unique_identifier: own, user_id: user, operation_types: ['get'] }
      await kms.call('access.grant', { body })
      show({ share: own, user }, [`${printable(user)} may use your share ${own}`])
      return 0
    }
  },
})

export const activateVerb = kmsVerb({
  name: 'activate',
  words: '',
  summary: 'Become an active officer with the shares that you were given',
  about: 'Uses your own share and those that other officers gave you (warder officers give).',
  examples: ['warder officers activate'],
  options: {},
  parse(_, names) {
    requireNoNames(names)
    return async ({ kms, show }) => {
      const { id, own, officers, threshold } = await findCeremony(kms)
      const obtained = await fetchGivenShares(kms, id)
      const shares = officers
        .map(({ share_id }) => share_id)
        .filter((share) => share === own || obtained.has(share))
      if (shares.length < threshold)
        throw new StartupError(
          `the ceremony needs the shares of ${threshold} officers, but you have ${shares.length}: ask the others to run warder officers give`,
        )
      await kms.call('access.officers.activate', { body: { share_ids: shares.slice(0, threshold) } })
      const { active_until } = await kms.call('access.officers.ceremony')
      show({ ceremony: id, active_until }, [`you are an active crypto officer until ${active_until}`])
      return 0
    }
  },
})

/** Fetches the shares of the ceremony that others gave to the caller. */
async function fetchGivenShares(kms: KmsClient, ceremony: string): Promise<ReadonlySet<string>> {
  const found = await kms.call('access.obtained', { query: { after: ceremony, limit: '255' } })
  return new Set(
    found.filter(({ operations }) => operations.includes('get')).map(({ object_id }) => object_id),
  )
}

export const disableVerb = kmsVerb({
  name: 'disable',
  words: '[USER]',
  summary: 'End your activation, or that of another officer, at once',
  about:
    'Ending the activation of another officer revokes your share. A new activation needs a new ceremony.',
  examples: ['warder officers disable', 'warder officers disable ann'],
  options: {},
  parse(_, names) {
    if (names.length > 1) throw new UsageError('name at most one officer: warder officers disable [USER]')
    const [target] = names
    return async ({ kms, show }) => {
      await kms.call('access.officers.disable', {
        body: target === undefined ? {} : { target_user: target },
      })
      show({ disabled: target ?? null }, [
        `${target === undefined ? 'you are' : `${printable(target)} is`} no longer an active crypto officer`,
      ])
      return 0
    }
  },
})
