import assert from 'node:assert/strict'
import { test } from 'node:test'
import { httpHost } from '@warder/authority/testing'
import { systemClock } from '@warder/base'
import { rights } from '@warder/keys/testing'
import { kmipOperations } from '@warder/kmip-server/testing'
import { createProcessToken, missingSofthsm } from '@warder/pkcs11/testing'
import { openSqlite } from '@warder/storage'
import fc from 'fast-check'
import { kmsOperations } from '../../service/operations.ts'
import { bothEngines } from '../engines.ts'
import { startKms } from '../start.ts'
import { type Fronts, frontOptions, makeFronts } from './fronts.ts'
import { cloudPrincipals, grantAtRandom, owners, principals, roleSettings } from './holders.ts'
import { kmipRequest, payloads } from './kmip-requests.ts'
import { Oracle } from './oracle.ts'
import { Draw, type Player, type Request } from './requests.ts'
import { bodies, restRequest } from './rest-requests.ts'
import { hsmName, makeWorld, type World, waitingTag } from './world.ts'

const standardSteps = 1000
/** More with the environment variable; the samples are those of the seed of the run. */
const steps = Number(process.env.WARDER_REACH_STEPS ?? standardSteps)
const stepsOfRound = 250

/** Operations that no principal plays here, by the beginnings of their names. */
const notPlayed: Readonly<Record<string, string>> = {
  'kmip.': 'Its messages are played as operations of KMIP.',
  'ui.': 'Pages and logins: a session has the rights of its user, who plays.',
  'docs.': 'The same document for all callers.',
  'auth_proxy.': 'Forwards to the authentication service, with no object here.',
  'audit.node': 'For other nodes of the database, by a proof of theirs.',
  unseal: 'It answers before the keys can be read; afterwards it ignores each share.',
  'acme.': 'Played by an account (fronts.ts); packages/authority/acme/attacks.test.ts has two accounts.',
  'aws.': 'Played by the cloud (fronts.ts).',
  'azure.': 'Played by the cloud (fronts.ts).',
  'google_cse.': 'Its keys are in the settings: packages/external-stores/reach.test.ts plays rights on them.',
  'ms_dke.': 'Likewise.',
}
const isPlayed = ({ name }: { readonly name: string }): boolean =>
  !Object.keys(notPlayed).some((beginning) => name.startsWith(beginning))

const everyRest = kmsOperations({
  db: openSqlite({ path: ':memory:' }),
  clock: systemClock,
  baseUrl: 'https://localhost',
  authProxy: async () => assert.fail('only described'),
  transit: true,
  external: 'described',
})
const rest = everyRest.filter(isPlayed).map((operation) => ({
  ...operation,
  right: /key right.*?: (\w+)/.exec(operation.access.name)?.[1] ?? operation.asks?.[0],
}))
const kmip = [...kmipOperations.values()]
  .filter(({ name }) => payloads[name] !== undefined)
  .map(({ name, access, asks }) => ({ name, right: access.kind === 'object' ? access.right : asks?.[0] }))

test('every operation has a request in the test of reach, or a reason why it has none', () => {
  for (const { name, reach } of kmipOperations.values()) {
    assert.ok(name in payloads, `${name} has no line`)
    const isHarmless = reach.every((effect) => /public|settings|attributes/.test(effect))
    assert.ok(payloads[name] !== undefined || isHarmless, `${name} reaches objects`)
  }
  for (const beginning of Object.keys(notPlayed))
    assert.ok(
      everyRest.some(({ name }) => name.startsWith(beginning)),
      `no operation begins with ${beginning}`,
    )
  const names = new Set<string>(rest.map(({ name }) => name))
  assert.deepEqual(
    Object.keys(bodies).filter((name) => !names.has(name)),
    [],
  )
  assert.deepEqual(
    rest.filter(({ request, name }) => request !== undefined && !(name in bodies)).map(({ name }) => name),
    [],
  )
})

/** Requests in which one right had the effect of another, more often than others. */
const hostile: ReadonlySet<string> = new Set([
  ...['Encrypt', 'Decrypt', 'DeriveKey', 'ReKey', 'ReKeyKeyPair', 'Certify', 'ReCertify', 'Register'],
  ...['Import', 'Get', 'transit.keys.create', 'pki.certificates.issue', 'pki.certificates.renew'],
  ...['access.grant', 'key.tags.add', 'key.tags.remove', 'access.groups.replace'],
])

/** One of them, by a principal that has the right for it on some object. */
function drawHostile(world: World, draw: Draw): Play {
  if (draw.chance(0.7)) {
    const operation = draw.one(kmip.filter(({ name }) => hostile.has(name)))
    const player = drawHolder(world, draw, operation.right)
    return { by: player.by, request: kmipRequest(player, operation) }
  }
  const operation = draw.one(rest.filter(({ name }) => hostile.has(name)))
  const player = drawHolder(world, draw, operation.right)
  return { by: player.by, request: restRequest(player, operation) }
}

function drawHolder(world: World, draw: Draw, right: string | undefined): Player {
  const holders = principals.filter((by) => world.things.some((thing) => world.held(by, thing, right)))
  return { world, draw, by: draw.one(holders.length > 0 ? holders : principals) }
}

/** Often one of the operations that a right of the player permits. */
function randomRequest(player: Player, oracle: Oracle): Request {
  const { draw, by } = player
  const held = draw.chance(0.7) ? draw.one(oracle.listRights(by)) : undefined
  const fits = ({ right }: { readonly right: string | undefined }) => held === undefined || held === right
  const some = [kmip.filter(fits), rest.filter(fits)] as const
  // No operation asks for `hash` and `import`.
  const [overKmip, overRest] = some.some((list) => list.length > 0) ? some : ([kmip, rest] as const)
  const isKmip = overRest.length === 0 || (overKmip.length > 0 && draw.chance(0.6))
  return isKmip ? kmipRequest(player, draw.one(overKmip)) : restRequest(player, draw.one(overRest))
}

interface Play {
  readonly by: string
  readonly request: Request
}

function drawFront(fronts: Fronts, draw: Draw): Play {
  const [by, operations] = draw.one([...fronts.operations])
  return { by, request: fronts.request(draw, by, draw.one(operations)) }
}

/** Each operation, by a principal that has a right for it if there is one. */
function listPlays(world: World, fronts: Fronts, draw: Draw): readonly (() => Play)[] {
  return [
    ...kmip.map((operation) => () => {
      const one = drawHolder(world, draw, operation.right)
      return { by: one.by, request: kmipRequest(one, operation) }
    }),
    ...rest.map((operation) => () => {
      const one = drawHolder(world, draw, operation.right)
      return { by: one.by, request: restRequest(one, operation) }
    }),
    ...[...fronts.operations].flatMap(([by, operations]) =>
      operations.map((operation) => () => ({ by, request: fronts.request(draw, by, operation) })),
    ),
  ]
}

/** Effects of which the test is empty unless requests have them. */
const requiredEffects = [
  ...['secret', 'attributes', 'version', 'certificate', 'grant', 'revocation', 'column state', 'tag'],
]

/** Operations that no right on an object permits, and others that fail for each principal here. */
const refusedToAll: Readonly<Record<string, string>> = {
  'access.block': 'For crypto officers, or for the default user if none are listed.',
  'access.unblock': 'Likewise.',
  'access.holdings': 'Likewise.',
  'access.transfer': 'Likewise.',
  'notices.test': 'Likewise.',
  'health.details': 'Likewise.',
  'audit.': 'By a right on no object, which crypto officers grant.',
  'external.': 'Likewise.',
  'access.approvals.': 'No approvals are configured: approvals.test.ts plays them.',
  'access.officers.': 'No officers are listed: packages/kms/officers/ways-around.test.ts.',
  'transit.refused.': 'Refused to all callers.',
  'crypto.hsms.': 'For administrators of the HSM.',
  'acme.revoke_cert': 'The account revokes certificates of others.',
  'crypto.keys.versions.activate': 'No version waits for its activation.',
  'crypto.keys.versions.restore': 'No version waits for its destruction.',
  'pki.authorities.create': 'The authority issues certificates of servers alone.',
  JoinSplitKey: 'No principal has the parts of a key.',
}

const engines = await bothEngines()
const softhsm = missingSofthsm ? undefined : createProcessToken('warder reach')
const hsms =
  softhsm === undefined
    ? []
    : [
        JSON.stringify({
          ...{ name: hsmName, library: softhsm.library, token_label: softhsm.label },
          ...{ pin_file: softhsm.pinFile, admins: owners, sessions: 2 },
        }),
      ]

/** The service, and the host that answers the challenges of ACME. */
async function start(engine: (typeof engines)[number], opened: AsyncDisposableStack) {
  const host = opened.use(await httpHost())
  const config = {
    ...{
      transit_enabled: true,
      kmip_draft_3_0: true,
      cache_lease_ms: 0,
      acme_http_port: host.port,
      ...roleSettings,
    },
    pending_destruction_days_by: [`tag:${waitingTag}=7`],
    hsm: hsms,
  }
  const db = await engine.open(await engine.url())
  const options = { ...frontOptions, db, config: { ...frontOptions.config, ...config } }
  return { host, kms: opened.use(await startKms(options)) }
}

const maxTries = 60
/** A request may fail because earlier requests changed its only key, so it is tried in other worlds. */
const maxWorlds = 5

/**
 * Plays each request until it succeeds, by a principal with every right.
 * @returns the last reply to each one that never succeeded, by its name
 */
async function playAll({ kms, host }: Awaited<ReturnType<typeof start>>, draw: Draw, round: number) {
  const world = await makeWorld(kms, round)
  const fronts = await makeFronts(kms, host, world)
  for (const { owner, id } of world.things)
    for (const user_id of ['bob', ...cloudPrincipals])
      await world
        .user(owner)
        .post('/access/grant', { unique_identifier: id, user_id, operation_types: rights })
  world.held = () => true
  const player: Player = { world, draw, by: 'bob' }
  const plays: readonly (readonly [string, () => Request])[] = [
    ...kmip.map((one) => [one.name, () => kmipRequest(player, one)] as const),
    ...rest.map((one) => [one.name, () => restRequest(player, one)] as const),
    ...[...fronts.operations].flatMap(([by, names]) =>
      names.map((name) => [name, () => fronts.request(draw, by, name)] as const),
    ),
  ]
  // In an order in which one request makes what the next one needs.
  const endsObjects = ([name]: (typeof plays)[number]) =>
    /destroy|revoke|delete|close|archive|list/i.test(name)
  const never = new Map<string, string>()
  for (const [name, next] of [...plays.filter((one) => !endsObjects(one)), ...plays.filter(endsObjects)]) {
    let succeeded = false
    for (let at = 0; at < maxTries && !succeeded; at += 1) {
      const request = next()
      const result = await request.run()
      succeeded = result.succeeded
      never.set(name, `${request.what}: ${result.gotText.slice(0, 200)}`)
    }
    if (succeeded) never.delete(name)
  }
  return never
}

test('each request succeeds for a principal with every right, or has a reason why it does not', async () => {
  await using opened = new AsyncDisposableStack()
  const started = await start(engines[0] ?? assert.fail(), opened)
  const draw = new Draw(fc.readConfigureGlobal().seed ?? Date.now())
  const reasons = Object.keys(refusedToAll)
  const isExpected = (name: string) => reasons.some((beginning) => name.startsWith(beginning))
  let failures = await playAll(started, draw, 0)
  for (let round = 1; round < maxWorlds && ![...failures.keys()].every(isExpected); round += 1) {
    const again = await playAll(started, draw, round)
    failures = new Map([...failures].filter(([name]) => again.has(name)))
  }
  assert.deepEqual(
    [...failures].filter(([name]) => !isExpected(name)),
    [],
  )
  for (const beginning of reasons)
    assert.ok(
      [...failures.keys()].some((name) => name.startsWith(beginning)),
      `${beginning} succeeded`,
    )
})

for (const engine of engines)
  test(`principals with random rights reach only what their rights permit, on ${engine.name}`, {
    skip: engine.skip,
  }, async (context) => {
    const seed = fc.readConfigureGlobal().seed ?? Date.now()
    context.diagnostic(`seed ${seed}, given by WARDER_TEST_SEED`)
    if (missingSofthsm) context.diagnostic(`without keys in an HSM: ${missingSofthsm}`)
    await using opened = new AsyncDisposableStack()
    const { kms, host } = await start(engine, opened)
    const draw = new Draw(seed)
    const counts = new Map<string, number>()
    for (let round = 0; round * stepsOfRound < steps; round += 1) {
      const world = await makeWorld(kms, round)
      const fronts = await makeFronts(kms, host, world)
      const oracle = new Oracle(world)
      world.held = (by, thing, right) => {
        const held = oracle.getRights(by, thing)
        return right === undefined ? held.size > 0 : held.has(right)
      }
      await grantAtRandom(world, draw, 200)
      await oracle.refresh()
      const drawPlay = (): Play => {
        if (draw.chance(0.1)) return drawFront(fronts, draw)
        if (draw.chance(0.35)) return drawHostile(world, draw)
        const player: Player = { world, draw, by: draw.one(principals) }
        return { by: player.by, request: randomRequest(player, oracle) }
      }
      // Every operation once, before those that are drawn.
      const once = round > 0 ? [] : listPlays(world, fronts, draw)
      for (let step = -once.length; step < stepsOfRound; step += 1) {
        if (step % 10 === 0) {
          await grantAtRandom(world, draw, 2)
          await oracle.refresh()
        }
        const { by, request } = (once[step + once.length] ?? drawPlay)()
        const result = await request.run()
        const found = await oracle.judge({ what: request.what, by, ...result })
        const where = `seed ${seed}, round ${round}, step ${step}: ${by} by ${request.what}`
        assert.deepEqual([...new Set(found)], [], `${where}\n${result.sentText.slice(0, 300)}`)
      }
      for (const [what, count] of oracle.counts) counts.set(what, (counts.get(what) ?? 0) + count)
    }
    if (steps < standardSteps) return
    for (const what of requiredEffects)
      assert.ok((counts.get(what) ?? 0) > 0, `no reply or change of the kind: ${what}`)
  })
