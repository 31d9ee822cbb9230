import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exchangePair, generatePair, startIssuers } from '../testing/issuers.ts'
import { dataKey, type GoogleWorld, startGoogle } from './testing/world.ts'

function heldClock() {
  let ahead = 0
  return {
    now: () => Date.now() + ahead,
    monotonic: () => performance.now() + ahead,
    advance: (seconds: number) => {
      ahead += seconds * 1000
    },
  }
}

const wrap = async (world: GoogleWorld) => world.post('wrap', { ...(await world.tokens()), key: dataKey })

test('key sets are fetched once, outlive an outage of their issuers, and are fetched again behind the requests', async () => {
  await using issuers = await startIssuers()
  const clock = heldClock()
  await using world = await startGoogle({ issuers, clock })
  assert.equal((await wrap(world)).status, 200)
  assert.equal(issuers.requests.length, 2, 'one of Google, one of the provider')
  for (let index = 0; index < 20; index += 1) assert.equal((await wrap(world)).status, 200)
  assert.equal(issuers.requests.length, 2)

  issuers.up = false
  clock.advance(3700)
  const started = performance.now()
  assert.equal((await wrap(world)).status, 200, 'it is due, and the issuers are away')
  assert.ok(performance.now() - started < 4000)
  for (let day = 0; day < 7; day += 1) {
    clock.advance(86_400)
    assert.equal((await wrap(world)).status, 200, `day ${day}`)
  }
  assert.ok(world.kms.log.some((line) => line.includes('the previous keys stay in use')))
  assert.ok(issuers.requests.length > 2)

  issuers.up = true
  clock.advance(61)
  const before = issuers.requests.length
  assert.equal((await wrap(world)).status, 200)
  clock.advance(1)
  while (issuers.requests.length < before + 2) await new Promise((resolve) => setTimeout(resolve, 5))
  assert.equal((await wrap(world)).status, 200)
})

test('without a key set nobody is let in, and it is tried again', async () => {
  await using issuers = await startIssuers()
  const clock = heldClock()
  await using world = await startGoogle({ issuers, clock })
  issuers.up = false
  assert.equal((await wrap(world)).status, 401)
  issuers.up = true
  assert.equal((await wrap(world)).status, 401, 'not asked at once again')
  clock.advance(5)
  assert.equal((await wrap(world)).status, 200)
})

test('an issuer that exchanges its key during an outage: old tokens count until the new set is there, new ones from then on', async () => {
  await using issuers = await startIssuers()
  const clock = heldClock()
  // Keys are shared by all tests of a process: the one that is exchanged is of an issuer that no other test has.
  const iss = 'https://exchanging.example.com'
  await generatePair(iss)
  const providers = [`${iss},${issuers.url}/keys/${encodeURIComponent(iss)},cse`]
  const config = { 'google_cse_config.google_cse_identity_providers': providers }
  await using world = await startGoogle({ issuers, clock, config })
  const authentication = () => world.authentication({ iss, exp: Math.floor(clock.now() / 1000) + 100_000 })
  const wrapWith = async (authentication: string) => {
    const authorization = await world.authorization()
    return (await world.post('wrap', { authentication, authorization, key: dataKey })).status
  }
  const tokens = [await authentication()]
  assert.equal(await wrapWith(tokens[0] ?? ''), 200)
  await exchangePair(iss, 'exchanged')
  tokens.push(await authentication())
  const each = async () => [await wrapWith(tokens[0] ?? ''), await wrapWith(tokens[1] ?? '')]

  issuers.up = false
  clock.advance(61)
  const before = issuers.requests.length
  assert.deepEqual(await each(), [200, 401])
  for (let index = 0; index < 5; index += 1) assert.deepEqual(await each(), [200, 401])
  assert.equal(issuers.requests.length, before + 1, 'an unknown kid asks once a minute')

  issuers.up = true
  clock.advance(61)
  // The first token of the new key fetches the new set, which no longer holds the old key.
  assert.equal(await wrapWith(tokens[1] ?? ''), 200)
  assert.deepEqual(await each(), [401, 200])
})
