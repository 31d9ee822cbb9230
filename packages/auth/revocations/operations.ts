import {
  type Access,
  type createPeerSecretCheck,
  defineOperation,
  get,
  type IncomingRequest,
  type Operation,
  peerSecretHeader,
  rawReply,
} from '@warder/server'
import Type from 'typebox'
import type { RevocationFeed } from './feed.ts'

export interface RevocationServices {
  readonly revocations: RevocationFeed
  /** Whether a header contains the peer secret of the installation. */
  readonly isPeer: ReturnType<typeof createPeerSecretCheck>
}

const define = defineOperation<RevocationServices>()

/** Services of the installation, which send the peer secret. The operation authenticates them itself. */
const peers: Access<unknown> = { name: 'service of the installation', check: () => undefined }

/** Members that every operation for services of the installation declares. */
export const forPeers = {
  access: peers,
  security: ['peerSecret'],
  authenticate: ({
    request,
    services,
  }: {
    readonly request: IncomingRequest
    readonly services: Pick<RevocationServices, 'isPeer'>
  }) =>
    services.isPeer(request.headers[peerSecretHeader]) ? { name: 'kms', method: 'peer_secret' } : undefined,
}

const uuid = '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$'
const Question = Type.Object({
  follower: Type.String({ pattern: uuid, description: 'UUID of the subscriber, constant while it runs.' }),
  after: Type.String({
    pattern: '^[0-9]{1,15}$',
    description: 'Number of the last entry that the subscriber has received.',
  }),
  acknowledged: Type.Optional(
    Type.String({
      pattern: '^[0-9]{1,15}$',
      description:
        'Number of the last entry that the subscriber has applied, if lower than `after` (default `after`).',
    }),
  ),
  nonce: Type.String({ pattern: '^[A-Za-z0-9_-]{16,64}$', description: 'Unique for each request.' }),
  wait: Type.Optional(
    Type.String({ pattern: '^([0-9]|1[0-9]|20)$', description: 'Seconds to wait for an entry, 0 to 20.' }),
  ),
})

/** Header with the signed statement about the body. */
const statementHeader = 'X-Warder-Statement'

export const revocationOperations: readonly Operation<RevocationServices>[] = [
  define({
    name: 'ended.follow',
    reach: ['reveal existence'],
    route: get('/ended'),
    summary: 'Feed of revocations: sessions, users, machines',
    description:
      'For services of the installation (`X-Warder-Peer`). Entries after `after`, in order; each is `[seq, kind, subject, ' +
      'until, at, realm, username, reason]`, for sessions only the first four. `X-Warder-Statement` is a JWT signed with the key of ' +
      'session tokens over `nonce` and the SHA-256 of the body.',
    tag: 'Sessions',
    ...forPeers,
    queryParameters: Question,
    reply: Type.Object({
      after: Type.Integer(),
      last: Type.Integer({ description: 'Number of the last entry of this page.' }),
      head: Type.Integer({ description: 'Number of the last entry of the feed.' }),
      entries: Type.Array(Type.Array(Type.Union([Type.String(), Type.Integer()]))),
    }),
    audited: false,
    async act({ query }, { services }) {
      const { body, statement } = await services.revocations.page({
        follower: query.follower,
        after: Number(query.after),
        acknowledged: Math.min(Number(query.acknowledged ?? query.after), Number(query.after)),
        nonce: query.nonce,
        waitMs: Number(query.wait ?? 0) * 1000,
      })
      return rawReply({
        raw: body,
        contentType: 'application/json',
        headers: { [statementHeader]: statement },
      })
    },
  }),
]
