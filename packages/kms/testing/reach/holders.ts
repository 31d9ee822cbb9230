import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pool, principal } from '@warder/external-stores/testing'
import { rights } from '@warder/keys/testing'
import { publicJwk, signToken } from '@warder/server'
import type { Caller } from '../client.ts'
import type { Started, StartOptions } from '../start.ts'
import type { Draw } from './requests.ts'
import type { Thing, World } from './world.ts'

// The principals, and the names under which they are grantees: by their own names, by roles of their credentials, and by
// groups. The groups are kept here as their owners changed them, so that the oracle need not believe the service.

export const owners = ['alice', 'carol'] as const
export type Owner = (typeof owners)[number]

/** Each principal has the role `auditor` of the issuer of its credential, and of no other issuer. */
const rolesByPrincipal = {
  bob: 'role:staff/auditor',
  'eng/dave': 'role:partner/auditor',
  erin: 'role:corp/auditor',
} as const
export const principals = Object.keys(rolesByPrincipal) as readonly (keyof typeof rolesByPrincipal)[]
export type Principal = (typeof principals)[number]
const roles = Object.values(rolesByPrincipal)

/** Names of clouds to which keys are granted, in the form in which they are compared. */
export const cloudPrincipals = [`aws:${principal.toLowerCase()}`, `azure:${pool}`] as const

const provider = 'https://idp.test'
const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const jwk = publicJwk(pair.publicKey)
const folder = mkdtempSync(join(tmpdir(), 'warder-reach-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
const keySet = join(folder, 'keys.json')
writeFileSync(keySet, JSON.stringify({ keys: [jwk] }))

/** Settings by which the three issuers give roles. */
export const roleSettings = {
  jwt_auth_provider: [`${provider},file:${keySet}`],
  role_sources: ['staff,session,_', 'partner,session,eng', `corp,jwt,${provider},roles`],
} as const satisfies StartOptions['config']

/** A principal that is no grantee of anything. */
export const acmeAccount = 'ACME account'

/** A caller with the credential of a principal or an owner. */
export function getCaller(kms: Started, name: string): Caller {
  const claims = { roles: ['auditor'] }
  const bearer = (token: string) => kms.with({ authorization: `Bearer ${token}` })
  if (name === 'bob') return bearer(kms.token({ sub: 'bob', ...claims }))
  if (name === 'eng/dave') return bearer(kms.token({ sub: 'dave', aud: ['eng'], as_rid: 'eng', ...claims }))
  if (name !== 'erin') return kms.user(name)
  const header = { alg: 'ES256', typ: 'JWT', kid: jwk.kid ?? '' }
  const exp = Math.floor(Date.now() / 1000) + 600
  return bearer(signToken(header, { iss: provider, sub: 'erin', exp, ...claims }, pair.privateKey))
}

/** A group as its owner changed it last. */
export interface Group {
  readonly id: string
  readonly owner: Owner
  /** Members that it may have. */
  readonly candidates: readonly string[]
  members: readonly string[]
}

/** Names under which a principal is a grantee. */
export function listGrantees(groups: readonly Group[], name: string): ReadonlySet<string> {
  const fits = (member: string) =>
    member === name || (member.endsWith('*') && name.startsWith(member.slice(0, -1)))
  if (name === acmeAccount) return new Set()
  const [cloud] = /^(?:aws|azure):/.exec(name) ?? []
  if (cloud !== undefined) return new Set([name, `${cloud}*`])
  const found = new Set([name, '*'])
  if (Object.hasOwn(rolesByPrincipal, name)) found.add(rolesByPrincipal[name as Principal])
  // A group precedes those that contain it.
  for (const { id, members } of groups)
    if (members.some((member) => fits(member) || found.has(member))) found.add(id)
  return found
}

/**
 * Principals add groups of the owners to their own groups, which limits how deep the groups of the owners may be
 * nested.
 */
const isTooDeep = ({ status, text }: { readonly status: number; readonly text: string }) =>
  status === 400 && /At most \d groups contain one another: .* is in other groups/.test(text)

async function putMembers(
  world: Pick<World, 'user'>,
  group: Group,
  members: readonly string[],
  mayBeRefused: typeof isTooDeep = () => false,
): Promise<void> {
  const name = group.id.slice('group:'.length)
  const path = `/access/groups/${encodeURIComponent(name)}`
  const answer = await world.user(group.owner).call('PUT', path, { json: { members } })
  if (mayBeRefused(answer)) return
  assert.equal(answer.status, 200, answer.text)
  group.members = members
}

/** Groups of the owners: one that lists principals, one that contains it and a pattern, and one of the other owner. */
export async function makeGroups(world: Pick<World, 'user'>, round: number): Promise<readonly Group[]> {
  const [inner, outer, other] = [`group:inner-${round}`, `group:outer-${round}`, `group:other-${round}`]
  const groups: readonly Group[] = [
    { id: inner, owner: 'alice', candidates: [...principals, 'zoe'], members: [] },
    { id: outer, owner: 'alice', candidates: [inner, 'eng/*', 'erin', 'zoe'], members: [] },
    { id: other, owner: 'carol', candidates: [outer, 'bob', 'bob2*', 'zoe'], members: [] },
  ]
  for (const group of groups) await putMembers(world, group, [group.candidates[0] ?? ''])
  return groups
}

/** Owners change members of their groups. */
async function changeGroups(world: World, draw: Draw): Promise<void> {
  const group = draw.one(world.groups)
  await putMembers(world, group, draw.some(group.candidates), isTooDeep)
}

/** To whom a right is granted. */
function drawGrantee(world: Pick<World, 'groups'>, draw: Draw): string {
  return draw.one([
    ...principals,
    ...principals,
    draw.one(world.groups).id,
    draw.one(world.groups).id,
    draw.one(roles),
    draw.one(['*', draw.one(roles)]),
    draw.one([...cloudPrincipals, draw.one(['aws:*', 'azure:*'])]),
  ])
}

/** Owners grant, revoke, and change their groups and tags. */
export async function grantAtRandom(world: World, draw: Draw, count: number): Promise<void> {
  for (let at = 0; at < count; at += 1) {
    if (draw.chance(0.1)) {
      await changeGroups(world, draw)
      continue
    }
    if (draw.chance(0.06)) {
      await grantTogether(world, draw)
      continue
    }
    const isPki = draw.chance(0.3)
    const thing = draw.one(isPki ? world.things.filter(({ family }) => family === 'pki') : world.things)
    if (draw.chance(0.05)) await changeTag(world, draw, thing)
    const object = draw.chance(0.15) ? { tag: draw.one(world.tags) } : { unique_identifier: thing.id }
    const operation_types = [draw.one(rights), draw.one(rights)]
    const body = { ...object, user_id: drawGrantee(world, draw), operation_types }
    await world.user(thing.owner).post(draw.chance(0.85) ? '/access/grant' : '/access/revoke', body)
  }
}

/** Rights of which several, on several objects, are needed for one request. */
async function grantTogether(world: World, draw: Draw): Promise<void> {
  const user_id = draw.one(principals)
  const certificate = world.find(`certificate of ${draw.one(owners)}`)
  for (const [thing, right] of draw.one([
    [
      [certificate, 'rekey'],
      [world.authority, 'certify'],
      [world.authorityKey, 'certify'],
    ],
    [[draw.one(world.transit).thing, draw.one(['encrypt', 'sign', 'mac'])]],
    [
      [
        draw.one(world.things.filter(({ kind }) => kind === 'aes')),
        draw.one(['rekey', 'encrypt', 'derivekey']),
      ],
    ],
  ] as const)) {
    const body = { unique_identifier: thing.id, user_id, operation_types: [right] }
    await world.user(thing.owner).post('/access/grant', body)
  }
}

async function changeTag(world: World, draw: Draw, thing: Thing): Promise<void> {
  const json = { tags: [draw.one(world.tags)] }
  await world
    .user(thing.owner)
    .call(draw.chance(0.7) ? 'POST' : 'DELETE', `/v1/crypto/keys/${thing.id}/tags`, { json })
}
