import { getChainId, keyRight, usersSince } from '@warder/keys'
import { get } from '@warder/server'
import Type from 'typebox'
import { formatDay } from './life-shape.ts'
import { define, type RestServices } from './services.ts'

const access = keyRight<RestServices, string>('authorize', {
  read: ({ path: { kid } }) => kid ?? '',
  kid: (kid) => kid,
})

/** `GET /v1/crypto/keys/{kid}/uses`: who used a key last, by day; of all of its versions. */
export const keyUses = define({
  name: 'crypto.keys.uses',
  reach: ['reveal attributes'],
  route: get('/v1/crypto/keys/{kid}/uses'),
  summary: 'Users of a key, with the day of their last use',
  description:
    'Latest first, at most 1,000 users of the last 400 days. A use appears after a few seconds; the audit log has each single use.',
  tag: 'Keys',
  access,
  pathParameters: Type.Object({ kid: Type.String() }),
  reply: Type.Object({
    kid: Type.String(),
    uses: Type.Array(
      Type.Object({ user: Type.String(), last_used: Type.String({ description: 'A day, UTC.' }) }),
    ),
  }),
  errors: { 403: 'Only the owner, an officer, or a user with the right Authorize.', 404: 'No such key.' },
  async act(_input, context) {
    const { object } = access.resolved(context).key
    const uses = await usersSince(context.services.db, getChainId(object), 0)
    return { kid: object.id, uses: uses.map(({ user, day }) => ({ user, last_used: formatDay(day) })) }
  },
})
