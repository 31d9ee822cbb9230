import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { describe, it } from 'node:test'
import { quietLog } from '@warder/base/testing'
import type { Outbound } from '@warder/outbound'
import { formatKeySet, signToken } from '../../testing/issuer.ts'
import { scene } from '../../testing/scene.ts'
import { startAuth, testClock } from '../../testing/start.ts'
import { createIdentityProviders } from './identity-providers.ts'

/** Set it to 100,000 for the long run, which takes about a quarter of an hour. */
const rounds = Number(process.env.WARDER_FORGED_TOKEN_ROUNDS ?? 120)
const atOnce = 100

/** Pseudo-random numbers that are the same in each run. */
function dice(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

interface Sample {
  readonly what: string
  readonly token: string
  /** Expected user; undefined = the login must be refused. */
  readonly subject: string | undefined
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const part = (token: string, index: number): string => token.split('.')[index] ?? ''

const ec = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })
const rsa = () => generateKeyPairSync('rsa', { modulusLength: 2048 })
const [one, two, rsaOne, stranger, rsaStranger] = [ec(), ec(), rsa(), ec(), rsa()]

/** Another subject with the signature of this token. */
function withSubject(token: string, subject: string): string {
  const claims = JSON.parse(Buffer.from(part(token, 1), 'base64url').toString('utf8')) as object
  return `${part(token, 0)}.${encode({ ...claims, sub: subject })}.${part(token, 2)}`
}

function samples(now: number): readonly Sample[] {
  const claims = (iss: string, sub: string) => ({ iss, sub, exp: now + 3700 * (rounds + 20) })
  const es = (key: KeyObject, iss: string, sub: string) =>
    signToken(key, { alg: 'ES256', kid: 'k' }, claims(iss, sub))
  const rs = (key: KeyObject, sub: string) =>
    signToken(key, { alg: 'RS256', kid: 'r' }, claims('https://one', sub))
  const right = Array.from({ length: 20 }, (_, index): readonly Sample[] => [
    { what: 'right', token: es(one.privateKey, 'https://one', `one${index}`), subject: `one${index}` },
    { what: 'right', token: es(two.privateKey, 'https://two', `two${index}`), subject: `two${index}` },
    { what: 'right', token: rs(rsaOne.privateKey, `rsa${index}`), subject: `rsa${index}` },
  ]).flat()
  const forged = Array.from({ length: 6 }, (_, index): readonly (readonly [string, string])[] => {
    const good = es(one.privateKey, 'https://one', `one${index}`)
    const other = es(one.privateKey, 'https://one', `another${index}`)
    const publicPem = rsaOne.publicKey.export({ format: 'pem', type: 'spki' })
    const body = encode(claims('https://one', `root${index}`))
    const hmacInput = `${encode({ alg: 'HS256', kid: 'r' })}.${body}`
    const hmac = createHmac('sha256', publicPem).update(hmacInput).digest('base64url')
    const derInput = `${encode({ alg: 'ES256', kid: 'k' })}.${body}`
    const der = sign('sha256', Buffer.from(derInput), one.privateKey).toString('base64url')
    return [
      ['the key of a stranger', es(stranger.privateKey, 'https://one', 'root')],
      ['the RSA key of a stranger', rs(rsaStranger.privateKey, 'root')],
      ['the key of the other provider', es(two.privateKey, 'https://one', 'root')],
      ['the other way round', es(one.privateKey, 'https://two', 'root')],
      ['another subject under the signature', withSubject(good, 'root')],
      [
        'the signature of another token',
        `${good.slice(0, good.lastIndexOf('.'))}.${other.split('.')[2] ?? ''}`,
      ],
      ['no signature', `${good.slice(0, good.lastIndexOf('.'))}.`],
      ['alg none', `${encode({ alg: 'none' })}.${body}.`],
      ['HMAC with the public key', `${hmacInput}.${hmac}`],
      ['a signature of zeros', `${derInput}.${'A'.repeat(86)}`],
      ['a signature in DER', `${derInput}.${der}`],
    ]
  }).flat()
  return [...right, ...forged.map(([what, token]) => ({ what, token, subject: undefined }))]
}

describe('valid and forged tokens, a hundred at a time (A14)', () => {
  it('of identity providers: each valid one yields its own subject, every forged one is refused', async () => {
    const clock = testClock()
    const answers: Readonly<Record<string, string>> = {
      'https://one/keys': formatKeySet({ key: one.publicKey, kid: 'k' }, { key: rsaOne.publicKey, kid: 'r' }),
      'https://two/keys': formatKeySet({ key: two.publicKey, kid: 'k' }),
    }
    let fetched = 0
    const outbound = {
      async get(url: string) {
        fetched++
        await new Promise((resolve) => setImmediate(resolve))
        return { status: 200, headers: {}, body: Buffer.from(answers[url] ?? '') }
      },
    } as unknown as Outbound
    const providers = createIdentityProviders({ outbound, clock, log: quietLog })
    const params = {
      idp_params: ['one', 'two'].map((name) => ({
        jwt_issuer_uri: `https://${name}`,
        jwks_uri: `https://${name}/keys`,
      })),
    }
    const pool = samples(Math.floor(clock.now() / 1000))
    const roll = dice(14)
    let asked = 0
    for (let round = 0; round < rounds; round++) {
      // Sometimes the key sets are fetched again while a hundred logins wait.
      if (round % 20 === 19) clock.advance(3700)
      const chosen = Array.from({ length: atOnce }, () => pool[roll(pool.length)] as Sample)
      const found = await Promise.all(chosen.map(({ token }) => providers.verifySubject(params, token)))
      for (const [index, { what, subject }] of chosen.entries()) {
        asked++
        if (found[index]?.subject !== subject) {
          assert.fail(`${what}: ${found[index]?.subject} instead of ${subject}, round ${round}`)
        }
      }
    }
    assert.equal(asked, rounds * atOnce)
    assert.ok(fetched >= 2 + 2 * Math.floor((rounds - 1) / 20), `${fetched} fetches`)
  })

  it('of sessions: each valid one yields its own session, every forged one is refused', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { realm, user, logIn } = scene(auth)
    await realm('r')
    const names = ['ann', 'bob', 'eve']
    for (const name of names) await user('r', name)
    const cookies = await Promise.all(names.map((name) => logIn('r', name)))
    const pool: Sample[] = cookies.flatMap((cookie, index) => [
      { what: 'right', token: cookie, subject: names[index] },
      {
        what: 'another subject under the signature',
        token: withSubject(cookie, 'admin'),
        subject: undefined,
      },
      {
        what: 'the signature of another',
        token: `${part(cookie, 0)}.${part(cookie, 1)}.${part(cookies[(index + 1) % 3] ?? '', 2)}`,
        subject: undefined,
      },
    ])
    const roll = dice(15)
    for (let round = 0; round < 20; round++) {
      const chosen = Array.from({ length: atOnce }, () => pool[roll(pool.length)] as Sample)
      const found = await Promise.all(
        chosen.map(({ token }) => auth.services.sessions.authenticate(token, {})),
      )
      for (const [index, { what, subject }] of chosen.entries()) {
        assert.equal(found[index]?.session.username, subject, what)
      }
    }
  })
})
