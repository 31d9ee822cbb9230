import { failure, isName } from '@warder/base'
import {
  endedPrefix,
  findLeaving,
  isGovernor,
  isGroupOrRoleName,
  type Leaving,
  type LeavingKind,
  normalizeName,
  officerAccess,
  requirePrincipal,
  signedIn,
  storeOfName,
} from '@warder/keys'
import { get, type Operation } from '@warder/server'
import Type from 'typebox'
import { define, type RestServices } from './services.ts'

type Outcome = 'deleted' | 'needs_new_owner' | 'stays'

const transfer = 'POST /access/transfer gives them to another user.'
const settings = 'remove the name from roles.crypto_officer_users.'
const outcomes: Readonly<Record<LeavingKind | 'officer', readonly [Outcome, note: string]>> = {
  keys: ['needs_new_owner', `No user can use keys of a deleted user: ${transfer}`],
  aliases: ['needs_new_owner', 'Aliases of keys go to the new owner with the keys.'],
  grants: ['deleted', 'Keys on which the user has rights by name.'],
  general_rights: ['deleted', 'Rights on no key, such as create and audit.'],
  tag_grants: ['deleted', 'Tags by which the user has rights by name.'],
  own_tag_grants: [
    'deleted',
    'Tags by which the user grants: the grants stay on the keys that have the tag.',
  ],
  memberships: ['deleted', 'Groups that list the user.'],
  sole_groups: ['needs_new_owner', 'Groups without another owner: an owner or a crypto officer names one.'],
  shared_groups: ['deleted', 'Groups that have another owner.'],
  approval_requests: ['deleted', 'Unfinished requests for approval of the user.'],
  votes: ['deleted', 'Unfinished requests for approval on which the user voted.'],
  access_keys: ['deleted', 'Access keys for AWS KMS that the user made: they are rejected from then on.'],
  acme_accounts: ['needs_new_owner', `Accounts of ACME: ${transfer}`],
  activations: ['deleted', 'Activations as a crypto officer.'],
  patterns: ['stays', 'Groups with a pattern that fits the name: the next user of the name is in them.'],
  officer: ['stays', `The user is listed as a crypto officer: ${settings}`],
}

const Item = Type.Object({
  kind: Type.String({ description: Object.keys(outcomes).join(', ') }),
  count: Type.Integer(),
  names: Type.Array(Type.String(), { description: 'At most 100, sorted.' }),
  outcome: Type.Union(
    (['deleted', 'needs_new_owner', 'stays'] as const).map((outcome) => Type.Literal(outcome)),
    { description: 'When the user is deleted.' },
  ),
  note: Type.String(),
})

/** @throws failure('bad_request') */
function readLeaver(text: string): string {
  const isUser = (isName(text) && text !== '*') || (text.startsWith(endedPrefix) && text.isWellFormed())
  const name = normalizeName(text)
  if (!isUser || isGroupOrRoleName(text) || storeOfName(name) !== undefined)
    throw failure('bad_request', 'user_id is not the name of a user or a machine of this service.')
  return name
}

function formatItem({ kind, count, names }: Leaving | (Omit<Leaving, 'kind'> & { kind: 'officer' })) {
  const [outcome, note] = outcomes[kind]
  return { kind, count, names: [...names], outcome, note }
}

const leaver = define({
  name: 'access.leaver',
  reach: ['reveal grants', 'reveal existence'],
  route: get('/access/leaver'),
  summary: 'All that a user has here: items that are deleted with the user, and items that need a new owner',
  description: 'For crypto officers (the default user if none are listed), and for users about themselves.',
  tag: 'Access',
  access: signedIn,
  queryParameters: Type.Object({
    user_id: Type.String({ maxLength: 400, description: 'A user or a machine, or a deleted user.' }),
  }),
  reply: Type.Object({ user_id: Type.String(), items: Type.Array(Item) }),
  errors: { 403: 'Only crypto officers ask about other users.' },
  async act({ query }, context) {
    const { services } = context
    const principal = requirePrincipal(context)
    const user = readLeaver(query.user_id)
    context.audit({ object: user })
    if (user !== principal.name) {
      if (!(await isGovernor(services, principal))) throw failure('forbidden', 'This is for crypto officers.')
      context.audit(officerAccess)
    }
    const items = (await findLeaving(services.db, user)).map(formatItem)
    const officer = formatItem({ kind: 'officer', count: 1, names: [user] })
    return { user_id: user, items: services.roles.officers.listed.has(user) ? [...items, officer] : items }
  },
})

export const leaverOperations: readonly Operation<RestServices>[] = [leaver]
