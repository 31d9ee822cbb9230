import { rights } from '@warder/keys/testing'
import type { Answer } from '../client.ts'
import { owners, principals } from './holders.ts'
import {
  type Draw,
  drawId,
  drawToken,
  isAes,
  isCertificate,
  isPrivate,
  isSecret,
  messages,
  type Player,
  type Request,
} from './requests.ts'
import { hsmName } from './world.ts'

const b64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')
const b64url = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url')

/** Everything in a reply that may be bytes. */
export function bytesOfReply({ text }: Pick<Answer, 'text'>): Buffer[] {
  const words =
    text
      .replaceAll(/\\n|\n/g, '')
      .replaceAll(/-----[A-Z ]+-----/g, ' ')
      .match(/[A-Za-z0-9+/_-]{16,}/g) ?? []
  return words.map((word) => Buffer.from(word, 'base64'))
}

type Body = (player: Player) => object | undefined
const jwe: Body = (player) => drawToken(player, (token) => token.jwe !== undefined).jwe
const message: Body = ({ draw }) => ({ data: b64url(draw.one(messages)) })

/** Bodies of REST and transit, by operation; without one, an empty body is sent. */
export const bodies: Readonly<Record<string, Body>> = {
  'crypto.encrypt': (player) => ({
    kid: drawId(player, isAes),
    alg: 'dir',
    enc: 'A256GCM',
    ...message(player),
  }),
  'crypto.datakey': (player) => ({
    kid: drawId(player, isAes),
    alg: player.draw.one(['dir', 'A256KW']),
    enc: 'A256GCM',
  }),
  'crypto.decrypt': jwe,
  'crypto.rewrap': jwe,
  'crypto.keys.unwrap': (player) => {
    const { protected: header, encrypted_key } =
      drawToken(player, (token) => token.jwe !== undefined).jwe ?? {}
    return { protected: header, encrypted_key }
  },
  'crypto.sign': (player) => ({
    kid: drawId(player, isPrivate),
    alg: player.draw.one(['RS256', 'ES256', 'EdDSA']),
    ...message(player),
  }),
  'crypto.verify': (player) => {
    const kid = drawId(player, ({ name }) => name === 'es256 public')
    const header = b64url(Buffer.from(JSON.stringify({ alg: 'ES256', kid })))
    return { protected: header, data: 'AAAA', signature: b64url(Buffer.alloc(64)) }
  },
  'crypto.mac': (player) => ({
    kid: drawId(player, ({ kind }) => kind === 'hmac'),
    alg: 'HS256',
    ...message(player),
  }),
  'crypto.batch': (player) => ({
    operations: [
      { op: 'decrypt', ...jwe(player) },
      { op: 'mac', kid: drawId(player, isSecret), alg: 'HS256', ...message(player) },
    ],
  }),
  'crypto.keys.create': (player) => ({
    kty: 'ABE',
    master: drawId(player, ({ kind }) => kind === 'abe'),
    policy: 'Team::Blue && Clearance::Secret',
  }),
  'crypto.keys.dates': ({ draw }) => ({ deactivation_at: draw.one(['2090-01-01T00:00:00Z', null]) }),
  'crypto.keys.rotation.set': ({ draw }) => ({ min_decrypt_version: draw.one([1, 2]) }),
  'key.tags.add': ({ draw, world }) => ({ tags: [draw.one([...world.tags, 'plain'])] }),
  'key.tags.remove': ({ draw, world }) => ({ tags: draw.one([['plain'], world.tags]) }),
  'crypto.aliases.create': (player) => ({ alias: ownAlias(player.draw), kid: drawId(player) }),
  'crypto.aliases.move': (player) => ({ kid: drawId(player) }),
  'access.grant': grantBody,
  'access.revoke': grantBody,
  'access.explain': (player) => ({
    unique_identifier: drawId(player),
    user_id: player.draw.one([player.by, ...principals, ...owners]),
    operation: player.draw.one(rights),
  }),
  'access.groups.replace': (player) => ({
    members: player.draw.some([...principals, player.draw.one(player.world.groups).id]),
    ...(player.draw.chance(0.3) && { owners: [player.by] }),
  }),
  'access.transfer': (player) => ({ from_user_id: 'alice', to_user_id: player.by }),
  'access.block': () => ({ user_id: 'alice' }),
  'access.unblock': () => ({ user_id: 'alice' }),
  'access.approvals.ask': (player) => ({
    operation: player.draw.one(['export', 'destroy']),
    key: drawId(player),
  }),
  'pki.authorities.create': (player) => ({
    alg: 'ES256',
    subject: 'CN=Below, O=Acme',
    issuer: player.draw.chance(0.7) ? player.world.authority.id : drawId(player),
  }),
  'pki.certificates.issue': (player) => ({
    csr: player.world.csr,
    profile: player.draw.one(['server', 'client', 'code_signing']),
  }),
  'pki.certificates.revoke': ({ draw }) => ({ reason: draw.one(['certificateHold', 'superseded']) }),
  'pki.certificates.renew': () => ({}),
  'pki.certificates.renewal.set': () => ({ automatic: true }),
  'pki.requests.create': (player) => ({ subject: 'CN=x', kid: drawId(player, isPrivate) }),
  'pki.acme.open': () => ({}),
  'pki.acme.credentials.create': () => ({}),
  'crypto.keys.rotate': () => ({}),
  'crypto.keys.versions.activate': () => ({}),
  'crypto.keys.versions.revoke': ({ draw }) => ({ compromised: draw.chance(0.5) }),
  'crypto.keys.versions.destroy': () => ({}),
  'crypto.keys.versions.restore': () => ({}),
  'crypto.keys.versions.disable': () => ({}),
  'crypto.keys.versions.enable': () => ({}),
  'access.officers.begin': () => ({ shares: 3, threshold: 2 }),
  'access.officers.activate': () => ({}),
  'access.officers.disable': () => ({}),
  'access.approvals.approve': () => ({}),
  'access.approvals.refuse': () => ({}),
  'transit.keys.rotate': () => ({}),
  'transit.datakey': () => ({}),
  'transit.encrypt': ({ draw }) => ({ plaintext: b64(draw.one(messages)) }),
  'transit.decrypt': (player) => ({
    ciphertext: drawToken(player, (token) => token.transit !== undefined).transit,
  }),
  'transit.rewrap': (player) => ({
    ciphertext: drawToken(player, (token) => token.transit !== undefined).transit,
  }),
  'transit.sign': ({ draw }) => ({ input: b64(draw.one(messages)) }),
  'transit.sign.hash': ({ draw }) => ({ input: b64(draw.one(messages)) }),
  'transit.verify': () => ({ input: 'AAAA', hmac: 'vault:v1:AAAA' }),
  'transit.verify.hash': () => ({ input: 'AAAA', signature: 'vault:v1:AAAA' }),
  'transit.hmac': ({ draw }) => ({ input: b64(draw.one(messages)) }),
  'transit.hmac.hash': ({ draw }) => ({ input: b64(draw.one(messages)) }),
  'transit.keys.create': (player) =>
    player.draw.one([
      { type: 'ecdsa-p256' },
      { type: 'managed_key', managed_key_name: drawId(player, isAes) },
      { hsm: hsmName },
    ]),
  'transit.keys.config': ({ draw }) => ({ min_decryption_version: draw.one([1, 2]), deletion_allowed: true }),
  'transit.random': () => ({}),
  'transit.random.bytes': () => ({}),
  'crypto.hsms.keys.register': () => ({ label: 'theirs' }),
  'crypto.hsms.wrapping.check': () => ({}),
  'notices.test': () => ({}),
  'external.aws.keys.create': () => ({ region: 'eu-west-1' }),
  'transit.hash': () => ({ input: 'AAAA' }),
  'transit.hash.name': () => ({ input: 'AAAA' }),
}

/** An alias that the caller may have made. */
const ownAlias = (draw: Draw): string => `alias/of-${draw.below(3)}`

/** Parameters in the query, of operations that require some. */
const queries: Readonly<Record<string, (player: Player) => Readonly<Record<string, string>>>> = {
  'access.holdings': ({ draw }) => ({ user_id: draw.one([...principals, ...owners]) }),
  'access.leaver': ({ draw, by }) => ({ user_id: draw.one([by, ...principals, ...owners]) }),
  'access.report': reportQuery,
  'access.report.export': reportQuery,
}

function reportQuery(player: Player): Readonly<Record<string, string>> {
  const { draw, by } = player
  return draw.one([{ unique_identifier: drawId(player) }, { user_id: draw.one([by, ...principals]) }, {}])
}

function grantBody(player: Player): object {
  const { draw, world } = player
  return {
    ...(draw.chance(0.2) ? { tag: draw.one(world.tags) } : { unique_identifier: drawId(player) }),
    user_id: draw.one([
      ...principals,
      ...owners,
      '*',
      'frank',
      draw.one(world.groups).id,
      'role:staff/auditor',
    ]),
    operation_types: [draw.one(rights)],
  }
}

export interface RestOperation {
  readonly name: string
  readonly right: string | undefined
  readonly route: { readonly methods: readonly string[]; readonly path: string }
}

/** A request over REST, of transit or ACME: its path and body name things of owners. */
export function restRequest(anyone: Player, { name, route, right }: RestOperation): Request {
  const player: Player = { ...anyone, right }
  const { world, draw, by } = player
  const isCertificateRoute = route.path.includes('/pki/certificates')
  const path = route.path.replaceAll(/\{([a-z_]+)\**\}/g, (_, member: string) => {
    if (name.startsWith('external.')) return 'aws'
    if (name === 'kmip.devices.get') return draw.one([by, ...principals])
    if (member === 'version') return String(draw.one([1, 2]))
    if (member === 'hash') return 'sha2-256'
    if (member === 'form') return draw.one(['plaintext', 'wrapped'])
    if (member === 'type') return 'encryption-key'
    if (member === 'bytes') return '32'
    if (member === 'hsm') return hsmName
    if (member === 'authority') return world.authority.id
    if (member === 'alias')
      return encodeURIComponent(draw.one([...world.aliases, ownAlias(draw), ownAlias(draw)]))
    if (name.startsWith('pki.acme.') && member === 'kid') return world.acme.credential
    if (name.startsWith('pki.acme.') && member === 'account') return world.acme.account
    if (name.startsWith('access.groups.'))
      return draw.chance(0.8)
        ? encodeURIComponent(draw.one(world.groups).id.slice('group:'.length))
        : `own-${draw.below(3)}`
    if (name.startsWith('transit.')) {
      const kind = /\.(?:sign|verify|keys\.create)/.test(name) ? 'ec' : name.includes('hmac') ? 'hmac' : 'aes'
      // Create describes a key that is there already: its public key is known to who may read it.
      const isRead = name === 'transit.keys.create'
      const held = world.transit.filter(({ thing }) =>
        world.held(by, thing, isRead ? undefined : player.right),
      )
      const fitting = held.filter(({ thing }) => thing.kind === kind)
      const some = fitting.length > 0 && draw.chance(0.7) ? fitting : held
      const { name: key } = draw.one(some.length > 0 && draw.chance(0.8) ? some : world.transit)
      return `${key}${draw.chance(name === 'transit.keys.create' ? 0.2 : 0.9) ? '@alice' : ''}`
    }
    if (name.startsWith('pki.') && !isCertificateRoute) return world.authority.id
    if (draw.chance(0.05)) return encodeURIComponent(draw.one(world.aliases))
    if (name === 'crypto.keys.restore') return drawId(player, (thing) => thing.name === 'waiting')
    if (name === 'pki.certificates.release')
      return drawId(player, (thing) => thing.name === 'held certificate')
    if (name === 'crypto.keys.structure') return drawId(player, ({ kind }) => kind === 'abe')
    if (name.startsWith('crypto.keys.versions.')) return drawId(player, (thing) => thing.name === 'rotated')
    return drawId(player, isCertificateRoute ? isCertificate : undefined)
  })
  const query = queries[name]?.(player)
  const address = query === undefined ? path : `${path}?${new URLSearchParams(query)}`
  const method = draw.one(route.methods)
  const body = bodies[name]?.(player)
  return {
    operation: name,
    what: `${name} ${method} ${address} ${JSON.stringify(body) ?? ''}`,
    async run() {
      // An alias of the caller may stand for a key of another owner.
      if (name === 'transit.keys.create' || draw.chance(0.1)) {
        const named = world.transit.find((key) => path.includes(`/${key.name}`))
        if (named !== undefined)
          await world
            .user(by)
            .post('/v1/crypto/aliases', { alias: `alias/transit/${named.name}`, kid: named.thing.id })
      }
      const json = body ?? (method === 'GET' || method === 'DELETE' || method === 'LIST' ? undefined : {})
      const answer = await world.user(by).call(method, address, json === undefined ? {} : { json })
      return {
        sent: [],
        signed: [...messages, ...signingInputs(answer)],
        sentText: `${decodeURIComponent(address)} ${JSON.stringify(json) ?? ''}`,
        got: bytesOfReply(answer),
        gotText: answer.text,
        succeeded: answer.status < 300,
      }
    },
  }
}

/** What a JWS signs (RFC 7515 §5.1). */
function signingInputs({ json }: Answer): Buffer[] {
  const header: unknown = json?.protected
  return typeof header === 'string'
    ? messages.map((sent) => Buffer.from(`${header}.${sent.toString('base64url')}`))
    : []
}
