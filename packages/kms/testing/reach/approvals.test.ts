import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '@warder/base'
import { rights } from '@warder/keys/testing'
import { kmipOperations } from '@warder/kmip-server/testing'
import { openSqlite, query } from '@warder/storage'
import fc from 'fast-check'
import { ask, done, letCreate, officers, vote } from '../../officers/testing/officers.ts'
import { kmsOperations } from '../../service/operations.ts'
import { bothEngines } from '../engines.ts'
import { startKms } from '../start.ts'
import { roleSettings } from './holders.ts'
import { kmipRequest, payloads } from './kmip-requests.ts'
import { Draw, type Player } from './requests.ts'
import { bodies, restRequest } from './rest-requests.ts'
import { makeWorld, type Thing, type World, waitingTag } from './world.ts'

// Callers with every right, the owner among them, play random requests on keys whose destruction, export and grants of
// material need approvals. Nothing of that may happen before officers approved it, and nothing else with them.

const steps = Number(process.env.WARDER_REACH_STEPS ?? 600)
const quorum = 3
const guardedTag = 'prod'
const config = {
  ...{ transit_enabled: true, kmip_draft_3_0: true, cache_lease_ms: 0, ...roleSettings },
  ...{ 'roles.crypto_officer_users': officers, 'roles.ceremony_quorum': quorum },
  ...{ 'approvals.operations': ['destroy', 'export', 'grant'], 'approvals.tags': [guardedTag] },
  pending_destruction_days_by: [`tag:${waitingTag}=7`],
}

interface Row {
  readonly id: string
  readonly state: string
}
const stateRows = query<[], Row>('SELECT id, state FROM managed_object')
const grantRows = query<
  [],
  { readonly object_id: string; readonly user_id: string; readonly operation: string }
>(`SELECT object_id, user_id, operation FROM object_grant WHERE operation IN ('get', 'export')`)
const tagRows = query<[tag: string], { readonly object_id: string }>(
  'SELECT object_id FROM object_tag WHERE tag = ?',
)

const rest = kmsOperations({
  db: openSqlite({ path: ':memory:' }),
  clock: systemClock,
  baseUrl: 'https://localhost',
  authProxy: async () => assert.fail('only described'),
  transit: true,
})
  .filter(({ name, request }) => request === undefined || name in bodies)
  .filter(({ name }) => /^(?:crypto|key|access|pki\.certificates|transit)\./.test(name))
  .map((operation) => ({ ...operation, right: undefined }))
const kmip = [...kmipOperations.values()]
  .filter(({ name }) => payloads[name] !== undefined)
  .map(({ name }) => ({ name, right: undefined }))

/** Operations that need approvals, and those that could go around them, are drawn as often as all others. */
const near =
  /^(?:Destroy|Obliterate|Deactivate|Revoke|Get|Export|ReKey|.*Attribute|access\.grant|key\.tags\.remove)$|\.(?:delete|destroy)$/
const isNear = ({ name }: { readonly name: string }) => near.test(name)

/** Keys of alice under approvals, with what the officers approved. */
class Guarded {
  readonly #world: World
  readonly things: readonly Thing[]
  readonly #mayEnd = new Set<string>()
  readonly #mayBeGranted = new Set<string>()
  /** Exports that one requester may still make. */
  readonly #exports = new Map<string, Set<Thing>>()
  #grants = new Set<string>()

  constructor(world: World, things: readonly Thing[]) {
    this.#world = world
    this.things = things
  }

  async #readGrants(): Promise<Set<string>> {
    const ids = new Set(this.things.map(({ id }) => id))
    const rows = await this.#world.kms.environment.db.all(grantRows, [])
    return new Set(
      rows
        .filter(({ object_id }) => ids.has(object_id))
        .map(({ object_id, user_id, operation }) => `${object_id} ${user_id} ${operation}`),
    )
  }

  async begin(): Promise<void> {
    this.#grants = await this.#readGrants()
  }

  approve(operation: 'destroy' | 'export' | 'grant', thing: Thing, by: string): void {
    if (operation === 'destroy') this.#mayEnd.add(thing.id)
    else if (operation === 'grant') this.#mayBeGranted.add(thing.id)
    else this.#exports.set(by, new Set([...(this.#exports.get(by) ?? []), thing]))
  }

  /** What happened without an approval. */
  async findUnapproved(by: string, got: readonly Uint8Array[], gotText: string): Promise<readonly string[]> {
    const { db } = this.#world.kms.environment
    const states = new Map((await db.all(stateRows, [])).map(({ id, state }) => [id, state]))
    const tagged = new Set((await db.all(tagRows, [guardedTag])).map(({ object_id }) => object_id))
    const grants = await this.#readGrants()
    const found: string[] = []
    for (const thing of this.things) {
      const state = states.get(thing.id)
      const isEnded = state === undefined || state.startsWith('Destroyed')
      if (isEnded && !this.#mayEnd.has(thing.id)) found.push(`${thing.name} was destroyed`)
      if (!isEnded && !tagged.has(thing.id)) found.push(`${thing.name} lost its tag`)
      if (this.#isRevealed(thing, got, gotText) && !this.#exports.get(by)?.delete(thing))
        found.push(`${thing.name} was revealed`)
    }
    for (const grant of grants)
      if (!this.#grants.has(grant) && !this.#mayBeGranted.has(grant.split(' ')[0] ?? ''))
        found.push(`a grant of material: ${grant}`)
    this.#grants = grants
    return found
  }

  #isRevealed({ secrets }: Thing, got: readonly Uint8Array[], gotText: string): boolean {
    return secrets.some(
      (secret) =>
        got.some((bytes) => Buffer.from(bytes).includes(secret)) ||
        ['hex', 'base64', 'base64url'].some((form) =>
          gotText.includes(secret.toString(form as 'hex').replace(/=+$/, '')),
        ),
    )
  }
}

/** The owner asks, and officers vote: enough of them, or too few. */
async function decide(world: World, guarded: Guarded, draw: Draw): Promise<void> {
  const operation = draw.one(['destroy', 'export', 'grant'] as const)
  const thing = draw.one(guarded.things)
  const by = operation === 'export' ? draw.one(['alice', 'bob']) : 'alice'
  const body = {
    ...{ operation, key: thing.id },
    ...(operation === 'grant' && { user_id: draw.one(['dora', 'erin']), operation_types: ['get'] }),
  }
  const request = await ask(world.kms, by, body)
  // The key may have ended.
  if (request.status !== 200) return
  const isApproved = draw.chance(0.3)
  // The last approval carries out a destruction or a grant.
  if (isApproved) guarded.approve(operation, thing, by)
  for (const officer of officers.slice(0, isApproved ? quorum : quorum - 1)) {
    const { status } = await vote(world.kms, officer, request.json)
    if (status !== 200) return
  }
}

for (const engine of await bothEngines())
  test(`nothing that needs approvals happens without them, whatever rights callers have, on ${engine.name}`, {
    skip: engine.skip,
  }, async (context) => {
    const seed = fc.readConfigureGlobal().seed ?? Date.now()
    context.diagnostic(`seed ${seed}, given by WARDER_TEST_SEED`)
    const db = await engine.open(await engine.url())
    await using kms = await startKms({ db, config })
    await letCreate(kms, 'alice', 'carol')
    const world = await makeWorld(kms, 0)
    const draw = new Draw(seed)
    const things = world.things.filter(
      ({ owner, kind, secrets }) => owner === 'alice' && secrets.length > 0 && kind !== 'abe',
    )
    for (const { id } of things) {
      const grant = { unique_identifier: id, user_id: 'bob', operation_types: rights }
      await done(world.user('alice').post('/access/grant', grant))
      await done(world.user('alice').post(`/v1/crypto/keys/${id}/tags`, { tags: [guardedTag] }))
    }
    const guarded = new Guarded(world, things)
    await guarded.begin()
    world.held = (_, thing) => things.includes(thing)
    const counts = { replies: 0, approved: 0 }
    for (let step = 0; step < steps; step += 1) {
      if (step > steps / 2 && step % 25 === 0) {
        await decide(world, guarded, draw)
        counts.approved += 1
      }
      const player: Player = { world, draw, by: draw.one(['bob', 'alice', 'bob', 'mallory']) as Player['by'] }
      const isKmip = draw.chance(0.6)
      const fits = draw.chance(0.5) ? isNear : () => true
      const request = isKmip
        ? kmipRequest(player, draw.one(kmip.filter(fits)))
        : restRequest(player, draw.one(rest.filter(fits)))
      const result = await request.run()
      if (result.succeeded) counts.replies += 1
      const found = await guarded.findUnapproved(player.by, result.got, result.gotText)
      assert.deepEqual(found, [], `seed ${seed}, step ${step}: ${player.by} by ${request.what}`)
    }
    assert.ok(counts.replies > steps / 10, `${counts.replies} requests succeeded`)
    assert.ok(counts.approved > 3)
  })
