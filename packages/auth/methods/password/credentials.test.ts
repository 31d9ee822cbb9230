import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { reservedClaims } from '../../claims.ts'
import { scene } from '../../testing/scene.ts'
import { knownHash, startAuth } from '../../testing/start.ts'
import { credentialInsertion, credentialUpdate, findCredential } from './credential-store.ts'

describe('credentials', () => {
  it('never disclose their hash, keep the password on updates, and end sessions with a new one', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { asSuper, realm, logIn, as } = scene(auth)
    await realm('r')
    const created = await asSuper('POST', '/realms/r/userpass', {
      realm: 'r',
      username: 'ann',
      password_hash: 'ignored',
      password_input: { hashed: knownHash },
      roles: ['dev'],
      extra_claims: { team: 'blue' },
    })
    assert.equal(created.status, 201, created.text)
    const expected = {
      realm: 'r',
      username: 'ann',
      password_hash: '',
      change_password: false,
      roles: ['dev'],
      extra_claims: { team: 'blue' },
    }
    assert.deepEqual(created.json, expected)
    assert.deepEqual((await asSuper('GET', '/realms/r/userpass/ann')).json, expected)
    assert.deepEqual((await asSuper('GET', '/realms/r/userpass')).json, [expected])
    const all = await asSuper('GET', '/admins/userpass')
    assert.deepEqual(all.json[1], expected)
    assert.ok(!all.text.includes('argon2'))

    const cookie = await logIn('r', 'ann')
    const claims = (await as(cookie, 'GET', '/whoami')).json
    assert.equal(claims.team, 'blue')
    const elsewhere = { realm: '_', username: 'ann', change_password: true, roles: [] }
    assert.equal((await asSuper('PUT', '/realms/r/userpass/ann', elsewhere)).status, 400)
    assert.deepEqual((await asSuper('GET', '/realms/r/userpass/ann')).json, expected)
    const renamed = await asSuper('PUT', '/realms/r/userpass/ann', {
      realm: 'r',
      username: 'admin',
      change_password: false,
      roles: [],
    })
    assert.equal(renamed.status, 200)
    assert.deepEqual(renamed.json, {
      realm: 'r',
      username: 'ann',
      password_hash: '',
      change_password: false,
      roles: [],
    })
    assert.equal((await as(cookie, 'GET', '/whoami')).status, 200, 'metadata keeps the session')
    const changed = await asSuper('PUT', '/realms/r/userpass/ann', {
      password_input: { plaintext: 'another one' },
    })
    assert.equal(changed.status, 200, changed.text)
    assert.equal((await as(cookie, 'GET', '/whoami')).status, 401, 'a new password ends it')
    assert.equal((await auth.call('POST', '/login?realm=r', { basic: 'ann:correct horse' })).status, 401)
    const again = await auth.logIn('r', 'ann:another one')
    assert.equal((await asSuper('DELETE', '/realms/r/userpass/ann')).status, 204)
    assert.equal((await asSuper('DELETE', '/realms/r/userpass/ann')).status, 204)
    assert.equal((await as(again, 'GET', '/whoami')).status, 401)
    assert.equal((await asSuper('GET', '/realms/r/userpass/ann')).status, 404)
    assert.equal((await asSuper('PUT', '/realms/r/userpass/ann', {})).status, 404)
    const text = JSON.stringify(auth.events)
    for (const secret of ['another one', 'correct horse', knownHash]) assert.ok(!text.includes(secret))
    assert.ok(
      auth.events.some((event) => event.operation === 'credentials.replace' && event.object === 'ann'),
    )
  })

  it('are of PBKDF2 in FIPS mode, and others are replaced at the next login', async () => {
    const fips = { fips: true } as never
    await using auth = await startAuth({ adminPassword: 'correct horse', config: fips, everyHash: true })
    const { asSuper, realm } = scene(auth)
    await realm('r')
    const create = (username: string, password_input: object) =>
      asSuper('POST', '/realms/r/userpass', { username, password_input })
    const refused = await create('ann', { hashed: knownHash })
    assert.equal(refused.status, 400)
    assert.match(refused.text, /must be a PHC string of pbkdf2-sha512 with exactly i=210000/)
    assert.equal((await create('ann', { plaintext: 'correct horse' })).status, 201)
    const find = async (username: string) => {
      const found = await findCredential(auth.environment.db, 'r', username)
      assert.ok(found)
      return found
    }
    const { passwordHash } = await find('ann')
    assert.match(passwordHash, /^\$pbkdf2-sha512\$i=210000\$/)
    assert.equal((await create('bob', { hashed: passwordHash })).status, 201)
    for (const damaged of [
      passwordHash.slice(0, -1),
      passwordHash.replace('210000', '1000'),
      `${passwordHash}A`,
    ])
      assert.equal((await create('eve', { hashed: damaged })).status, 400, damaged)
    const logIn = async (username: string, password: string) =>
      (await auth.call('POST', '/login?realm=r', { basic: `${username}:${password}` })).status
    assert.equal(await logIn('bob', 'correct horse'), 200)
    assert.equal(await logIn('bob', 'wrong horse'), 401)
    assert.equal(await logIn('nobody', 'correct horse'), 401)
    const before = await find('bob')
    await auth.environment.db.commit([credentialUpdate({ ...before, passwordHash: knownHash })])
    assert.equal(await logIn('bob', 'wrong horse'), 401)
    assert.equal((await find('bob')).passwordHash, knownHash)
    assert.equal(await logIn('bob', 'correct horse'), 200)
    assert.match((await find('bob')).passwordHash, /^\$pbkdf2-sha512/)
    assert.equal(await logIn('bob', 'correct horse'), 200)
  })

  it('are refused when a member is invalid', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { asSuper, realm } = scene(auth)
    await realm('r')
    const [prefix, salt, output] = ['$argon2id$v=19$m=65536,t=3,p=4$', ...knownHash.split('$').slice(4)] as [
      string,
      string,
      string,
    ]
    const hashes = [
      knownHash.replace('argon2id', 'argon2i'),
      knownHash.replace('argon2id', 'argon2d'),
      knownHash.replace('v=19', 'v=16'),
      knownHash.replace('m=65536', 'm=4194304'),
      knownHash.replace('m=65536', 'm=19456'),
      knownHash.replace('t=3', 't=2'),
      knownHash.replace('p=4', 'p=1'),
      `${prefix}${salt}$`,
      `${prefix}${salt}`,
      `${prefix}${salt}$${output}=`,
      `${knownHash}\n`,
      '$2b$12$abcdefghijklmnopqrstuv',
      'plaintext',
      '',
    ]
    const bad: Record<string, unknown>[] = [
      { realm: 'elsewhere' },
      { password_input: undefined },
      { password_input: {} },
      { password_input: 'text' },
      { password_input: { plaintext: '' } },
      { password_input: { plaintext: 'x'.repeat(1025) } },
      { password_input: { plaintext: 'a', hashed: knownHash } },
      ...hashes.map((hashed) => ({ password_input: { hashed } })),
      ...[...reservedClaims]
        .filter((name) => name !== '__proto__')
        .map((name) => ({ extra_claims: { [name]: 'x' } })),
      { extra_claims: { big: 'x'.repeat(4096) } },
      { roles: 'admin' },
      { roles: [1] },
      ...['', ' ann', 'ann ', 'a\u0000b', 'a\nb', 'e\u0301', 'x'.repeat(257), 7].map((username) => ({
        username,
      })),
    ]
    for (const change of bad) {
      const json = { username: 'ann', password_input: { hashed: knownHash }, ...change }
      const answer = await asSuper('POST', '/realms/r/userpass', json)
      assert.equal(answer.status, 400, `${JSON.stringify(change).slice(0, 120)} ${answer.text}`)
      assert.ok(!answer.text.includes('x'.repeat(100)), 'no value is repeated')
    }
    const proto = await auth.call('POST', '/realms/r/userpass', {
      cookie: await auth.superCookie(),
      headers: { 'content-type': 'application/json' },
      body: `{"username":"ann","password_input":{"hashed":"${knownHash}"},"extra_claims":{"__proto__":{"a":1}}}`,
    })
    assert.equal(proto.status, 400)
    assert.deepEqual((await asSuper('GET', '/realms/r/userpass')).json, [])
    assert.equal((await asSuper('GET', '/realms/none/userpass')).status, 404)
    const lost = { username: 'ann', password_input: { hashed: knownHash } }
    assert.equal((await asSuper('POST', '/realms/none/userpass', lost)).status, 404)
  })

  it('must not have a colon in the name (HTTP Basic); existing ones can be changed and removed', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { asSuper, realm } = scene(auth)
    await realm('r')
    const input = { username: 'a:b', password_input: { plaintext: 'correct horse battery' } }
    const refused = await asSuper('POST', '/realms/r/userpass', input)
    assert.deepEqual(
      [refused.status, JSON.parse(refused.text).description],
      [400, 'username: must not contain a colon.'],
    )
    const older = { realm: 'r', username: 'a:b', passwordHash: knownHash, changePassword: false, roles: [] }
    await auth.db.commit([credentialInsertion({ ...older, extraClaims: undefined })])
    assert.equal((await asSuper('PUT', '/realms/r/userpass/a%3Ab', { roles: ['x'] })).status, 200)
    assert.equal((await asSuper('DELETE', '/realms/r/userpass/a%3Ab')).status, 204)
  })

  it('conflict with any duplicate, equal or not, and with one of two concurrent requests', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { asSuper, realm, user } = scene(auth)
    await realm('r')
    await user('r', 'ann')
    const same = { username: 'ann', password_input: { hashed: knownHash } }
    const other = { username: 'ann', password_input: { plaintext: 'a guess' } }
    const answers = [
      await asSuper('POST', '/realms/r/userpass', same),
      await asSuper('POST', '/realms/r/userpass', other),
    ]
    for (const answer of answers) assert.equal(answer.status, 409)
    assert.equal(answers[0]?.json.description, answers[1]?.json.description)
    const race = await Promise.all(
      Array.from({ length: 8 }, () => asSuper('POST', '/realms/r/userpass', { ...same, username: 'bob' })),
    )
    assert.deepEqual(race.map(({ status }) => status).sort(), [201, ...Array(7).fill(409)])
  })
})
