import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { ExpectedToken, KeySet } from './algorithms.ts'
import {
  createHeldClock,
  createJwkSet,
  ec,
  ed25519,
  type KeyPair,
  testTime,
  tokenOfText,
} from './fixtures/tokens.ts'
import { createInlineKeySet, publicJwk } from './key-sets.ts'
import { JwtRejected, peekToken, signToken, verifyToken } from './token.ts'

const pair = ec()
const attacker = ec()
const keys = createInlineKeySet(createJwkSet(pair))
const good = { iss: 'https://idp.example', sub: 'alice', aud: 'warder', exp: testTime + 60 }
const usual: ExpectedToken = {
  issuer: 'https://idp.example',
  audience: ['warder', 'other'],
  requiredClaims: ['sub', 'iss', 'exp'],
  leewaySeconds: 0,
}

const token = (claims: Readonly<Record<string, unknown>>, header: Readonly<Record<string, unknown>> = {}) =>
  signToken({ alg: 'ES256', ...header }, claims, pair.privateKey)
const verify = (compact: string, expected: Partial<ExpectedToken> = {}, from: KeySet = keys) =>
  verifyToken(compact, from, { ...usual, ...expected }, createHeldClock())

async function assertRefused(
  compact: string,
  reason: RegExp,
  expected: Partial<ExpectedToken> = {},
  from = keys,
) {
  await assert.rejects(verify(compact, expected, from), (error: unknown) => {
    assert.ok(error instanceof JwtRejected, String(error))
    assert.match(error.message, reason)
    return true
  })
}

test('a right token gives its header and claims', async () => {
  const { header, claims } = await verify(token(good, { typ: 'JWT' }))
  assert.deepEqual(header, { alg: 'ES256', typ: 'JWT' })
  assert.deepEqual(claims, good)
})

test('exp is required, and its second is the first at which the token is refused (RFC 7519 §4.1.4)', async () => {
  const { exp: _, ...without } = good
  await assertRefused(token(without), /no exp/)
  assert.ok(await verify(token({ ...good, exp: testTime + 1 })))
  await assertRefused(token({ ...good, exp: testTime }), /expired/)
  assert.ok(await verify(token({ ...good, exp: testTime - 59 }), { leewaySeconds: 60 }))
  await assertRefused(token({ ...good, exp: testTime - 60 }), /expired/, { leewaySeconds: 60 })
})

test('nbf and iat are optional and must not be in the future', async () => {
  for (const name of ['nbf', 'iat']) {
    assert.ok(await verify(token({ ...good, [name]: testTime })))
    await assertRefused(token({ ...good, [name]: testTime + 1 }), new RegExp(`${name} is in the future`))
    assert.ok(await verify(token({ ...good, [name]: testTime + 60 }), { leewaySeconds: 60 }))
    await assertRefused(token({ ...good, [name]: testTime + 61 }), /in the future/, { leewaySeconds: 60 })
  }
})

test('a time that is no number of a date is refused', async () => {
  for (const name of ['exp', 'nbf', 'iat']) {
    for (const value of [String(testTime), null, true, [testTime + 60], { $date: testTime }, -1, 1e300]) {
      await assertRefused(token({ ...good, [name]: value }), /is not a time/)
    }
    const json = JSON.stringify({ ...good, [name]: 0 }).replace(`"${name}":0`, `"${name}":1e999`)
    await assertRefused(tokenOfText('{"alg":"ES256"}', json, pair.privateKey), /is not a time/)
  }
})

test('the issuer must be the very one that is expected', async () => {
  for (const iss of [
    undefined,
    null,
    '',
    'https://idp.example/',
    'HTTPS://idp.example',
    ['https://idp.example'],
    1,
  ])
    await assertRefused(token({ ...good, iss }), /another issuer/)
  assert.ok(await verify(token({ ...good, iss: 'any issuer' }), { issuer: undefined }))
})

test('one of the expected audiences must be named, as a text or in a list', async () => {
  for (const aud of ['warder', 'other', ['x', 'warder'], ['warder']])
    assert.ok(await verify(token({ ...good, aud })))
  for (const aud of [undefined, null, '', 'Warder', 'warder ', [], ['x'], [['warder']], { warder: 1 }, true])
    await assertRefused(token({ ...good, aud }), /another audience/)
  const { aud: _, ...without } = good
  assert.ok(await verify(token(without), { audience: undefined }), 'not checked when none is configured')
  await assertRefused(token(good), /another audience/, { audience: [] })
})

test('claims that are required must be there and not empty', async () => {
  for (const sub of [undefined, null, '']) await assertRefused(token({ ...good, sub }), /no sub/)
  for (const sub of [1, true, ['alice'], { toString: 'alice' }])
    await assertRefused(token({ ...good, sub }), /sub is not a string/)
})

test('a token that was changed in any character is refused', async () => {
  const compact = token(good, { kid: publicJwk(pair.publicKey).kid })
  assert.ok(await verify(compact))
  await fc.assert(
    fc.asyncProperty(
      fc.nat(compact.length - 1),
      fc.constantFrom(...'AZaz09-_.=+/ \0é'),
      async (position, character) => {
        const changed = compact.slice(0, position) + character + compact.slice(position + 1)
        if (changed !== compact) await assert.rejects(verify(changed), JwtRejected)
      },
    ),
    { numRuns: 200 },
  )
})

test('a token has one spelling: no padding, no other alphabet, no stray bits, no blanks', async () => {
  const compact = token(good)
  const [head = '', body = '', tail = ''] = compact.split('.')
  assert.equal(tail.length, 86, 'the last character carries two bits')
  const stray = tail.slice(0, -1) + String.fromCharCode(tail.charCodeAt(85) + 1)
  assert.deepEqual(Buffer.from(stray, 'base64url'), Buffer.from(tail, 'base64url'), 'the same bytes')
  for (const other of [
    `${head}.${body}.${stray}`,
    `${head}.${body}.${tail}==`,
    `${head}=.${body}.${tail}`,
    `${head}.${body}.${tail.slice(0, 40)}+/${tail.slice(42)}`,
    `${head}.${body}.${tail}\n`,
    ` ${compact}`,
    `${head}.\u00a0${body}.${tail}`,
    `${head}.${body}.`,
  ]) {
    await assert.rejects(verify(other), JwtRejected, other)
  }
})

test('anything but three parts, and anything too long, is refused before it is decoded', async () => {
  const compact = token(good)
  for (const other of [
    '',
    '.',
    '..',
    '...',
    'a',
    'a.b',
    `${compact}.`,
    `${compact}.AAAA`,
    `${compact}..AAAA`,
  ])
    await assert.rejects(verify(other), JwtRejected, other)
  await assertRefused(`${compact}.AAAA`, /three parts/)
  await assertRefused('.'.repeat(16_384), /three parts/)
  await assertRefused('A'.repeat(16_385), /longer than/)
  await assertRefused(token({ ...good, padding: 'x'.repeat(13_000) }), /longer than/)
  assert.ok(await verify(token({ ...good, padding: 'x'.repeat(11_000) })))
})

test('what the header would add to the rules is refused (RFC 7515 §4.1.11)', async () => {
  for (const header of [
    { crit: ['exp'], exp: testTime },
    { crit: [] },
    { b64: false },
    { b64: true },
    { zip: 'DEF' },
    { enc: 'A128GCM' },
  ]) {
    await assertRefused(token(good, header), /is not supported/)
  }
  for (const typ of ['secevent+jwt', 'dpop+jwt', 'logout+jwt', '', 1, null])
    await assertRefused(token(good, { typ }), /typ/)
  for (const typ of ['JWT', 'jwt', 'at+jwt', 'application/jwt', 'JOSE'])
    assert.ok(await verify(token(good, { typ })))
})

test('keys that the header brings along, or points to, are never used (RFC 8725 §3.10)', async () => {
  const jwk = publicJwk(attacker.publicKey)
  const der = Buffer.from('not looked at').toString('base64')
  const address = 'https://attacker.example/keys'
  for (const header of [
    { jwk },
    { jku: address },
    { x5u: address },
    { x5c: [der] },
    { jwk, jku: address, kid: jwk.kid },
  ]) {
    const forged = signToken({ alg: 'ES256', ...header }, good, attacker.privateKey)
    await assertRefused(forged, /signature is wrong|no matching key/)
    // Some issuers write them into every header; they change nothing.
    const { kid: _, ...harmless } = header as { kid?: string }
    assert.ok(await verify(token(good, harmless)))
  }
})

test('a kid only chooses among the trusted keys, and must be a text of reasonable length', async () => {
  const { kid } = publicJwk(pair.publicKey)
  assert.ok(await verify(token(good, { kid })))
  for (const other of ['', 'unknown', '../../dev/null', "' or 1=1 --", '__proto__', 'constructor'])
    await assertRefused(token(good, { kid: other }), /no matching key/)
  for (const other of [1, null, [kid], { kid }, 'k'.repeat(513)])
    await assertRefused(token(good, { kid: other }), /kid is malformed/)
})

test('two providers may use one kid: a key of one signs nothing for the other', async () => {
  const createNamedKeySet = (one: KeyPair) => createInlineKeySet(createJwkSet({ ...one, kid: 'key-1' }))
  const [first, second] = [createNamedKeySet(pair), createNamedKeySet(attacker)]
  const ofFirst = signToken({ alg: 'ES256', kid: 'key-1' }, good, pair.privateKey)
  assert.ok(await verify(ofFirst, {}, first))
  await assertRefused(ofFirst, /signature is wrong/, {}, second)
})

test('one set may hold several keys with one kid, and keys without any', async () => {
  const other = ed25519()
  const several = createInlineKeySet(
    createJwkSet({ ...attacker, kid: 'same' }, { ...other, kid: 'same' }, { ...pair, kid: 'same' }),
  )
  assert.ok(await verify(token(good, { kid: 'same' }), {}, several))
  assert.ok(await verify(token(good), {}, several), 'without a kid every key is tried')
  const { kid: _, ...nameless } = publicJwk(pair.publicKey)
  assert.ok(await verify(token(good), {}, createInlineKeySet({ keys: [nameless] })))
  await assertRefused(
    token(good, { kid: 'any' }),
    /no matching key/,
    {},
    createInlineKeySet({ keys: [nameless] }),
  )
})

test('headers and claims that two parsers could read differently are refused, though rightly signed', async () => {
  const claims = JSON.stringify(good)
  const sign = (header: string | Uint8Array, body: string | Uint8Array) =>
    tokenOfText(header, body, pair.privateKey)
  assert.ok(await verify(sign('{"alg":"ES256"}', claims)))
  const withMember = (member: string): string => `${claims.slice(0, -1)},${member}}`
  for (const header of [
    '{"alg":"none","alg":"ES256"}',
    '{"alg":"ES256","alg":"ES256"}',
    '{"\\u0061lg":"ES256"}',
    '{"alg":"ES256","\\u0061lg":"none"}',
    '{"alg":"ES256","__proto__":{"crit":["x"]}}',
    '{"alg":["ES256"]}',
    '{"alg":"ES256"} ,',
    '["ES256"]',
    'null',
    '',
  ]) {
    await assert.rejects(verify(sign(header, claims)), JwtRejected, header)
  }
  for (const body of [
    withMember('"sub":"admin"'),
    withMember('"nested":{"a":1,"a":2}'),
    withMember('"\\u0073ub":"admin"'),
    withMember('"ro\\u006ces":["admin"]'),
    withMember('"__proto__":{"admin":true}'),
    withMember(`"deep":${'['.repeat(16)}${']'.repeat(16)}`),
    `[${claims}]`,
    `\ufeff${claims}`,
    Buffer.concat([Buffer.from(claims.slice(0, -2)), Buffer.from([0xff]), Buffer.from('"}')]),
    '',
  ]) {
    await assertRefused(sign('{"alg":"ES256"}', body), /claims are not a JSON object/)
  }
})

test('peeking at a token tells kid, issuer and subject when they are texts, and refuses what verifying would', () => {
  const peek = (compact: string) => {
    const { kid, issuer, subject } = peekToken(compact)
    return { kid, issuer, subject }
  }
  const peeked = { kid: 'k', issuer: 'https://idp.example', subject: 'alice' }
  assert.deepEqual(peek(token({ ...good, sub: 'alice' }, { kid: 'k' })), peeked)
  const nothing = { kid: undefined, issuer: undefined, subject: undefined }
  assert.deepEqual(peek(token({ iss: 1, sub: ['alice'] })), nothing)
  for (const compact of ['', 'a.b', 'a.b.c.d', token(good, { crit: ['x'] }), 'A'.repeat(20_000)])
    assert.throws(() => peekToken(compact), JwtRejected)
})

test('any text at all is verified or refused, and a refusal repeats nothing of it', async () => {
  const part = fc.oneof(
    fc.base64String(),
    fc.string(),
    fc.json().map((text) => Buffer.from(text).toString('base64url')),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(part, { maxLength: 4 }), async (parts) => {
      await assert.rejects(verify(parts.join('.')), (error: unknown) => {
        assert.ok(error instanceof JwtRejected, String(error))
        for (const one of parts) if (one.length > 12) assert.ok(!error.message.includes(one))
        return true
      })
    }),
    { numRuns: 200 },
  )
})
